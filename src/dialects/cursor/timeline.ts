/**
 * Both directions of a turn as one sequence. With packets every message has its time. A HAR gives none per streamed message: each has an
 * interval, bounded by its exchange, by its order in the stream and by causality (design: an answer cannot start before what asked for
 * it, and what is sent only after an answer cannot precede it). Bounds are propagated once in each direction.
 */
import { isKnown, type Nanos, unknownWhen, type When } from "../../core/time.js";
import type { DownItem, UpItem } from "./model.js";
import type { Pairs } from "./pairs.js";

export type Entry =
  | { readonly direction: "down"; readonly item: DownItem; when: When; until: When }
  | { readonly direction: "up"; readonly item: UpItem; when: When; until: When };

interface Bound {
  /** Nanoseconds since the turn's first known time. */
  lo: number;
  hi: number;
  readonly known: boolean;
  /** Where it is drawn in the sequence: inside its bounds. */
  at: number;
  /** Entries of the other direction that come before it: their number. */
  after: number;
}

export interface TimelineInput {
  readonly down: readonly DownItem[];
  readonly up: readonly UpItem[];
  readonly pairs: Pairs;
  /** Every message has the time of its packets. */
  readonly exact: boolean;
  /** Of the turn: nothing of it is earlier. */
  readonly start: When;
}

export function timeline(input: TimelineInput): Entry[] {
  const base = firstTime(input);
  const up = input.exact ? byTime(input.up) : [...input.up];
  const downBounds = input.down.map((item) => bound(item.when, base));
  const upBounds = up.map((item) => bound(item.when, base));
  if (input.exact) return merge(input.down, up, downBounds, upBounds, base, false);
  const links = linksOf(input, up);
  distrust(downBounds, upBounds, links, isKnown(input.start) ? Number(input.start.earliest - base) : null);
  for (const [answer, ask] of links.asks) upBounds[answer]!.after = ask + 1;
  for (const [later, earlier] of links.needs) downBounds[later]!.after = earlier + 1;
  tighten(downBounds, upBounds, links);
  spread(downBounds);
  spread(upBounds);
  return merge(input.down, up, downBounds, upBounds, base, true);
}

function firstTime(input: TimelineInput): Nanos {
  let first: Nanos | undefined;
  for (const item of [...input.up.slice(0, 1), ...input.down.slice(0, 1)]) {
    if (isKnown(item.when) && (first === undefined || item.when.earliest < first)) first = item.when.earliest;
  }
  return first ?? 0n;
}

function byTime(items: readonly UpItem[]): UpItem[] {
  return [...items].sort((a, b) => {
    const [x, y] = [a.when.earliest, b.when.earliest];
    return x < y ? -1 : x > y ? 1 : a.order - b.order;
  });
}

function bound(when: When, base: Nanos): Bound {
  const known = isKnown(when);
  return {
    lo: known ? Number(when.earliest - base) : Number.NEGATIVE_INFINITY,
    hi: known ? Number(when.latest - base) : Number.POSITIVE_INFINITY,
    known,
    at: 0,
    after: 0,
  };
}

interface Links {
  /** Index of an answer in the uplink -> index of its ask in the downlink. */
  readonly asks: ReadonlyMap<number, number>;
  /** Index in the downlink -> index of the uplink message that it can only follow. */
  readonly needs: ReadonlyMap<number, number>;
}

function linksOf(input: TimelineInput, up: readonly UpItem[]): Links {
  const downIndex = new Map(input.down.map((item, i) => [item, i]));
  const upIndex = new Map(up.map((item, i) => [item, i]));
  const asks = new Map<number, number>();
  for (const [answer, ask] of input.pairs.askOf) asks.set(upIndex.get(answer)!, downIndex.get(ask)!);
  return { asks, needs: needsOf(input, up, upIndex) };
}

/** A tool call is completed after its execution reported; a model says nothing before it was asked. */
function needsOf(
  input: TimelineInput,
  up: readonly UpItem[],
  upIndex: ReadonlyMap<UpItem, number>,
): Map<number, number> {
  const needs = new Map<number, number>();
  const asked = up.findIndex((item) => item.detail.type === "run");
  const results = new Map<string, number>();
  for (const call of input.pairs.exec) {
    if (call.ask.callId === "") continue;
    for (const item of call.messages) {
      if (item.detail.type !== "exec") continue;
      const at = upIndex.get(item)!;
      results.set(call.ask.callId, Math.max(at, results.get(call.ask.callId) ?? -1));
    }
  }
  for (const [i, { detail, kind }] of input.down.entries()) {
    let need = asked >= 0 && detail.type !== "heartbeat" && kind !== "EndStream" ? asked : -1;
    if (detail.type === "tool" && detail.event === "completed") need = Math.max(need, results.get(detail.callId) ?? -1);
    if (need >= 0) needs.set(i, need);
  }
  return needs;
}

/**
 * Recorders differ in what they call waiting and what receiving: where an answer would precede its ask by them, only the exchange's own
 * start bounds its messages from below.
 */
function distrust(down: readonly Bound[], up: readonly Bound[], links: Links, start: number | null): void {
  let wrong = false;
  for (const [answer, ask] of links.asks) wrong ||= up[answer]!.known && down[ask]!.lo > up[answer]!.hi;
  if (!wrong || start === null) return;
  for (const bounds of down) if (bounds.known) bounds.lo = Math.min(bounds.lo, start);
}

function tighten(down: readonly Bound[], up: readonly Bound[], links: Links): void {
  for (let round = 0; round < 2; round++) {
    raise(down, (i) => links.needs.get(i), up);
    raise(up, (i) => links.asks.get(i), down);
  }
  for (const [answer, ask] of links.asks) down[ask]!.hi = Math.min(down[ask]!.hi, up[answer]!.hi);
  lower(down);
  for (const [later, earlier] of links.needs) up[earlier]!.hi = Math.min(up[earlier]!.hi, down[later]!.hi);
  lower(up);
  // Clocks and rounding may cross two bounds: the later one then holds.
  for (const bounds of [down, up]) for (const entry of bounds) if (entry.hi < entry.lo) entry.hi = entry.lo;
}

function raise(bounds: readonly Bound[], cause: (index: number) => number | undefined, others: readonly Bound[]): void {
  let before = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < bounds.length; i++) {
    const from = cause(i);
    const entry = bounds[i]!;
    entry.lo = Math.max(entry.lo, before, from === undefined ? Number.NEGATIVE_INFINITY : others[from]!.lo);
    before = entry.lo;
  }
}

function lower(bounds: readonly Bound[]): void {
  let after = Number.POSITIVE_INFINITY;
  for (let i = bounds.length - 1; i >= 0; i--) {
    const entry = bounds[i]!;
    entry.hi = Math.min(entry.hi, after);
    after = entry.hi;
  }
}

/** Entries that share both bounds are drawn evenly between them, so that what stands beside them reads in a likely order. */
function spread(bounds: readonly Bound[]): void {
  let at = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < bounds.length; ) {
    let end = i + 1;
    while (end < bounds.length && bounds[end]!.lo === bounds[i]!.lo && bounds[end]!.hi === bounds[i]!.hi) end++;
    const { lo, hi } = bounds[i]!;
    const from = Math.max(lo, at);
    const step = Number.isFinite(from) && Number.isFinite(hi) ? Math.max(0, hi - from) / (end - i) : 0;
    for (let k = i; k < end; k++) {
      // The last one at its latest: an ask just before its answer.
      at = Number.isFinite(from) ? from + step * (k - i + 1) : Math.max(at, hi);
      bounds[k]!.at = at;
    }
    i = end;
  }
}

function merge(
  down: readonly DownItem[],
  up: readonly UpItem[],
  downBounds: readonly Bound[],
  upBounds: readonly Bound[],
  base: Nanos,
  causal: boolean,
): Entry[] {
  const out: Entry[] = [];
  let d = 0;
  let u = 0;
  while (d < down.length || u < up.length) {
    if (takeUp(d, u, downBounds, upBounds, causal)) {
      const bounds = upBounds[u]!;
      const { when } = up[u]!;
      out.push({ direction: "up", item: up[u]!, ...(causal ? times(bounds, bounds, base) : { when, until: when }) });
      u++;
    } else {
      const item = down[d]!;
      const bounds = downBounds[d]!;
      const next = downBounds[d + 1] ?? bounds;
      const own = { when: item.when, until: item.until };
      out.push({
        direction: "down",
        item,
        ...(causal ? times(bounds, item.count > 1 ? next : bounds, base) : own),
      });
      d++;
    }
  }
  return out;
}

function takeUp(d: number, u: number, down: readonly Bound[], up: readonly Bound[], causal: boolean): boolean {
  const [x, y] = [down[d], up[u]];
  if (x === undefined) return true;
  if (y === undefined) return false;
  if (!causal) return y.lo < x.lo;
  const upWaits = y.after > d;
  const downWaits = x.after > u;
  if (upWaits !== downWaits) return downWaits;
  if (!x.known || !y.known) return true;
  return y.at < x.at;
}

/** `until` of a fold is bounded by what follows it. */
function times(bounds: Bound, next: Bound, base: Nanos): { when: When; until: When } {
  if (!bounds.known) return { when: unknownWhen, until: unknownWhen };
  const when = whenOf(bounds.lo, bounds.hi, base);
  return { when, until: next === bounds ? when : whenOf(bounds.lo, next.hi, base) };
}

function whenOf(lo: number, hi: number, base: Nanos): When {
  if (!Number.isFinite(lo) || !Number.isFinite(hi)) return unknownWhen;
  return { earliest: base + BigInt(Math.round(lo)), latest: base + BigInt(Math.round(hi)) };
}
