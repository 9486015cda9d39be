/** Session stores on disk: which kinds there are, and reading them. Databases are opened through a private copy and closed again. */

import type { Bytes } from "../core/bytes.js";
import type { Rule } from "../model/check.js";
import type { StoreFile, StoreOptions, StoreReport } from "../model/store.js";
import { cursorStore, eachChatBlob } from "./cursor.js";
import { mainFileOf, storeFiles } from "./files.js";
import type { StoreKind } from "./kind.js";
import { judgeEmpty, piStore } from "./pi.js";
import { StoreJudge } from "./rule.js";
import { type Sqlite, withSqlite } from "./sqlite.js";

/** One row per kind; the first that matches reads the file. */
export const storeKinds: readonly StoreKind[] = [piStore, cursorStore];

/** The catalogue of rules about stores. */
export const storeRules: readonly Rule[] = storeKinds.flatMap((kind) => kind.rules);

/** Reads files and all databases below folders. Files that cannot be read are listed with the reason. Throws nothing about them. */
export function readStores(paths: readonly string[], options: StoreOptions = {}): StoreReport {
  const files = storeFiles(paths);
  // A file knows its own sessions; only several have to be asked before.
  const knownSessions = new Set(files.length > 1 ? files.flatMap((path) => sessionIdsOf(path)) : []);
  return { files: files.map((path) => readFile(path, knownSessions, options)), rules: storeRules };
}

/** Ids of the sessions in the given stores: joins a capture to them. */
export function storeSessionIds(paths: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const byId = new Map<string, string[]>();
  for (const path of storeFiles(paths)) {
    for (const id of sessionIdsOf(path)) byId.set(id, [...(byId.get(id) ?? []), path]);
  }
  return byId;
}

function sessionIdsOf(path: string): readonly string[] {
  const opened = withSqlite(path, (db) => kindOf(db)?.sessionIds(db) ?? []);
  return opened.ok ? opened.value : [];
}

function kindOf(db: Sqlite): StoreKind | undefined {
  const tables = new Set(db.objects.filter((object) => object.type === "table").map((object) => object.name));
  return storeKinds.find((kind) => kind.matches(tables));
}

function readFile(path: string, knownSessions: ReadonlySet<string>, options: StoreOptions): StoreFile {
  const judge = new StoreJudge(options.levels ?? new Map());
  const opened = withSqlite(path, (db): Pick<StoreFile, "kind" | "why" | "sessions"> => {
    const context = { path, judge, knownSessions };
    const kind = kindOf(db);
    if (kind !== undefined) return { kind: kind.name, why: null, sessions: kind.read(db, context) };
    judgeEmpty(db, context);
    return { kind: "unreadable", why: "has none of the tables of a session store", sessions: [] };
  });
  if (!opened.ok) {
    const main = mainFileOf(path);
    return {
      path,
      kind: "unreadable",
      why: main === null ? `${path} ${opened.why}` : `${path} belongs to ${main} and is read with it`,
      fatal: main === null,
      sessions: [],
      findings: [],
      notCheckable: [],
    };
  }
  const { kind, why, sessions } = opened.value;
  const { findings, notCheckable } = judge;
  return { path, kind, why: why === null ? null : `${path} ${why}`, fatal: false, sessions, findings, notCheckable };
}

/** Every blob of the chat stores among these files; what cannot be read is named by `unreadable`. */
export function readChatBlobs(
  paths: readonly string[],
  use: (id: string, data: Bytes) => void,
  unreadable: (path: string, why: string) => void,
): void {
  for (const path of storeFiles(paths)) {
    const opened = withSqlite(path, (db) => eachChatBlob(db, use));
    if (!opened.ok) unreadable(path, opened.why);
  }
}
