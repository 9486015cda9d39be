/** One decoded AgentServerMessage -> what a turn keeps of it. Nothing large is kept: bodies go to the content store. */
import { type Bytes, hex, noBytes } from "../../core/bytes.js";
import type { Words } from "../../core/printable.js";
import type { BlobStore } from "../../model/dialect.js";
import type { Decoded, ProtoMessage, Schemas } from "../../model/schema.js";
import { type Contents, digestOf } from "./contents.js";
import { bytesOf, deep, flag, int, listOf, numberOf, sub, text } from "./fields.js";
import { count, plural, quoted, size, took } from "./format.js";
import { type Kind, kindOf } from "./kinds.js";
import { labelOf, questionLabel, resultLabel, toolLabel } from "./labels.js";
import {
  type Checkpoint,
  type DownDetail,
  type Lane,
  noDetail,
  noReferences,
  noWords,
  type ToolEvent,
} from "./model.js";
import { type Reference, referencesOf } from "./references.js";
import { SERVER, TOOL_CALL, UPDATE } from "./types.js";

export interface Reading {
  readonly schemas: Schemas;
  readonly contents: Contents;
  readonly store: BlobStore;
}

export interface ServerMessage {
  readonly kind: string;
  readonly lane: Lane;
  readonly says: Words;
  readonly detail: DownDetail | { readonly type: "checkpoint-bytes"; readonly state: ProtoMessage };
  readonly fold: string;
  /** Text of a text_delta or thinking_delta. */
  readonly text: string;
  /** A text_delta that is no text of the model. */
  readonly notice: boolean;
  /** Tokens of a token_delta. */
  readonly tokens: number;
  /** Tool event of a subagent inside a tool_call_delta. */
  readonly nested: ToolEvent | null;
  /** Blob ids in it; those of a checkpoint are walked again from the kept message. */
  readonly references: readonly Reference[];
}

type Part = Partial<Omit<ServerMessage, "kind">>;

const rest: Omit<ServerMessage, "kind"> = {
  lane: "session",
  says: noWords,
  detail: noDetail,
  fold: "",
  text: "",
  notice: false,
  tokens: 0,
  nested: null,
  references: noReferences,
};

/** Decoded once; the caller keeps the faults and unknown fields. */
export function readServer(decoded: Decoded, body: Bytes, reading: Reading): ServerMessage {
  const kind = kindOf(reading.schemas, decoded, body);
  return { kind: kind.kind, ...rest, ...partOf(kind, decoded.value, reading) };
}

function partOf(kind: Kind, message: ProtoMessage, reading: Reading): Part {
  const { branch, inner } = kind;
  switch (branch?.name) {
    case undefined:
      return kind.kind === "ttft_breakdown" ? { says: firstToken(sub(message, "ttft_breakdown")) } : {};
    case "interaction_update":
      return inner === null
        ? {}
        : { ...update(inner.name, inner.value, reading.schemas, ""), ...blobIds(inner.name, branch!.value) };
    case "kv_server_message":
      return inner === null ? { lane: "kv" } : kv(inner.name, int(branch!.value, "id"), inner.value, reading.contents);
    case "exec_server_message":
      return exec(inner?.name ?? "", branch!.value, inner?.value);
    case "exec_server_control_message": {
      const id = int(inner?.value, "id");
      return { lane: "exec", says: [`abort exec ${id}`], detail: { type: "abort", id } };
    }
    case "interaction_query": {
      const id = int(branch!.value, "id");
      const branchName = inner?.name ?? "";
      const callId = text(inner?.value, "tool_call_id");
      const says = ["ask: ", ...questionLabel(branchName, inner?.value)];
      return { lane: "interaction", says, detail: { type: "query", id, branch: branchName, callId } };
    }
    case "conversation_checkpoint_update":
      return {
        lane: "state",
        says: stateSays(branch!.value),
        detail: { type: "checkpoint-bytes", state: branch!.value },
      };
    default:
      return {};
  }
}

/** Of updates that can carry blob ids. */
function blobIds(branch: string, value: ProtoMessage): Part {
  if (branch !== "tool_call_completed" && branch !== "tool_call_started" && branch !== "user_message_appended")
    return {};
  const references = referencesOf(UPDATE, value);
  return references.length === 0 ? {} : { references };
}

function firstToken(value: ProtoMessage | undefined): Words {
  const ms = numberOf(value, "server_first_token_ms");
  return ms === undefined ? [] : [`first token after ${took(ms)}`];
}

export function stateSays(state: ProtoMessage): Words {
  const parts = [
    plural(listOf(state, "turns").length, "turn"),
    plural(listOf(state, "root_prompt_messages_json").length, "prompt message"),
  ];
  const pending = listOf(state, "pending_tool_calls").length;
  if (pending > 0) parts.push(`${plural(pending, "call")} pending`);
  const details = sub(state, "token_details");
  if (details !== undefined)
    parts.push(`${count(int(details, "used_tokens"))} of ${count(int(details, "max_tokens"))} tokens`);
  return [parts.join(", ")];
}

/** Facts of a checkpoint; the message itself goes to the blob store. */
export function checkpointOf(
  state: ProtoMessage,
  body: Bytes,
  reading: Reading,
  at: Pick<Checkpoint, "ordinal" | "when" | "place" | "faulty">,
): Checkpoint {
  const details = sub(state, "token_details");
  const digest = digestOf(body);
  return {
    ...at,
    handle: reading.store.put(body),
    digest,
    turns: listOf(state, "turns").length,
    roots: listOf(state, "root_prompt_messages_json").length,
    pending: listOf(state, "pending_tool_calls").map(String),
    usedTokens: details === undefined ? null : int(details, "used_tokens"),
    maxTokens: details === undefined ? null : int(details, "max_tokens"),
  };
}

/** The state inside a kept checkpoint message. */
export function stateOfCheckpoint(checkpoint: Checkpoint, reading: Reading): ProtoMessage {
  const decoded = reading.schemas.decode(SERVER, reading.store.get(checkpoint.handle));
  return sub(decoded.value, "conversation_checkpoint_update") ?? noMessage;
}

const noMessage: ProtoMessage = Object.freeze(Object.create(null));

function kv(branch: string, id: number, value: ProtoMessage, contents: Contents): Part {
  const blobId = hex(bytesOf(value, "blob_id") ?? noBytes);
  if (branch !== "set_blob_args") {
    if (branch !== "get_blob_args") return { lane: "kv" };
    return { lane: "kv", detail: { type: "kv", id, op: "get", blobId, digest: null, size: null } };
  }
  const data = bytesOf(value, "blob_data") ?? noBytes;
  const digest = contents.put(data);
  // One string for both where they are equal, as they should be.
  const named = blobId === digest ? digest : blobId;
  return { lane: "kv", detail: { type: "kv", id, op: "set", blobId: named, digest, size: data.length } };
}

function exec(kind: string, message: ProtoMessage, args: ProtoMessage | undefined): Part {
  const id = int(message, "id");
  const callId = text(args, "tool_call_id");
  const detail: DownDetail = {
    type: "exec",
    id,
    kind,
    execId: text(message, "exec_id"),
    callId,
    machineId: text(message, "machine_id"),
  };
  return { lane: "exec", says: labelOf(kind, args), detail };
}

/** A branch of InteractionUpdate. `scope`: call id of the task whose subagent sends it. */
function update(branch: string, value: ProtoMessage, schemas: Schemas, scope: string): Part {
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

function stepMark(branch: string, value: ProtoMessage): Part {
  const stepId = int(value, "step_id");
  const durationMs = numberOf(value, "step_duration_ms") ?? null;
  const event = branch === "step_started" ? "started" : "completed";
  return {
    lane: "model",
    says: [`step ${stepId}${event === "completed" && durationMs !== null ? `, ${took(durationMs)}` : ""}`],
    detail: { type: "step", event, stepId, durationMs },
  };
}

function turnEnded(value: ProtoMessage): Part {
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

function toolCall(branch: string, value: ProtoMessage, schemas: Schemas, scope: string): Part {
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

function toolDelta(value: ProtoMessage, schemas: Schemas, scope: string): Part {
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
    const part = update(branch, sub(inner, branch) ?? noMessage, schemas, callId);
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

function otherUpdate(branch: string, value: ProtoMessage, schemas: Schemas): Part {
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

/** Size of a set's data, for a line without its type. */
export function kvSays(op: "set" | "get", bytes: number | null, type: string): Words {
  return [`${op} ${type}${bytes === null ? "" : ` ${size(bytes)}`}`];
}
