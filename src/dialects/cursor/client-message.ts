/** One decoded AgentClientMessage -> what a turn keeps of it. */
import { type Bytes, hex } from "../../core/bytes.js";
import type { Words } from "../../core/printable.js";
import type { Decoded, ProtoMessage, Schemas } from "../../model/schema.js";
import { shortDigest } from "./contents.js";
import { bytesOf, deep, flat, int, listOf, numberOf, sub, text, textOrNull } from "./fields.js";
import { count, plural, quoted, size } from "./format.js";
import { type Kind, kindOf } from "./kinds.js";
import { resultLabel, shellEvent } from "./labels.js";
import {
  type CarriedBlob,
  type Lane,
  noBlobs,
  noDetail,
  noReferences,
  noWords,
  type RunFacts,
  type UpDetail,
} from "./model.js";
import { pathText, type Reference, walkReferences } from "./references.js";
import type { Reading } from "./server-message.js";
import { ACTION, PREWARM, RUN_REQUEST } from "./types.js";

export interface ClientMessage {
  readonly kind: string;
  readonly lane: Lane;
  readonly says: Words;
  readonly detail: UpDetail;
  readonly fold: string;
  readonly chars: number;
  /** Blob ids in the message, and blobs that came along with it. */
  readonly references: readonly Reference[];
  readonly carried: readonly CarriedBlob[];
}

type Part = Partial<Omit<ClientMessage, "kind">>;

const rest: Omit<ClientMessage, "kind"> = {
  lane: "session",
  says: noWords,
  detail: noDetail,
  fold: "",
  chars: 0,
  references: noReferences,
  carried: noBlobs,
};

export function readClient(decoded: Decoded, body: Bytes, reading: Reading): ClientMessage {
  const kind = kindOf(reading.schemas, decoded, body);
  return { kind: kind.kind, ...rest, ...partOf(kind, body, reading) };
}

function partOf(kind: Kind, body: Bytes, reading: Reading): Part {
  const { branch, inner } = kind;
  switch (branch?.name) {
    case "client_heartbeat":
      return { detail: { type: "heartbeat" }, fold: "heartbeat" };
    case "run_request":
    case "prewarm_request":
      return run(branch!.name, branch!.value, body, reading);
    case "kv_client_message":
      return inner === null ? { lane: "kv" } : kv(inner.name, int(branch!.value, "id"), inner.value, reading);
    case "exec_client_message":
      return exec(inner?.name ?? "", branch!.value, inner?.value, reading);
    case "exec_client_control_message":
      return inner === null ? { lane: "exec" } : control(inner.name, inner.value);
    case "conversation_action":
      return action(inner?.name ?? "", branch!.value, inner?.value, reading);
    case "interaction_response":
      return response(inner?.name ?? "", int(branch!.value, "id"), inner?.value, reading.schemas);
    default:
      return {};
  }
}

function kv(branch: string, id: number, value: ProtoMessage, reading: Reading): Part {
  const op = branch === "get_blob_result" ? "get" : branch === "set_blob_result" ? "set" : "";
  const failure = sub(value, "error");
  const error = failure === undefined ? "" : text(failure, "message");
  const data = op === "get" ? bytesOf(value, "blob_data") : undefined;
  const digest = data === undefined ? null : reading.contents.put(data);
  const answer = failure !== undefined ? "error" : op === "get" && data === undefined ? "not_found" : "ok";
  if (answer === "ok" && op === "set" && id < sharedAcks) return ackOf(id);
  const said = failure !== undefined ? ["error: ", quoted(error)] : data !== undefined ? [size(data.length)] : noWords;
  return {
    lane: "kv",
    says: said,
    detail: { type: "kv", id, op, answer, digest, size: data?.length ?? null, error: flat(error) },
  };
}

/** The commonest answer by far is the same for every run. */
const sharedAcks = 4096;
const acks: Part[] = [];

function ackOf(id: number): Part {
  acks[id] ??= {
    lane: "kv",
    says: noWords,
    detail: { type: "kv", id, op: "set", answer: "ok", digest: null, size: null, error: "" },
  };
  return acks[id];
}

function exec(branch: string, message: ProtoMessage, value: ProtoMessage | undefined, reading: Reading): Part {
  const id = int(message, "id");
  const { schemas } = reading;
  const event =
    branch === "shell_stream" && value !== undefined
      ? (schemas.branch("agent.v1.ShellStream", value, "event") ?? "")
      : "";
  const says =
    branch === "shell_stream"
      ? shellEvent(event, sub(value, event))
      : branch === ""
        ? [plural(listOf(message, "hook_additional_contexts").length, "hook context")]
        : resultLabel(schemas, execResultType(branch), value);
  const output = event === "stdout" || event === "stderr";
  return {
    lane: "exec",
    says,
    detail: {
      type: "exec",
      id,
      branch,
      event,
      result: execOutcome(branch, event, value, schemas),
      execId: text(message, "exec_id"),
      localMs: numberOf(message, "local_execution_time_ms") ?? null,
    },
    fold: output ? `exec ${id} ${event}` : "",
    chars: output ? text(sub(value, event), "data").length : 0,
    references: collect("agent.v1.ExecClientMessage", message, reading).references,
  };
}

function execOutcome(branch: string, event: string, value: ProtoMessage | undefined, schemas: Schemas): string {
  if (branch === "shell_stream") {
    if (event === "exit") return `exit ${int(sub(value, "exit"), "code")}`;
    return event === "start" || event === "stdout" || event === "stderr" || event === "hook_context" ? "" : event;
  }
  return value === undefined ? "" : (schemas.branch(execResultType(branch), value, "result") ?? "answered");
}

/** `read_result` -> `agent.v1.ReadResult`; two branches share another's type. */
function execResultType(branch: string): string {
  const base = branch.replace(/^redacted_/, "").replace(/^mini_swe_agent_bash/, "shell");
  return `agent.v1.${base
    .split("_")
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join("")}`;
}

function control(branch: string, value: ProtoMessage): Part {
  const id = int(value, "id");
  if (branch !== "stream_close" && branch !== "throw" && branch !== "heartbeat") return { lane: "exec" };
  const error = text(value, "error");
  return {
    lane: "exec",
    says: branch === "throw" ? ["failed: ", quoted(error)] : [],
    detail: { type: "control", id, what: branch, error: flat(error.slice(0, 200)) },
    fold: branch === "heartbeat" ? `exec heartbeat ${id}` : "",
  };
}

function action(branch: string, message: ProtoMessage, value: ProtoMessage | undefined, reading: Reading): Part {
  const said = promptOf(message, branch) ?? text(value, "reason");
  return {
    lane: "control",
    says: said === "" ? [] : [quoted(said)],
    detail: {
      type: "action",
      branch,
      injectionId: text(value, "injection_id"),
      expectedRunId: text(value, "expected_run_id"),
    },
    ...collect(ACTION, message, reading),
  };
}

function response(branch: string, id: number, value: ProtoMessage | undefined, schemas: Schemas): Part {
  const type = `agent.v1.${branch
    .split("_")
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join("")}`;
  const result = value === undefined ? "" : (schemas.branch(type, value, "result") ?? "");
  return {
    lane: "interaction",
    says: result === "" ? [] : [result.replaceAll("_", " ")],
    detail: { type: "response", id, branch, result },
  };
}

/** Text of the user's message in an action; null where the action has none. */
export function promptOf(action: ProtoMessage | undefined, branch: string): string | null {
  const value = sub(action, branch);
  switch (branch) {
    case "user_message_action":
    case "start_plan_action":
      return text(sub(value, "user_message"), "text");
    case "shell_command_action":
      return text(sub(value, "shell_command"), "command");
    case "inject_context_action":
      return (
        textOrNull(deep(value, "user_context", "user_message"), "text") ?? text(sub(value, "system_context"), "content")
      );
    default:
      return null;
  }
}

function run(name: "run_request" | "prewarm_request", request: ProtoMessage, body: Bytes, reading: Reading): Part {
  const wanted = sub(request, "action");
  const branch = wanted === undefined ? null : (reading.schemas.branch(ACTION, wanted, "action") ?? null);
  const beside = collect(name === "run_request" ? RUN_REQUEST : PREWARM, request, reading, false).carried;
  const state = sub(request, "conversation_state");
  const facts: RunFacts = {
    type: name === "run_request" ? "run" : "prewarm",
    conversationId: textOrNull(request, "conversation_id"),
    conversationGroupId: textOrNull(request, "conversation_group_id"),
    runId: textOrNull(request, "run_id"),
    agentSessionId: textOrNull(request, "agent_session_id"),
    action: branch,
    prompt: branch === null ? null : promptOf(wanted, branch),
    model: modelOf(request),
    subagentType: textOrNull(request, "subagent_type_name"),
    handle: reading.store.put(body),
    hasState: state !== undefined && Object.keys(state).length > 0,
    stateTurns: listOf(state, "turns").length,
    context: contextMode(wanted, branch),
    carried: [...prefetchedBlobs(request, reading), ...beside],
  };
  return { says: runSays(facts), detail: facts, carried: facts.carried };
}

function runSays(facts: RunFacts): Words {
  const words: (string | Words[number])[] = [];
  if (facts.prompt !== null && facts.prompt !== "")
    words.push(quoted(facts.prompt), ` (${count(facts.prompt.length)} chars)`);
  else if (facts.action !== null) words.push(facts.action.replaceAll("_", " "));
  if (facts.model !== null) words.push(`${words.length > 0 ? ", " : ""}model ${facts.model}`);
  if (facts.stateTurns > 0) words.push(`${words.length > 0 ? ", " : ""}after ${plural(facts.stateTurns, "turn")}`);
  return words;
}

function modelOf(request: ProtoMessage): string | null {
  return (
    textOrNull(sub(request, "requested_model"), "model_id") ??
    textOrNull(sub(request, "model_details"), "model_id") ??
    textOrNull(request, "dev_raw_model_slug")
  );
}

/** protocols/cursor.md 2.9: inline context, references, or both. */
function contextMode(action: ProtoMessage | undefined, branch: string | null): RunFacts["context"] {
  const value = branch === null ? undefined : sub(action, branch);
  const inline = sub(value, "request_context");
  const parts = sub(action, "request_context_parts");
  if (parts === undefined) return inline === undefined ? "none" : "legacy";
  if (sub(parts, "dynamic_context") !== undefined) return inline === undefined ? "ref_only" : "references";
  return inline === undefined ? "references" : "dual";
}

function prefetchedBlobs(request: ProtoMessage, reading: Reading): CarriedBlob[] {
  return listOf(request, "pre_fetched_blobs").map((item, i) =>
    carriedBlob(item as ProtoMessage, "prefetched", `pre_fetched_blobs[${i}]`, reading),
  );
}

/** An id with its value: PreFetchedBlob, BlobEntry. */
export function carriedBlob(entry: ProtoMessage, via: CarriedBlob["via"], path: string, reading: Reading): CarriedBlob {
  const value = bytesOf(entry, "value") ?? new Uint8Array(0);
  return {
    via,
    id: hex(bytesOf(entry, "id") ?? new Uint8Array(0)),
    digest: reading.contents.put(value),
    size: value.length,
    path,
  };
}

/** A run request names every turn of its conversation: those references are walked again when they are needed, not kept. */
function collect(
  type: string,
  message: ProtoMessage,
  reading: Reading,
  keep = true,
): { readonly references: readonly Reference[]; readonly carried: readonly CarriedBlob[] } {
  const references: Reference[] = [];
  const carried: CarriedBlob[] = [];
  walkReferences(type, message, {
    reference: (base, key, id, target, sure, declared) => {
      if (keep) references.push({ path: pathText(base, key), id: hex(id), target, sure, declared });
    },
    beside: (path, id, data) =>
      carried.push({ via: "inline", id: hex(id), digest: reading.contents.put(data), size: data.length, path }),
  });
  return {
    references: references.length === 0 ? noReferences : references,
    carried: carried.length === 0 ? noBlobs : carried,
  };
}

/** Tells a repeat from a conflict. A short message stands for itself. */
export function innerDigest(inner: Bytes): string {
  return inner.length <= 16 ? hex(inner) : shortDigest(inner);
}
