/** One branch of InteractionUpdate (protocols/cursor.md 2.10) -> what a turn keeps of it. Subagents nest whole updates in a delta. */
import type { ProtoMessage, Schemas } from "../../model/schema.js";
import { deep, flag, int, noMessage, numberOf, sub, text } from "./fields.js";
import { count, plural, quoted, took } from "./format.js";
import { resultLabel, toolLabel } from "./labels.js";
import type { ToolEvent } from "./model.js";
import type { ServerPart } from "./server-message.js";
import { TOOL_CALL, UPDATE } from "./types.js";

/** A branch of InteractionUpdate. `scope`: call id of the task whose subagent sends it. */
export function interactionUpdate(branch: string, value: ProtoMessage, schemas: Schemas, scope: string): ServerPart {
  switch (branch) {
    case "text_delta": {
      const said = text(value, "text");
      const notice = flag(value, "is_server_notice");
      return {
        lane: "model",
        text: said,
        notice,
        fold: notice ? "notice" : "text",
      };
    }
    case "thinking_delta": {
      const thought = text(value, "text");
      return { lane: "model", text: thought, fold: "thinking" };
    }
    case "token_delta":
      return { lane: "model", tokens: int(value, "tokens"), fold: "tokens" };
    case "heartbeat":
      return { detail: { type: "heartbeat" }, fold: "heartbeat" };
    case "tool_call_started":
    case "tool_call_completed":
    case "partial_tool_call":
      return toolCall(branch, value, schemas, scope);
    case "tool_call_delta":
      return toolDelta(value, schemas, scope);
    case "thinking_completed": {
      const durationMs = int(value, "thinking_duration_ms");
      return {
        lane: "model",
        says: [`thought for ${took(durationMs)}`],
        detail: { type: "thinking-completed", durationMs },
      };
    }
    case "step_started":
    case "step_completed":
      return stepMark(branch, value);
    case "turn_ended":
      return turnEnded(value);
    default:
      return otherUpdate(branch, value, schemas);
  }
}

function stepMark(branch: string, value: ProtoMessage): ServerPart {
  const stepId = int(value, "step_id");
  const durationMs = numberOf(value, "step_duration_ms") ?? null;
  const event = branch === "step_started" ? "started" : "completed";
  return {
    lane: "model",
    says: [`step ${stepId}${event === "completed" && durationMs !== null ? `, ${took(durationMs)}` : ""}`],
    detail: { type: "step", event, stepId, durationMs },
  };
}

function turnEnded(value: ProtoMessage): ServerPart {
  const field = (name: string) => numberOf(value, name) ?? null;
  const usage = {
    inputTokens: field("input_tokens"),
    outputTokens: field("output_tokens"),
    cacheReadTokens: field("cache_read_tokens"),
    cacheWriteTokens: field("cache_write_tokens"),
  };
  const reasoningTokens = field("reasoning_tokens");
  const parts = [
    ["in", usage.inputTokens],
    ["out", usage.outputTokens],
    ["cache read", usage.cacheReadTokens],
    ["cache write", usage.cacheWriteTokens],
    ["reasoning", reasoningTokens],
  ] as const;
  const said = parts.filter(([, tokens]) => tokens !== null).map(([name, tokens]) => `${count(tokens!)} ${name}`);
  return {
    lane: "control",
    says: said.length === 0 ? [] : [`tokens: ${said.join(", ")}`],
    detail: { type: "turn-ended", usage, reasoningTokens },
  };
}

function toolCall(branch: string, value: ProtoMessage, schemas: Schemas, scope: string): ServerPart {
  const call = sub(value, "tool_call");
  const tool = call === undefined ? "" : (schemas.branch(TOOL_CALL, call, "tool") ?? "");
  const wrapper = sub(call, tool);
  const result = sub(wrapper, "result");
  const event = branch === "tool_call_started" ? "started" : branch === "tool_call_completed" ? "completed" : "partial";
  const callId = text(value, "call_id");
  const detail: ToolEvent = {
    type: "tool",
    event,
    callId,
    tool,
    modelCallId: text(value, "model_call_id"),
    hasResult: result !== undefined,
    result: result === undefined ? "" : (schemas.branch(resultType(tool), result, "result") ?? ""),
    toolCallId: text(call, "tool_call_id"),
    startedAtMs: numberOf(call, "started_at_ms") ?? null,
    completedAtMs: numberOf(call, "completed_at_ms") ?? null,
    scope,
  };
  const label = toolLabel(tool === "" ? "tool_call" : tool, wrapper);
  const outcome = event === "completed" ? resultLabel(schemas, resultType(tool), result) : [];
  const says = outcome.length === 0 ? label : [...label, ": ", ...outcome];
  return { lane: "model", says, detail, fold: event === "partial" ? `partial ${scope} ${callId}` : "" };
}

/** `shell_tool_call` -> `agent.v1.ShellResult`; the exceptions of protocols/cursor.md 2.17. */
function resultType(tool: string): string {
  const name = tool
    .replace(/_tool_call$/, "")
    .split("_")
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join("");
  if (name === "Read" || name === "Glob" || name === "Mcp") return `agent.v1.${name}ToolResult`;
  return `agent.v1.${name}Result`;
}

function toolDelta(value: ProtoMessage, schemas: Schemas, scope: string): ServerPart {
  const callId = text(value, "call_id");
  const delta = sub(value, "tool_call_delta");
  const detail: ToolEvent = {
    type: "tool",
    event: "delta",
    callId,
    tool: "",
    modelCallId: text(value, "model_call_id"),
    hasResult: false,
    result: "",
    toolCallId: "",
    startedAtMs: null,
    completedAtMs: null,
    scope,
  };
  const inner = deep(delta, "task_tool_call_delta", "interaction_update");
  if (inner !== undefined) {
    const branch = schemas.branch(UPDATE, inner, "message") ?? "";
    const part = interactionUpdate(branch, sub(inner, branch) ?? noMessage, schemas, callId);
    const nested = part.nested ?? (part.detail?.type === "tool" ? part.detail : null);
    const fold = part.fold === undefined || part.fold === "" ? "" : `delta ${scope} ${callId} ${part.fold}`;
    return { lane: "model", says: [`subagent ${branch} `, ...(part.says ?? [])], detail, nested, fold };
  }
  const output =
    text(deep(delta, "shell_tool_call_delta", "stdout"), "content") ||
    text(deep(delta, "shell_tool_call_delta", "stderr"), "content") ||
    text(sub(delta, "edit_tool_call_delta"), "stream_content_delta");
  return { lane: "model", says: output === "" ? [] : [quoted(output)], detail, fold: `delta ${scope} ${callId}` };
}

function otherUpdate(branch: string, value: ProtoMessage, schemas: Schemas): ServerPart {
  switch (branch) {
    case "tool_requests_listed": {
      const calls = int(value, "call_count");
      return { lane: "model", says: [plural(calls, "call")], detail: { type: "listed", calls } };
    }
    case "summary_started":
      return { lane: "state", says: ["compacting"], detail: { type: "summary", event: "started" } };
    case "summary":
      return { lane: "state", says: [quoted(text(value, "summary"))], detail: { type: "summary", event: "text" } };
    case "summary_completed":
      return {
        lane: "state",
        says: [flag(value, "failed") ? "compacting failed" : "compacted"],
        detail: { type: "summary", event: "completed" },
      };
    case "shell_output_delta": {
      const event = schemas.branch("agent.v1.ShellOutputDeltaUpdate", value, "event") ?? "";
      const output = text(sub(value, event), "data");
      return { lane: "exec", says: output === "" ? [event] : [quoted(output)], fold: `output ${event}` };
    }
    case "user_message_appended":
      return { says: [quoted(text(sub(value, "user_message"), "text"))] };
    case "context_injection_state": {
      const state = sub(value, "state");
      const name = state === undefined ? "" : (schemas.branch("agent.v1.ContextInjectionState", state, "state") ?? "");
      return {
        says: [`injection ${name}`],
        detail: { type: "injection", id: text(value, "injection_id"), state: name },
      };
    }
    case "prompt_suggestion":
      return { says: [quoted(text(value, "suggestion"))] };
    case "routed_model":
      return { lane: "model", says: [quoted(text(value, "display_name"))] };
    default:
      return {};
  }
}
