/** SQLite databases, opened through a private copy. node-sqlite3-wasm is an optional package and is loaded only here. */
import { closeSync, openSync, readSync } from "node:fs";
import { createRequire } from "node:module";
import { type Bytes, latin1 } from "../core/bytes.js";
import { withPrivateCopy } from "./private-copy.js";

export type SqlValue = string | number | bigint | Bytes | null;
export type SqlRow = { readonly [column: string]: SqlValue };

export interface Sqlite {
  /** Names of tables, indexes and triggers, with their SQL. */
  readonly objects: readonly {
    readonly type: string;
    readonly name: string;
    readonly table: string;
    readonly sql: string;
  }[];
  /** The header says write-ahead logging: rows may be in a file beside it. */
  readonly walMode: boolean;
  all(sql: string, values?: readonly string[]): readonly SqlRow[];
  /** Row by row: for tables that may be large. */
  each(sql: string, values: readonly string[], use: (row: SqlRow) => void): void;
}

export type Opened<T> =
  | { readonly ok: true; readonly value: T }
  /** `why`: a sentence part, "is no SQLite database". */
  | { readonly ok: false; readonly why: string };

const magic = "SQLite format 3\0";

/** Whether the file starts as every SQLite database does. Throws nothing: what cannot be read is none. */
export function looksLikeSqlite(path: string): boolean {
  return header(path)?.text.startsWith(magic) ?? false;
}

/** Reads a database and closes it again. Throws only what `use` throws beside faults of the database. */
export function withSqlite<T>(path: string, use: (db: Sqlite) => T): Opened<T> {
  const head = header(path);
  if (head === null) return { ok: false, why: "cannot be opened" };
  if (head.text === "") return { ok: false, why: "is empty" };
  if (!head.text.startsWith(magic)) return { ok: false, why: "is no SQLite database" };
  const library = load();
  if (library === null) {
    return {
      ok: false,
      why: "needs the optional package node-sqlite3-wasm, which is not installed (npm install node-sqlite3-wasm)",
    };
  }
  try {
    return withPrivateCopy(path, (copy) => ({ ok: true, value: reading(library, copy, head.walMode, use) }));
  } catch (error) {
    if (error instanceof library.SQLite3Error) return { ok: false, why: `cannot be read: ${error.message}` };
    if (isFileError(error)) return { ok: false, why: `cannot be copied: ${error.message}` };
    throw error;
  }
}

type Library = typeof import("node-sqlite3-wasm");

let loaded: Library | null | undefined;

function load(): Library | null {
  if (loaded !== undefined) return loaded;
  try {
    loaded = createRequire(import.meta.url)("node-sqlite3-wasm") as Library;
  } catch {
    loaded = null;
  }
  return loaded;
}

function reading<T>(library: Library, copy: string, walMode: boolean, use: (db: Sqlite) => T): T {
  const db = new library.Database(copy, { fileMustExist: true });
  try {
    // Without shared memory a write-ahead log can only be read under an exclusive lock; the copy is ours alone.
    db.exec("PRAGMA locking_mode = EXCLUSIVE");
    db.exec("PRAGMA trusted_schema = OFF");
    // The copy is thrown away: nothing has to reach the disk.
    db.exec("PRAGMA synchronous = OFF");
    const all = (sql: string, values: readonly string[] = []) => db.all(sql, [...values]) as SqlRow[];
    const objects = all("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name").map((row) => ({
      type: String(row.type),
      name: String(row.name),
      table: String(row.tbl_name),
      sql: typeof row.sql === "string" ? row.sql : "",
    }));
    return use({ objects, walMode, all, each: (sql, values, each) => iterate(db, sql, values, each) });
  } finally {
    db.close();
  }
}

function iterate(
  db: InstanceType<Library["Database"]>,
  sql: string,
  values: readonly string[],
  use: (row: SqlRow) => void,
): void {
  const statement = db.prepare(sql);
  try {
    for (const row of statement.iterate([...values])) use(row as SqlRow);
  } finally {
    statement.finalize();
  }
}

/** The first 100 bytes; null where the file cannot be read. */
function header(path: string): { readonly text: string; readonly walMode: boolean } | null {
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch {
    return null;
  }
  try {
    const bytes = new Uint8Array(100);
    const count = readSync(fd, bytes, 0, 100, 0);
    // Bytes 18 and 19: write and read version, 2 for a write-ahead log.
    return { text: latin1(bytes.subarray(0, count)), walMode: bytes[18] === 2 || bytes[19] === 2 };
  } catch {
    return null;
  } finally {
    closeSync(fd);
  }
}

function isFileError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "code" in error && "syscall" in error;
}
