/** What the reading of session stores on disk gives: pure data, the database is closed again. JSON form: contract.md, `store`. */
import type { Severity } from "../core/code-table.js";
import type { Printable, Words } from "../core/printable.js";
import type { Finding, Rule } from "./check.js";

export type StoreKindName = "pi-session" | "cursor-chat";

export interface StoreReport {
  /** In the order given; the files of a folder by name. */
  readonly files: readonly StoreFile[];
  /** Catalogue of the rules that judge stores. */
  readonly rules: readonly Rule[];
}

export interface StoreFile {
  /** As given, or folder as given plus name. */
  readonly path: string;
  readonly kind: StoreKindName | "unreadable";
  /** Why it is unreadable; null where it is not. */
  readonly why: string | null;
  /** Not a database at all, or one that cannot be read: exit 3. A database without the tables is no such case. */
  readonly fatal: boolean;
  readonly sessions: readonly StoreSession[];
  readonly findings: readonly Finding[];
  /** Rules that could not judge a session (its id), or the file (null). */
  readonly notCheckable: readonly { readonly rule: string; readonly why: string; readonly session: string | null }[];
}

export interface StoreSession {
  readonly id: string;
  readonly entries: number;
  /** Named branches. */
  readonly branches: number;
  readonly usageRows: number;
  readonly scalars: number;
  /** List addresses. */
  readonly lists: number;
  /** Short facts for the head of the session's block. */
  readonly facts: readonly Words[];
  /** What the session holds, as tables for people. */
  readonly tables: readonly StoreTable[];
  /** The entry tree, one line per entry, parents before children. */
  readonly tree: readonly StoreTreeLine[];
  /** Further keys of its JSON object. */
  readonly more: { readonly [key: string]: Printable };
}

export interface StoreTable {
  /** "branches", "values", "usage", … */
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Words[])[];
}

export interface StoreTreeLine {
  readonly id: string;
  /** Drawing in front of the entry: "│ ├─ ". A chain is not indented, only its side branches are. */
  readonly draw: string;
  readonly says: Words;
}

export interface StoreOptions {
  /** Rule levels as users set them; rules that are not in it keep their own severity. */
  readonly levels?: ReadonlyMap<string, Severity | "off">;
}
