/** A finished TurnBuilder -> the neutral Turn, with the contract's JSON. */
import { privately, type Words } from "../../core/printable.js";
import { isExact, isKnown, isoTime, millisBetween } from "../../core/time.js";
import type { OpenItem, Turn } from "../../model/conversation.js";
import type { TurnBuilder } from "./turn-builder.js";

/** `index`: ordinal in the session, by start. `client`: user agent of the connection that carried it. */
export function turnOf(builder: TurnBuilder, index: number, client: string | null): Turn {
  const turn: Turn = {
    dialect: "kimi",
    conversationId: builder.sessionId,
    requestId: builder.requestId,
    index,
    action: builder.action,
    model: builder.model,
    prompt: builder.prompt,
    text: builder.fullText("text"),
    thinking: builder.fullText("thinking"),
    start: builder.start,
    end: builder.end,
    durationMs: builder.durationMs(),
    outcome: builder.outcome(),
    error: builder.error,
    transport: builder.agentId === "acp" ? "stdio JSON-RPC" : "ws",
    http: builder.agentId === "acp" ? null : "1.1",
    client,
    messages: builder.messages,
    upBytes: builder.upBytes,
    downBytes: builder.downBytes,
    steps: builder.steps,
    open: openItems(builder),
    usage: builder.usage,
    loss: builder.loss,
    recovered: [],
    parentRequestId: builder.parentRequestId,
    retryOf: null,
    attempt: 0,
    facts: factsOf(builder),
    place: builder.place,
    json: () => jsonOf(turn, builder),
  };
  return turn;
}

function openItems(builder: TurnBuilder): readonly OpenItem[] {
  const open: OpenItem[] = [];
  for (const call of builder.tools.values()) {
    if (call.started !== null && call.ended === null)
      open.push({ family: "tool_call", id: call.id, what: call.name ?? "tool", place: call.place });
  }
  for (const [id, ask] of builder.asks)
    if (!ask.answered)
      open.push({ family: "interaction", id, what: `${ask.family} for ${ask.what}`, place: ask.place });
  for (const [step, place] of builder.stepsOpen)
    if (!builder.endSeen) open.push({ family: "step", id: String(step), what: "turn.step.started", place });
  return open;
}

function factsOf(builder: TurnBuilder): readonly Words[] {
  const facts: Words[] = [];
  const tools = [...builder.tools.values()];
  if (tools.length > 0) {
    const failed = tools.filter((call) => call.isError).length;
    facts.push([`${tools.length} tool call${tools.length === 1 ? "" : "s"}${failed > 0 ? `, ${failed} failed` : ""}`]);
  }
  const asks = [...builder.asks.values()];
  if (asks.length > 0)
    facts.push([`${asks.length} asked of the user, ${asks.filter((ask) => ask.answered).length} answered`]);
  if (builder.parentRequestId !== null) facts.push([`subagent of ${builder.parentRequestId}`]);
  if (isUnheard(builder))
    facts.push(["its text is not in the capture: deltas are not sent again to a client that was away"]);
  return facts;
}

/** The model wrote, nothing was lost, and no delta came: the events were replayed (protocols/kimi.md 3.4: deltas are not). */
function isUnheard(builder: TurnBuilder): boolean {
  const wrote = (builder.usage?.outputTokens ?? 0) > 0 && builder.outcome() === "completed";
  return wrote && builder.loss.length === 0 && builder.fullText("text") === "" && builder.fullText("thinking") === "";
}

const time = (when: Turn["start"]) => ({
  at: isKnown(when) ? isoTime(when.earliest) : null,
  exact: isExact(when) && isKnown(when),
});

function jsonOf(turn: Turn, builder: TurnBuilder): ReturnType<Turn["json"]> {
  return {
    dialect: "kimi",
    conversationId: turn.conversationId,
    requestId: turn.requestId,
    epoch: 0,
    runId: builder.promptId,
    index: turn.index,
    attempt: 0,
    retryOf: null,
    parentRequestId: turn.parentRequestId,
    parentToolCallId: builder.parentToolCallId,
    transport: turn.transport,
    http: turn.http,
    client: { userAgent: turn.client, version: null, type: null },
    start: time(turn.start),
    end: time(turn.end),
    durationMs: turn.durationMs,
    outcome: turn.outcome,
    error: turn.error === null ? null : { code: turn.error.code, message: privately(turn.error.message) },
    model: turn.model,
    action: turn.action,
    prompt: turn.prompt === null ? null : privately(turn.prompt),
    down: Object.fromEntries([...builder.counts].sort(([a], [b]) => (a < b ? -1 : 1))),
    up: Object.fromEntries([...builder.up].sort(([a], [b]) => (a < b ? -1 : 1))),
    toolCalls: [...builder.tools.values()].map((call) => ({
      callId: call.id,
      tool: call.name,
      started: call.started !== null,
      completed: call.ended !== null,
      durationMs:
        call.started === null || call.ended === null || !isExact(call.started) || !isExact(call.ended)
          ? null
          : millisBetween(call.started.earliest, call.ended.earliest),
    })),
    open: turn.open.map((item) => ({ family: item.family, id: item.id, what: item.what, place: item.place })),
    text: privately(turn.text),
    thinking: privately(turn.thinking),
    usage: turn.usage === null ? null : { ...turn.usage },
    loss: turn.loss.map((loss) => ({ direction: loss.direction, why: loss.why })),
    recovered: [],
  };
}
