/** Session stores of the pi SQLite backend, one file per session or a container of many. The pi page, section 13. */
import type { Rule } from "../model/check.js";
import type { StoreKind } from "./kind.js";
import { entryRules } from "./pi/checks-entries.js";
import { type FileSubject, fileRules } from "./pi/checks-file.js";
import { ledgerRules } from "./pi/checks-ledger.js";
import { projectionRules } from "./pi/checks-projection.js";
import { valueRules } from "./pi/checks-values.js";
import { readSession, readSessionRows, usableTables } from "./pi/data.js";
import { tables } from "./pi/schema.js";
import { sessionView } from "./pi/view.js";
import type { StoreRule } from "./rule.js";
import type { Sqlite } from "./sqlite.js";

const sessionRules = [...entryRules, ...ledgerRules, ...projectionRules, ...valueRules].sort(byId);

export const piStoreRules: readonly Rule[] = [...fileRules, ...sessionRules].sort(byId);

/** A file with this many of the seven tables is meant as a session store, whatever is missing. */
const enoughTables = 3;

export const piStore: StoreKind = {
  name: "pi-session",
  rules: piStoreRules,
  matches: (names) => Object.keys(tables).filter((table) => names.has(table)).length >= enoughTables,
  sessionIds: (db) => (usableTables(db).has("sessions") ? readSessionRows(db).map((row) => row.id) : []),
  read(db, context) {
    const has = usableTables(db);
    const rows = has.has("sessions") ? readSessionRows(db) : [];
    const subject: FileSubject = {
      path: context.path,
      db,
      sessions: rows,
      strays: has.has("sessions") ? strays(db, has) : [],
    };
    context.judge.judge(fileRules, subject, null);
    const known = new Set([...context.knownSessions, ...rows.map((row) => row.id)]);
    return rows.map((row) => {
      const session = readSession(db, row, has, known);
      context.judge.judge<typeof session>(sessionRules, session, row.id);
      return sessionView(session);
    });
  },
};

/** The finding about a database that holds none of the tables. */
export function judgeEmpty(db: Sqlite, context: Parameters<StoreKind["read"]>[1]): void {
  const subject: FileSubject = { path: context.path, db, sessions: [], strays: [] };
  context.judge.judge(
    fileRules.filter((rule) => rule.id === "pi/PS-01"),
    subject,
    null,
  );
}

function strays(db: Sqlite, has: ReadonlySet<string>): FileSubject["strays"] {
  return Object.keys(tables)
    .filter((table) => table !== "sessions" && has.has(table))
    .flatMap((table) =>
      db
        .all(
          `SELECT session_id AS id, count(*) AS rows FROM "${table}" WHERE session_id NOT IN (SELECT id FROM sessions) GROUP BY session_id`,
        )
        .map((row) => ({ table, sessionId: String(row.id), rows: Number(row.rows) })),
    );
}

function byId(a: Pick<StoreRule<never>, "id">, b: Pick<StoreRule<never>, "id">): number {
  return a.id < b.id ? -1 : 1;
}
