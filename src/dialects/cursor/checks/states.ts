/** Conversation states for the rules about checkpoints: references, comparison, and what a run's own blobs hold. */
import { equalBytes, hex } from "../../../core/bytes.js";
import { Recent } from "../../../core/recent.js";
import type { ProtoMessage, ProtoValue } from "../../../model/schema.js";
import { isBlobId } from "../blob-graph.js";
import { isMessage, listOf, sub } from "../fields.js";
import type { Checkpoint } from "../model.js";
import type { CursorTurn } from "../turn.js";
import { STATE, TURN } from "../types.js";

const ids = new Recent<readonly ProtoValue[], readonly string[]>(32);

/** Hex ids of a repeated bytes field. */
export function idsOf(message: ProtoMessage | undefined, field: string): readonly string[] {
  const list = listOf(message, field);
  return (
    ids.get(list) ??
    ids.set(
      list,
      list.map((value) => (value instanceof Uint8Array ? hex(value) : "")),
    )
  );
}

const sets = new Recent<CursorTurn, ReadonlyMap<string, number>>(4);

/** Ids set in this run, with the ordinal of the set frame. */
export function ownSets(turn: CursorTurn): ReadonlyMap<string, number> {
  return sets.get(turn) ?? sets.set(turn, setsOf(turn));
}

function setsOf(turn: CursorTurn): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const op of turn.pairs.kv) if (op.op === "set" && !found.has(op.blobId)) found.set(op.blobId, op.item.first);
  return found;
}

const reach = new Recent<Checkpoint, ReadonlySet<string>>(16);

/** The run's own blobs that a checkpoint reaches; blobs of other runs are not opened. */
export function reachedOwn(turn: CursorTurn, checkpoint: Checkpoint): ReadonlySet<string> {
  return reach.get(checkpoint) ?? reach.set(checkpoint, reachedBy(turn, checkpoint));
}

function reachedBy(turn: CursorTurn, checkpoint: Checkpoint): ReadonlySet<string> {
  const { graph } = turn.services.blobs;
  const sets = ownSets(turn);
  const reached = new Set<string>();
  const queue = [...graph.edges(STATE, turn.state(checkpoint))];
  for (let at = 0; at < queue.length; at++) {
    const { id, target } = queue[at]!;
    if (!isBlobId(id) || !sets.has(id) || reached.has(id)) continue;
    reached.add(id);
    for (const edge of graph.children(id, target)) queue.push(edge);
  }
  return reached;
}

/** The agent turn behind a blob id; undefined where the capture does not hold it. */
export function agentTurn(turn: CursorTurn, id: string | undefined): ProtoMessage | undefined {
  if (id === undefined || !isBlobId(id)) return undefined;
  return sub(turn.services.blobs.graph.message(id, TURN), "agent_conversation_turn");
}

/** A decoded message as text, to compare: maps sorted, the usage tree left out as the client strips it (cursor.md 1.7 item 14). */
export function comparable(value: ProtoValue | undefined): string {
  if (value === undefined) return "";
  if (value instanceof Uint8Array) return `x${hex(value)}`;
  if (Array.isArray(value)) return `[${value.map((item: ProtoValue) => comparable(item)).join(",")}]`;
  if (value instanceof Map) {
    const entries = [...value].map(([key, inner]) => `${String(key)}=${comparable(inner as ProtoValue)}`);
    return `{${entries.sort().join(",")}}`;
  }
  if (!isMessage(value)) return `${typeof value}:${String(value)}`;
  const fields = Object.keys(value).filter(
    (field) => field !== "prompt_context_usage_tree" && value[field] !== undefined,
  );
  return `(${fields
    .sort()
    .map((field) => `${field}:${comparable(value[field])}`)
    .join(",")})`;
}

/** First field in which two states differ; null: none. */
export function firstDifference(a: ProtoMessage, b: ProtoMessage): string | null {
  const fields = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
  return fields.find((field) => !isSame(stripped(a, field), stripped(b, field))) ?? null;
}

/** Lists of ids are nearly all there is; anything else is compared as text. */
function isSame(a: ProtoValue | undefined, b: ProtoValue | undefined): boolean {
  if (a === b) return true;
  if (a instanceof Uint8Array && b instanceof Uint8Array) return equalBytes(a, b);
  if (Array.isArray(a) && Array.isArray(b)) {
    if (a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!isSame(a[i] as ProtoValue, b[i] as ProtoValue)) return false;
    return true;
  }
  return comparable(a) === comparable(b);
}

/** An empty list, map or zero is the same as an absent one. */
function stripped(message: ProtoMessage, field: string): ProtoValue | undefined {
  const value = message[field];
  if (value === undefined || value === 0 || value === "" || value === false) return undefined;
  if (Array.isArray(value) && value.length === 0) return undefined;
  return value instanceof Map && value.size === 0 ? undefined : value;
}

/** Index of the first element that differs where both lists have one; the shorter length where one is a prefix. */
export function commonPrefix(a: readonly string[], b: readonly string[]): number {
  const most = Math.min(a.length, b.length);
  for (let i = 0; i < most; i++) if (a[i] !== b[i]) return i;
  return most;
}
