/** Exec (protocols/cursor.md 5, E): every execution is asked for, answered by its partner branch, and closed. */
import { privately } from "../../../core/printable.js";
import { isKnown, millisBetween, type When } from "../../../core/time.js";
import { count, took } from "../format.js";
import type { UpItem } from "../model.js";
import { type ExecCall, exactMillis, execAnswer } from "../pairs.js";
import type { CursorTurn } from "../turn.js";
import { examples, isMangled, type Judgement, noDownlink } from "./rule.js";

const name = (call: ExecCall): string => `exec ${call.id}`;

/** Branch that answers a request branch. Numbers differ for eight of them: pair by name (2.12). */
export function partnerOf(kind: string): string {
  if (kind === "shell_stream_args") return "shell_stream";
  if (kind === "git_diff_request") return "git_diff_response";
  return kind.replace(/_args$/, "_result");
}

export function* requested(turn: CursorTurn): Generator<Judgement> {
  const why = noDownlink(turn);
  if (why !== undefined) {
    yield { why };
    return;
  }
  const stray = turn.pairs.stray.filter(({ detail }) => detail.type === "exec" || detail.type === "control");
  if (stray.length === 0 && turn.pairs.exec.length === 0) yield { why: "this turn executes nothing" };
  const seen = new Set<number>();
  for (const item of stray) {
    const id = "id" in item.detail ? item.detail.id : -1;
    if (seen.has(id)) continue;
    seen.add(id);
    yield {
      says: [`exec ${id} is answered (${item.kind}) and was never asked for`],
      places: [item.place],
      subject: `exec ${id}`,
      damaged: turn.lost("down") || isMangled(item),
    };
  }
}

export function* partners(_turn: CursorTurn, calls: readonly ExecCall[]): Generator<Judgement> {
  for (const call of calls) {
    if (call.kind === "" || call.item.faulty) continue;
    const expected = partnerOf(call.kind);
    const wrong = call.messages.find(
      ({ detail }) => detail.type === "exec" && detail.branch !== "" && detail.branch !== expected,
    );
    if (wrong === undefined || wrong.detail.type !== "exec") continue;
    yield {
      says: [`exec ${call.id} asks ${call.kind} and is answered with ${wrong.detail.branch}, ${expected} is due`],
      places: [call.item.place, wrong.place],
      subject: name(call),
      damaged: isMangled(wrong),
    };
  }
}

export function* idsInOrder(turn: CursorTurn, calls: readonly ExecCall[]): Generator<Judgement> {
  if (turn.lost("down")) {
    yield { why: "part of the downlink is lost" };
    return;
  }
  const wrong = calls.findIndex((call, i) => call.id <= (i === 0 ? 0 : calls[i - 1]!.id));
  if (wrong < 0) return;
  yield {
    says: [`the exec ids in frame order are ${examples(calls.map((call) => call.id))}: they should rise from 1`],
    places: [calls[wrong]!.item.place],
    subject: "order",
  };
}

/** Why an unfinished execution proves nothing here; undefined: it does. */
function notOver(turn: CursorTurn): string | undefined {
  if (turn.outcome !== "completed") return `the run did not end successfully (${turn.outcome})`;
  return turn.lost("up") ? "part of the uplink is lost" : undefined;
}

export function* closedOnce(turn: CursorTurn, calls: readonly ExecCall[]): Generator<Judgement> {
  const why = notOver(turn);
  if (why !== undefined) {
    yield { why };
    return;
  }
  for (const call of calls) {
    const { branch, thrown } = execAnswer(call);
    if (branch === null || thrown !== null || call.aborts.length > 0) continue;
    const closes = call.messages.filter(({ detail }) => detail.type === "control" && detail.what === "stream_close");
    const lastData = call.messages.findLastIndex(({ detail }) => detail.type === "exec");
    const early = closes.length === 1 && call.messages.indexOf(closes[0]!) < lastData;
    if (closes.length === 1 && !early) continue;
    yield {
      says: [
        early
          ? `exec ${call.id} is closed before its last message`
          : `exec ${call.id} (${call.kind}) has ${count(closes.length)} stream_close, one is due`,
      ],
      places: [call.item.place, ...closes.map((item) => item.place)],
      subject: name(call),
      damaged: call.messages.some(isMangled),
    };
  }
}

export function* throwsLast(_turn: CursorTurn, calls: readonly ExecCall[]): Generator<Judgement> {
  let seen = 0;
  for (const call of calls) {
    const at = call.messages.findIndex(({ detail }) => detail.type === "control" && detail.what === "throw");
    if (at < 0) continue;
    seen++;
    const after = call.messages
      .slice(at + 1)
      .filter(({ detail }) => detail.type === "exec" || (detail.type === "control" && detail.what === "throw"));
    const closedBefore = call.messages
      .slice(0, at)
      .some(({ detail }) => detail.type === "control" && detail.what === "stream_close");
    if (after.length === 0 && !closedBefore) continue;
    yield {
      says: [`exec ${call.id} throws ${closedBefore ? "after its stream_close" : `and then sends ${after[0]!.kind}`}`],
      places: [call.messages[at]!.place, ...after.slice(0, 1).map((item) => item.place)],
      subject: name(call),
      damaged: call.messages.some(isMangled),
    };
  }
  if (seen === 0) yield { why: "no execution throws" };
}

/** The client promises a sign of life about every 3 s; twice that is a stall. */
const heartbeatLimitMs = 6000;

export function* keepsAlive(turn: CursorTurn, calls: readonly ExecCall[]): Generator<Judgement> {
  if (!turn.hasExactTimes || turn.lost("up")) {
    yield { why: turn.hasExactTimes ? "part of the uplink is lost" : "times of the frames are not exact" };
    return;
  }
  let judged = 0;
  for (const call of calls) {
    const { settled } = execAnswer(call);
    if (settled === null || (exactMillis(call.item.when, settled.when) ?? 0) < heartbeatLimitMs) continue;
    judged++;
    const gap = longestGap(call, settled);
    if (gap.ms <= heartbeatLimitMs) continue;
    yield {
      says: [`exec ${call.id} (${call.kind}) is silent for ${took(gap.ms)}, a heartbeat is due every 3 s`],
      places: [gap.until.place],
      subject: name(call),
    };
  }
  if (judged === 0) yield { why: "no execution lasts 6 s" };
}

function longestGap(call: ExecCall, settled: UpItem): { ms: number; until: UpItem } {
  let before: When = call.item.when;
  let longest = { ms: 0, until: settled };
  const until = call.messages
    .slice(0, call.messages.indexOf(settled) + 1)
    .sort((a, b) => (a.when.earliest < b.when.earliest ? -1 : 1));
  for (const item of until) {
    const ms = millisBetween(before.latest, item.when.earliest);
    if (ms > longest.ms) longest = { ms, until: item };
    before = item.when;
  }
  return longest;
}

export function* abortsKnown(turn: CursorTurn): Generator<Judgement> {
  const why = noDownlink(turn);
  if (why !== undefined) {
    yield { why };
    return;
  }
  let seen = 0;
  const asked = new Set<number>();
  for (const item of turn.down) {
    if (item.detail.type === "exec") asked.add(item.detail.id);
    if (item.detail.type !== "abort") continue;
    seen++;
    if (asked.has(item.detail.id)) continue;
    yield {
      says: [`abort names exec ${item.detail.id}, which this run did not ask for`],
      places: [item.place],
      subject: `exec ${item.detail.id}`,
      damaged: turn.lost("down"),
    };
  }
  if (seen === 0) yield { why: "the server aborts nothing" };
}

const terminal = new Set(["exit", "backgrounded", "rejected", "permission_denied", "sandbox_unsupported"]);
/** A command that never ran has no start. */
const withoutStart = new Set(["rejected", "permission_denied", "sandbox_unsupported"]);

export function* shellOrder(turn: CursorTurn, calls: readonly ExecCall[]): Generator<Judgement> {
  const shells = calls.filter(
    (call) => call.kind === "shell_stream_args" && call.messages.some(({ detail }) => detail.type === "exec"),
  );
  if (shells.length === 0) yield { why: "no shell stream is answered" };
  for (const call of shells) {
    const events = call.messages.flatMap(({ detail }) =>
      detail.type === "exec" && detail.branch === "shell_stream" ? [detail.event] : [],
    );
    const wrong = shellFault(events, notOver(turn) === undefined && call.aborts.length === 0);
    if (wrong === null) continue;
    yield {
      says: [`exec ${call.id}: ${wrong} (${examples(events)})`],
      places: [call.item.place, ...call.messages.slice(0, 2).map((item) => item.place)],
      subject: name(call),
      damaged: turn.lost("up") || call.messages.some(isMangled),
    };
  }
}

function shellFault(events: readonly string[], over: boolean): string | null {
  const ends = events.flatMap((event, i) => (terminal.has(event) ? [i] : []));
  if (events[0] !== "start" && !(events.length > 0 && withoutStart.has(events[0]!)))
    return "the stream does not begin with start";
  if (events.filter((event) => event === "start").length > 1) return "start comes twice";
  if (ends.length > 1) return "the stream ends twice";
  if (ends.length === 1 && ends[0] !== events.length - 1) return `${events[ends[0]! + 1]} follows ${events[ends[0]!]}`;
  return ends.length === 0 && over ? "the stream never ends" : null;
}

export function* sameExecId(_turn: CursorTurn, calls: readonly ExecCall[]): Generator<Judgement> {
  let seen = 0;
  for (const call of calls) {
    for (const item of call.messages) {
      if (item.detail.type !== "exec" || item.detail.execId === "") continue;
      seen++;
      if (item.detail.execId === call.ask.execId) continue;
      yield {
        says: [
          `exec ${call.id} was asked with exec_id "`,
          privately(call.ask.execId),
          `" and is answered with "`,
          privately(item.detail.execId),
          `"`,
        ],
        places: [call.item.place, item.place],
        subject: name(call),
        damaged: isMangled(item),
      };
      break;
    }
  }
  if (seen === 0) yield { why: "no result carries an exec_id" };
}

export function* noneOpen(turn: CursorTurn, calls: readonly ExecCall[]): Generator<Judgement> {
  const why = notOver(turn);
  if (why !== undefined) {
    yield { why };
    return;
  }
  for (const call of calls) {
    if (execAnswer(call).settled !== null) continue;
    yield {
      says: [`exec ${call.id} (${call.kind}) is still running at the successful EndStream`],
      places: [call.item.place],
      subject: name(call),
    };
  }
}

export function* localTime(_turn: CursorTurn, calls: readonly ExecCall[]): Generator<Judgement> {
  let seen = 0;
  for (const call of calls) {
    for (const item of call.messages) {
      if (
        item.detail.type !== "exec" ||
        item.detail.localMs === null ||
        !isKnown(item.when) ||
        !isKnown(call.item.when)
      )
        continue;
      seen++;
      // The longest that the bounds allow: exact with packets, generous with a HAR.
      const most = millisBetween(call.item.when.earliest, item.when.latest);
      if (item.detail.localMs <= most + 1) continue;
      yield {
        says: [
          `exec ${call.id} reports ${took(item.detail.localMs)} of local execution, ${took(most)} passed from request to result`,
        ],
        places: [call.item.place, item.place],
        subject: name(call),
        damaged: isMangled(item),
      };
    }
  }
  if (seen === 0) yield { why: "no result reports its execution time" };
}
