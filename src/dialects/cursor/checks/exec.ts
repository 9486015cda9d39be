/** Exec (protocols/cursor.md 5, E): every execution is asked for, answered by its partner branch, and closed. */
import { privately } from "../../../core/printable.js";
import { isKnown, millisBetween, type When } from "../../../core/time.js";
import { count, took } from "../format.js";
import type { UpItem } from "../model.js";
import { type ExecCall, exactMillis, execAnswer } from "../pairs.js";
import type { CursorTurn } from "../turn.js";
import { type CursorRule, examples, isMangled, type Judgement, noDownlink } from "./rule.js";

const family = "Exec";
const source = "protocols/cursor.md 5 E, 2.12";

const name = (call: ExecCall): string => `exec ${call.id}`;

/** There are executions to judge. */
function* withExec(
  turn: CursorTurn,
  judge: (turn: CursorTurn, calls: readonly ExecCall[]) => Iterable<Judgement>,
): Generator<Judgement> {
  const why = noDownlink(turn);
  if (why !== undefined) yield { why };
  else if (turn.pairs.exec.length === 0) yield { why: "this turn executes nothing" };
  else yield* judge(turn, turn.pairs.exec);
}

/** Branch that answers a request branch. Numbers differ for eight of them: pair by name (2.12). */
export function partnerOf(kind: string): string {
  if (kind === "shell_stream_args") return "shell_stream";
  if (kind === "git_diff_request") return "git_diff_response";
  return kind.replace(/_args$/, "_result");
}

function* requested(turn: CursorTurn): Generator<Judgement> {
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

function* partners(_turn: CursorTurn, calls: readonly ExecCall[]): Generator<Judgement> {
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

function* idsInOrder(turn: CursorTurn, calls: readonly ExecCall[]): Generator<Judgement> {
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

function* closedOnce(turn: CursorTurn, calls: readonly ExecCall[]): Generator<Judgement> {
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

function* throwsLast(_turn: CursorTurn, calls: readonly ExecCall[]): Generator<Judgement> {
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

function* keepsAlive(turn: CursorTurn, calls: readonly ExecCall[]): Generator<Judgement> {
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

function* abortsKnown(turn: CursorTurn): Generator<Judgement> {
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

function* shellOrder(turn: CursorTurn, calls: readonly ExecCall[]): Generator<Judgement> {
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

function* sameExecId(_turn: CursorTurn, calls: readonly ExecCall[]): Generator<Judgement> {
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

function* noneOpen(turn: CursorTurn, calls: readonly ExecCall[]): Generator<Judgement> {
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

function* localTime(_turn: CursorTurn, calls: readonly ExecCall[]): Generator<Judgement> {
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

const rule = (data: Omit<CursorRule, "family" | "class" | "implies" | "source"> & Partial<CursorRule>): CursorRule => ({
  family,
  class: "check",
  implies: [],
  source,
  ...data,
});

export const execRules: readonly CursorRule[] = [
  rule({
    id: "cursor/E01",
    severity: "error",
    statement: "Every exec id of the uplink was asked for before.",
    why: "A result for an unknown id was meant for another run or another epoch.",
    needs: "the downlink that asks and the uplink that answers",
    good: "shell_args id 3, shell_result id 3",
    bad: "shell_result id 9, never asked",
    remedy: "key executions by request id, epoch and exec id",
    turn: requested,
  }),
  rule({
    id: "cursor/E02",
    severity: "error",
    statement: "The result branch is the partner of the request branch.",
    why: "Eight partners have other field numbers than their requests: pairing by number answers the wrong question.",
    needs: "an answered execution",
    good: "pi_read_args (45), pi_read_result (46)",
    bad: "read_args (7), ls_result (8)",
    remedy: "pair by the table of protocols/cursor.md 2.12, not by field number",
    turn: (turn) => withExec(turn, partners),
  }),
  rule({
    id: "cursor/E03",
    severity: "warning",
    statement: "Exec ids of a run are unique and rise from 1.",
    why: "Id 0 is absent on the wire; a client that reads absent as missing drops it.",
    needs: "the whole downlink",
    good: "1, 2, 3",
    bad: "0, 1, 1",
    remedy: "count from 1 in every run",
    turn: (turn) => withExec(turn, idsInOrder),
  }),
  rule({
    id: "cursor/E04",
    severity: "warning",
    statement:
      "A normal execution ends with exactly one stream_close, after its last message, also for a single result.",
    why: "A server that waits for the close never continues without it.",
    needs: "a completed run with its uplink",
    good: "read_result 2, stream_close 2",
    bad: "read_result 2 and nothing more",
    remedy: "send stream_close after the result; the reference client always does",
    turn: (turn) => withExec(turn, closedOnce),
  }),
  rule({
    id: "cursor/E05",
    severity: "warning",
    statement:
      "A failing execution sends throw and nothing after it; an unsupported request sends throw, then stream_close.",
    why: "A result after a throw is for an execution that the server has given up.",
    needs: "an execution that throws",
    good: "throw 4",
    bad: "throw 4, read_result 4",
    remedy: null,
    turn: (turn) => withExec(turn, throwsLast),
  }),
  rule({
    id: "cursor/E06",
    severity: "warning",
    statement:
      "While an execution runs, a heartbeat with its id comes about every 3 s; a silence above 6 s is a stall.",
    why: "The server cannot tell a long command from a dead client.",
    needs: "exact times and an execution of 6 s or more",
    good: "shell_args, heartbeat after 3 s, heartbeat after 6 s, result",
    bad: "shell_args, result after 20 s",
    remedy: "send exec_client_control_message.heartbeat every 3 s",
    turn: (turn) => withExec(turn, keepsAlive),
  }),
  rule({
    id: "cursor/E07",
    severity: "error",
    statement: "abort names an execution of this run.",
    why: "Its id is an exec id, not a tool call id.",
    needs: "an abort and the downlink before it",
    good: "shell_args id 5, abort id 5",
    bad: "abort id 8, never asked",
    remedy: null,
    turn: abortsKnown,
  }),
  rule({
    id: "cursor/E08",
    severity: "warning",
    statement:
      "A shell stream is start, then output, then exactly one of exit, backgrounded, rejected, permission_denied or sandbox_unsupported.",
    why: "The last event is the result: without it the tool call never completes.",
    needs: "an answered shell_stream_args",
    good: "start, stdout, exit",
    bad: "start, exit, stdout",
    remedy: null,
    turn: (turn) => withExec(turn, shellOrder),
  }),
  rule({
    id: "cursor/E09",
    class: "permission",
    severity: "info",
    statement: "An ExecClientMessage without a branch carries only hook contexts: it is no result.",
    why: "A reader that takes it for an answer closes the execution too early.",
    needs: "an ExecClientMessage without branch",
    good: "hook contexts for exec 3, then read_result 3",
    bad: "nothing: it is legal",
    remedy: null,
    turn: (turn) =>
      withExec(turn, function* hookOnly(_turn, calls) {
        const seen = calls.some((call) =>
          call.messages.some(({ detail }) => detail.type === "exec" && detail.branch === ""),
        );
        if (!seen) yield { why: "every exec message has a branch" };
      }),
  }),
  rule({
    id: "cursor/E10",
    severity: "warning",
    statement: "A non-empty exec_id on the result is that of the request.",
    why: "It is no join key, but two ids for one execution mean that results were mixed up.",
    needs: "a result with an exec_id",
    good: "both empty, or both the same",
    bad: "another execution's exec_id",
    remedy: null,
    turn: (turn) => withExec(turn, sameExecId),
  }),
  rule({
    id: "cursor/E11",
    severity: "warning",
    statement: "No execution is outstanding at a successful EndStream.",
    why: "Its result goes nowhere.",
    needs: "a completed run with its uplink",
    good: "every exec answered, then EndStream {}",
    bad: "shell_args id 6, EndStream {}",
    remedy: "wait for the result, or abort the execution",
    turn: (turn) => withExec(turn, noneOpen),
  }),
  rule({
    id: "cursor/E12",
    severity: "info",
    statement: "local_execution_time_ms is not longer than the time from request to result.",
    why: "A longer one was measured for something else, or a clock is wrong.",
    needs: "a result with local_execution_time_ms",
    good: "reported 400 ms, measured 420 ms",
    bad: "reported 4,000 ms, measured 420 ms",
    remedy: null,
    turn: (turn) => withExec(turn, localTime),
  }),
];
