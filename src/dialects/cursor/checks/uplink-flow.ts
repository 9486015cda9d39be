/** Uplink order (protocols/cursor.md 5, S): what the first append carries, and how appends and downlinks lie in time. */
import { isExact, isKnown, millisBetween, type Nanos } from "../../../core/time.js";
import type { CursorModel } from "../finish.js";
import { count, plural, took } from "../format.js";
import type { UpItem } from "../model.js";
import type { CursorTurn } from "../turn.js";
import { isMangled, type Judgement } from "./rule.js";

const isTimed = (item: UpItem): boolean => isKnown(item.when) && isExact(item.when);

export function* startsRun(turn: CursorTurn): Generator<Judgement> {
  const first = turn.uplink.find((item) => item.seqno === 0);
  if (first === undefined || first.kind === "undecodable") {
    yield { why: "the append with seqno 0 is not readable in the capture" };
    return;
  }
  if (first.detail.type === "run" || first.detail.type === "prewarm") return;
  yield {
    says: [`seqno 0 carries ${first.kind}, run_request or prewarm_request is due`],
    places: [first.place],
    subject: "seqno 0",
    damaged: isMangled(first),
  };
}

export function* oneRun(turn: CursorTurn): Generator<Judgement> {
  if (turn.uplink.length === 0) {
    yield { why: "no client message of this request is in the capture" };
    return;
  }
  const runs = turn.uplink.filter(({ detail }) => detail.type === "run");
  const distinct = new Set(runs.map((item) => `${item.seqno} ${item.digest}`));
  if (distinct.size <= 1) return;
  yield {
    says: [`${plural(distinct.size, "run_request")} in one epoch`],
    places: runs.slice(0, 4).map((item) => item.place),
    subject: "run_request",
    damaged: runs.some(isMangled),
  };
}

export function* oneEncoding(turn: CursorTurn): Generator<Judgement> {
  const used = new Map<string, UpItem>();
  for (const item of turn.uplink)
    if (item.append !== null && !isMangled(item)) used.set(item.encoding, used.get(item.encoding) ?? item);
  if (used.size <= 1) return;
  yield {
    says: ["the appends use both data (hex) and data_binary"],
    places: [...used.values()].map((item) => item.place),
    subject: "encoding",
  };
}

export function* startsInOrder(turn: CursorTurn): Generator<Judgement> {
  const timed = turn.uplink.filter((item) => item.append !== null && item.seqno >= 0 && isTimed(item));
  if (timed.length < 2) yield { why: "fewer than two appends have times" };
  for (let i = 1; i < timed.length; i++) {
    const [before, item] = [timed[i - 1]!, timed[i]!];
    // A HAR's clock counts milliseconds: two appends of one of them have no order.
    if (item.when.latest + 1_000_000n >= before.when.earliest) continue;
    yield {
      says: [
        `append ${item.seqno} starts ${took(millisBetween(item.when.earliest, before.when.earliest))} before append ${before.seqno}`,
      ],
      places: [before.place, item.place],
      subject: `seqno ${item.seqno}`,
    };
    return;
  }
}

const inFlightLimit = 16;

export function* fewInFlight(turn: CursorTurn): Generator<Judgement> {
  const events: { readonly at: Nanos; readonly step: number; readonly item: UpItem }[] = [];
  for (const item of turn.uplink) {
    const answered = item.append?.answered ?? null;
    if (answered === null || !isTimed(item)) continue;
    events.push({ at: item.when.earliest, step: 1, item }, { at: answered, step: -1, item });
  }
  if (events.length === 0) yield { why: "no append has the times of its request and its response" };
  events.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : a.step - b.step));
  let open = 0;
  let most = 0;
  let at: UpItem | null = null;
  for (const event of events) {
    open += event.step;
    if (open > most) [most, at] = [open, event.item];
  }
  if (most <= inFlightLimit) return;
  yield {
    says: [`${count(most)} appends are in flight at once, at most ${inFlightLimit} are due`],
    places: [at!.place],
    subject: "in flight",
  };
}

export function* bothSides(turn: CursorTurn): Generator<Judgement> {
  if (turn.call?.uplink) {
    yield { why: "a Run request is both sides in one" };
    return;
  }
  if (turn.call === null)
    yield {
      says: ["appends of a request whose RunSSE or RunPoll is not in the capture"],
      places: [turn.place],
      subject: "downlink",
      damaged: turn.lost("down"),
    };
  else if (turn.uplink.length === 0)
    yield {
      says: [`a ${turn.call.channel} whose appends are not in the capture`],
      places: [turn.place],
      subject: "uplink",
      damaged: turn.lost("up"),
    };
}

export function* streamFirst(turn: CursorTurn): Generator<Judgement> {
  const first = turn.uplink.find((item) => item.append !== null && isTimed(item));
  if (turn.call === null || first === undefined || !isKnown(turn.call.opened)) {
    yield { why: "the stream or the first append, or its time, is not in the capture" };
    return;
  }
  const ms = millisBetween(first.when.latest, turn.call.opened.earliest);
  if (ms <= 0) return;
  yield {
    says: [`the first append starts ${took(ms)} before ${turn.call.channel}`],
    places: [first.place, turn.call.place],
    subject: "first append",
  };
}

/** One heartbeat may be under way when the stream ends. */
const lateMs = 5000;

export function* noneLate(turn: CursorTurn): Generator<Judgement> {
  const end = turn.call?.downlink.end ?? null;
  const ended = turn.call !== null && turn.call.downlink.ends.length > 0;
  if (end === null || !ended || !isKnown(end.when)) {
    yield { why: "the EndStream, or its time, is not in the capture" };
    return;
  }
  const late = turn.uplink.find(
    (item) => item.append !== null && isTimed(item) && millisBetween(end.when.latest, item.when.earliest) > lateMs,
  );
  if (late === undefined) return;
  yield {
    says: [
      `append ${late.seqno} (${late.kind}) starts ${took(millisBetween(end.when.latest, late.when.earliest))} after the stream ended`,
    ],
    places: [late.place],
    subject: `seqno ${late.seqno}`,
  };
}

export function* stopsAfterFailure(turn: CursorTurn): Generator<Judgement> {
  const failed = turn.uplink.find(
    (item) =>
      item.append !== null && item.append.status !== null && item.append.status !== 200 && item.append.status !== 0,
  );
  if (failed === undefined) {
    yield { why: "no append failed" };
    return;
  }
  const answered = failed.append!.answered;
  const later = turn.uplink.find(
    (item) =>
      item.seqno > failed.seqno && isTimed(item) && answered !== null && item.when.earliest > answered + 50_000_000n,
  );
  if (later !== undefined) {
    yield {
      says: [
        `append ${failed.seqno} failed with status ${failed.append!.status}, and append ${later.seqno} was sent after it`,
      ],
      places: [failed.place, later.place],
      subject: `seqno ${failed.seqno}`,
    };
  } else if (turn.outcome === "completed") {
    yield {
      says: [`append ${failed.seqno} failed with status ${failed.append!.status}, and the stream went on to its end`],
      places: [failed.place],
      subject: `seqno ${failed.seqno}`,
    };
  }
}

export function* epochsApart(turn: CursorTurn, model: CursorModel): Generator<Judgement> {
  if (turn.epochNumber === 0) {
    yield { why: "the request id has one epoch" };
    return;
  }
  const before = model.turns.find(
    (other) => other.requestId === turn.requestId && other.epochNumber === turn.epochNumber - 1,
  );
  if (before === undefined || !isKnown(before.end) || !isKnown(turn.start)) {
    yield { why: "the times of the two epochs are not known" };
    return;
  }
  const overlap = millisBetween(turn.start.earliest, before.end.latest);
  if (overlap <= 50 || turn.call === null || before.call === null) return;
  yield {
    says: [
      `a second stream of this request id starts ${took(overlap)} before the first has ended: a reconnect, no new epoch`,
    ],
    places: [before.place, turn.place],
    subject: `epoch ${turn.epochNumber}`,
    severity: "warning",
  };
}
