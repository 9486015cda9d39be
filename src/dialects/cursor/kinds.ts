/**
 * Kind of a message: the name of its oneof branch, with the sub-branch after a dot where the branch is itself only an envelope
 * (contract: frames). Names are interned: a capture has millions of messages and a few dozen kinds.
 */
import type { Bytes } from "../../core/bytes.js";
import { LEN, WireReader } from "../../decode/wire.js";
import type { Decoded, ProtoMessage, Schemas } from "../../model/schema.js";
import { flat, noMessage, sub } from "./fields.js";
import { CLIENT, SERVER } from "./types.js";

export interface Branch {
  /** "interaction_update" */
  readonly name: string;
  readonly value: ProtoMessage;
}

export interface Kind {
  /** "interaction_update.text_delta", "unknown:9", "undecodable", "ttft_breakdown", "empty" */
  readonly kind: string;
  readonly branch: Branch | null;
  /** The branch inside the branch, where the kind has two parts. */
  readonly inner: Branch | null;
}

/** Branches whose own oneof is the second part of the kind: type, name of the oneof, numbers of the fields outside it. */
const nested: ReadonlyMap<string, readonly [string, string, readonly number[]]> = new Map([
  ["interaction_update", ["agent.v1.InteractionUpdate", "message", [25]]],
  ["exec_server_message", ["agent.v1.ExecServerMessage", "message", [1, 15, 19, 55, 57]]],
  ["kv_server_message", ["agent.v1.KvServerMessage", "message", [1, 4]]],
  ["exec_server_control_message", ["agent.v1.ExecServerControlMessage", "message", []]],
  ["interaction_query", ["agent.v1.InteractionQuery", "query", [1]]],
  ["exec_client_message", ["agent.v1.ExecClientMessage", "message", [1, 15, 39, 45]]],
  ["kv_client_message", ["agent.v1.KvClientMessage", "message", [1]]],
  ["conversation_action", ["agent.v1.ConversationAction", "action", [11, 15, 17]]],
  ["exec_client_control_message", ["agent.v1.ExecClientControlMessage", "message", []]],
  ["interaction_response", ["agent.v1.InteractionResponse", "result", [1]]],
]);

const joined = new Map<string, Map<string, string>>();

/** `a.b` as one shared string. */
export function joinKind(a: string, b: string): string {
  let inner = joined.get(a);
  if (inner === undefined) {
    inner = new Map();
    joined.set(a, inner);
  }
  let kind = inner.get(b);
  if (kind === undefined) {
    kind = flat(`${a}.${b}`);
    // Branch names come from schemas and branch numbers from the wire: the latter must not grow this without bound.
    if (inner.size < 1024) inner.set(b, kind);
  }
  return kind;
}

/** `bytes` are what `decoded` was made of. */
export function kindOf(schemas: Schemas, decoded: Decoded, bytes: Bytes): Kind {
  const { type, value } = decoded;
  const name = schemas.branch(type, value, "message");
  if (name === undefined) return { kind: rootKind(decoded), branch: null, inner: null };
  const branch = { name, value: sub(value, name) ?? noMessage };
  const envelope = nested.get(name);
  if (envelope === undefined) return { kind: name, branch, inner: null };
  const innerName = schemas.branch(envelope[0], branch.value, envelope[1]);
  if (innerName === undefined) return { kind: unknownInner(name, envelope[2], bytes), branch, inner: null };
  const inner = { name: innerName, value: sub(branch.value, innerName) ?? noMessage };
  return { kind: joinKind(name, innerName), branch, inner };
}

/** A branch number that is newer than the schema is named; an ExecClientMessage with nothing but hook contexts has no branch at all. */
function unknownInner(name: string, common: readonly number[], bytes: Bytes): string {
  reader.reset(bytes);
  while (reader.pos < reader.end && reader.tag()) {
    // ttft_breakdown shares its number with prewarm_request, which is no envelope: neither comes here.
    if (reader.wire !== LEN || reader.field > 7) {
      if (!reader.skip(0)) break;
      continue;
    }
    if (!reader.length()) break;
    const end = reader.pos + reader.lo;
    while (reader.pos < end && reader.tag()) {
      if (!common.includes(reader.field)) return joinKind(name, `unknown:${reader.field}`);
      if (!reader.skip(0)) return name;
    }
    reader.pos = end;
  }
  return name;
}

function rootKind(decoded: Decoded): string {
  if (decoded.unknownRoot.length > 0) return `unknown:${decoded.unknownRoot[0]}`;
  if (decoded.faults.some((fault) => fault.what !== "bad-utf8")) return "undecodable";
  if (decoded.type === SERVER && decoded.value["ttft_breakdown"] !== undefined) return "ttft_breakdown";
  return "empty";
}

/** How many different branches of the root oneof the bytes hold; a decoder keeps only the last one. */
export function branchCount(type: string, bytes: Bytes): number {
  reader.reset(bytes);
  let seen = 0;
  while (reader.pos < reader.end) {
    if (!reader.tag()) break;
    if (isBranchNumber(type, reader.field)) seen |= 1 << reader.field;
    if (!reader.skip(0)) break;
  }
  let count = 0;
  for (let bits = seen; bits !== 0; bits &= bits - 1) count++;
  return count;
}

const reader = new WireReader();

/** Field numbers of the root oneof (protocols/cursor.md 2.2, 2.3). */
function isBranchNumber(type: string, number: number): boolean {
  if (type === CLIENT) return number >= 1 && number <= 8;
  return type === SERVER && (number === 7 || (number >= 1 && number <= 5));
}
