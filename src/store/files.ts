/** Files and folders as given -> the files to look at. Folders are searched by content, without following links. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { looksLikeSqlite } from "./sqlite.js";

/** Folders below a given one that are entered. */
const depthLimit = 8;

/** Throws nothing: a path that is not there is left for the reading to report. */
export function storeFiles(paths: readonly string[]): readonly string[] {
  return paths.flatMap((path) => (isFolder(path) ? inFolder(path, 0) : [path]));
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function inFolder(folder: string, depth: number): string[] {
  let items: import("node:fs").Dirent[];
  try {
    items = readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
  items.sort((a, b) => (a.name < b.name ? -1 : 1));
  return items.flatMap((item) => {
    const path = join(folder, item.name);
    if (item.isDirectory()) return depth < depthLimit ? inFolder(path, depth + 1) : [];
    return item.isFile() && looksLikeSqlite(path) ? [path] : [];
  });
}

/** The database that a -wal, -shm or -journal file belongs to, where it is beside it. */
export function mainFileOf(path: string): string | null {
  const main = path.replace(/-(?:wal|shm|journal)$/, "");
  return main !== path && looksLikeSqlite(main) ? main : null;
}
