/**
 * The branch index of a session, rebuilt by replaying its entries in the order of their seq. The pi page, section 13, "Branch index":
 * a segment is not a named branch; it follows from the order of insertion alone.
 */

export interface EntryKey {
  readonly id: string;
  readonly parent: string | null;
  readonly seq: number;
  readonly type: string;
}

export interface SegmentRow {
  readonly entryId: string;
  readonly seq: number;
  readonly type: string;
}

export interface Segment {
  readonly branchId: string;
  tipEntryId: string;
  tipSeq: number;
  readonly base: { readonly segment: Segment; readonly seq: number } | null;
  /** By seq. */
  readonly rows: SegmentRow[];
}

/**
 * `entries`: by seq, every parent before its children. null: more than `rowLimit` rows, which no honest store of this size has.
 */
export function rebuild(entries: readonly EntryKey[], rowLimit: number): readonly Segment[] | null {
  const index = new Index();
  for (const entry of entries) {
    index.add(entry);
    if (index.rowCount > rowLimit) return null;
  }
  return index.segments;
}

class Index {
  readonly segments: Segment[] = [];
  rowCount = 0;
  private readonly seqs = new Map<string, number>();
  private readonly byTip = new Map<string, Segment>();
  private readonly holders = new Map<string, Segment[]>();
  /** Seqs of compaction rows, ascending. */
  private readonly compactions = new Map<Segment, number[]>();

  add(entry: EntryKey): void {
    this.seqs.set(entry.id, entry.seq);
    if (entry.parent === null) {
      this.append(this.open(entry, null), entry);
      return;
    }
    const segment = this.byTip.get(entry.parent);
    if (segment !== undefined) this.append(segment, entry);
    else this.diverge(entry, entry.parent);
  }

  private open(entry: EntryKey, base: Segment["base"]): Segment {
    const segment: Segment = { branchId: entry.id, tipEntryId: entry.id, tipSeq: entry.seq, base, rows: [] };
    this.segments.push(segment);
    return segment;
  }

  private append(segment: Segment, entry: EntryKey): void {
    if (this.byTip.get(segment.tipEntryId) === segment) this.byTip.delete(segment.tipEntryId);
    segment.tipEntryId = entry.id;
    segment.tipSeq = entry.seq;
    this.byTip.set(entry.id, segment);
    this.put(segment, { entryId: entry.id, seq: entry.seq, type: entry.type });
  }

  private put(segment: Segment, row: SegmentRow): void {
    segment.rows.push(row);
    this.rowCount++;
    const holders = this.holders.get(row.entryId);
    if (holders === undefined) this.holders.set(row.entryId, [segment]);
    else holders.push(segment);
    if (row.type !== "compaction") return;
    const seqs = this.compactions.get(segment);
    if (seqs === undefined) this.compactions.set(segment, [row.seq]);
    else seqs.push(row.seq);
  }

  private diverge(entry: EntryKey, parent: string): void {
    const seq = this.seqs.get(parent);
    const holder = seq === undefined ? null : this.holder(parent, seq);
    if (seq === undefined || holder === null) return;
    const parts: Part[] = [];
    let boundary: number | null = null;
    for (const part of ancestry(holder, seq)) {
      parts.push(part);
      boundary = this.lastCompaction(part);
      if (boundary !== null) break;
    }
    const oldest = parts[parts.length - 1]!;
    const segment = this.open(entry, boundary === null ? null : { segment: oldest.segment, seq: boundary });
    for (const part of parts.reverse()) {
      const from = part === oldest && boundary !== null ? boundary : part.from;
      for (const row of rowsBetween(part.segment.rows, from, part.to)) this.put(segment, row);
    }
    this.append(segment, entry);
  }

  /** The segment that holds the parent: highest tip first, then smallest id. */
  private holder(parent: string, seq: number): Segment | null {
    let best: Segment | null = null;
    for (const segment of this.holders.get(parent) ?? []) {
      if (seq <= (segment.base?.seq ?? 0) || seq > segment.tipSeq) continue;
      if (best === null || ranksBefore(segment, best)) best = segment;
    }
    return best;
  }

  private lastCompaction(part: Part): number | null {
    const seqs = this.compactions.get(part.segment) ?? [];
    const last = seqs[upperBound(seqs, (seq) => seq, part.to) - 1];
    return last !== undefined && last > part.from ? last : null;
  }
}

interface Part {
  readonly segment: Segment;
  /** Rows with from < seq ≤ to. */
  readonly from: number;
  readonly to: number;
}

/** Newest first: the segment up to `seq`, then its base, and so on. */
function* ancestry(segment: Segment, seq: number): Generator<Part> {
  let at: Segment["base"] = { segment, seq };
  while (at !== null) {
    const { segment: here, seq: to }: { segment: Segment; seq: number } = at;
    yield { segment: here, from: here.base?.seq ?? 0, to };
    at = here.base;
  }
}

function ranksBefore(a: Segment, b: Segment): boolean {
  return a.tipSeq > b.tipSeq || (a.tipSeq === b.tipSeq && a.branchId < b.branchId);
}

function rowsBetween(rows: readonly SegmentRow[], from: number, to: number): readonly SegmentRow[] {
  return rows.slice(
    upperBound(rows, (row) => row.seq, from),
    upperBound(rows, (row) => row.seq, to),
  );
}

/** Index of the first item whose seq is above `bound`. */
function upperBound<T>(items: readonly T[], seqOf: (item: T) => number, bound: number): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (seqOf(items[middle]!) <= bound) low = middle + 1;
    else high = middle;
  }
  return low;
}
