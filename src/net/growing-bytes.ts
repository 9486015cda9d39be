/**
 * Bytes that arrive in pieces and are looked at as one: heads and header blocks. Doubles as it grows, so that a head of n bytes in
 * one-byte pieces costs O(n); copies, so that no chunk is pinned while the rest is awaited.
 */
import { type Bytes, noBytes } from "../core/bytes.js";

export class GrowingBytes {
  private buffer: Bytes = noBytes;
  private used = 0;

  get length(): number {
    return this.used;
  }

  append(bytes: Bytes): void {
    const needed = this.used + bytes.length;
    if (needed > this.buffer.length) {
      const grown = new Uint8Array(Math.max(256, this.buffer.length * 2, needed));
      grown.set(this.buffer.subarray(0, this.used));
      this.buffer = grown;
    }
    this.buffer.set(bytes, this.used);
    this.used = needed;
  }

  /** A view, good until the next `append`. */
  view(): Bytes {
    return this.buffer.subarray(0, this.used);
  }

  /** What was gathered, for good; starts anew. */
  take(): Bytes {
    const all = this.view();
    this.clear();
    return all;
  }

  clear(): void {
    this.buffer = noBytes;
    this.used = 0;
  }
}
