/** Uplink order (protocols/cursor.md 5, S): what the first append carries, and how appends and downlinks lie in time. */
import { isExact, isKnown, millisBetween, type Nanos } from "../../../core/time.js";
import type { CursorModel } from "../finish.js";
import { count, plural, took } from "../format.js";
import type { UpItem } from "../model.js";
import type { CursorTurn } from "../turn.js";
import { type CursorRule, isMangled, type Judgement, noAppends } from "./rule.js";

const family = "Uplink order";
const source = "protocols/cursor.md 5 S, 1.7";

function* withAppends(turn: CursorTurn, judge: (turn: CursorTurn) => Iterable<Judgement>): Generator<Judgement> {
  const why = noAppends(turn);
  if (why !== undefined) yield { why };
  else yield* judge(turn);
}

const isTimed = (item: UpItem): boolean => isKnown(item.when) && isExact(item.when);

function* startsRun(turn: CursorTurn): Generator<Judgement> {
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

function* oneRun(turn: CursorTurn): Generator<Judgement> {
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

function* oneEncoding(turn: CursorTurn): Generator<Judgement> {
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

function* startsInOrder(turn: CursorTurn): Generator<Judgement> {
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

function* fewInFlight(turn: CursorTurn): Generator<Judgement> {
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

function* bothSides(turn: CursorTurn): Generator<Judgement> {
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

function* streamFirst(turn: CursorTurn): Generator<Judgement> {
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

function* noneLate(turn: CursorTurn): Generator<Judgement> {
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

function* stopsAfterFailure(turn: CursorTurn): Generator<Judgement> {
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

function* epochsApart(turn: CursorTurn, model: CursorModel): Generator<Judgement> {
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

const rule = (data: Omit<CursorRule, "family" | "class" | "implies" | "source"> & Partial<CursorRule>): CursorRule => ({
  family,
  class: "check",
  implies: [],
  source,
  ...data,
});

export const uplinkFlowRules: readonly CursorRule[] = [
  rule({
    id: "cursor/S04",
    severity: "error",
    statement: "seqno 0 carries run_request or prewarm_request.",
    why: "Nothing before it says which conversation is meant.",
    needs: "the append with seqno 0",
    good: "0 run_request, 1 client_heartbeat",
    bad: "0 client_heartbeat, 1 run_request",
    remedy: null,
    turn: (turn) => withAppends(turn, startsRun),
  }),
  rule({
    id: "cursor/S05",
    severity: "error",
    statement: "An epoch has one run_request.",
    why: "A second one starts another run on a stream that already answers the first.",
    needs: "the uplink",
    good: "one run_request",
    bad: "two run_requests under one RunSSE",
    remedy: "steer a running turn with conversation_action, start a new run with a new stream",
    turn: oneRun,
  }),
  rule({
    id: "cursor/S08",
    severity: "warning",
    statement: "All appends of a request use the same encoding, data or data_binary.",
    why: "The client decides once per build.",
    needs: "two appends",
    good: "hex in all",
    bad: "hex, then binary",
    remedy: null,
    turn: (turn) => withAppends(turn, oneEncoding),
  }),
  rule({
    id: "cursor/S09",
    severity: "info",
    statement: "Appends start in the order of their seqno; they may finish in another.",
    why: "Order by seqno, never by time or by place in the file.",
    needs: "times of two appends",
    good: "0, 1, 2 started 10 ms apart",
    bad: "2 started before 1",
    remedy: null,
    turn: (turn) => withAppends(turn, startsInOrder),
  }),
  rule({
    id: "cursor/S10",
    severity: "warning",
    statement: "At most 16 appends are in flight at once.",
    why: "The reference client queues the rest; a server may count on it.",
    needs: "times of requests and responses",
    good: "16",
    bad: "40",
    remedy: null,
    turn: (turn) => withAppends(turn, fewInFlight),
  }),
  rule({
    id: "cursor/S11",
    severity: "warning",
    statement: "Every append's request id has a RunSSE or RunPoll in the capture, and the reverse.",
    why: "Half a talk cannot be checked: pairing, closure and outcome are unknown.",
    needs: "a split-mode request",
    good: "RunSSE and its appends",
    bad: "appends only",
    remedy: "record from before the run to after its end, and keep unfinished responses",
    turn: bothSides,
  }),
  rule({
    id: "cursor/S12",
    severity: "info",
    statement: "RunSSE starts no later than the first append.",
    why: "The client opens the stream first; on separate connections the append may still arrive first.",
    needs: "times of both",
    good: "RunSSE, 1 ms later the first append",
    bad: "the first append 80 ms before RunSSE",
    remedy: null,
    turn: (turn) => withAppends(turn, streamFirst),
  }),
  rule({
    id: "cursor/S13",
    severity: "warning",
    statement: "No append starts later than one heartbeat period after EndStream.",
    why: "The client's timer stops when the stream ends.",
    needs: "the time of the stream's end",
    good: "EndStream, nothing more",
    bad: "EndStream, a heartbeat 20 s later",
    remedy: "stop the heartbeat timer with the stream",
    turn: (turn) => withAppends(turn, noneLate),
  }),
  rule({
    id: "cursor/S14",
    severity: "warning",
    statement: "After an append that failed no later one starts, and the stream is aborted.",
    why: "The message is lost; the client gives the whole call up.",
    needs: "an append with another status than 200",
    good: "append 7 fails, the stream is reset",
    bad: "append 7 fails, append 8 follows",
    remedy: null,
    turn: (turn) => withAppends(turn, stopsAfterFailure),
  }),
  rule({
    id: "cursor/S15",
    class: "check",
    severity: "info",
    statement:
      "A second RunSSE of a request id with a sequence from 0 is a new epoch and legal; one that overlaps the first is a reconnect.",
    why: "A queued message reuses the request id: without epochs its appends look like duplicates.",
    needs: "a request id with two streams",
    good: "stream 1 ends, stream 2 starts, seqno from 0",
    bad: "stream 2 starts while stream 1 is open",
    remedy: null,
    turn: epochsApart,
  }),
];
