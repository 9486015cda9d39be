/** Blob bodies by their own SHA-256: each distinct content is kept once, whoever sent it and under whatever id. */
import { hash } from "node:crypto";
import type { Bytes } from "../../core/bytes.js";
import { Int32List } from "../../core/number-list.js";
import type { BlobStore } from "../../model/dialect.js";
import { Names } from "./names.js";

export const emptyDigest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

export interface Contents {
  /** Keeps the bytes and names them by digest (hex). */
  put(bytes: Bytes): string;
  /** undefined: never put. The digest of no bytes is always known. */
  get(digest: string, from?: number, to?: number): Bytes | undefined;
  size(digest: string): number | undefined;
  /** The one copy of its name that is kept, where it was put; else the name itself. */
  name(digest: string): string;
  /** Whether only a session store on disk supplied it. */
  fromStore(digest: string): boolean;
}

/** Content of a blob in the session stores that the user gave. */
export type Stored = (id: string) => Bytes | undefined;

export function digestOf(bytes: Bytes): string {
  return hash("sha256", bytes, "hex");
}

/** Tells messages of one run apart and is never printed: one character per byte. */
export function shortDigest(bytes: Bytes): string {
  return hash("sha256", bytes, "binary");
}

export function contents(store: BlobStore, stored: Stored = () => undefined): Contents {
  return new Store(store, stored);
}

class Store implements Contents {
  /** Digests by number. */
  private readonly known = new Names();
  private readonly handles = new Int32List();
  private readonly sizes = new Int32List();
  private readonly onDisk = new Set<string>();
  private readonly asked = new Set<string>();

  constructor(
    private readonly store: BlobStore,
    private readonly stored: Stored,
  ) {}

  put(bytes: Bytes): string {
    const digest = digestOf(bytes);
    const n = this.known.id(digest);
    if (n === this.handles.length) {
      this.handles.push(this.store.put(bytes));
      this.sizes.push(bytes.length);
    }
    if (this.onDisk.size > 0) this.onDisk.delete(digest);
    // The one copy of its name.
    return this.known.list[n]!;
  }

  get(digest: string, from?: number, to?: number): Bytes | undefined {
    const n = this.find(digest);
    if (n !== undefined) return this.store.get(this.handles.at(n), from, to);
    return digest === emptyDigest ? new Uint8Array(0) : undefined;
  }

  size(digest: string): number | undefined {
    const n = this.find(digest);
    return n !== undefined ? this.sizes.at(n) : digest === emptyDigest ? 0 : undefined;
  }

  name(digest: string): string {
    const n = this.known.find(digest);
    return n === undefined ? digest : this.known.list[n]!;
  }

  fromStore(digest: string): boolean {
    return this.onDisk.has(digest);
  }

  /** What the capture never showed may be in a store; only content that has its id as hash is taken. */
  private find(digest: string): number | undefined {
    const known = this.known.find(digest);
    if (known !== undefined || this.asked.has(digest) || digest === emptyDigest) return known;
    this.asked.add(digest);
    const bytes = this.stored(digest);
    if (bytes === undefined || digestOf(bytes) !== digest) return undefined;
    this.put(bytes);
    this.onDisk.add(digest);
    return this.known.find(digest);
  }
}
