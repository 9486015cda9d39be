/** The schema of the pi backend, storage version 1. The pi page, section 13. */

export const tables: Readonly<Record<string, readonly string[]>> = {
  sessions: [
    "id",
    "created_at",
    "parent_session_id",
    "storage_version",
    "metadata",
    "message_count",
    "usage_payload",
    "next_seq",
  ],
  entries: ["session_id", "id", "parent_id", "seq", "type", "custom_type", "timestamp", "payload"],
  scalar_values: ["session_id", "namespace", "key", "seq", "value"],
  list_values: ["session_id", "namespace", "key", "seq", "value"],
  usage_ledger: ["session_id", "id", "seq", "entry_id", "adjustment", "usage", "details"],
  branch_entries: ["session_id", "branch_id", "entry_id", "entry_seq", "entry_type"],
  branch_meta: ["session_id", "branch_id", "tip_entry_id", "tip_seq", "base_branch_id", "base_seq"],
};

export type TableName = keyof typeof tables & string;

export interface IndexSpec {
  readonly table: string;
  readonly columns: readonly string[];
  readonly unique: boolean;
}

export const indexes: Readonly<Record<string, IndexSpec>> = {
  ix_entry_parent: { table: "entries", columns: ["session_id", "parent_id"], unique: false },
  ix_entry_seq: { table: "entries", columns: ["session_id", "seq", "type"], unique: false },
  ix_usage_seq: { table: "usage_ledger", columns: ["session_id", "seq"], unique: false },
  ix_be_seq: {
    table: "branch_entries",
    columns: ["session_id", "branch_id", "entry_seq", "entry_id", "entry_type"],
    unique: false,
  },
  ix_be_type: {
    table: "branch_entries",
    columns: ["session_id", "branch_id", "entry_type", "entry_seq", "entry_id"],
    unique: false,
  },
  ix_be_entry: { table: "branch_entries", columns: ["session_id", "entry_id"], unique: false },
  ix_bm_tip: { table: "branch_meta", columns: ["session_id", "tip_entry_id"], unique: true },
};

/** What each trigger's text has to speak of: it fires before an insert, aborts, and looks these up. */
export const triggers: Readonly<Record<string, { readonly table: string; readonly words: readonly string[] }>> = {
  trg_entries_validate: {
    table: "entries",
    words: ["before insert on entries", "raise(abort", "new.parent_id", "from usage_ledger", "from entries"],
  },
  trg_usage_ledger_validate: {
    table: "usage_ledger",
    words: ["before insert on usage_ledger", "raise(abort", "from entries"],
  },
};

/** Namespaces of scalar and list values that the harness uses. */
export const knownNamespaces: ReadonlySet<string> = new Set([
  "pi.branch.tip",
  "pi.lane.config",
  "pi.lane.state",
  "pi.op.meta",
  "pi.op.state",
  "pi.op.tool_args",
  "pi.op.tool_memo",
  "pi.op.preparation",
  "pi.result",
  "pi.pending.entry",
  "pi.pending.tool_output",
  "pi.pending.assistant_frame",
  "pi.session.name",
  "pi.entry.label",
]);

export const entryTypes: ReadonlySet<string> = new Set(["message", "compaction", "branch_summary", "custom"]);

/** The file name of a session: plain ids as they are, others as ~ and base64url of their UTF-16LE code units. */
export function fileStem(sessionId: string): string {
  if (/^[A-Za-z0-9_-]+$/.test(sessionId)) return sessionId;
  return `~${Buffer.from(sessionId, "utf16le").toString("base64url")}`;
}
