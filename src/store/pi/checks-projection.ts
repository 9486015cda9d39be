/** PS-40 and PS-41: the private branch index against its rebuild. The pi page, section 13, "Branch index". */
import { type StoreHit, storeFamily } from "../rule.js";
import type { BranchEntryRow, BranchMetaRow, StoredSession } from "./data.js";
import type { Segment, SegmentRow } from "./rebuild.js";
import { structureOf } from "./structure.js";

function untestable(table: string) {
  return (session: StoredSession): string | null => {
    if (!session.has.has("entries") || !session.has.has(table)) return `the table entries or ${table} is missing`;
    return structureOf(session).why;
  };
}

/** Row by row, both sides keyed by segment and entry. */
function* compareRows(stored: readonly BranchEntryRow[], segments: readonly Segment[]): Generator<StoreHit> {
  const due = new Map<string, Map<string, SegmentRow>>();
  for (const segment of segments) due.set(segment.branchId, new Map(segment.rows.map((row) => [row.entryId, row])));
  for (const row of stored) {
    const rows = due.get(row.branchId);
    const want = rows?.get(row.entryId);
    const subject = `segment ${row.branchId} entry ${row.entryId}`;
    if (want === undefined)
      yield { statement: [`branch_entries has an extra row: ${subject}`], subject, detail: { kind: "extra row" } };
    else if (want.seq !== row.seq || want.type !== row.type) {
      const statement = [
        `branch_entries, ${subject}: seq ${row.seq} and type ${row.type}, where ${want.seq} and ${want.type} are due`,
      ];
      yield { statement, subject, detail: { kind: "wrong row" } };
    }
    rows?.delete(row.entryId);
  }
  for (const [branchId, rows] of due) {
    for (const row of rows.values()) {
      const subject = `segment ${branchId} entry ${row.entryId}`;
      yield {
        statement: [`branch_entries lacks a row: ${subject}, seq ${row.seq}`],
        subject,
        detail: { kind: "missing row" },
      };
    }
  }
}

function* compareSegments(stored: readonly BranchMetaRow[], segments: readonly Segment[]): Generator<StoreHit> {
  const due = new Map(segments.map((segment) => [segment.branchId, segment]));
  for (const row of stored) {
    const want = due.get(row.branchId);
    due.delete(row.branchId);
    const subject = `segment ${row.branchId}`;
    if (want === undefined) {
      yield {
        statement: [`branch_meta has an extra segment ${row.branchId}`],
        subject,
        detail: { kind: "extra segment" },
      };
      continue;
    }
    const differences = segmentDifferences(row, want);
    if (differences.length > 0) yield { statement: [`branch_meta, ${subject}: ${differences.join("; ")}`], subject };
  }
  for (const branchId of due.keys()) {
    const statement = [`branch_meta lacks the segment ${branchId}`];
    yield { statement, subject: `segment ${branchId}`, detail: { kind: "missing segment" } };
  }
}

function segmentDifferences(row: BranchMetaRow, want: Segment): string[] {
  const pairs: [string, string | number | null, string | number | null][] = [
    ["tip_entry_id", row.tipEntryId, want.tipEntryId],
    ["tip_seq", row.tipSeq, want.tipSeq],
    ["base_branch_id", row.baseBranchId, want.base?.segment.branchId ?? null],
    ["base_seq", row.baseSeq, want.base?.seq ?? null],
  ];
  return pairs
    .filter(([, is, due]) => is !== due)
    .map(([name, is, due]) => `${name} is ${is ?? "NULL"}, not ${due ?? "NULL"}`);
}

export const projectionRules = storeFamily<StoredSession>("Store: branch index", [
  {
    id: "PS-40",
    severity: "error",
    sure: "high",
    statement: "branch_entries is what replaying the entries by seq gives.",
    why: "Branches are read through this index; a missing row takes an entry out of its branch.",
    good: "The same rows, ids included.",
    bad: "One row deleted.",
    remedy: "Rebuild both index tables by replaying the entries in the order of seq.",
    untestable: untestable("branch_entries"),
    run: (session) => compareRows(session.branchEntries, structureOf(session).segments ?? []),
  },
  {
    id: "PS-41",
    severity: "error",
    sure: "high",
    statement: "branch_meta is what replaying the entries by seq gives.",
    why: "Tips and bases decide where the next entry goes.",
    good: "The same segments, tips and bases.",
    bad: "A tip that points to an inner entry.",
    remedy: "Rebuild both index tables by replaying the entries in the order of seq.",
    untestable: untestable("branch_meta"),
    run: (session) => compareSegments(session.branchMeta, structureOf(session).segments ?? []),
  },
]);
