/**
 * One request id -> its turns. A request id may own several consecutive (RunSSE, seqno) sequences (protocols/cursor.md 1.7 item 13):
 * an append belongs to the latest RunSSE that started no later than a few milliseconds after it. What several inputs hold counts once.
 */
import type { Note } from "../../core/diagnostic.js";
import { by } from "../../core/order.js";
import { isKnown, maxNanos, minNanos, type Nanos, type When } from "../../core/time.js";
import type { UpItem } from "./model.js";
import type { DownCall, LostAppend, RequestLog } from "./request-log.js";

export interface Epoch {
  readonly log: RequestLog;
  readonly epoch: number;
  /** null: nothing of the downlink is in the capture. */
  readonly call: DownCall | null;
  /** By seqno; damaged numbers resolved where their order tells them. */
  readonly uplink: readonly UpItem[];
  readonly lost: readonly LostAppend[];
}

/** A RunSSE may reach the wire a little after the first append of its run. */
const tolerance: Nanos = 5_000_000n;

export function epochsOf(log: RequestLog, note: Note): Epoch[] {
  const calls = distinctCalls(log, note);
  const runs = calls.filter((call) => call.uplink !== null);
  const split = calls.filter((call) => call.uplink === null);
  const groups = splitGroups(split, distinctAppends(log, note), log);
  const drafts: Omit<Epoch, "epoch">[] = [
    ...runs.map((call) => ({ log, call, uplink: call.uplink!.items, lost: [] })),
    ...groups.map((group) => ({ log, ...group, uplink: bySeqno(group.appends, log, note) })),
  ];
  drafts.sort(
    by(
      (draft) => known(startOf(draft)),
      (draft) => draft.call?.order ?? draft.uplink[0]?.order ?? draft.lost[0]?.order,
    ),
  );
  return drafts.map((draft, epoch) => new Found(log, epoch, draft.call, orderOf(draft, log), draft.lost));
}

/** Knows its appends by their numbers in the log, which may be packed away. */
class Found implements Epoch {
  constructor(
    readonly log: RequestLog,
    readonly epoch: number,
    readonly call: DownCall | null,
    /** null: all of the log, as they came. */
    private readonly order: readonly number[] | null,
    readonly lost: readonly LostAppend[],
  ) {}

  get uplink(): readonly UpItem[] {
    const { log, call, order } = this;
    if (call?.uplink) return call.uplink.items;
    if (order === null) return log.appends;
    return log.box.derive(this, () => order.map((n) => log.appends[n]!));
  }
}

function orderOf(draft: Omit<Epoch, "epoch">, log: RequestLog): readonly number[] | null {
  const { appends } = log;
  const { uplink } = draft;
  if (draft.call?.uplink || (uplink.length === appends.length && uplink.every((item, i) => item === appends[i])))
    return null;
  const numbers = new Map(appends.map((item, n) => [item, n]));
  return uplink.map((item) => numbers.get(item)!);
}

export function startOf(epoch: Pick<Epoch, "call" | "uplink" | "lost">): When | undefined {
  if (epoch.call !== null) return epoch.call.opened;
  return earliest([...epoch.uplink, ...epoch.lost].map((item) => item.when));
}

function earliest(times: readonly When[]): When | undefined {
  let best: When | undefined;
  for (const when of times) {
    if (!isKnown(when)) continue;
    if (best === undefined || when.earliest < best.earliest) best = when;
  }
  return best ?? times[0];
}

function known(when: When | undefined): Nanos | null {
  return when !== undefined && isKnown(when) ? when.earliest : null;
}

/** The same stream seen through two inputs: the one that holds more of it stays. */
function distinctCalls(log: RequestLog, note: Note): DownCall[] {
  const calls = [...log.calls].sort(
    by(
      (call) => known(call.opened),
      (call) => call.order,
    ),
  );
  const kept: DownCall[] = [];
  for (const call of calls) {
    const at = kept.findIndex((other) => other.input !== call.input && isSameStream(other, call));
    if (at < 0) {
      kept.push(call);
      continue;
    }
    note({ code: "cursor.seen-twice", place: call.place, detail: { what: call.channel, request: log.id ?? "" } });
    if (holdsMore(call, kept[at]!)) kept[at] = call;
  }
  return kept;
}

function isSameStream(a: DownCall, b: DownCall): boolean {
  if (a.channel !== b.channel) return false;
  if (a.downlink.mark === b.downlink.mark) return true;
  return overlap(a, b);
}

/** Two recordings of one stream, one of them damaged or cut: most of the shorter lies inside the longer. */
function overlap(a: DownCall, b: DownCall): boolean {
  const [from, to] = [span(a), span(b)];
  if (from === null || to === null) return false;
  const shared = Number(minNanos(from.end, to.end) - maxNanos(from.start, to.start));
  const shorter = Math.min(Number(from.end - from.start), Number(to.end - to.start));
  return shared > 0 && shared * 2 > shorter;
}

function span(call: DownCall): { start: Nanos; end: Nanos } | null {
  const start = known(call.opened);
  const end = call.downlink.end === null ? null : known(call.downlink.end.when);
  if (start === null) return null;
  const last = call.downlink.end !== null && end !== null ? call.downlink.end.when.latest : start;
  return { start, end: maxNanos(last, start) };
}

function holdsMore(a: DownCall, b: DownCall): boolean {
  const [x, y] = [a.downlink, b.downlink];
  if (x.frames.total !== y.frames.total) return x.frames.total > y.frames.total;
  if (x.gaps.length !== y.gaps.length) return x.gaps.length < y.gaps.length;
  // Packets know every frame's time.
  return a.recorder === "packets" && b.recorder !== "packets";
}

/** Copies of one append: how many each input holds, and those that stay, in order. */
interface Copies {
  readonly byInput: Map<number, number>;
  /** Indices in the list of kept appends. */
  readonly kept: number[];
}

/** The same append from two inputs counts once; two from one input stay, for the rules to judge. */
function distinctAppends(log: RequestLog, note: Note): readonly UpItem[] {
  if (isOfOneInput(log.appends)) return log.appends;
  const seen = new Map<string, Copies>();
  const kept: UpItem[] = [];
  for (const item of log.appends) {
    const key = `${item.seqno} ${item.digest}`;
    let copies = seen.get(key);
    if (copies === undefined) {
      copies = { byInput: new Map(), kept: [] };
      seen.set(key, copies);
    }
    const input = inputOf(item);
    const nth = copies.byInput.get(input) ?? 0;
    copies.byInput.set(input, nth + 1);
    const twin = copies.kept[nth];
    if (twin === undefined) {
      copies.kept.push(kept.push(item) - 1);
      continue;
    }
    const detail = { what: `append ${item.seqno}`, request: log.id ?? "" };
    note({ code: "cursor.seen-twice", place: item.place, detail });
    if (kept[twin]!.evidence === "salvaged" && item.evidence !== "salvaged") kept[twin] = item;
  }
  return kept;
}

function isOfOneInput(appends: readonly UpItem[]): boolean {
  const input = inputOf(appends[0]);
  for (const item of appends) if (inputOf(item) !== input) return false;
  return true;
}

const inputOf = (item: UpItem | undefined): number => item?.append?.input ?? 0;

interface Group {
  readonly call: DownCall | null;
  readonly appends: UpItem[];
  readonly lost: LostAppend[];
}

function splitGroups(calls: readonly DownCall[], appends: readonly UpItem[], log: RequestLog): Group[] {
  const groups: Group[] = calls.map((call) => ({ call, appends: [], lost: [] }));
  if (groups.length === 0 && (appends.length > 0 || log.lost.length > 0))
    groups.push({ call: null, appends: [], lost: [] });
  if (groups.length === 0) return [];
  const ordered = [...appends].sort(
    by(
      (item) => known(item.when),
      (item) => item.order,
    ),
  );
  const groupOf = grouping(boundaries(calls, ordered), ordered);
  for (const item of ordered) groups[groupOf(item)]!.appends.push(item);
  for (const lost of log.lost) groups[groupOf(lost)]!.lost.push(lost);
  return groups.flatMap(withoutCall);
}

/** From when on the appends belong to the n-th downlink; the first takes whatever comes before, too. */
function boundaries(calls: readonly DownCall[], appends: readonly UpItem[]): (Nanos | null)[] {
  const firsts = appends.filter((item) => item.seqno === 0);
  return calls.map((call, i) => {
    const start = known(call.opened);
    if (start === null) return null;
    // Where every downlink has its own first append, that one begins the epoch even if it was sent well before.
    const first = firsts.length === calls.length ? known(firsts[i]!.when) : null;
    const begin = start - tolerance;
    return first !== null && first < begin ? first : begin;
  });
}

/** Number of the downlink that an append belongs to. */
function grouping(starts: readonly (Nanos | null)[], all: readonly UpItem[]): (item: UpItem | LostAppend) => number {
  if (starts.length <= 1) return () => 0;
  const repeats = repeatsOf(all);
  const byRepeat = (item: UpItem | LostAppend) =>
    "seqno" in item ? Math.min(repeats.get(item)!, starts.length - 1) : 0;
  const times = starts.filter((start) => start !== null);
  if (times.length < starts.length) return byRepeat;
  return (item) => {
    const at = known(item.when);
    return at === null ? byRepeat(item) : lastNotAfter(times, at);
  };
}

/** Index of the last start that is not after `at`; the first downlink takes what comes before all. */
function lastNotAfter(starts: readonly Nanos[], at: Nanos): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle]! <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Without times: the n-th append of one seqno belongs to the n-th downlink. */
function repeatsOf(all: readonly UpItem[]): ReadonlyMap<UpItem, number> {
  const counts = new Map<number, number>();
  const out = new Map<UpItem, number>();
  for (const item of all) {
    const before = counts.get(item.seqno) ?? 0;
    out.set(item, before);
    counts.set(item.seqno, before + 1);
  }
  return out;
}

/** A run whose RunSSE the capture leaves out: its sequence starts again, with a run request, after the one before went on. */
function withoutCall(group: Group): Group[] {
  const out: Group[] = [{ call: group.call, appends: [], lost: group.lost }];
  let highest = -1;
  const firsts = new Set<string>();
  for (const item of group.appends) {
    const restart =
      item.seqno === 0 && item.detail.type === "run" && highest > 0 && firsts.size > 0 && !firsts.has(item.digest);
    if (restart) {
      out.push({ call: null, appends: [], lost: [] });
      highest = -1;
      firsts.clear();
    }
    if (item.seqno === 0) firsts.add(item.digest);
    highest = Math.max(highest, item.seqno);
    out.at(-1)!.appends.push(item);
  }
  return out;
}

/** By seqno, then by order of sending; a number that is damaged takes the place its order leaves free. */
function bySeqno(appends: readonly UpItem[], log: RequestLog, note: Note): UpItem[] {
  const damaged = appends.filter((item) => item.seqno < 0);
  if (damaged.length > 0) infer(appends, damaged, log, note);
  return [...appends].sort(
    by(
      (item) => (item.seqno < 0 ? null : item.seqno),
      (item) => known(item.when),
      (item) => item.order,
    ),
  );
}

/** Appends are sent in order of their numbers (S09): each damaged one takes the first free number of its range in that order. */
function infer(appends: readonly UpItem[], damaged: readonly UpItem[], log: RequestLog, note: Note): void {
  const taken = new Set(appends.map((item) => item.seqno));
  const found: number[] = [];
  const ranged = damaged.filter((item) => item.seqnoFrom >= 0);
  for (const item of ranged) {
    let seqno = item.seqnoFrom;
    while (taken.has(seqno) && seqno < item.seqnoFrom + 128) seqno++;
    if (seqno >= item.seqnoFrom + 128) continue;
    taken.add(seqno);
    item.seqno = seqno;
    log.box.keep();
    found.push(seqno);
  }
  const request = log.id ?? "";
  if (found.length > 0) {
    const seqnos = found.length === 1 ? `${found[0]}` : `${found[0]} to ${found.at(-1)}`;
    note({ code: "cursor.seqno-inferred", place: ranged[0]!.place, detail: { count: found.length, request, seqnos } });
  }
  const left = damaged.filter((item) => item.seqno < 0);
  if (left.length > 0)
    note({ code: "cursor.seqno-unknown", place: left[0]!.place, detail: { count: left.length, request } });
}
