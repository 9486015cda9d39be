/** Blob bodies by their own SHA-256: each distinct content is kept once, whoever sent it and under whatever id. */
import { createHash } from "node:crypto";
import type { Bytes } from "../../core/bytes.js";
import type { BlobStore } from "../../model/dialect.js";

export const emptyDigest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

export interface Content {
  readonly handle: number;
  readonly size: number;
}

export interface Contents {
  /** Keeps the bytes and names them by digest (hex). */
  put(bytes: Bytes): string;
  /** undefined: never put. The digest of no bytes is always known. */
  get(digest: string): Bytes | undefined;
  size(digest: string): number | undefined;
}

export function digestOf(bytes: Bytes): string {
  return createHash("sha256").update(bytes).digest("hex");
}

export function contents(store: BlobStore): Contents {
  return new Store(store);
}

class Store implements Contents {
  private readonly known = new Map<string, Content>();

  constructor(private readonly store: BlobStore) {}

  put(bytes: Bytes): string {
    const digest = digestOf(bytes);
    if (!this.known.has(digest)) this.known.set(digest, { handle: this.store.put(bytes), size: bytes.length });
    return digest;
  }

  get(digest: string): Bytes | undefined {
    const content = this.known.get(digest);
    if (content !== undefined) return this.store.get(content.handle);
    return digest === emptyDigest ? new Uint8Array(0) : undefined;
  }

  size(digest: string): number | undefined {
    return this.known.get(digest)?.size ?? (digest === emptyDigest ? 0 : undefined);
  }
}
