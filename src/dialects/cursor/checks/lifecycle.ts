/** Run life cycle (protocols/cursor.md 5, L): how a run ends, its heartbeats, its ids, and its neighbours in the conversation. */
import { isExact, isKnown, millisBetween } from "../../../core/time.js";
import type { CursorModel } from "../finish.js";
import { count, plural, took } from "../format.js";
import type { DownItem, UpItem } from "../model.js";
import type { CursorTurn } from "../turn.js";
import { neighboursOf } from "./neighbours.js";
import { examples, type Judgement, noAppends, noDownlink } from "./rule.js";

const turnEnds = (turn: CursorTurn): readonly DownItem[] =>
  turn.down.filter(({ detail }) => detail.type === "turn-ended");

function endPlaces(turn: CursorTurn) {
  return turn.call!.downlink.ends.slice(0, 1).map((end) => end.place);
}

export function* oneTurnEnded(turn: CursorTurn): Generator<Judgement> {
  const ends = turnEnds(turn);
  if (ends.length === 1) return;
  yield {
    says: [
      `the stream ended successfully with ${ends.length === 0 ? "no turn_ended" : `${count(ends.length)} turn_ended`}`,
    ],
    places: [...ends.map((item) => item.place), ...endPlaces(turn)],
    subject: "turn_ended",
  };
}

export function* orderAtEnd(turn: CursorTurn): Generator<Judgement> {
  const ended = turnEnds(turn)[0];
  if (ended === undefined) {
    yield { why: "there is no turn_ended" };
    return;
  }
  if (turn.checkpoints.some((checkpoint) => checkpoint.ordinal > ended.first)) return;
  const before = turn.checkpoints.length;
  yield {
    says: [`no checkpoint follows turn_ended${before === 0 ? "" : ` (${plural(before, "checkpoint")} before it)`}`],
    places: [ended.place, ...endPlaces(turn)],
    subject: "turn_ended",
  };
}

export function* noEndAfterError(turn: CursorTurn): Generator<Judgement> {
  const why = noDownlink(turn);
  const error = turn.call?.downlink.ends.find(({ end }) => end.error !== null);
  if (why !== undefined || error === undefined) {
    yield { why: why ?? "the stream did not end with an error" };
    return;
  }
  const ended = turnEnds(turn)[0];
  if (ended === undefined) return;
  yield {
    says: [`turn_ended came, and then the stream ended with the error ${error.end.error!.code}`],
    places: [ended.place, error.place],
    subject: "turn_ended",
  };
}

const allowedAtEnd =
  /^(conversation_checkpoint_update|interaction_update\.heartbeat|kv_server_message\.|EndStream|ttft_breakdown)/;

export function* quietAfterEnd(turn: CursorTurn): Generator<Judgement> {
  const ended = turnEnds(turn)[0];
  if (ended === undefined) {
    yield { why: noDownlink(turn) ?? "there is no turn_ended" };
    return;
  }
  const late = turn.down.filter(
    (item) => item.first > ended.last && !allowedAtEnd.test(item.kind) && item.detail.type !== "turn-ended",
  );
  if (late.length === 0) return;
  yield {
    says: [`after turn_ended came ${examples([...new Set(late.map((item) => item.kind))])}`],
    places: [ended.place, ...late.slice(0, 3).map((item) => item.place)],
    subject: "after turn_ended",
  };
}

export function* notDropped(turn: CursorTurn): Generator<Judgement> {
  if (turnEnds(turn).length > 0) return;
  yield {
    says: ["the stream ended cleanly without turn_ended: the client treats it as a lost connection"],
    places: endPlaces(turn),
    subject: "turn_ended",
  };
}

/** Bounds of the client's fixed 5 s timer as seen from outside. */
const beat = { periodMs: 5000, minMs: 4500, maxMs: 7000 };

export function* heartbeats(turn: CursorTurn): Generator<Judgement> {
  const why =
    turn.call === null
      ? "the downlink of this request is not in the capture"
      : turn.lost("up")
        ? "part of the uplink is lost"
        : undefined;
  if (why !== undefined) {
    yield { why };
    return;
  }
  const beats = turn.uplink.filter(({ detail, when }) => detail.type === "heartbeat" && isKnown(when) && isExact(when));
  for (let i = 1; i < beats.length; i++) {
    const gap = millisBetween(beats[i - 1]!.when.earliest, beats[i]!.when.earliest);
    if (gap >= beat.minMs && gap <= beat.maxMs) continue;
    yield {
      says: [`${took(gap)} between two client heartbeats, about 5 s are due`],
      places: [beats[i - 1]!.place, beats[i]!.place],
      subject: `heartbeat ${i}`,
    };
    return;
  }
  yield* beatCount(turn);
}

function* beatCount(turn: CursorTurn): Generator<Judgement> {
  const ended = turn.call!.downlink.end;
  if (turn.durationMs === null || ended === null || ended.reason === "capture-ended") {
    yield { why: "how long the run took is not known" };
    return;
  }
  const sent = turn.uplink.filter(({ detail }) => detail.type === "heartbeat").length;
  const due = Math.floor(turn.durationMs / beat.periodMs);
  if (Math.abs(sent - due) <= 1) return;
  yield {
    says: [`${plural(sent, "client heartbeat")} in ${took(turn.durationMs)}: ${count(due)} are due`],
    places: [turn.place],
    subject: "heartbeats",
  };
}

const silenceLimitMs = 30_000;

export function* noSilence(turn: CursorTurn): Generator<Judgement> {
  const why = noDownlink(turn) ?? (turn.call?.recorder === "har" ? "a HAR has no time per frame" : undefined);
  if (why !== undefined) {
    yield { why };
    return;
  }
  const { maxMs, place } = turn.call!.downlink.silence;
  if (maxMs === null || maxMs <= silenceLimitMs) return;
  yield {
    says: [`the server is silent for ${took(maxMs)}: the client gives up after 30 s`],
    places: place === null ? [turn.place] : [place],
    subject: "silence",
    damaged: turn.lost("down"),
  };
}

export function* runIdFits(turn: CursorTurn, model: CursorModel): Generator<Judgement> {
  const why = turn.run?.type === "run" ? undefined : (noAppends(turn) ?? "there is no run_request");
  if (why !== undefined) {
    yield { why };
    return;
  }
  const { runId, requestId } = turn;
  const place = runPlace(turn);
  if (turn.run!.runId === null || turn.run!.runId === "")
    yield { says: ["the run_request has no run_id"], places: place, subject: "run_id" };
  else if (runId !== requestId && requestId !== null) {
    const original = neighboursOf(model).byRequest.get(runId ?? "");
    const first = original !== undefined && original !== turn && original.conversationId === turn.conversationId;
    if (first) return;
    // A retry names an attempt that may lie before the capture.
    if (turn.action === "resume_action" || turn.clientFacts?.originalRequestId === runId)
      yield { why: "the first attempt of this run is not in the capture" };
    else
      yield {
        says: ["run_id is neither the request id nor that of an earlier attempt in the conversation"],
        places: place,
        subject: "run_id",
      };
  }
}

function runPlace(turn: CursorTurn) {
  return turn.uplink
    .filter(({ detail }) => detail.type === "run")
    .slice(0, 1)
    .map((item) => item.place);
}

export function* originalIdFits(turn: CursorTurn): Generator<Judgement> {
  const original = turn.clientFacts?.originalRequestId ?? null;
  const runId = turn.run?.runId ?? null;
  if (original === null || runId === null) {
    yield { why: original === null ? "no x-original-request-id was sent" : "there is no run_id" };
    return;
  }
  if (original !== runId)
    yield {
      says: ["x-original-request-id is not the run_id of the run_request"],
      places: [turn.place, ...runPlace(turn)],
      subject: "x-original-request-id",
    };
}

export function* oneConversation(model: CursorModel): Generator<Judgement> {
  const first = new Map<string, CursorTurn>();
  let seen = 0;
  for (const turn of model.turns) {
    const id = turn.run?.conversationId ?? null;
    if (turn.requestId === null || id === null) continue;
    seen++;
    const before = first.get(turn.requestId);
    if (before === undefined) first.set(turn.requestId, turn);
    else if (before.run?.conversationId !== id) {
      yield {
        says: ["one request id is used for two conversations"],
        places: [before.place, turn.place],
        subject: `turn ${turn.index}`,
      };
    }
  }
  if (seen === 0) yield { why: "no run_request names a conversation" };
}

/** Clocks of two connections and rounded HAR durations. */
const overlapToleranceMs = 50;

function overlapMs(older: CursorTurn, newer: CursorTurn): number {
  if (!isKnown(older.end) || !isKnown(newer.start)) return 0;
  return millisBetween(newer.start.earliest, older.end.latest);
}

export function* noOverlap(turn: CursorTurn, model: CursorModel): Generator<Judgement> {
  const before = previousOf(turn, model);
  if (before === null || !isKnown(turn.start) || !isKnown(before.end)) {
    yield {
      why: before === null ? "it is the first turn of its conversation" : "the times of the two turns are not known",
    };
    return;
  }
  const overlap = overlapMs(before, turn);
  if (overlap <= overlapToleranceMs || before.outcome === "canceled") return;
  if (before.outcome === "unknown") {
    yield { why: "how the turn before it ended is not in the capture" };
    return;
  }
  yield {
    says: [`the turn starts ${took(overlap)} before the one in front of it has ended (${before.outcome})`],
    places: [before.place, turn.place],
    subject: "overlap",
  };
}

function previousOf(turn: CursorTurn, model: CursorModel): CursorTurn | null {
  return neighboursOf(model).before.get(turn) ?? null;
}

export function* retryCarries(turn: CursorTurn, model: CursorModel): Generator<Judgement> {
  const failed = turn.retryOf === null ? undefined : neighboursOf(model).byRequest.get(turn.retryOf);
  if (failed === undefined || turn.run === null) {
    yield { why: turn.retryOf === null ? "it is no retry" : "the failed attempt is not in the capture" };
    return;
  }
  const overlap = overlapMs(failed, turn);
  if (overlap > overlapToleranceMs)
    yield {
      says: [`the retry starts ${took(overlap)} before the failed attempt has ended`],
      places: [failed.place, turn.place],
      subject: "overlap",
    };
  if (failed.lost("down") || failed.run === null) {
    yield { why: "the failed attempt is not whole" };
    return;
  }
  const wanted = failed.checkpoints.length > 0 ? "resume_action" : failed.action;
  if (turn.action === wanted) return;
  yield {
    says: [
      `the retry carries ${turn.action ?? "no action"}: ${failed.checkpoints.length > 0 ? "the failed attempt delivered a checkpoint, so resume_action" : (wanted ?? "the same")} is due`,
    ],
    places: [failed.place, ...runPlace(turn)],
    subject: "action",
  };
}

export function* subagentLinks(turn: CursorTurn, model: CursorModel): Generator<Judgement> {
  const parent = turn.parentRequestId === null ? undefined : neighboursOf(model).byRequest.get(turn.parentRequestId);
  if (parent === undefined || turn.conversationId === null) {
    yield { why: turn.parentRequestId === null ? "it is no subagent's run" : "the parent's run is not in the capture" };
    return;
  }
  if (turn.conversationId !== parent.conversationId) return;
  yield {
    says: ["a subagent's run has its parent's conversation id"],
    places: [parent.place, turn.place],
    subject: "conversation_id",
  };
}

const cancelLimitMs = 6000;

export function* cancelEnds(turn: CursorTurn): Generator<Judgement> {
  const cancel = turn.uplink.find(({ detail }) => detail.type === "action" && detail.branch === "cancel_action");
  const end = turn.call?.downlink.end ?? null;
  if (cancel === undefined || end === null || !isKnown(cancel.when) || !isKnown(end.when) || !isExact(end.when)) {
    yield {
      why: cancel === undefined ? "nobody cancels" : "the end of the stream, or its time, is not in the capture",
    };
    return;
  }
  if (end.reason === "capture-ended") {
    yield { why: "the capture stops before the stream ends" };
    return;
  }
  const ms = millisBetween(cancel.when.earliest, end.when.latest);
  if (ms <= cancelLimitMs) return;
  yield {
    says: [`the stream ends ${took(ms)} after cancel_action: the client waits 6 s`],
    places: [cancel.place, ...endPlaces(turn)],
    subject: "cancel_action",
  };
}

export function* usageAddsUp(turn: CursorTurn): Generator<Judgement> {
  const ended = turnEnds(turn)[0];
  if (ended === undefined || ended.detail.type !== "turn-ended") {
    yield { why: noDownlink(turn) ?? "there is no turn_ended" };
    return;
  }
  const { usage, reasoningTokens } = ended.detail;
  const values = [
    usage.inputTokens,
    usage.outputTokens,
    usage.cacheReadTokens,
    usage.cacheWriteTokens,
    reasoningTokens,
  ];
  const faults = [
    values.some((value) => value !== null && value < 0) ? "a count is negative" : "",
    (usage.cacheReadTokens ?? 0) > (usage.inputTokens ?? Number.POSITIVE_INFINITY)
      ? `${count(usage.cacheReadTokens!)} cache reads of ${count(usage.inputTokens!)} input tokens`
      : "",
    (reasoningTokens ?? 0) > (usage.outputTokens ?? Number.POSITIVE_INFINITY)
      ? `${count(reasoningTokens!)} reasoning tokens of ${count(usage.outputTokens!)} output tokens`
      : "",
  ].filter((fault) => fault !== "");
  if (faults.length > 0) yield { says: [`turn_ended: ${faults.join("; ")}`], places: [ended.place], subject: "usage" };
}

export function* onlyHeartbeatsBefore(turn: CursorTurn): Generator<Judgement> {
  const run = turn.uplink.find(({ detail }) => detail.type === "run");
  const why =
    noDownlink(turn) ??
    (run === undefined
      ? "there is no run_request"
      : turn.hasExactTimes
        ? undefined
        : "times of the frames are not exact");
  if (why !== undefined) {
    yield { why };
    return;
  }
  const early = turn.down.filter((item) => item.when.earliest < sentAt(run!) && item.detail.type !== "heartbeat");
  if (early.length === 0) return;
  yield {
    says: [`${examples([...new Set(early.map((item) => item.kind))])} came before the run_request was sent`],
    places: [...early.slice(0, 2).map((item) => item.place), run!.place],
    subject: "run_request",
  };
}

const sentAt = (item: UpItem): bigint => item.when.earliest;
