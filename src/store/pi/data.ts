/** The rows of one session, read once; payloads and values are taken apart while they pass and not kept. */
import type { Sqlite, SqlRow, SqlValue } from "../sqlite.js";
import { type PayloadReading, parseJson, readPayload } from "./payload.js";
import { tables } from "./schema.js";
import { readUsage, type UsageFigures } from "./usage.js";

export interface EntryRow {
  readonly id: string;
  readonly parent: string | null;
  /** NaN where the column holds no integer. */
  readonly seq: number;
  readonly type: string;
  readonly customType: string | null;
  /** ms since 1970. */
  readonly timestamp: number;
  readonly payload: PayloadReading;
}

export interface ScalarRow {
  readonly namespace: string;
  readonly key: string;
  readonly seq: number;
  /** Parsed; undefined where it is no JSON. Kept for the namespaces of the harness only. */
  readonly value: unknown;
  readonly text: string;
}

export interface ListRow {
  readonly namespace: string;
  readonly key: string;
  readonly seq: number;
}

export interface UsageRow {
  readonly id: string;
  readonly seq: number;
  readonly entryId: string | null;
  readonly adjustment: SqlValue;
  readonly usage: UsageFigures | { readonly fault: string };
  readonly hasDetails: boolean;
}

export interface BranchEntryRow {
  readonly branchId: string;
  readonly entryId: string;
  readonly seq: number;
  readonly type: string;
}

export interface BranchMetaRow {
  readonly branchId: string;
  readonly tipEntryId: string;
  readonly tipSeq: number;
  readonly baseBranchId: string | null;
  readonly baseSeq: number | null;
}

export interface SessionRow {
  readonly id: string;
  readonly createdAt: number;
  readonly parent: string | null;
  readonly storageVersion: SqlValue;
  readonly messageCount: SqlValue;
  readonly usage: UsageFigures | { readonly fault: string };
  readonly nextSeq: number;
}

/** What a session holds. A table that is not there reads as empty; `has` says which are. */
export interface StoredSession {
  readonly row: SessionRow;
  /** By seq, then id. */
  readonly entries: readonly EntryRow[];
  readonly byId: ReadonlyMap<string, EntryRow>;
  readonly scalars: readonly ScalarRow[];
  readonly lists: readonly ListRow[];
  /** By seq. */
  readonly usage: readonly UsageRow[];
  readonly branchEntries: readonly BranchEntryRow[];
  readonly branchMeta: readonly BranchMetaRow[];
  readonly has: ReadonlySet<string>;
  /** Ids of all sessions of all files of the run, for parents. */
  readonly known: ReadonlySet<string>;
}

/** Tables that are there with all their columns. */
export function usableTables(db: Sqlite): ReadonlySet<string> {
  const usable = new Set<string>();
  for (const [name, columns] of Object.entries(tables)) {
    const there = new Set(columnsOf(db, name));
    if (columns.every((column) => there.has(column))) usable.add(name);
  }
  return usable;
}

/** Column names of a table; empty where there is no such table. */
export function columnsOf(db: Sqlite, table: string): string[] {
  if (!db.objects.some((object) => object.type === "table" && object.name === table)) return [];
  return db.all(`PRAGMA table_info("${table}")`).map((row) => String(row.name));
}

export function readSessionRows(db: Sqlite): SessionRow[] {
  return db.all("SELECT * FROM sessions ORDER BY created_at, id").map((row) => ({
    id: text(row.id),
    createdAt: integer(row.created_at),
    parent: textOrNull(row.parent_session_id),
    storageVersion: row.storage_version ?? null,
    messageCount: row.message_count ?? null,
    usage: readUsage(parseJson(text(row.usage_payload))),
    nextSeq: integer(row.next_seq),
  }));
}

export function readSession(
  db: Sqlite,
  row: SessionRow,
  has: ReadonlySet<string>,
  known: ReadonlySet<string>,
): StoredSession {
  const rows = <T>(table: string, order: string, read: (row: SqlRow) => T): T[] => {
    const out: T[] = [];
    if (!has.has(table)) return out;
    db.each(`SELECT * FROM "${table}" WHERE session_id = ? ORDER BY ${order}`, [row.id], (item) =>
      out.push(read(item)),
    );
    return out;
  };
  const entries = rows("entries", "seq, id", entryRow);
  return {
    row,
    entries,
    byId: new Map(entries.map((entry) => [entry.id, entry])),
    scalars: rows("scalar_values", "namespace, key", scalarRow),
    lists: rows("list_values", "namespace, key, seq", (item) => ({ ...address(item), seq: integer(item.seq) })),
    usage: rows("usage_ledger", "seq, id", usageRow),
    branchEntries: rows("branch_entries", "branch_id, entry_seq, entry_id", (item) => ({
      branchId: text(item.branch_id),
      entryId: text(item.entry_id),
      seq: integer(item.entry_seq),
      type: text(item.entry_type),
    })),
    branchMeta: rows("branch_meta", "branch_id", branchMetaRow),
    has,
    known,
  };
}

function entryRow(row: SqlRow): EntryRow {
  const type = text(row.type);
  return {
    id: text(row.id),
    parent: textOrNull(row.parent_id),
    seq: integer(row.seq),
    type,
    customType: textOrNull(row.custom_type),
    timestamp: integer(row.timestamp),
    payload: readPayload(type, text(row.payload)),
  };
}

function scalarRow(row: SqlRow): ScalarRow {
  const value = text(row.value);
  const { namespace, key } = address(row);
  const parsed = namespace === "pi" || namespace.startsWith("pi.") ? parseJson(value) : undefined;
  return {
    namespace,
    key,
    seq: integer(row.seq),
    value: parsed,
    text: value.length > 200 ? `${value.slice(0, 200)}…` : value,
  };
}

function usageRow(row: SqlRow): UsageRow {
  return {
    id: text(row.id),
    seq: integer(row.seq),
    entryId: textOrNull(row.entry_id),
    adjustment: row.adjustment ?? null,
    usage: readUsage(parseJson(text(row.usage))),
    hasDetails: row.details !== null,
  };
}

function branchMetaRow(row: SqlRow): BranchMetaRow {
  return {
    branchId: text(row.branch_id),
    tipEntryId: text(row.tip_entry_id),
    tipSeq: integer(row.tip_seq),
    baseBranchId: textOrNull(row.base_branch_id),
    baseSeq: row.base_seq === null ? null : integer(row.base_seq),
  };
}

function address(row: SqlRow): { namespace: string; key: string } {
  return { namespace: text(row.namespace), key: text(row.key) };
}

function text(value: SqlValue | undefined): string {
  return typeof value === "string" ? value : value == null ? "" : String(value);
}

function textOrNull(value: SqlValue | undefined): string | null {
  return value == null ? null : text(value);
}

/** NaN for anything that is no integer a double can hold. */
function integer(value: SqlValue | undefined): number {
  const number = typeof value === "bigint" ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) ? number : Number.NaN;
}
