/** What the entries of a session say about each other: broken parents, cycles, gaps, paths. */
import type { EntryRow, StoredSession } from "./data.js";
import { rebuild, type Segment } from "./rebuild.js";

export interface Structure {
  /** Entries whose parent is not in the session. */
  readonly orphans: readonly EntryRow[];
  /** Entries whose parent's seq is not lower. */
  readonly misordered: readonly { readonly entry: EntryRow; readonly parent: EntryRow }[];
  /** One list of ids per cycle of parents. */
  readonly cycles: readonly (readonly string[])[];
  /** The branch index as it has to be; null where the entries do not allow to rebuild it. */
  readonly segments: readonly Segment[] | null;
  /** Why `segments` is null. */
  readonly why: string | null;
}

const cache = new WeakMap<StoredSession, Structure>();

export function structureOf(session: StoredSession): Structure {
  const known = cache.get(session);
  if (known !== undefined) return known;
  const made = build(session);
  cache.set(session, made);
  return made;
}

function build(session: StoredSession): Structure {
  const orphans: EntryRow[] = [];
  const misordered: { entry: EntryRow; parent: EntryRow }[] = [];
  for (const entry of session.entries) {
    if (entry.parent === null) continue;
    const parent = session.byId.get(entry.parent);
    if (parent === undefined) orphans.push(entry);
    else if (!(parent.seq < entry.seq)) misordered.push({ entry, parent });
  }
  const cycles = misordered.length === 0 ? [] : findCycles(session);
  if (orphans.length + misordered.length + cycles.length > 0) {
    const why = "an entry's parent is missing, comes later or leads back to it, so the branch index cannot be rebuilt";
    return { orphans, misordered, cycles, segments: null, why };
  }
  const segments = rebuild(session.entries, session.branchEntries.length * 4 + session.entries.length * 4 + 10_000);
  const why = segments === null ? "the branch index would have far more rows than the store holds" : null;
  return { orphans, misordered, cycles, segments, why };
}

function findCycles(session: StoredSession): string[][] {
  const done = new Set<string>();
  const cycles: string[][] = [];
  for (const entry of session.entries) {
    const path = new Map<string, number>();
    let at: EntryRow | undefined = entry;
    while (at !== undefined && !done.has(at.id) && !path.has(at.id)) {
      path.set(at.id, path.size);
      at = at.parent === null ? undefined : session.byId.get(at.parent);
    }
    const start = at === undefined ? undefined : path.get(at.id);
    if (start !== undefined) cycles.push([...path.keys()].slice(start));
    for (const id of path.keys()) done.add(id);
  }
  return cycles;
}

/** All numbers that the session's rows have taken, ascending, with the row that has it. */
export function numbered(session: StoredSession): { readonly seq: number; readonly what: string }[] {
  const rows = [
    ...session.entries.map((row) => ({ seq: row.seq, what: `entry ${row.id}` })),
    ...session.scalars.map((row) => ({ seq: row.seq, what: `value ${addressOf(row)}` })),
    ...session.lists.map((row) => ({ seq: row.seq, what: `list element of ${addressOf(row)}` })),
    ...session.usage.map((row) => ({ seq: row.seq, what: `usage ${row.id}` })),
  ];
  const rank = (seq: number) => (Number.isNaN(seq) ? -1 : seq);
  return rows.sort((a, b) => rank(a.seq) - rank(b.seq) || (a.what < b.what ? -1 : 1));
}

export function addressOf(row: { readonly namespace: string; readonly key: string }): string {
  return row.key === "" ? row.namespace : `${row.namespace}/${row.key}`;
}

/** Number of entries from the root to each entry, for those whose ancestry is sound. */
export function depths(session: StoredSession): ReadonlyMap<string, number> {
  const out = new Map<string, number>();
  for (const entry of session.entries) {
    const above = entry.parent === null ? 0 : out.get(entry.parent);
    if (above !== undefined) out.set(entry.id, above + 1);
  }
  return out;
}
