/** All blobs of a session: who supplied them, who refers to them and as what, and what of them was never seen. */
import { type Bytes, utf8 } from "../../core/bytes.js";
import type { Place } from "../../core/place.js";
import { type Printable, Sensitive } from "../../core/printable.js";
import type { BlobLedger, BlobNode, BlobRow, Turn } from "../../model/conversation.js";
import type { ProtoMessage } from "../../model/schema.js";
import { type BlobGraph, type Edge, isBlobId } from "./blob-graph.js";
import { blobTree } from "./blob-tree.js";
import { emptyDigest } from "./contents.js";
import { sub } from "./fields.js";
import type { CarriedBlob, RunFacts } from "./model.js";
import { pathText, refers } from "./references.js";
import { sensitivity } from "./sensitivity.js";
import type { CursorTurn } from "./turn.js";
import { CLIENT, JSON_MESSAGE, PREWARM, RUN_REQUEST, STATE, UNKNOWN_TYPE } from "./types.js";
import type { UploadedBlob } from "./upload.js";

/** Referrer paths and sources kept per blob; more are counted only. */
const pathsKept = 24;
const sourcesKept = 64;

export type Closure = { readonly closure: "closed" | "open" | "unverifiable"; readonly missing: readonly string[] };

interface Supply {
  readonly digest: string;
  readonly size: number;
  times: number;
  readonly sources: { via: BlobRow["sources"][number]["via"]; requestId: string | null; place: Place | null }[];
}

/** One id of the ledger. */
interface Account {
  readonly id: string;
  readonly supplies: Supply[];
  readonly referrers: string[];
  type: string;
  /** Named by a reference that is certainly one. */
  wanted: boolean;
}

export class Blobs implements BlobLedger {
  private readonly accounts = new Map<string, Account>();
  private turns: readonly CursorTurn[] = [];
  private sentBytes = 0;
  private sentAgainBytes = 0;
  private carriedBytes = 0;
  private lastCarried: { readonly turn: CursorTurn; readonly ids: ReadonlySet<string> } | null = null;
  private rows_: readonly BlobRow[] | null = null;

  constructor(readonly graph: BlobGraph) {}

  /** Names content by its id as it comes, so that closures can be judged while the session runs. */
  claim(id: string, digest: string): void {
    this.graph.claim(id, digest);
  }

  /** After the last message: every supply and every reference, in order of turns. */
  index(turns: readonly CursorTurn[], uploads: readonly UploadedBlob[]): void {
    this.turns = turns;
    this.graph.forgetOpen();
    for (const upload of uploads) this.supplyCarried(upload.blob, upload.requestId, upload.place);
    for (const turn of turns) this.supplies(turn);
    this.references(turns);
    for (const turn of turns) this.carriedBytes += this.carriedBy(turn);
  }

  typeOf(id: string): string {
    return this.accounts.get(id)?.type ?? UNKNOWN_TYPE;
  }

  /** Whether everything a state reaches is known; ids that the run request itself carried count as known to the server. */
  closure(turn: CursorTurn, state: ProtoMessage): Closure {
    const unsupplied = this.graph.unsupplied(STATE, state);
    if (unsupplied.length === 0) return { closure: "closed", missing: unsupplied };
    const carried = this.carriedIds(turn);
    const missing = unsupplied.filter((id) => !carried.has(id));
    return { closure: missing.length > 0 ? "open" : "unverifiable", missing };
  }

  /** What the run request names and the capture never shows. */
  carriedIds(turn: CursorTurn): ReadonlySet<string> {
    if (this.lastCarried?.turn !== turn) {
      const request = runRequestOf(turn);
      const ids = request === undefined ? [] : this.graph.unsupplied(request.type, request.message);
      this.lastCarried = { turn, ids: new Set(ids) };
    }
    return this.lastCarried.ids;
  }

  get rows(): readonly BlobRow[] {
    this.rows_ ??= [...this.accounts.values()].flatMap((account) => rowsOf(account, this.graph));
    return this.rows_;
  }

  get totals(): BlobLedger["totals"] {
    return { sentBytes: this.sentBytes, sentAgainBytes: this.sentAgainBytes, carriedBytes: this.carriedBytes };
  }

  content(id: string): Bytes | undefined {
    return this.graph.content(id);
  }

  decoded(id: string): Printable | null {
    const type = this.typeOf(id);
    const bytes = this.graph.content(id);
    if (bytes === undefined) return null;
    if (type === JSON_MESSAGE) {
      try {
        return new Sensitive("private", JSON.parse(utf8(bytes)) as { readonly [key: string]: Printable });
      } catch {
        return null;
      }
    }
    const { schemas } = this.graph.reading;
    return schemas.has(type) ? schemas.json(type, bytes, sensitivity) : null;
  }

  trees(): readonly { readonly turn: Turn; readonly root: BlobNode }[] {
    return this.turns.flatMap((turn) => {
      const last = turn.checkpoints.at(-1);
      if (last === undefined) return [];
      const carried = this.carriedIds(turn);
      return [{ turn, root: blobTree(this.graph, turn.state(last), carried) }];
    });
  }

  private account(id: string): Account {
    let account = this.accounts.get(id);
    if (account === undefined) {
      account = { id, supplies: [], referrers: [], type: UNKNOWN_TYPE, wanted: false };
      this.accounts.set(id, account);
    }
    return account;
  }

  private supply(id: string, digest: string, size: number, source: Supply["sources"][number]): void {
    const account = this.account(id);
    let supply = account.supplies.find((known) => known.digest === digest);
    this.sentBytes += size;
    if (supply === undefined) {
      supply = { digest, size, times: 0, sources: [] };
      account.supplies.push(supply);
    } else this.sentAgainBytes += size;
    supply.times++;
    if (supply.sources.length < sourcesKept) supply.sources.push(source);
    this.graph.claim(id, digest);
  }

  private supplyCarried(blob: CarriedBlob, requestId: string | null, place: Place): void {
    // An inline attachment stands beside its id in the request itself: to the server it is prefetched.
    const via = blob.via === "upload" ? "upload" : "prefetched";
    this.supply(blob.id, blob.digest, blob.size, { via, requestId, place });
  }

  private supplies(turn: CursorTurn): void {
    const { requestId } = turn;
    for (const item of turn.uplink) for (const blob of item.carried) this.supplyCarried(blob, requestId, item.place);
    const { kv } = turn.pairs;
    for (const op of kv) {
      if (op.op === "set") {
        if (op.ask.digest !== null)
          this.supply(op.blobId, op.ask.digest, op.ask.size ?? 0, { via: "set", requestId, place: op.item.place });
        continue;
      }
      for (const item of op.answers) {
        if (item.detail.type === "kv" && item.detail.digest !== null)
          this.supply(op.blobId, item.detail.digest, item.detail.size ?? 0, {
            via: "get",
            requestId,
            place: item.place,
          });
      }
    }
  }

  /** Breadth first, so that each blob is named by its shortest path; a blob is opened once per type. */
  private references(turns: readonly CursorTurn[]): void {
    const queue: { id: string; type: string; path: string }[] = [];
    const opened = new Set<string>();
    const meet = (edge: Edge, prefix: string) => {
      const { id, target, sure } = edge;
      if (id === "" || (!sure && !this.graph.isSupplied(id))) return;
      const account = this.account(id);
      if (account.type === UNKNOWN_TYPE) account.type = target;
      if (sure) account.wanted = true;
      const keepsPath = account.referrers.length < pathsKept;
      const opens = isBlobId(id) && refers(target) && this.graph.isSupplied(id) && !opened.has(`${target} ${id}`);
      if (!keepsPath && !opens) return;
      const path = `${prefix}.${pathText(edge.base, edge.key)}`;
      if (keepsPath) account.referrers.push(path);
      if (opens) {
        opened.add(`${target} ${id}`);
        queue.push({ id, type: target, path });
      }
    };
    for (const [t, turn] of turns.entries()) this.roots(turn, `turns[${t}]`, meet);
    for (let at = 0; at < queue.length; at++) {
      const { id, type, path } = queue[at]!;
      for (const edge of this.graph.children(id, type)) meet(edge, path);
    }
  }

  private roots(turn: CursorTurn, name: string, meet: (edge: Edge, prefix: string) => void): void {
    const request = runRequestOf(turn);
    if (request !== undefined)
      for (const edge of this.graph.edges(request.type, request.message)) meet(edge, `${name}.request`);
    let before = "";
    for (const [c, checkpoint] of turn.checkpoints.entries()) {
      // A checkpoint that is sent again refers to the same blobs.
      if (checkpoint.digest === before) continue;
      before = checkpoint.digest;
      for (const edge of this.graph.edges(STATE, turn.state(checkpoint))) meet(edge, `${name}.checkpoints[${c}]`);
    }
    const small = [
      ...turn.down.map((item) => [item.references, `${name}.down`] as const),
      ...turn.uplink.map((item) => [item.references, `${name}.up`] as const),
    ];
    for (const [references, prefix] of small) {
      for (const { path, id, target, sure, declared } of references)
        meet({ base: path, key: null, id, target, sure, declared }, prefix);
    }
  }

  /** Bytes that this turn's request named by id and did not send: direct references, with what their turns hold. */
  private carriedBy(turn: CursorTurn): number {
    const request = runRequestOf(turn);
    if (request === undefined) return 0;
    const sent = new Set(turn.pairs.kv.map((op) => op.blobId));
    let sum = 0;
    for (const { id } of this.graph.edges(request.type, request.message)) {
      if (id === emptyDigest || sent.has(id)) continue;
      sum += this.graph.size(id) ?? 0;
    }
    return sum;
  }
}

/** The run_request or prewarm_request of a turn, decoded again. */
export function runRequestOf(turn: CursorTurn): { type: string; message: ProtoMessage } | undefined {
  return turn.run === null ? undefined : requestMessage(turn, turn.run);
}

function requestMessage(turn: CursorTurn, run: RunFacts): { type: string; message: ProtoMessage } | undefined {
  const { reading } = turn.services;
  const decoded = reading.schemas.decode(CLIENT, reading.store.get(run.handle));
  const message = sub(decoded.value, run.type === "run" ? "run_request" : "prewarm_request");
  return message === undefined ? undefined : { type: run.type === "run" ? RUN_REQUEST : PREWARM, message };
}

function rowsOf(account: Account, graph: BlobGraph): BlobRow[] {
  const { id, type, referrers } = account;
  if (account.supplies.length === 0 && graph.reading.contents.fromStore(id)) {
    const sources = [{ via: "store" as const, requestId: null, place: null }];
    return [{ id, bytes: graph.size(id) ?? null, hash: "match", type, sources, referrers, timesSent: 0 }];
  }
  if (account.supplies.length === 0) {
    const known = id === emptyDigest;
    if (!account.wanted && !known) return [];
    return [{ id, bytes: known ? 0 : null, hash: known ? "match" : null, type, sources: [], referrers, timesSent: 0 }];
  }
  return account.supplies.map((supply) => ({
    id,
    bytes: supply.size,
    hash: supply.digest === id ? "match" : "mismatch",
    type,
    sources: supply.sources,
    referrers,
    timesSent: supply.times,
  }));
}
