/** One decoded AgentServerMessage -> what a turn keeps of it. Nothing large is kept: bodies go to the content store. */
import { type Bytes, hex, noBytes } from "../../core/bytes.js";
import type { Words } from "../../core/printable.js";
import type { BlobStore } from "../../model/dialect.js";
import type { Decoded, ProtoMessage, Schemas } from "../../model/schema.js";
import { type Contents, digestOf } from "./contents.js";
import { bytesOf, int, listOf, noMessage, numberOf, sub, text } from "./fields.js";
import { count, plural, took } from "./format.js";
import { interactionUpdate } from "./interaction-update.js";
import { type Kind, kindOf } from "./kinds.js";
import { labelOf, questionLabel } from "./labels.js";
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
import { SERVER, UPDATE } from "./types.js";

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

/** What a branch says about itself; `readServer` has the rest. */
export type ServerPart = Partial<Omit<ServerMessage, "kind">>;

/** Decoded once; the caller keeps the faults and unknown fields. */
export function readServer(decoded: Decoded, body: Bytes, reading: Reading): ServerMessage {
  const kind = kindOf(reading.schemas, decoded, body);
  const part = partOf(kind, decoded.value, reading);
  // Written out: objects that are spread together have no common shape, and this one is made for every message.
  return {
    kind: kind.kind,
    lane: part.lane ?? "session",
    says: part.says ?? noWords,
    detail: part.detail ?? noDetail,
    fold: part.fold ?? "",
    text: part.text ?? "",
    notice: part.notice ?? false,
    tokens: part.tokens ?? 0,
    nested: part.nested ?? null,
    references: part.references ?? noReferences,
  };
}

function partOf(kind: Kind, message: ProtoMessage, reading: Reading): ServerPart {
  const { branch, inner } = kind;
  switch (branch?.name) {
    case undefined:
      return kind.kind === "ttft_breakdown" ? { says: firstToken(sub(message, "ttft_breakdown")) } : {};
    case "interaction_update":
      return inner === null
        ? {}
        : withBlobIds(interactionUpdate(inner.name, inner.value, reading.schemas, ""), inner.name, branch!.value);
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

/** With those of updates that can carry blob ids. */
function withBlobIds(part: ServerPart, branch: string, value: ProtoMessage): ServerPart {
  if (branch !== "tool_call_completed" && branch !== "tool_call_started" && branch !== "user_message_appended")
    return part;
  const references = referencesOf(UPDATE, value);
  return references.length === 0 ? part : { ...part, references };
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

function kv(branch: string, id: number, value: ProtoMessage, contents: Contents): ServerPart {
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

function exec(kind: string, message: ProtoMessage, args: ProtoMessage | undefined): ServerPart {
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
