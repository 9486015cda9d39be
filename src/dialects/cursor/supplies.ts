/** Every time the capture shows a blob's content: set, got, prefetched, uploaded. */
import type { Place } from "../../core/place.js";
import type { BlobRow } from "../../model/conversation.js";
import type { CarriedBlob } from "./model.js";
import type { CursorTurn } from "./turn.js";
import type { UploadedBlob } from "./upload.js";

type Source = BlobRow["sources"][number];

export interface Supply {
  readonly id: string;
  readonly digest: string;
  readonly size: number;
  readonly via: Source["via"];
  readonly requestId: string | null;
  readonly place: Place;
}

/** One content under one id. */
export interface Supplied {
  readonly digest: string;
  readonly size: number;
  times: number;
  sources: readonly Source[];
}

const sourcesKept = 16;

/** Uploads first: they belong to no turn. Then turn by turn, what the request brought and what KV moved. */
export function* suppliesOf(turns: readonly CursorTurn[], uploads: readonly UploadedBlob[]): Generator<Supply> {
  yield* uploadSupplies(uploads);
  for (const turn of turns) yield* turnSupplies(turn);
}

export function* uploadSupplies(uploads: readonly UploadedBlob[]): Generator<Supply> {
  for (const { blob, requestId, place } of uploads) yield carriedSupply(blob, requestId, place);
}

export function* turnSupplies(turn: CursorTurn): Generator<Supply> {
  for (const item of turn.uplink)
    for (const blob of item.carried) yield carriedSupply(blob, turn.requestId, item.place);
  yield* kvSupplies(turn);
}

function carriedSupply(blob: CarriedBlob, requestId: string | null, place: Place): Supply {
  const { id, digest, size } = blob;
  // An inline attachment stands beside its id in the request itself: to the server it is prefetched.
  return { id, digest, size, via: blob.via === "upload" ? "upload" : "prefetched", requestId, place };
}

function* kvSupplies(turn: CursorTurn): Generator<Supply> {
  const { requestId } = turn;
  for (const { detail, place } of turn.down) {
    if (detail.type !== "kv" || detail.op !== "set" || detail.digest === null) continue;
    yield { id: detail.blobId, digest: detail.digest, size: detail.size ?? 0, via: "set", requestId, place };
  }
  if (!turn.down.some(({ detail }) => detail.type === "kv" && detail.op === "get")) return;
  for (const op of turn.pairs.kv) {
    if (op.op !== "get") continue;
    for (const { detail, place } of op.answers) {
      if (detail.type !== "kv" || detail.digest === null) continue;
      yield { id: op.blobId, digest: detail.digest, size: detail.size ?? 0, via: "get", requestId, place };
    }
  }
}

/** By id; under one id nearly always one content. */
export function suppliedBy(supplies: Iterable<Supply>): ReadonlyMap<string, readonly Supplied[]> {
  const byId = new Map<string, Supplied[]>();
  for (const { id, digest, size, via, requestId, place } of supplies) {
    const source = { via, requestId, place };
    const known = byId.get(id);
    const same = known?.find((content) => content.digest === digest);
    if (same !== undefined) {
      same.times++;
      if (same.sources.length < sourcesKept) same.sources = [...same.sources, source];
      continue;
    }
    const content = { digest, size, times: 1, sources: [source] };
    if (known === undefined) byId.set(id, [content]);
    else known.push(content);
  }
  return byId;
}
