/** All blobs of a session: who supplied them, who refers to them and as what, and what of them was never seen. */

import { type Bytes, utf8 } from "../../core/bytes.js";
import { Float64List, Int32List } from "../../core/number-list.js";
import { type Printable, Sensitive } from "../../core/printable.js";
import { Recent } from "../../core/recent.js";
import type { BlobLedger, BlobNode, BlobRow, BlobTotals, Turn } from "../../model/conversation.js";
import type { ProtoMessage } from "../../model/schema.js";
import { type BlobGraph, type Edge, isBlobId } from "./blob-graph.js";
import { blobTree } from "./blob-tree.js";
import { emptyDigest } from "./contents.js";
import { sub } from "./fields.js";
import type { RunFacts } from "./model.js";
import { Names } from "./names.js";
import { type Reference, refers } from "./references.js";
import { type Origin, Referrers } from "./referrers.js";
import { sensitivity } from "./sensitivity.js";
import { type Supply, suppliedBy, suppliesOf, turnSupplies, uploadSupplies } from "./supplies.js";
import type { CursorTurn } from "./turn.js";
import { CLIENT, JSON_MESSAGE, PREWARM, RUN_REQUEST, STATE, UNKNOWN_TYPE } from "./types.js";
import type { UploadedBlob } from "./upload.js";

/** Referrers and sources kept per blob: the first ones. */
const referrersKept = 16;

export type Closure = { readonly closure: "closed" | "open" | "unverifiable"; readonly missing: readonly string[] };

export class Blobs implements BlobLedger {
  /** Every id by number; what is known of it stands in the lists below. */
  private readonly ids = new Names();
  private readonly types = new Names();
  private readonly typeIds = new Int32List();
  /** Number of its last referrer, -1: none. */
  private readonly lastReferrer = new Int32List();
  private readonly referrerCounts = new Int32List();
  /** 1: named by a reference that is certainly one. */
  private readonly wanted = new Int32List();
  /** Number of the conversation that set it first, -1: none; and the others. */
  private readonly setBy = new Int32List();
  private readonly alsoSetBy = new Set<string>();
  private readonly conversations = new Names();
  /** Of each turn, the ids that its KV asks name. */
  private readonly asked: (readonly string[])[] = [];
  private turns: readonly CursorTurn[] = [];
  private uploads: readonly UploadedBlob[] = [];
  /** Bytes sent, of them sent again, and carried by reference only: of the uploads, then of each turn. */
  private readonly traffic = new Float64List();
  /** Made again when a report asks and the last one is gone: rows take more room than what they are made of. */
  private made: WeakRef<readonly BlobRow[]> | null = null;
  private lastCarried: { readonly turn: CursorTurn; readonly ids: ReadonlySet<string> } | null = null;
  private readonly referrers = new Referrers();

  constructor(readonly graph: BlobGraph) {}

  /** Names content by its id as it comes, so that closures can be judged while the session runs. */
  claim(id: string, digest: string): void {
    this.graph.claim(id, digest);
  }

  /** After the last message: every supply and every reference, in order of turns. `each` sees each turn once on the way. */
  index(turns: readonly CursorTurn[], uploads: readonly UploadedBlob[], each: (turn: CursorTurn) => void): void {
    this.turns = turns;
    this.uploads = uploads;
    this.graph.forgetOpen();
    const seen = new Set<string>();
    this.count(uploadSupplies(uploads), seen);
    for (const turn of turns) {
      this.count(turnSupplies(turn), seen);
      this.asked.push(this.askedIn(turn));
      each(turn);
    }
    this.references(turns);
  }

  /** Whether a run of the conversation set the blob, at whatever time. */
  isSetIn(conversationId: string | null, id: string): boolean {
    const n = this.ids.find(id);
    if (n === undefined) return false;
    const conversation = this.conversations.find(conversationId ?? "");
    return (
      conversation !== undefined && (this.setBy.at(n) === conversation || this.alsoSetBy.has(`${conversation} ${n}`))
    );
  }

  typeOf(id: string): string {
    const n = this.ids.find(id);
    return n === undefined ? UNKNOWN_TYPE : this.types.list[this.typeIds.at(n)]!;
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
    let rows = this.made?.deref();
    if (rows === undefined) {
      rows = this.makeRows();
      this.made = new WeakRef(rows);
    }
    return rows;
  }

  totals(turns?: readonly Turn[]): BlobTotals {
    const wanted = turns === undefined ? undefined : new Set(turns);
    const sums = { sentBytes: 0, sentAgainBytes: 0, carriedBytes: 0 };
    for (let n = 0; n * 3 < this.traffic.length; n++) {
      if (wanted !== undefined && (n === 0 || !wanted.has(this.turns[n - 1]!))) continue;
      sums.sentBytes += this.traffic.at(n * 3);
      sums.sentAgainBytes += this.traffic.at(n * 3 + 1);
      sums.carriedBytes += this.traffic.at(n * 3 + 2);
    }
    return sums;
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

  private number(id: string): number {
    const n = this.ids.find(id) ?? this.ids.id(this.graph.reading.contents.name(id));
    if (n === this.typeIds.length) {
      this.typeIds.push(this.types.id(UNKNOWN_TYPE));
      this.lastReferrer.push(-1);
      this.referrerCounts.push(0);
      this.setBy.push(-1);
      this.wanted.push(0);
    }
    return n;
  }

  /** Numbers what was supplied, in order, and sums up what was sent and sent again. */
  private count(supplies: Iterable<Supply>, seen: Set<string>): void {
    let sent = 0;
    let again = 0;
    for (const { id, digest, size } of supplies) {
      const n = this.number(id);
      this.graph.claim(id, digest);
      sent += size;
      const content = id === digest ? this.ids.list[n]! : `${id} ${digest}`;
      if (seen.has(content)) again += size;
      else seen.add(content);
    }
    this.traffic.push(sent);
    this.traffic.push(again);
    this.traffic.push(0);
  }

  /** Ids that KV asks of this turn name; also remembers which conversation set them. */
  private askedIn(turn: CursorTurn): readonly string[] {
    const asked = new Set<string>();
    const conversation = this.conversations.id(turn.conversationId ?? "");
    for (const { detail } of turn.down) {
      if (detail.type !== "kv") continue;
      const n = this.ids.find(detail.blobId);
      asked.add(n === undefined ? detail.blobId : this.ids.list[n]!);
      if (detail.op !== "set" || n === undefined) continue;
      const before = this.setBy.at(n);
      if (before < 0) this.setBy.set(n, conversation);
      else if (before !== conversation) this.alsoSetBy.add(`${conversation} ${n}`);
    }
    return [...asked];
  }

  /** Breadth first, so that each blob is named by its shortest path; a blob is opened once per type. */
  private references(turns: readonly CursorTurn[]): void {
    const queue: Opened[] = [];
    const seen = new Map<string, Set<string>>();
    const meet = (edge: Edge, origin: Origin) => {
      const { id, target, sure } = edge;
      const supplied = this.graph.isSupplied(id);
      if (id === "" || (!sure && !supplied)) return;
      const n = this.number(id);
      const named = this.ids.list[n]!;
      if (this.types.list[this.typeIds.at(n)] === UNKNOWN_TYPE) this.typeIds.set(n, this.types.id(target));
      if (sure) this.wanted.set(n, 1);
      const opens = supplied && isBlobId(id) && refers(target) && isFirst(seen, target, named);
      const before = this.referrerCounts.at(n);
      if (before >= referrersKept && !opens) return;
      const referrer = this.referrers.add(origin, edge.base, edge.key, this.lastReferrer.at(n));
      this.lastReferrer.set(n, referrer);
      this.referrerCounts.set(n, before + 1);
      if (opens) queue.push({ id: named, type: target, origin: { referrer } });
    };
    for (const [t, turn] of turns.entries()) this.roots(turn, t, meet);
    for (let at = 0; at < queue.length; at++) {
      const { id, type, origin } = queue[at]!;
      for (const edge of this.graph.children(id, type)) meet(edge, origin);
    }
  }

  /** Also sums what the request carried by reference, while it is open. */
  private roots(turn: CursorTurn, t: number, meet: (edge: Edge, origin: Origin) => void): void {
    const name = `turns[${t}]`;
    const request = runRequestOf(turn);
    if (request !== undefined) {
      const edges = this.graph.edges(request.type, request.message);
      const origin = { root: `${name}.request` };
      for (const edge of edges) meet(edge, origin);
      this.traffic.set((t + 1) * 3 + 2, this.carriedBy(this.asked[t]!, edges));
    }
    let before = "";
    for (const [c, checkpoint] of turn.checkpoints.entries()) {
      // A checkpoint that is sent again refers to the same blobs.
      if (checkpoint.digest === before) continue;
      before = checkpoint.digest;
      const origin = { root: `${name}.checkpoints[${c}]` };
      for (const edge of this.graph.edges(STATE, turn.state(checkpoint))) meet(edge, origin);
    }
    if (!turn.hasReferences) return;
    const [down, up] = [{ root: `${name}.down` }, { root: `${name}.up` }];
    for (const item of turn.down) meetAll(item.references, down, meet);
    for (const item of turn.uplink) meetAll(item.references, up, meet);
  }

  private makeRows(): readonly BlobRow[] {
    const byId = suppliedBy(suppliesOf(this.turns, this.uploads));
    const out: BlobRow[] = [];
    for (const [n, id] of this.ids.list.entries()) {
      const supplied = byId.get(id);
      for (const { digest, size, sources, times } of supplied ?? [])
        out.push(this.row(n, size, digest === id ? "match" : "mismatch", sources, times));
      if (supplied === undefined) this.unsuppliedRow(n, id, out);
    }
    return out;
  }

  private unsuppliedRow(n: number, id: string, out: BlobRow[]): void {
    const { graph } = this;
    if (graph.reading.contents.fromStore(id)) {
      const stored = [{ via: "store" as const, requestId: null, place: null }];
      out.push(this.row(n, graph.size(id) ?? null, "match", stored, 0));
    } else if (id === emptyDigest) out.push(this.row(n, 0, "match", [], 0));
    else if (this.wanted.at(n) === 1) out.push(this.row(n, null, null, [], 0));
  }

  private row(
    n: number,
    bytes: number | null,
    hash: BlobRow["hash"],
    sources: BlobRow["sources"],
    timesSent: number,
  ): BlobRow {
    const { referrers, lastReferrer } = this;
    const type = this.types.list[this.typeIds.at(n)]!;
    return {
      id: this.ids.list[n]!,
      bytes,
      hash,
      type,
      sources,
      // Paths are put together when a report prints them.
      get referrers() {
        return referrers.paths(lastReferrer.at(n));
      },
      timesSent,
    };
  }

  /** Bytes that this turn's request named by id and did not send: direct references, with what their turns hold. */
  private carriedBy(asked: readonly string[], edges: readonly Edge[]): number {
    if (edges.length === 0) return 0;
    const sent = new Set(asked);
    let sum = 0;
    for (const { id } of edges) {
      if (id === emptyDigest || sent.has(id)) continue;
      sum += this.graph.size(id) ?? 0;
    }
    return sum;
  }
}

/** The run_request or prewarm_request of a turn, decoded again. */
export function runRequestOf(turn: CursorTurn): RunRequest | undefined {
  const { run } = turn;
  if (run === null) return undefined;
  const known = requests.get(run);
  if (known !== undefined) return known;
  const request = requestMessage(turn, run);
  return request === undefined ? undefined : requests.set(run, request);
}

interface RunRequest {
  readonly type: string;
  readonly message: ProtoMessage;
}

/** Of the turns that were asked about last. */
const requests = new Recent<RunFacts, RunRequest>(2);

function requestMessage(turn: CursorTurn, run: RunFacts): RunRequest | undefined {
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
