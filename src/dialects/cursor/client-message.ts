/** One decoded AgentClientMessage -> what a turn keeps of it. */
import { type Bytes, hex } from "../../core/bytes.js";
import type { Words } from "../../core/printable.js";
import type { Decoded, ProtoMessage, Schemas } from "../../model/schema.js";
import { shortDigest } from "./contents.js";
import { bytesOf, flat, int, listOf, numberOf, sub, text } from "./fields.js";
import { plural, quoted, size } from "./format.js";
import { type Kind, kindOf } from "./kinds.js";
import { resultLabel, shellEvent } from "./labels.js";
import { type CarriedBlob, type Lane, noBlobs, noDetail, noReferences, noWords, type UpDetail } from "./model.js";
import type { Reference } from "./references.js";
import { collect, promptOf, runRequest } from "./run-request.js";
import type { Reading } from "./server-message.js";
import { ACTION } from "./types.js";

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

/** What a branch says about itself; `readClient` has the rest. */
export type ClientPart = Partial<Omit<ClientMessage, "kind">>;

export function readClient(decoded: Decoded, body: Bytes, reading: Reading): ClientMessage {
  const kind = kindOf(reading.schemas, decoded, body);
  const part = partOf(kind, body, reading);
  return {
    kind: kind.kind,
    lane: part.lane ?? "session",
    says: part.says ?? noWords,
    detail: part.detail ?? noDetail,
    fold: part.fold ?? "",
    chars: part.chars ?? 0,
    references: part.references ?? noReferences,
    carried: part.carried ?? noBlobs,
  };
}

function partOf(kind: Kind, body: Bytes, reading: Reading): ClientPart {
  const { branch, inner } = kind;
  switch (branch?.name) {
    case "client_heartbeat":
      return { detail: { type: "heartbeat" }, fold: "heartbeat" };
    case "run_request":
    case "prewarm_request":
      return runRequest(branch!.name, branch!.value, body, reading);
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

function kv(branch: string, id: number, value: ProtoMessage, reading: Reading): ClientPart {
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
const acks: ClientPart[] = [];

function ackOf(id: number): ClientPart {
  acks[id] ??= {
    lane: "kv",
    says: noWords,
    detail: { type: "kv", id, op: "set", answer: "ok", digest: null, size: null, error: "" },
  };
  return acks[id];
}

function exec(branch: string, message: ProtoMessage, value: ProtoMessage | undefined, reading: Reading): ClientPart {
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

function control(branch: string, value: ProtoMessage): ClientPart {
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

function action(branch: string, message: ProtoMessage, value: ProtoMessage | undefined, reading: Reading): ClientPart {
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

function response(branch: string, id: number, value: ProtoMessage | undefined, schemas: Schemas): ClientPart {
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

/** Tells a repeat from a conflict. A short message stands for itself. */
export function innerDigest(inner: Bytes): string {
  return inner.length <= 16 ? hex(inner) : shortDigest(inner);
}
