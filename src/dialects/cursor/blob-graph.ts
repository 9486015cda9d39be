/**
 * The content-addressed graph: which blobs a state reaches, and which of them the capture never supplied. Every blob is decoded once
 * per type; results of a subtree are remembered, so that closing many checkpoints of one conversation stays linear.
 */
import { type Bytes, hex } from "../../core/bytes.js";
import { Recent } from "../../core/recent.js";
import type { ProtoMessage } from "../../model/schema.js";
import { emptyDigest } from "./contents.js";
import { type PathKey, refers, walkReferences } from "./references.js";
import type { Reading } from "./server-message.js";

export interface Edge {
  readonly base: string;
  readonly key: PathKey;
  readonly id: string;
  readonly target: string;
  readonly sure: boolean;
  readonly declared: number | null;
}

export interface BlobProblem {
  readonly id: string;
  readonly type: string;
  readonly fault: string;
}

const none: readonly string[] = Object.freeze([]);

/** Unsupplied ids remembered of a subtree: a hostile chain could make each level name one more. A state's own references all count. */
const rememberedIds = 1024;
const noEdges: readonly Edge[] = Object.freeze([]);

/** Decoded blobs that are kept for the next rule: how many of a type, and up to which size. */
const keptBlobs = 64;
const keptBytes = 16_384;
/** References of a blob that are remembered with it. */
const keptEdges = 256;

export function isBlobId(id: string): boolean {
  return id.length === 64;
}

export class BlobGraph {
  /** Blobs that came under an id that is not their hash: id to digest. */
  private readonly claimed = new Map<string, string>();
  private readonly memo = new Map<string, Map<string, readonly string[]>>();
  private readonly problems_ = new Map<string, BlobProblem>();
  /** By type, then by id. */
  private readonly messages = new Map<string, Recent<string, ProtoMessage>>();
  private readonly below = new Map<string, Recent<string, readonly Edge[]>>();
  private readonly edgesOf = new Recent<ProtoMessage, readonly Edge[]>(16);

  constructor(readonly reading: Reading) {}

  /** Names content by the id it was sent under. */
  claim(id: string, digest: string): void {
    if (id !== digest && !this.claimed.has(id)) this.claimed.set(id, digest);
  }

  /** Digest of the content that stands for this id; undefined: never supplied. */
  digest(id: string): string | undefined {
    const { contents } = this.reading;
    return contents.size(id) === undefined ? this.claimed.get(id) : id;
  }

  isSupplied(id: string): boolean {
    return id === emptyDigest || this.digest(id) !== undefined;
  }

  size(id: string): number | undefined {
    return this.ofContent(id, (digest) => this.reading.contents.size(digest));
  }

  /** Bytes `from` to `to`; all by default. */
  content(id: string, from?: number, to?: number): Bytes | undefined {
    return this.ofContent(id, (digest) => this.reading.contents.get(digest, from, to));
  }

  /** What is known by the id itself, else by the digest it was claimed for. */
  private ofContent<T>(id: string, ask: (digest: string) => T | undefined): T | undefined {
    const own = ask(id);
    const digest = own === undefined ? this.claimed.get(id) : undefined;
    return digest === undefined ? own : ask(digest);
  }

  /** The blob decoded as a message of this type; undefined where it was never supplied or the type is none. */
  message(id: string, type: string): ProtoMessage | undefined {
    const { schemas } = this.reading;
    const messages = ofType(this.messages, type);
    const known = messages.get(id);
    if (known !== undefined) return known;
    const bytes = schemas.has(type) ? this.content(id) : undefined;
    if (bytes === undefined) return undefined;
    const { value } = schemas.decode(type, bytes);
    return bytes.length <= keptBytes ? messages.set(id, value) : value;
  }

  /** References inside a message; of those that were asked about last they are remembered. */
  edges(type: string, message: ProtoMessage): readonly Edge[] {
    return this.edgesOf.get(message) ?? this.edgesOf.set(message, this.collect(type, message));
  }

  private collect(type: string, message: ProtoMessage): Edge[] {
    const out: Edge[] = [];
    const { contents } = this.reading;
    // The one copy of each name: what is kept by id does not keep a text of its own for each edge.
    walkReferences(type, message, {
      reference: (base, key, id, target, sure, declared) =>
        out.push({ base, key, id: contents.name(hex(id)), target, sure, declared }),
    });
    return out;
  }

  /** References inside a supplied blob; empty for one that is a leaf or was never supplied. */
  children(id: string, type: string): readonly Edge[] {
    if (!refers(type)) return noEdges;
    const below = ofType(this.below, type);
    const known = below.get(id);
    if (known !== undefined) return known;
    const bytes = this.content(id);
    if (bytes === undefined) return noEdges;
    const decoded = this.reading.schemas.decode(type, bytes);
    const fault = decoded.faults.find((found) => found.what !== "bad-utf8");
    if (fault !== undefined && !this.problems_.has(id)) {
      this.problems_.set(id, { id, type, fault: `${fault.what} at byte ${fault.offset}` });
    }
    const edges = this.collect(type, decoded.value);
    return edges.length <= keptEdges ? below.set(id, edges.length === 0 ? noEdges : edges) : edges;
  }

  /** Blobs that do not decode as what their referrer says, among those walked so far. */
  get problems(): ReadonlyMap<string, BlobProblem> {
    return this.problems_;
  }

  /** Ids that a message reaches and the capture never supplied, in order of first meeting. */
  unsupplied(type: string, message: ProtoMessage): readonly string[] {
    return this.union(this.edges(type, message));
  }

  /** Forgets what later blobs may change: only complete subtrees stay remembered. */
  forgetOpen(): void {
    this.messages.clear();
    this.below.clear();
    for (const results of this.memo.values()) {
      for (const [id, missing] of results) if (missing.length > 0) results.delete(id);
    }
  }

  private union(edges: readonly Edge[]): readonly string[] {
    let only: readonly string[] = none;
    let out: Set<string> | undefined;
    for (const edge of edges) {
      const missing = this.missingBelow(edge);
      if (missing.length === 0 || missing === only) continue;
      if (only === none) only = missing;
      else {
        out ??= new Set(only);
        for (const id of missing) out.add(id);
      }
    }
    // One list that comes from below is handed on, not copied.
    return out === undefined ? only : [...out];
  }

  private missingBelow(edge: Edge): readonly string[] {
    if (!isBlobId(edge.id)) return none;
    if (!this.isSupplied(edge.id)) return edge.sure ? [edge.id] : none;
    if (!refers(edge.target)) return none;
    return this.resultOf(edge.target).get(edge.id) ?? this.walk(edge);
  }

  private resultOf(type: string): Map<string, readonly string[]> {
    let results = this.memo.get(type);
    if (results === undefined) {
      results = new Map();
      this.memo.set(type, results);
    }
    return results;
  }

  /** Depth first with a stack of its own: the chain of earlier states is as long as the conversation. */
  private walk(root: Edge): readonly string[] {
    const stack: { edge: Edge; children: readonly Edge[]; next: number }[] = [this.frame(root)];
    for (;;) {
      const top = stack[stack.length - 1]!;
      const child = this.unfinished(top);
      if (child !== undefined) {
        // A cycle cannot be made with SHA-256; a blob under a wrong id could close one. It counts as walked.
        this.resultOf(child.target).set(child.id, none);
        stack.push(this.frame(child));
        continue;
      }
      const all = this.union(top.children);
      const missing = all.length > rememberedIds ? all.slice(0, rememberedIds) : all;
      this.resultOf(top.edge.target).set(top.edge.id, missing);
      stack.pop();
      if (stack.length === 0) return missing;
    }
  }

  private frame(edge: Edge): { edge: Edge; children: readonly Edge[]; next: number } {
    return { edge, children: this.children(edge.id, edge.target), next: 0 };
  }

  private unfinished(frame: { children: readonly Edge[]; next: number }): Edge | undefined {
    while (frame.next < frame.children.length) {
      const edge = frame.children[frame.next++]!;
      if (!isBlobId(edge.id) || !refers(edge.target) || !this.isSupplied(edge.id)) continue;
      if (!this.resultOf(edge.target).has(edge.id)) return edge;
    }
    return undefined;
  }
}

function ofType<V>(kept: Map<string, Recent<string, V>>, type: string): Recent<string, V> {
  let recent = kept.get(type);
  if (recent === undefined) {
    recent = new Recent(keptBlobs);
    kept.set(type, recent);
  }
  return recent;
}
