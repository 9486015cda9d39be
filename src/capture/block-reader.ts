/** Blocks of a file as one run of bytes: contiguous views wherever a record lies within one block, a small copy where it spans two. */
import { type Bytes, noBytes } from "../core/bytes.js";

export class BlockReader {
  /** Holds at least what the last successful need() asked for, from `at` on. A view into a block, or a joined copy. */
  bytes: Bytes = noBytes;
  at = 0;
  private next: Bytes = noBytes;
  private nextAt = 0;
  /** File offset of `bytes[0]`. */
  private base = 0;
  private readonly blocks: Iterator<Bytes>;

  constructor(blocks: Iterable<Bytes>) {
    this.blocks = blocks[Symbol.iterator]();
  }

  /** Offset in the (unpacked) file of the byte at `at`. */
  get offset(): number {
    return this.base + this.at;
  }

  /** Makes `count` bytes contiguous at `at`; false when the file ends before, and then everything that is left is. */
  need(count: number): boolean {
    return this.bytes.length - this.at >= count || this.refill(count);
  }

  /** Bytes contiguous at `at` right now. */
  get ready(): number {
    return this.bytes.length - this.at;
  }

  /** Passes over `count` bytes without keeping them; returns how many there were. */
  skip(count: number): number {
    let rest = count;
    while (rest > 0) {
      if (this.ready === 0 && !this.refill(1)) break;
      const step = Math.min(rest, this.ready);
      this.at += step;
      rest -= step;
    }
    return count - rest;
  }

  private refill(count: number): boolean {
    this.base += this.at;
    if (this.ready === 0) {
      this.bytes = noBytes;
      this.at = 0;
      if (!this.pull()) return false;
      this.bytes = this.nextAt === 0 ? this.next : this.next.subarray(this.nextAt);
      this.next = noBytes;
      this.nextAt = 0;
      if (this.bytes.length >= count) return true;
    }
    return this.join(count);
  }

  /** Only as much of the next block is copied as this record needs: the rest stays where it is. */
  private join(count: number): boolean {
    const pieces: Bytes[] = [this.at === 0 ? this.bytes : this.bytes.subarray(this.at)];
    let held = pieces[0]!.length;
    while (held < count && this.pull()) {
      const part = this.next.subarray(this.nextAt, this.nextAt + count - held);
      pieces.push(part);
      held += part.length;
      this.nextAt += part.length;
    }
    const joined = new Uint8Array(held);
    let to = 0;
    for (const piece of pieces) {
      joined.set(piece, to);
      to += piece.length;
    }
    this.bytes = joined;
    this.at = 0;
    return held >= count;
  }

  /** Makes `next` hold something; false at the end of the file. */
  private pull(): boolean {
    while (this.nextAt >= this.next.length) {
      const result = this.blocks.next();
      if (result.done === true) return false;
      this.next = result.value;
      this.nextAt = 0;
    }
    return true;
  }
}
