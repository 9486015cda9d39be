/** KV and blobs (protocols/cursor.md 5, K): every operation is answered, and every id is the hash of its content. */
import type { Place } from "../../../core/place.js";
import type { CursorModel } from "../finish.js";
import { count, plural } from "../format.js";
import type { CarriedBlob } from "../model.js";
import type { KvOp } from "../pairs.js";
import type { CursorTurn } from "../turn.js";
import { kvHash } from "../turn-json.js";
import { noKv } from "./gates.js";
import { type CursorRule, examples, isMangled, type Judgement, noDownlink } from "./rule.js";

const family = "KV and blobs";
const source = "protocols/cursor.md 5 K, 2.13, 4";

const name = (op: KvOp): string => `kv ${op.id}`;

function* answered(turn: CursorTurn, ops: readonly KvOp[]): Generator<Judgement> {
  if (turn.outcome !== "completed") {
    yield { why: `the run did not end successfully (${turn.outcome})` };
    return;
  }
  const open = ops.filter((op) => op.answers.length === 0);
  if (open.length === 0) return;
  if (turn.lost("up")) {
    yield { why: "part of the uplink is lost: the answers may have been in it" };
    return;
  }
  for (const op of open)
    yield {
      says: [`kv ${op.id} ${op.op} of ${op.blobId.slice(0, 12)}… has no answer before the successful EndStream`],
      places: [op.item.place],
      subject: name(op),
    };
}

function* branches(_turn: CursorTurn, ops: readonly KvOp[]): Generator<Judgement> {
  for (const op of ops) {
    for (const item of op.answers) {
      if (item.detail.type !== "kv" || item.detail.op === op.op || item.detail.op === "") continue;
      yield {
        says: [`kv ${op.id} asks for ${op.op}_blob and is answered with ${item.detail.op}_blob_result`],
        places: [op.item.place, item.place],
        subject: name(op),
        damaged: isMangled(item),
      };
    }
  }
}

function* noStray(turn: CursorTurn): Generator<Judgement> {
  const why = noDownlink(turn);
  if (why !== undefined) {
    yield { why };
    return;
  }
  for (const op of turn.pairs.kv) {
    if (op.answers.length < 2) continue;
    yield {
      says: [`kv ${op.id} is answered ${count(op.answers.length)} times`],
      places: [op.item.place, ...op.answers.map((item) => item.place)],
      subject: name(op),
      damaged: op.answers.some(isMangled) || turn.lost("down"),
    };
  }
  const stray = turn.pairs.stray.filter((item) => item.detail.type === "kv");
  if (stray.length > 0 && turn.lost("down")) {
    yield { why: "part of the downlink is lost: what asked may have been in it" };
    return;
  }
  for (const item of stray) {
    if (item.detail.type !== "kv") continue;
    yield {
      says: [`kv ${item.detail.id} is answered and was never asked for`],
      places: [item.place],
      subject: `kv ${item.detail.id}`,
      damaged: isMangled(item),
    };
  }
}

function* idsInOrder(turn: CursorTurn, ops: readonly KvOp[]): Generator<Judgement> {
  if (turn.lost("down")) {
    yield { why: "part of the downlink is lost" };
    return;
  }
  const wrong = ops.findIndex((op, i) => op.id !== i);
  if (wrong < 0) return;
  const op = ops[wrong]!;
  yield {
    says: [`the KV ids in frame order are ${examples(ops.map((each) => each.id))}: number ${wrong} is ${op.id}`],
    places: [op.item.place],
    subject: "order",
  };
}

function* idLength(_turn: CursorTurn, ops: readonly KvOp[]): Generator<Judgement> {
  for (const op of ops) {
    if (op.blobId.length === 64 || op.item.faulty) continue;
    yield {
      says: [`the blob id of kv ${op.id} (${op.op}) has ${plural(op.blobId.length / 2, "byte")}, 32 are due`],
      places: [op.item.place],
      subject: name(op),
    };
  }
}

function* setHash(_turn: CursorTurn, ops: readonly KvOp[]): Generator<Judgement> {
  for (const op of ops) {
    if (op.op !== "set" || op.item.faulty || op.blobId.length !== 64 || kvHash(op) !== "mismatch") continue;
    yield {
      says: [
        `kv ${op.id} sets ${plural(op.ask.size ?? 0, "byte")} under ${op.blobId}; their SHA-256 is ${op.ask.digest}`,
      ],
      places: [op.item.place],
      subject: name(op),
      detail: { blobId: op.blobId, digest: op.ask.digest },
    };
  }
}

function* getHash(_turn: CursorTurn, ops: readonly KvOp[]): Generator<Judgement> {
  for (const op of ops) {
    if (op.op !== "get" || op.blobId.length !== 64 || kvHash(op) !== "mismatch") continue;
    const item = op.answers[0]!;
    const detail = item.detail.type === "kv" ? item.detail : null;
    yield {
      says: [
        `kv ${op.id} got ${plural(detail?.size ?? 0, "byte")} for ${op.blobId}; their SHA-256 is ${detail?.digest}`,
      ],
      places: [item.place, op.item.place],
      subject: name(op),
      damaged: isMangled(item),
      detail: { blobId: op.blobId, digest: detail?.digest ?? null },
    };
  }
}

function* carriedHash(turn: CursorTurn): Generator<Judgement> {
  let seen = 0;
  for (const item of turn.uplink) {
    seen += item.carried.length;
    for (const blob of item.carried) yield* carriedBlob(blob, item.place, isMangled(item));
  }
  if (seen === 0) yield { why: "no blob came along with a client message" };
}

function* uploadedHash(model: CursorModel): Generator<Judgement> {
  if (model.uploads.length === 0) yield { why: "no blob was uploaded" };
  for (const { blob, place, damaged } of model.uploads) yield* carriedBlob(blob, place, damaged);
}

function* carriedBlob(blob: CarriedBlob, place: Place, damaged: boolean): Generator<Judgement> {
  if (blob.digest === blob.id) return;
  const id = blob.id.length === 64 ? blob.id : `an id of ${plural(blob.id.length / 2, "byte")}`;
  yield {
    says: [
      `${blob.path} (${blob.via}) carries ${plural(blob.size, "byte")} under ${id}; their SHA-256 is ${blob.digest}`,
    ],
    places: [place],
    subject: `${blob.via} ${blob.path}`,
    damaged,
    detail: { blobId: blob.id, digest: blob.digest },
  };
}

const rule = (data: Omit<CursorRule, "family" | "class" | "implies" | "source"> & Partial<CursorRule>): CursorRule => ({
  family,
  class: "check",
  implies: [],
  source,
  ...data,
});

export const blobRules: readonly CursorRule[] = [
  rule({
    id: "cursor/K01",
    severity: "error",
    statement: "Every KV id is answered before a successful EndStream.",
    why: "A server that ends without the acknowledgement does not know whether the state it published can be read again.",
    needs: "a completed run, its downlink and its uplink",
    good: "set_blob_args id 3, set_blob_result id 3, …, EndStream {}",
    bad: "set_blob_args id 3, EndStream {}",
    remedy:
      "wait for the result of every get and set before the stream ends; the reference client answers each of them",
    gate: noKv,
    turn: (turn) => answered(turn, turn.pairs.kv),
  }),
  rule({
    id: "cursor/K02",
    severity: "error",
    statement: "A get is answered by a get result, a set by a set result.",
    why: "The id spaces of the two are one: a wrong branch answers the wrong question.",
    needs: "KV asks and answers",
    good: "get_blob_args id 0, get_blob_result id 0",
    bad: "get_blob_args id 0, set_blob_result id 0",
    remedy: "answer with the branch that the request's oneof names",
    gate: noKv,
    turn: (turn) => branches(turn, turn.pairs.kv),
  }),
  rule({
    id: "cursor/K03",
    severity: "error",
    statement: "No KV result without its request, and no second result.",
    why: "A result for an unknown id means that two runs, or two epochs, were mixed up.",
    needs: "the downlink that asks and the uplink that answers",
    good: "one set_blob_result for each set_blob_args",
    bad: "two set_blob_result with id 3",
    remedy: "key answers by request id, epoch and KV id: the numbers start again for every run",
    turn: noStray,
  }),
  rule({
    id: "cursor/K04",
    severity: "warning",
    statement: "KV ids of a run are 0, 1, 2, … in frame order.",
    why: "The first one is absent on the wire (proto3's default); a client may rely on the count.",
    needs: "the whole downlink",
    good: "(absent), 1, 2",
    bad: "1, 2, 3",
    remedy: "start at 0 for every run",
    gate: noKv,
    turn: (turn) => idsInOrder(turn, turn.pairs.kv),
  }),
  rule({
    id: "cursor/K05",
    severity: "error",
    statement: "A blob id has 32 bytes.",
    why: "It is a SHA-256; hex or base64 text, or the blob itself, in its place cannot be looked up.",
    needs: "KV asks",
    good: "32 raw bytes",
    bad: "64 bytes of hex text",
    remedy: "send the raw digest, not its text form",
    gate: noKv,
    turn: (turn) => idLength(turn, turn.pairs.kv),
  }),
  rule({
    id: "cursor/K06",
    severity: "error",
    statement: "The id of a set blob is the SHA-256 of its data.",
    why: "The client stores by this id and checks nothing: a later get of the true hash finds nothing, and the conversation cannot be resumed.",
    needs: "set_blob_args",
    good: "blob_id = SHA-256(blob_data)",
    bad: "blob_id computed before the message was changed",
    remedy: "hash exactly the bytes that are sent; serialise once and use the same buffer for both",
    gate: noKv,
    turn: (turn) => setHash(turn, turn.pairs.kv),
  }),
  rule({
    id: "cursor/K07",
    severity: "error",
    statement: "The data of a get result has the requested id as its SHA-256.",
    why: "A server that trusts other bytes continues from a state that never was.",
    needs: "get_blob_args and its result with data",
    good: "SHA-256(result.blob_data) = requested id",
    bad: "the client's store returns another blob, or a re-serialised one",
    remedy:
      "return the stored bytes as they are; for a blob that is not there the reference client sends an empty result",
    gate: noKv,
    turn: (turn) => getHash(turn, turn.pairs.kv),
  }),
  rule({
    id: "cursor/K13",
    severity: "error",
    statement: "A prefetched, uploaded or inline blob has its id as SHA-256.",
    why: "The server stores it under that id and never asks again.",
    needs: "pre_fetched_blobs, blob_id_with_data or UploadConversationBlobs",
    good: "id = SHA-256(value)",
    bad: "an id that belongs to another version of the value",
    remedy: "take id and value from one place",
    turn: carriedHash,
    session: uploadedHash,
  }),
];
