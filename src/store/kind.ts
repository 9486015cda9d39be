/** The seam for kinds of stores: one row in index.ts. */
import type { Rule } from "../model/check.js";
import type { StoreKindName, StoreSession } from "../model/store.js";
import type { StoreJudge } from "./rule.js";
import type { Sqlite } from "./sqlite.js";

export interface StoreContext {
  /** As given, for rules about the file's name. */
  readonly path: string;
  readonly judge: StoreJudge;
  /** Ids of the sessions of all files of the run. */
  readonly knownSessions: ReadonlySet<string>;
}

export interface StoreKind {
  readonly name: StoreKindName;
  /** Its part of the catalogue. */
  readonly rules: readonly Rule[];
  /** By the names of the database's tables. */
  matches(tables: ReadonlySet<string>): boolean;
  /** Ids of the sessions in it: asked of every file before the first is read. */
  sessionIds(db: Sqlite): readonly string[];
  /** Everything to show; findings go to the judge. Faults of the database are thrown through it and make the file unreadable. */
  read(db: Sqlite, context: StoreContext): readonly StoreSession[];
}
