/** Interaction and tool calls (protocols/cursor.md 5, U): questions are answered, tool calls run their course, steps pair. */
import { count, plural } from "../format.js";
import type { DownItem, ToolEvent } from "../model.js";
import type { Query, ToolCallLife } from "../pairs.js";
import type { CursorTurn } from "../turn.js";
import { examples, isMangled, type Judgement, noDownlink } from "./rule.js";

/** Response branch of a query branch: they share their field number, not their suffix (2.11). */
export function responseOf(branch: string): string {
  if (branch === "pr_management_request_query") return "pr_management_result";
  if (branch.endsWith("_query")) return branch.replace(/_query$/, "_response");
  return branch.replace(/_args$/, "_result");
}

export function* answeredOnce(turn: CursorTurn): Generator<Judgement> {
  const why = noDownlink(turn);
  if (why !== undefined) {
    yield { why };
    return;
  }
  const { queries, stray } = turn.pairs;
  for (const query of queries) {
    const expected = responseOf(query.branch);
    const wrong = query.answers.find(
      ({ detail }) => detail.type === "response" && detail.branch !== "" && detail.branch !== expected,
    );
    const unanswered = query.answers.length === 0;
    // Unanswered is a fault only where the run went on to a successful end.
    if (unanswered && (turn.outcome !== "completed" || turn.lost("up"))) continue;
    if (query.answers.length === 1 && wrong === undefined) continue;
    const what = unanswered
      ? "has no response before the successful EndStream"
      : wrong !== undefined && wrong.detail.type === "response"
        ? `is answered with ${wrong.detail.branch}, ${expected} is due`
        : `is answered ${count(query.answers.length)} times`;
    yield {
      says: [`query ${query.id} (${query.branch}) ${what}`],
      places: [query.item.place, ...query.answers.map((item) => item.place)],
      subject: `query ${query.id}`,
      damaged: query.answers.some(isMangled),
    };
  }
  const strays = stray.filter(({ detail }) => detail.type === "response");
  for (const item of strays) {
    const id = item.detail.type === "response" ? item.detail.id : -1;
    yield {
      says: [`query ${id} is answered and was never asked`],
      places: [item.place],
      subject: `query ${id}`,
      damaged: turn.lost("down") || isMangled(item),
    };
  }
  if (queries.length === 0 && strays.length === 0) yield { why: "the server asks the user nothing" };
}

/** Responses whose result is approved or rejected, and whose fields are known. */
const decisions = new Set([
  "web_search_request_response",
  "web_fetch_request_response",
  "switch_mode_request_response",
]);

export function* decided(_turn: CursorTurn, queries: readonly Query[]): Generator<Judgement> {
  let seen = 0;
  for (const query of queries) {
    for (const item of query.answers) {
      if (item.detail.type !== "response" || !decisions.has(item.detail.branch)) continue;
      seen++;
      if (item.detail.result === "approved" || item.detail.result === "rejected") continue;
      yield {
        says: [`query ${query.id} (${query.branch}) is answered with neither approved nor rejected`],
        places: [item.place],
        subject: `query ${query.id}`,
        damaged: isMangled(item),
      };
    }
  }
  if (seen === 0) yield { why: "no approval is asked for" };
}

export function eventsOf(call: ToolCallLife, event: ToolEvent["event"]): readonly DownItem[] {
  return call.events.flatMap((each) => (each.event.event === event ? [each.item] : []));
}

export function* completedOnce(turn: CursorTurn, calls: readonly ToolCallLife[]): Generator<Judgement> {
  if (turn.outcome !== "completed" || turn.lost("down")) {
    yield {
      why: turn.lost("down") ? "part of the downlink is lost" : `the run did not end successfully (${turn.outcome})`,
    };
    return;
  }
  const ended = turn.down.find(({ detail }) => detail.type === "turn-ended");
  for (const call of calls) {
    const started = eventsOf(call, "started");
    if (started.length === 0) continue;
    const completed = eventsOf(call, "completed");
    const late = completed.length === 1 && ended !== undefined && completed[0]!.first > ended.first;
    if (completed.length === 1 && !late) continue;
    yield {
      says: [
        `${toolName(call)} is started and ${late ? "completed after turn_ended" : `completed ${count(completed.length)} times`}`,
      ],
      places: [started[0]!.place, ...completed.slice(0, 2).map((item) => item.place)],
      subject: subjectOf(calls, call),
    };
  }
}

/** The tool, and its number among the calls of the turn: call ids are random. */
function subjectOf(calls: readonly ToolCallLife[], call: ToolCallLife): string {
  return `tool call ${calls.indexOf(call)} ${call.tool}`;
}

const toolName = (call: ToolCallLife): string => `${call.tool || "tool call"} ${call.callId}`;

const rank: Readonly<Record<ToolEvent["event"], number>> = { partial: 0, started: 1, delta: 2, completed: 3 };

export function* inOrder(turn: CursorTurn, calls: readonly ToolCallLife[]): Generator<Judgement> {
  for (const call of calls) {
    let before = -1;
    for (const { event, item } of call.events) {
      const at = rank[event.event];
      if (at < before) {
        yield {
          says: [
            `${toolName(call)}: ${event.event} comes after ${call.events.find((each) => rank[each.event.event] === before)!.event.event}`,
          ],
          places: [item.place],
          subject: subjectOf(calls, call),
          damaged: turn.lost("down"),
        };
        break;
      }
      before = at;
    }
  }
}

export function* constant(_turn: CursorTurn, calls: readonly ToolCallLife[]): Generator<Judgement> {
  for (const call of calls) {
    const tools = new Set(call.events.map(({ event }) => event.tool).filter((tool) => tool !== ""));
    const models = new Set(call.events.map(({ event }) => event.modelCallId).filter((id) => id !== ""));
    if (tools.size <= 1 && models.size <= 1) continue;
    const what =
      tools.size > 1
        ? `changes its tool (${examples([...tools])})`
        : `changes its model_call_id (${count(models.size)} of them)`;
    yield {
      says: [`${toolName(call)} ${what}`],
      places: call.events.slice(0, 2).map(({ item }) => item.place),
      subject: subjectOf(calls, call),
    };
  }
}

export function* hasResult(_turn: CursorTurn, calls: readonly ToolCallLife[]): Generator<Judgement> {
  let seen = 0;
  for (const call of calls) {
    for (const { event, item } of call.events) {
      if (event.event !== "completed") continue;
      seen++;
      const backwards =
        event.startedAtMs !== null && event.completedAtMs !== null && event.startedAtMs > event.completedAtMs;
      if (event.hasResult && !backwards) continue;
      const what = backwards
        ? `is completed ${count(event.startedAtMs! - event.completedAtMs!)} ms before it started`
        : "is completed without a result";
      yield { says: [`${toolName(call)} ${what}`], places: [item.place], subject: subjectOf(calls, call) };
    }
  }
  if (seen === 0) yield { why: "no tool call is completed" };
}

export function* sameCallId(_turn: CursorTurn, calls: readonly ToolCallLife[]): Generator<Judgement> {
  let seen = 0;
  for (const call of calls) {
    const named = call.events.filter(({ event }) => event.toolCallId !== "");
    seen += named.length;
    const other = named.find(({ event }) => event.toolCallId !== event.callId);
    if (other === undefined) continue;
    yield {
      says: [`${toolName(call)}: the ToolCall inside names ${other.event.toolCallId}`],
      places: [other.item.place],
      subject: subjectOf(calls, call),
    };
  }
  if (seen === 0) yield { why: "no ToolCall names its tool_call_id" };
}

export function* stepsPair(turn: CursorTurn): Generator<Judgement> {
  const why = noDownlink(turn) ?? (turn.lost("down") ? "part of the downlink is lost" : undefined);
  if (why !== undefined) {
    yield { why };
    return;
  }
  let seen = 0;
  let last = -1;
  let open: { readonly id: number; readonly item: DownItem } | null = null;
  for (const item of turn.down) {
    if (item.detail.type !== "step") continue;
    seen++;
    const { event, stepId } = item.detail;
    const subject = `step ${stepId}`;
    if (event === "started") {
      if (open !== null)
        yield {
          says: [`step ${stepId} starts while step ${open.id} is open`],
          places: [open.item.place, item.place],
          subject,
        };
      else if (stepId <= last)
        yield { says: [`step ${stepId} starts after step ${last}`], places: [item.place], subject };
      open = { id: stepId, item };
      last = Math.max(last, stepId);
    } else if (open === null || open.id !== stepId) {
      yield { says: [`step ${stepId} completes without having started`], places: [item.place], subject };
    } else open = null;
  }
  if (seen === 0) yield { why: "this turn has no step" };
  else if (open !== null && turn.outcome === "completed") {
    yield { says: [`step ${open.id} never completes`], places: [open.item.place], subject: `step ${open.id}` };
  }
}

export function* thinkingEnds(turn: CursorTurn): Generator<Judgement> {
  const why = noDownlink(turn);
  if (why !== undefined) {
    yield { why };
    return;
  }
  let deltas = 0;
  let seen = 0;
  for (const item of turn.down) {
    if (item.kind === "interaction_update.thinking_delta") deltas += item.count;
    if (item.detail.type !== "thinking-completed") continue;
    const { durationMs } = item.detail;
    if (deltas === 0 || durationMs < 1) {
      const what = deltas === 0 ? "follows no thinking_delta" : `reports ${durationMs} ms`;
      yield {
        says: [`thinking_completed ${what}`],
        places: [item.place],
        subject: `thinking ${seen}`,
        damaged: turn.lost("down"),
      };
    }
    seen++;
    deltas = 0;
  }
  if (seen === 0) yield { why: "this turn does not think" };
}

/** Queries whose approval starts work that ends in a completed tool call. */
const approvals = new Set(["web_search_request_query", "web_fetch_request_query", "generate_image_request_query"]);

export function* approvalThenResult(turn: CursorTurn, queries: readonly Query[]): Generator<Judgement> {
  if (turn.outcome !== "completed" || turn.lost("down")) {
    yield { why: "the end of the run is not in the capture or was no success" };
    return;
  }
  let seen = 0;
  for (const query of queries) {
    if (!approvals.has(query.branch) || query.answers.length === 0) continue;
    seen++;
    const after = turn.down.some(
      ({ detail, first }) => first > query.item.first && detail.type === "tool" && detail.event === "completed",
    );
    if (after) continue;
    yield {
      says: [`query ${query.id} (${query.branch}) was answered, and no tool call completes after it`],
      places: [query.item.place],
      subject: `query ${query.id}`,
    };
  }
  if (seen === 0) yield { why: "no approval is asked for" };
}

export function* listedCalls(turn: CursorTurn): Generator<Judgement> {
  const why = noDownlink(turn) ?? (turn.lost("down") ? "part of the downlink is lost" : undefined);
  if (why !== undefined) {
    yield { why };
    return;
  }
  const lists = turn.down.filter(({ detail }) => detail.type === "listed");
  if (lists.length === 0) yield { why: "the server lists no tool requests" };
  for (const [i, list] of lists.entries()) {
    const until = lists[i + 1]?.first ?? Number.POSITIVE_INFINITY;
    const started = startedAfter(turn, list, until);
    const listed = list.detail.type === "listed" ? list.detail.calls : 0;
    if (started === listed || turn.outcome !== "completed") continue;
    yield {
      says: [
        `tool_requests_listed announces ${plural(listed, "call")}, ${count(started)} start before the next model call`,
      ],
      places: [list.place],
      subject: `list ${i}`,
    };
  }
}

/** Calls of the same model call that start after the list. */
function startedAfter(turn: CursorTurn, list: DownItem, until: number): number {
  const started = new Set<string>();
  let model: string | null = null;
  for (const item of turn.down) {
    const { detail } = item;
    if (item.first <= list.first || item.first >= until || detail.type !== "tool" || detail.event !== "started")
      continue;
    model ??= detail.modelCallId;
    if (detail.modelCallId === model) started.add(detail.callId);
  }
  return started.size;
}
