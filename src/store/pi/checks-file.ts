/** PS-01 to PS-04: the file as a whole. The pi page, section 13. */
import { basename } from "node:path";
import { type StoreHit, storeFamily } from "../rule.js";
import type { Sqlite } from "../sqlite.js";
import { columnsOf, type SessionRow } from "./data.js";
import { fileStem, type IndexSpec, indexes, tables, triggers } from "./schema.js";

export interface FileSubject {
  readonly path: string;
  readonly db: Sqlite;
  readonly sessions: readonly SessionRow[];
  /** Session ids used in each other table that `sessions` does not have. */
  readonly strays: readonly { readonly table: string; readonly sessionId: string; readonly rows: number }[];
}

function* missingParts({ db }: FileSubject): Generator<StoreHit> {
  const present = Object.keys(tables).filter((name) => hasObject(db, "table", name));
  if (present.length === 0) {
    const wal =
      "the file has no tables; it is in write-ahead mode, so its rows are in a -wal file that is not beside it";
    const statement = [
      db.walMode && db.objects.length === 0 ? wal : "the file has none of the tables of a session store",
    ];
    yield { statement, subject: "tables" };
    return;
  }
  for (const [name, columns] of Object.entries(tables)) {
    if (!present.includes(name)) {
      yield { statement: [`table ${name} is missing`], subject: `table ${name}` };
      continue;
    }
    const there = new Set(columnsOf(db, name));
    for (const column of columns) {
      if (!there.has(column))
        yield { statement: [`column ${name}.${column} is missing`], subject: `column ${name}.${column}` };
    }
  }
  yield* missingHelpers(db);
}

function* missingHelpers(db: Sqlite): Generator<StoreHit> {
  const severity = "warning";
  for (const [name, spec] of Object.entries(indexes)) {
    const fault = indexFault(db, name, spec);
    if (fault !== null) yield { statement: [`index ${name} ${fault}`], subject: `index ${name}`, severity };
  }
  for (const [name, { table, words }] of Object.entries(triggers)) {
    const trigger = db.objects.find((object) => object.type === "trigger" && object.name === name);
    if (trigger === undefined)
      yield { statement: [`trigger ${name} is missing`], subject: `trigger ${name}`, severity };
    else {
      const sql = trigger.sql
        .toLowerCase()
        .replace(/["`]/g, "")
        .replace(/\s+/g, " ")
        .replace(/ ?\( ?/g, "(");
      if (trigger.table !== table || words.some((word) => !sql.includes(word))) {
        yield { statement: [`trigger ${name} is another one`], subject: `trigger ${name}`, severity };
      }
    }
  }
}

function indexFault(db: Sqlite, name: string, spec: IndexSpec): string | null {
  const index = db.objects.find((object) => object.type === "index" && object.name === name);
  if (index === undefined) return "is missing";
  if (index.table !== spec.table) return `is on ${index.table}, not ${spec.table}`;
  const columns = db.all(`PRAGMA index_info("${name}")`).map((row) => String(row.name));
  if (columns.join() !== spec.columns.join()) return `is on (${columns.join(", ")}), not (${spec.columns.join(", ")})`;
  const unique = db.all(`PRAGMA index_list("${spec.table}")`).find((row) => row.name === name)?.unique;
  return Number(unique) === (spec.unique ? 1 : 0) ? null : spec.unique ? "is not unique" : "is unique";
}

function hasObject(db: Sqlite, type: string, name: string): boolean {
  return db.objects.some((object) => object.type === type && object.name === name);
}

/** Names that the backend gives: a plain id, or ~ and base64url. */
const backendName = /^(?:[A-Za-z0-9_-]+|~[A-Za-z0-9_-]+)\.sqlite$/;
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function* nameFault({ path, sessions }: FileSubject): Generator<StoreHit> {
  const [only] = sessions;
  const name = basename(path);
  // A container has a name of its caller's choice, and people give copies names of their own.
  if (only === undefined || sessions.length !== 1 || !backendName.test(name)) return;
  const stem = name.slice(0, -".sqlite".length);
  const due = fileStem(only.id);
  if (stem === due || stem.startsWith(`${due}-`) || stem.startsWith(`${due}_`)) return;
  const sure = stem.startsWith("~") || uuid.test(stem);
  const statement = [`the file is named ${name}, and session ${only.id} would be in ${due}.sqlite`];
  yield { statement, subject: "file name", severity: sure ? "warning" : "info" };
}

export const fileRules = storeFamily<FileSubject>("Store: file", [
  {
    id: "PS-01",
    severity: "error",
    sure: "high",
    statement: "The file has the tables, columns, indexes and triggers of the schema.",
    why: "The backend does not open a store without its tables; indexes and triggers only guard and speed it up.",
    good: "7 tables, 7 indexes, 2 triggers.",
    bad: "A copy of the main file alone, while its rows are still in the -wal file.",
    remedy: "Copy the -wal file too, or close the program that has the session open first.",
    run: missingParts,
  },
  {
    id: "PS-02",
    severity: "error",
    sure: "high",
    statement: "storage_version is 1.",
    why: "A higher value is refused as newer, a lower one as needing a migration that does not exist.",
    good: "1",
    bad: "2",
    remedy: "Open the store with the release that wrote it.",
    *run({ sessions }) {
      for (const { id, storageVersion } of sessions) {
        if (Number(storageVersion) === 1) continue;
        const statement = [`session ${id} has storage_version ${String(storageVersion)}`];
        yield { statement, subject: `version of ${id}`, detail: { session: id } };
      }
    },
  },
  {
    id: "PS-03",
    severity: "error",
    sure: "high",
    statement: "Every session_id in the other six tables exists in sessions.",
    why: "Rows of a session that is not listed are never read and never deleted.",
    good: "All rows belong to listed sessions.",
    bad: "Entries left behind by a session row that was deleted by hand.",
    remedy: "Delete a session through the backend, which removes its rows from all tables.",
    *run({ strays }) {
      for (const { table, sessionId, rows } of strays) {
        const statement = [`${table} has ${rows} rows of session ${sessionId}, which is not in sessions`];
        yield { statement, subject: `${table} ${sessionId}` };
      }
    },
  },
  {
    id: "PS-04",
    severity: "warning",
    sure: "mid",
    statement: "The file name fits the session's id, for files of one session that the user did not rename.",
    why: "The backend finds a session by the file name made from its id.",
    good: "tree-a.sqlite for session tree-a.",
    bad: "The name of another session's id.",
    remedy: "Rename the file to the name given, or leave it where it is no longer used by the backend.",
    run: nameFault,
  },
]);
