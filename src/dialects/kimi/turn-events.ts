/** What one event changes in the turn it belongs to: usage, tool calls, approvals and questions, and which event answers which. */
import type { Place } from "../../core/place.js";
import type { When } from "../../core/time.js";
import { at, boolAt, canonical, type JsonObject, numberAt, textAt } from "./json.js";
import { afterMs, type TurnBuilder, type TurnEvent } from "./turn-builder.js";

/** One event as it came: payload whole. */
export interface SessionEventIn {
  readonly type: string;
  readonly connection: number;
  readonly sessionId: string;
  readonly seq: number | null;
  readonly epoch: string | null;
  readonly isVolatile: boolean;
  readonly offset: number | null;
  readonly payload: JsonObject;
  readonly when: When;
  readonly place: Place;
  readonly bytes: number;
}

export function addUsage(turn: TurnBuilder, usage: unknown): void {
  const output = numberAt(usage, "output");
  if (output === null) return;
  const read = numberAt(usage, "inputCacheRead") ?? 0;
  const write = numberAt(usage, "inputCacheCreation") ?? 0;
  turn.addUsage((numberAt(usage, "inputOther") ?? 0) + read + write, output, read, write);
}

export function applyTool(event: SessionEventIn, turn: TurnBuilder): void {
  const id = textAt(event.payload, "toolCallId");
  if (id === null) return;
  switch (event.type) {
    case "tool.call.delta": {
      const call = turn.tool(id, event.place);
      call.name ??= textAt(event.payload, "name");
      call.argumentParts += textAt(event.payload, "argumentsPart") ?? "";
      return;
    }
    case "tool.call.started": {
      const call = turn.tool(id, event.place);
      call.name = textAt(event.payload, "name") ?? call.name;
      call.started = event.when;
      call.place = event.place;
      call.args = canonical(at(event.payload, "args"));
      return;
    }
    case "tool.result": {
      const call = turn.tool(id, event.place);
      call.ended = event.when;
      call.results++;
      call.isError = boolAt(event.payload, "isError") === true;
      return;
    }
    default:
  }
}

/** Approvals and questions: who asked what, and whether it was answered. */
export function applyAsk(event: SessionEventIn, turn: TurnBuilder): void {
  const id = askId(event);
  if (id === null) return;
  const known = turn.asks.get(id);
  if (event.type.endsWith(".requested")) {
    if (known !== undefined) return;
    const what = textAt(event.payload, "tool_name") ?? textAt(event.payload, "toolName") ?? "question";
    const family = event.type.includes("question") ? "question" : "approval";
    turn.asks.set(id, { when: event.when, place: event.place, what, answered: false, family });
  } else if (known !== undefined) known.answered = true;
}

function askId(event: SessionEventIn): string | null {
  const { type, payload } = event;
  if (type.startsWith("event.approval.")) return textAt(payload, "approval_id");
  if (type.startsWith("event.question.")) return textAt(payload, "question_id");
  return type.startsWith("permission.approval.") ? textAt(payload, "id") : null;
}

export function pairOf(event: SessionEventIn, turn: TurnBuilder): TurnEvent["pair"] {
  const tool = textAt(event.payload, "toolCallId");
  if (event.type === "tool.call.started" && tool !== null)
    return { family: "tool", id: tool, role: "ask", afterMs: null, result: null };
  if (event.type === "tool.result" && tool !== null) {
    const call = turn.tools.get(tool);
    const result = boolAt(event.payload, "isError") === true ? "error" : "ok";
    return { family: "tool", id: tool, role: "answer", afterMs: afterMs(call?.started ?? null, event.when), result };
  }
  const ask = event.type.startsWith("event.") ? askId(event) : null;
  if (ask === null) return null;
  const family = event.type.includes("question") ? "question" : "approval";
  if (event.type.endsWith(".requested")) return { family, id: ask, role: "ask", afterMs: null, result: null };
  const result = textAt(event.payload, "decision") ?? event.type.split(".").at(-1) ?? "resolved";
  return { family, id: ask, role: "answer", afterMs: afterMs(turn.asks.get(ask)?.when ?? null, event.when), result };
}
