/** The catalogue rows of family U (interaction and tool calls), protocols/cursor.md 5. */
import {
  answeredOnce,
  approvalThenResult,
  completedOnce,
  constant,
  decided,
  eventsOf,
  hasResult,
  inOrder,
  listedCalls,
  sameCallId,
  stepsPair,
  thinkingEnds,
  withQueries,
  withTools,
} from "./interaction.js";
import type { CursorRule } from "./rule.js";

const rule = (data: Omit<CursorRule, "family" | "class" | "implies" | "source"> & Partial<CursorRule>): CursorRule => ({
  family: "Interaction and tool calls",
  class: "check",
  implies: [],
  source: "protocols/cursor.md 5 U, 2.10, 2.11",
  ...data,
});

export const interactionRules: readonly CursorRule[] = [
  rule({
    id: "cursor/U01",
    severity: "error",
    statement:
      "Each interaction_query has exactly one response of the same branch before a successful end; unanswered at a cancel is legal.",
    why: "The server waits for the user; a wrong branch answers another question.",
    needs: "an interaction_query",
    good: "web_search_request_query 1, web_search_request_response 1",
    bad: "switch_mode_request_query 2, no response, EndStream {}",
    remedy: "answer every query once, by its interaction id",
    turn: answeredOnce,
  }),
  rule({
    id: "cursor/U02",
    severity: "error",
    statement: "A response to an approval sets approved or rejected.",
    why: "An empty result is neither: the reader falls into its default.",
    needs: "an answered approval query",
    good: "web_search_request_response { approved {} }",
    bad: "web_search_request_response {}",
    remedy: null,
    turn: (turn) => withQueries(turn, decided),
  }),
  rule({
    id: "cursor/U03",
    severity: "warning",
    statement: "Each tool_call_started has one tool_call_completed with the same call_id before turn_ended.",
    why: "The client shows a tool that runs for ever.",
    needs: "a completed run with its whole downlink",
    good: "started c1, completed c1, turn_ended",
    bad: "started c1, turn_ended",
    remedy: "complete the call, with an error result if need be",
    turn: (turn) => withTools(turn, completedOnce),
  }),
  rule({
    id: "cursor/U04",
    severity: "warning",
    statement: "Per call_id: partial, then started, then deltas, then completed.",
    why: "A partial after the start would change arguments that are already running.",
    needs: "tool calls",
    good: "partial, partial, started, delta, completed",
    bad: "started, partial",
    remedy: null,
    turn: (turn) => withTools(turn, inOrder),
  }),
  rule({
    id: "cursor/U05",
    severity: "error",
    statement: "The ToolCall branch and the model_call_id stay the same for one call_id.",
    why: "Two tools under one id cannot be told apart afterwards.",
    needs: "tool calls",
    good: "shell_tool_call in every update of c1",
    bad: "read_tool_call, then shell_tool_call under c1",
    remedy: "give every call its own id",
    turn: (turn) => withTools(turn, constant),
  }),
  rule({
    id: "cursor/U06",
    severity: "warning",
    statement: "tool_call_completed carries a result, and started_at_ms is not after completed_at_ms.",
    why: "The step that is stored has nothing to show.",
    needs: "a completed tool call",
    good: "completed { shell_tool_call { args, result } }",
    bad: "completed { shell_tool_call { args } }",
    remedy: null,
    turn: (turn) => withTools(turn, hasResult),
  }),
  rule({
    id: "cursor/U07",
    severity: "warning",
    statement: "ToolCall.tool_call_id, where set, is the call_id of the update.",
    why: "Stored steps are found by it.",
    needs: "a ToolCall with tool_call_id",
    good: "call_id c1, tool_call_id c1",
    bad: "call_id c1, tool_call_id c2",
    remedy: null,
    turn: (turn) => withTools(turn, sameCallId),
  }),
  rule({
    id: "cursor/U08",
    severity: "warning",
    statement: "step_started and step_completed pair, and step_id rises.",
    why: "Texts and tool calls are cut into steps by them.",
    needs: "steps and the whole downlink",
    good: "started 1, completed 1, started 2, completed 2",
    bad: "started 1, started 2",
    remedy: null,
    turn: stepsPair,
  }),
  rule({
    id: "cursor/U09",
    severity: "warning",
    statement: "thinking_completed follows at least one thinking_delta and reports 1 ms or more.",
    why: "An empty thought is shown to the user.",
    needs: "thinking_completed",
    good: "thinking_delta, thinking_completed 1,200 ms",
    bad: "thinking_completed 0 ms",
    remedy: null,
    turn: thinkingEnds,
  }),
  rule({
    id: "cursor/U10",
    class: "permission",
    severity: "info",
    statement:
      "Calls of a parallel batch may complete in another order than they were started; they are stored in call order.",
    why: "A reader that stores completion order changes the transcript.",
    needs: "two calls in flight at once",
    good: "started c1, started c2, completed c2, completed c1",
    bad: "nothing: it is legal",
    remedy: null,
    turn: (turn) =>
      withTools(turn, function* parallel(_turn, calls) {
        const spans = calls.map(
          (call) => [eventsOf(call, "started")[0]?.first, eventsOf(call, "completed")[0]?.first] as const,
        );
        const overlap = spans.some(([start, end], i) =>
          spans.some(
            ([other], k) =>
              k !== i &&
              start !== undefined &&
              end !== undefined &&
              other !== undefined &&
              other > start &&
              other < end,
          ),
        );
        if (!overlap) yield { why: "no two calls are in flight at once" };
      }),
  }),
  rule({
    id: "cursor/U13",
    severity: "warning",
    statement:
      "The approval of a web search, web fetch or image is no result: a completed tool call must still follow.",
    why: "A server that takes the approval for the result never runs the tool.",
    needs: "an answered approval and the rest of a completed run",
    good: "query, approved, tool_call_completed",
    bad: "query, approved, turn_ended",
    remedy: null,
    turn: (turn) => withQueries(turn, approvalThenResult),
  }),
  rule({
    id: "cursor/U16",
    severity: "warning",
    statement: "tool_requests_listed.call_count is the number of tool_call_started that follow for that model call.",
    why: "The client reserves room for that many.",
    needs: "tool_requests_listed and the whole downlink",
    good: "listed 2, started c1, started c2",
    bad: "listed 2, started c1",
    remedy: null,
    turn: listedCalls,
  }),
];
