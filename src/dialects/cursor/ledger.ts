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
import { type Reference, refers } from "./references.js";
import { type Origin, Referrers } from "./referrers.js";
import { sensitivity } from "./sensitivity.js";
import type { CursorTurn } from "./turn.js";
import { CLIENT, JSON_MESSAGE, PREWARM, RUN_REQUEST, STATE, UNKNOWN_TYPE } from "./types.js";
import type { UploadedBlob } from "./upload.js";

/** Referrers and sources kept per blob: the first ones. */
const referrersKept = 16;
const sourcesKept = 16;

export type Closure = { readonly closure: "closed" | "open" | "unverifiable"; readonly missing: readonly string[] };

type Source = BlobRow["sources"][number];

interface Supply {
  readonly digest: string;
  readonly size: number;
  times: number;
  sources: readonly Source[];
}

/** One id of the ledger. */
interface Account {
  readonly id: string;
  /** Nearly always one: the content whose hash the id is. */
  supply: Supply | null;
  others: Supply[] | null;
  /** Number of its last referrer, -1: none. */
  referrer: number;
  referrers: number;
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
  private readonly referrers = new Referrers();

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
    const out: BlobRow[] = [];
    for (const account of this.accounts.values()) this.rowsOf(account, out);
    return out;
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
      account = { id, supply: null, others: null, referrer: -1, referrers: 0, type: UNKNOWN_TYPE, wanted: false };
      this.accounts.set(id, account);
    }
    return account;
  }

  private supply(id: string, digest: string, size: number, source: Source): void {
    const account = this.account(id);
    let supply = suppliesOf(account).find((known) => known.digest === digest);
    this.sentBytes += size;
    if (supply === undefined) {
      // A literal of one element: a list that grows by push takes ten times the memory.
      supply = { digest, size, times: 1, sources: [source] };
      if (account.supply === null) account.supply = supply;
      else account.others = [...(account.others ?? []), supply];
    } else {
      this.sentAgainBytes += size;
      supply.times++;
      if (supply.sources.length < sourcesKept) supply.sources = [...supply.sources, source];
    }
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
    const queue: Opened[] = [];
    const seen = new Map<string, Set<string>>();
    const meet = (edge: Edge, origin: Origin) => {
      const { id, target, sure } = edge;
      const supplied = this.graph.isSupplied(id);
      if (id === "" || (!sure && !supplied)) return;
      const account = this.account(id);
      if (account.type === UNKNOWN_TYPE) account.type = target;
      if (sure) account.wanted = true;
      const opens = supplied && isBlobId(id) && refers(target) && isFirst(seen, target, account.id);
      if (account.referrers >= referrersKept && !opens) return;
      const referrer = this.referrers.add(origin, edge.base, edge.key, account.referrer);
      account.referrer = referrer;
      account.referrers++;
      if (opens) queue.push({ id: account.id, type: target, origin: { referrer } });
    };
    for (const [t, turn] of turns.entries()) this.roots(turn, `turns[${t}]`, meet);
    for (let at = 0; at < queue.length; at++) {
      const { id, type, origin } = queue[at]!;
      for (const edge of this.graph.children(id, type)) meet(edge, origin);
    }
  }

  private roots(turn: CursorTurn, name: string, meet: (edge: Edge, origin: Origin) => void): void {
    const request = runRequestOf(turn);
    if (request !== undefined)
      for (const edge of this.graph.edges(request.type, request.message)) meet(edge, { root: `${name}.request` });
    let before = "";
    for (const [c, checkpoint] of turn.checkpoints.entries()) {
      // A checkpoint that is sent again refers to the same blobs.
      if (checkpoint.digest === before) continue;
      before = checkpoint.digest;
      const origin = { root: `${name}.checkpoints[${c}]` };
      for (const edge of this.graph.edges(STATE, turn.state(checkpoint))) meet(edge, origin);
    }
    for (const item of turn.down) meetAll(item.references, { root: `${name}.down` }, meet);
    for (const item of turn.uplink) meetAll(item.references, { root: `${name}.up` }, meet);
  }

  private rowsOf(account: Account, out: BlobRow[]): void {
    const { id, type } = account;
    const { referrers, graph } = this;
    // Paths are put together when a report prints them.
    const row = (
      bytes: number | null,
      hash: BlobRow["hash"],
      sources: readonly Source[],
      timesSent: number,
    ): BlobRow => ({
      id,
      bytes,
      hash,
      type,
      sources,
      get referrers() {
        return referrers.paths(account.referrer);
      },
      timesSent,
    });
    for (const supply of suppliesOf(account)) {
      const hash = supply.digest === id ? "match" : "mismatch";
      out.push(row(supply.size, hash, supply.sources, supply.times));
    }
    if (account.supply !== null) return;
    if (graph.reading.contents.fromStore(id)) {
      out.push(row(graph.size(id) ?? null, "match", [{ via: "store", requestId: null, place: null }], 0));
    } else if (id === emptyDigest) out.push(row(0, "match", [], 0));
    else if (account.wanted) out.push(row(null, null, [], 0));
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

interface Opened {
  readonly id: string;
  readonly type: string;
  readonly origin: Origin;
}

const noSupplies: readonly Supply[] = Object.freeze([]);

function suppliesOf(account: Account): readonly Supply[] {
  if (account.supply === null) return noSupplies;
  return account.others === null ? [account.supply] : [account.supply, ...account.others];
}

function isFirst(seen: Map<string, Set<string>>, type: string, id: string): boolean {
  let ids = seen.get(type);
  if (ids === undefined) {
    ids = new Set();
    seen.set(type, ids);
  }
  if (ids.has(id)) return false;
  ids.add(id);
  return true;
}

function meetAll(references: readonly Reference[], origin: Origin, meet: (edge: Edge, origin: Origin) => void): void {
  for (const { path, id, target, sure, declared } of references)
    meet({ base: path, key: null, id, target, sure, declared }, origin);
}
