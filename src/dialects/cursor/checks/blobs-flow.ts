/** KV and blobs (protocols/cursor.md 5, K): what is asked for, what is not found, and when answers come. */
import { isExact, isKnown, millisBetween } from "../../../core/time.js";
import { took } from "../format.js";
import { runRequestOf } from "../ledger.js";
import type { KvOp } from "../pairs.js";
import { refers } from "../references.js";
import type { CursorTurn } from "../turn.js";
import { STATE } from "../types.js";
import { noKv } from "./gates.js";
import { type CursorRule, isMangled, type Judgement } from "./rule.js";

const family = "KV and blobs";
const source = "protocols/cursor.md 5 K, 2.13, 4";

const name = (op: KvOp): string => `kv ${op.id}`;
const short = (id: string): string => `${id.slice(0, 12)}…`;

function gets(ops: readonly KvOp[]): readonly KvOp[] {
  return ops.filter((op) => op.op === "get");
}

function* found(_turn: CursorTurn, ops: readonly KvOp[]): Generator<Judgement> {
  const asked = gets(ops);
  if (asked.length === 0) yield { why: "no blob is read" };
  for (const op of asked) {
    const item = op.answers.find(({ detail }) => detail.type === "kv" && detail.answer === "not_found");
    if (item === undefined) continue;
    yield {
      says: [`kv ${op.id} get of ${short(op.blobId)} is answered empty: the client does not have the blob`],
      places: [op.item.place, item.place],
      subject: name(op),
      damaged: isMangled(item),
    };
  }
}

function* withoutErrors(turn: CursorTurn, ops: readonly KvOp[]): Generator<Judgement> {
  for (const op of ops) {
    const item = op.answers.find(({ detail }) => detail.type === "kv" && detail.answer === "error");
    if (item === undefined || item.detail.type !== "kv") continue;
    const wanted =
      op.op === "set" &&
      turn.checkpoints.some((checkpoint) => checkpoint.ordinal > op.item.first && reaches(turn, checkpoint, op.blobId));
    yield {
      says: [
        `kv ${op.id} ${op.op} of ${short(op.blobId)} is answered with an error${wanted ? ", and a later checkpoint needs the blob" : ""}`,
      ],
      places: [op.item.place, item.place],
      subject: name(op),
      damaged: isMangled(item),
      ...(wanted ? { severity: "error" as const } : {}),
    };
  }
}

/** Directly or through the turns it names. */
function reaches(turn: CursorTurn, checkpoint: CursorTurn["checkpoints"][number], id: string): boolean {
  const { graph } = turn.services.blobs;
  const seen = new Set<string>();
  const queue = [...graph.edges(STATE, turn.state(checkpoint))];
  for (let at = 0; at < queue.length; at++) {
    const node = queue[at]!;
    if (node.id === id) return true;
    if (seen.has(node.id)) continue;
    seen.add(node.id);
    for (const edge of graph.children(node.id, node.target)) queue.push(edge);
  }
  return false;
}

function* resolvable(turn: CursorTurn, ops: readonly KvOp[]): Generator<Judgement> {
  const asked = gets(ops);
  const request = asked.length === 0 ? undefined : runRequestOf(turn);
  if (request === undefined || turn.lost("up")) {
    yield { why: asked.length === 0 ? "no blob is read" : "the run_request is not whole in the capture" };
    return;
  }
  const { blobs } = turn.services;
  const { graph } = blobs;
  const wanted = new Set<string>();
  for (const { blobId } of asked) if (!blobs.isSetIn(turn.conversationId, blobId)) wanted.add(blobId);
  const referenced = new Set<string>();
  // The newest turns last: what is read is mostly in them, and the walk ends once all of it is found.
  const stack = [...graph.edges(request.type, request.message)];
  for (const { id } of stack) wanted.delete(id);
  // Below a node that the capture never shows there may be a reference to anything.
  let blind = false;
  while (stack.length > 0 && wanted.size > 0) {
    const node = stack.pop()!;
    if (referenced.has(node.id)) continue;
    referenced.add(node.id);
    wanted.delete(node.id);
    if (refers(node.target) && !graph.isSupplied(node.id)) blind = true;
    for (const edge of graph.children(node.id, node.target)) stack.push(edge);
  }
  for (const op of asked) {
    if (!wanted.has(op.blobId)) continue;
    if (blind) {
      yield { why: "the state carries blobs that the capture never shows" };
      continue;
    }
    yield {
      says: [`kv ${op.id} asks for ${short(op.blobId)}, which nothing in this run refers to`],
      places: [op.item.place],
      subject: name(op),
    };
  }
}

function* notItsOwn(turn: CursorTurn, ops: readonly KvOp[]): Generator<Judgement> {
  const asked = gets(ops);
  if (asked.length === 0) yield { why: "no blob is read" };
  const carried = new Set(turn.uplink.flatMap((item) => item.carried.map((blob) => blob.id)));
  for (const op of asked) {
    const set = ops.find(
      (other) => other.op === "set" && other.blobId === op.blobId && other.item.first < op.item.first,
    );
    if (set === undefined && !carried.has(op.blobId)) continue;
    yield {
      says: [
        `kv ${op.id} asks for ${short(op.blobId)}, which ${set === undefined ? "came with the run_request" : `kv ${set.id} set in this run`}`,
      ],
      places: [op.item.place, ...(set === undefined ? [] : [set.item.place])],
      subject: name(op),
    };
  }
}

function* afterTheirAsk(turn: CursorTurn, ops: readonly KvOp[]): Generator<Judgement> {
  if (!turn.hasExactTimes) {
    yield { why: "times of the frames are not exact" };
    return;
  }
  for (const op of ops) {
    const item = op.answers[0];
    if (item === undefined || !isKnown(item.when) || !isExact(item.when)) continue;
    const ms = millisBetween(item.when.latest, op.item.when.earliest);
    if (ms <= 0) continue;
    yield {
      says: [`the result of kv ${op.id} comes ${took(ms)} before its request`],
      places: [op.item.place, item.place],
      subject: name(op),
      damaged: isMangled(item),
    };
  }
}

const rule = (data: Omit<CursorRule, "family" | "class" | "implies" | "source"> & Partial<CursorRule>): CursorRule => ({
  family,
  class: "check",
  implies: [],
  source,
  ...data,
});

export const blobFlowRules: readonly CursorRule[] = [
  rule({
    id: "cursor/K08",
    severity: "warning",
    statement: "A get result has data or an error; neither means that the client does not have the blob.",
    why: "The server continues without that part of the context, usually without a word.",
    needs: "an answered get",
    good: "get_blob_result { blob_data }",
    bad: "get_blob_result {}",
    remedy:
      "find out why the client's store lost the blob: a wrong id when it was set, or another conversation's store",
    gate: noKv,
    turn: (turn) => found(turn, turn.pairs.kv),
  }),
  rule({
    id: "cursor/K09",
    severity: "warning",
    statement: "No KV result carries an error; it is graver where a later checkpoint needs the blob.",
    why: "A checkpoint over a blob that was not stored cannot be resumed.",
    needs: "answered KV traffic",
    good: "set_blob_result {}",
    bad: "set_blob_result { error }",
    remedy: null,
    gate: noKv,
    turn: (turn) => withoutErrors(turn, turn.pairs.kv),
  }),
  rule({
    id: "cursor/K10",
    class: "permission",
    severity: "info",
    statement: "The same blob set twice is legal.",
    why: "Setting is idempotent: the id is the content.",
    needs: "a blob that is set twice",
    good: "kv 3 and kv 7 set the same id",
    bad: "nothing: it is legal",
    remedy: null,
    gate: noKv,
    turn: function* twice(turn) {
      const sets = turn.pairs.kv.filter((op) => op.op === "set");
      if (new Set(sets.map((op) => op.blobId)).size === sets.length) yield { why: "no blob is set twice" };
    },
  }),
  rule({
    id: "cursor/K11",
    severity: "warning",
    statement:
      "A get asks for a blob that the request context, the conversation state or an earlier set of the conversation names.",
    why: "Any other id cannot be in the client's store: the answer will be empty.",
    needs: "a get and the whole run_request",
    good: "get of mcps_blob_id",
    bad: "get of an id that nobody sent",
    remedy: "take the id from the field, byte for byte",
    gate: noKv,
    turn: (turn) => resolvable(turn, turn.pairs.kv),
  }),
  rule({
    id: "cursor/K12",
    severity: "warning",
    statement: "The server does not read a blob that it set in the same run or that came with the request.",
    why: "A round trip for bytes it already has.",
    needs: "a get",
    good: "get of a context part",
    bad: "set X, get X",
    remedy: "keep what was set and what was prefetched for the run",
    gate: noKv,
    turn: (turn) => notItsOwn(turn, turn.pairs.kv),
  }),
  rule({
    id: "cursor/K14",
    severity: "error",
    statement: "A KV result comes after its request.",
    why: "Otherwise it answers another one.",
    needs: "exact times",
    good: "get at 1.0 s, result at 1.1 s",
    bad: "result at 0.9 s",
    remedy: null,
    gate: noKv,
    turn: (turn) => afterTheirAsk(turn, turn.pairs.kv),
  }),
  rule({
    id: "cursor/K15",
    class: "permission",
    severity: "info",
    statement: "Results need not come in the order of KV ids.",
    why: "Appends run in parallel.",
    needs: "two results out of order",
    good: "kv 5 answered before kv 4",
    bad: "nothing: it is legal",
    remedy: null,
    gate: noKv,
    turn: function* shuffled(turn) {
      const seqnos = turn.pairs.kv.flatMap((op) => op.answers.slice(0, 1).map((item) => item.seqno));
      if (seqnos.every((seqno, i) => i === 0 || seqno > seqnos[i - 1]!)) yield { why: "all results come in order" };
    },
  }),
];
