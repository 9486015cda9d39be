/** Uplink order (protocols/cursor.md 5, S): what append_seqno and the two data fields promise. */

import { count, plural } from "../format.js";
import type { UpItem } from "../model.js";
import type { CursorTurn } from "../turn.js";
import { type CursorRule, examples, isMangled, type Judgement, noAppends } from "./rule.js";

const family = "Uplink order";
const source = "protocols/cursor.md 5 S, 1.7";

/** The number, or what it was sent in order of, is not read but inferred. */
function isInferred(item: UpItem): boolean {
  return item.seqnoFrom >= 0 || item.seqno < 0;
}

function numbered(turn: CursorTurn): readonly UpItem[] {
  return turn.uplink.filter((item) => item.seqno >= 0);
}

function* startsAtZero(turn: CursorTurn): Generator<Judgement> {
  const first = numbered(turn)[0];
  if (first === undefined) {
    yield { why: "no append_seqno can be read" };
    return;
  }
  if (first.seqno === 0) return;
  if (turn.call === null) {
    yield {
      why: "neither the RunSSE nor the first append is in the capture: it may have begun in the middle of the run",
    };
    return;
  }
  yield {
    says: [`the smallest append_seqno is ${count(first.seqno)}`],
    places: [first.place],
    subject: "first seqno",
    damaged: turn.lost("up") || isInferred(first) || isMangled(first),
  };
}

function* contiguous(turn: CursorTurn): Generator<Judgement> {
  const items = numbered(turn);
  const holes: number[] = [];
  let missing = 0;
  let before = items[0];
  let around: UpItem | undefined;
  for (const item of items) {
    const gap = item.seqno - before!.seqno - 1;
    if (gap > 0) {
      around ??= item;
      missing += gap;
      for (let n = before!.seqno + 1; n < item.seqno && holes.length < 64; n++) holes.push(n);
    }
    before = item;
  }
  if (missing === 0 || around === undefined) return;
  yield {
    says: [
      `append_seqno ${examples(holes)} ${missing === 1 ? "is" : "are"} missing between ${items[0]!.seqno} and ${items.at(-1)!.seqno}`,
    ],
    places: [around.place],
    subject: `seqno ${holes[0]}`,
    damaged:
      turn.lost("up") ||
      endsInFlight(turn) ||
      items.some((item) => isInferred(item) || item.append?.misframed === true),
    detail: { missing: holes },
  };
}

/**
 * Appends travel side by side, at most 16 of them: where the packets stop or begin in the middle of a run, one in between may just not
 * have come by yet.
 */
function endsInFlight(turn: CursorTurn): boolean {
  if (turn.call === null) return turn.epoch.log.recorder === "packets";
  return turn.call.recorder === "packets" && turn.call.downlink.end?.reason === "capture-ended";
}

function* unique(turn: CursorTurn): Generator<Judgement> {
  const seen = new Map<number, UpItem>();
  for (const item of numbered(turn)) {
    const first = seen.get(item.seqno);
    if (first === undefined) {
      seen.set(item.seqno, item);
      continue;
    }
    const same = first.digest === item.digest;
    yield {
      says: [
        same
          ? `append_seqno ${item.seqno} was sent twice with the same ${plural(item.bytes, "byte")} (${item.kind})`
          : `append_seqno ${item.seqno} was sent twice with different content: ${first.kind} (${count(first.bytes)} B) and ${item.kind} (${count(item.bytes)} B)`,
      ],
      places: [first.place, item.place],
      subject: `seqno ${item.seqno}`,
      severity: same ? "warning" : "error",
      damaged: isInferred(item) || isInferred(first) || isMangled(item) || isMangled(first),
    };
  }
}

function* oneCarrier(turn: CursorTurn): Generator<Judgement> {
  for (const item of turn.uplink) {
    const carrier = item.append?.carrier;
    if (isMangled(item) || item.append?.outerFault != null || (carrier !== "none" && carrier !== "both")) continue;
    yield {
      says: [
        carrier === "both"
          ? `the append with seqno ${item.seqno} carries data and data_binary`
          : `the append with seqno ${item.seqno} carries neither data nor data_binary`,
      ],
      places: [item.place],
      subject: `seqno ${item.seqno}`,
    };
  }
}

function* hexText(turn: CursorTurn): Generator<Judgement> {
  for (const item of turn.uplink) {
    const fault = item.append?.hexFault;
    if (fault === null || fault === undefined || isMangled(item)) continue;
    const wrong = {
      odd: "has an odd number of digits",
      upper: "has upper-case digits",
      "not-hex": "holds other characters than hex digits",
    };
    yield {
      says: [`data of the append with seqno ${item.seqno} ${wrong[fault]}`],
      places: [item.place],
      subject: `seqno ${item.seqno}`,
      severity: fault === "upper" ? "warning" : "error",
    };
  }
}

const rule = (data: Omit<CursorRule, "family" | "class" | "implies" | "source"> & Partial<CursorRule>): CursorRule => ({
  family,
  class: "check",
  implies: [],
  source,
  ...data,
});

export const uplinkRules: readonly CursorRule[] = [
  rule({
    id: "cursor/S01",
    severity: "error",
    statement: "The smallest append_seqno of a request is 0, which means that its first append carries no field 3.",
    why: "A server that waits for number 0 never starts the run.",
    needs: "the appends of the request from its first one on",
    good: "0, 1, 2",
    bad: "1, 2, 3",
    remedy: "count from 0 for every request id and epoch; the reference client does",
    gate: noAppends,
    turn: startsAtZero,
  }),
  rule({
    id: "cursor/S02",
    severity: "error",
    statement: "append_seqno values are contiguous.",
    why: "A server that applies appends in order stops at a hole: every later answer is lost and the run hangs.",
    needs: "all appends of the request up to the last one seen",
    good: "0, 1, 2, 3",
    bad: "0, 1, 3",
    remedy: "the reference client never retries a failed append: it aborts the call, RunSSE included",
    gate: noAppends,
    turn: contiguous,
  }),
  rule({
    id: "cursor/S03",
    severity: "error",
    statement: "append_seqno values are unique; a repeat with the same bytes is only unusual.",
    why: "Two messages under one number leave it to chance which one the server applies.",
    needs: "the appends of the request",
    good: "0, 1, 2",
    bad: "0, 1, 1 with different content",
    remedy: "the reference client sends every number once and never retries",
    gate: noAppends,
    turn: unique,
  }),
  rule({
    id: "cursor/S06",
    severity: "error",
    statement: "Exactly one of data and data_binary is non-empty.",
    why: "Servers read one of the two; what stands in the other is lost without a word.",
    needs: "whole append bodies",
    good: 'data "3a00"',
    bad: 'data "3a00" and data_binary 3a00',
    remedy: "choose one encoding when the client is built; the SDK's default is hex",
    gate: noAppends,
    turn: oneCarrier,
  }),
  rule({
    id: "cursor/S07",
    severity: "error",
    statement: "data is lower-case hex of even length.",
    why: "Decoders stop at the first character they do not know and hand on half a message.",
    needs: "whole append bodies in hex form",
    good: "1a021a00",
    bad: "1a021a0",
    remedy: "two lower-case digits per byte; upper case is only a warning",
    gate: noAppends,
    turn: hexText,
  }),
];
