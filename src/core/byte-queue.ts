/**
 * Bytes in, exact lengths out, with the marks of the packets that carried them. Keeps pieces and a running count and joins once
 * per take, so that a message arriving in many small pieces costs time linear in its size.
 */
import { type Bytes, noBytes } from "./bytes.js";
import { type Mark, spanMarks } from "./mark.js";

export interface Taken {
  /** A view where one piece holds it all, else a fresh array. */
  readonly bytes: Bytes;
  readonly mark: Mark;
}

export class ByteQueue {
  private pieces: Bytes[] = [];
  private marks: Mark[] = [];
  private head = 0;
  private headAt = 0;
  private held = 0;
  private taken = 0;

  /** Bytes waiting. */
  get length(): number {
    return this.held;
  }

  /** Offset of the first waiting byte, counted from the first byte ever pushed. */
  get offset(): number {
    return this.taken;
  }

  /** Mark of the first waiting byte; undefined when empty. */
  get firstMark(): Mark | undefined {
    return this.held === 0 ? undefined : this.marks[this.head];
  }

  get lastMark(): Mark | undefined {
    return this.marks[this.marks.length - 1];
  }

  push(bytes: Bytes, mark: Mark): void {
    if (bytes.length === 0) return;
    this.pieces.push(bytes);
    this.marks.push(mark);
    this.held += bytes.length;
  }

  /** Byte `index` from the front, or undefined past the end. Cheap for small indices. */
  at(index: number): number | undefined {
    if (index < 0 || index >= this.held) return undefined;
    let rest = index + this.headAt;
    for (let i = this.head; i < this.pieces.length; i++) {
      const piece = this.pieces[i]!;
      if (rest < piece.length) return piece[rest];
      rest -= piece.length;
    }
    return undefined;
  }

  /**
   * The first `count` bytes without taking them; joins them when they are spread over pieces. `scratch`, where given and large enough,
   * is what they are joined in: then they are good only until it is used again.
   */
  peek(count: number, scratch?: Bytes): Bytes {
    const n = Math.min(count, this.held);
    if (n === 0) return noBytes;
    const first = this.pieces[this.head]!;
    if (first.length - this.headAt >= n) return first.subarray(this.headAt, this.headAt + n);
    const out = scratch !== undefined && scratch.length >= n ? scratch.subarray(0, n) : new Uint8Array(n);
    let at = 0;
    let from = this.headAt;
    for (let i = this.head; at < n; i++) {
      const piece = this.pieces[i]!;
      const part = piece.subarray(from, from + Math.min(piece.length - from, n - at));
      out.set(part, at);
      at += part.length;
      from = 0;
    }
    return out;
  }

  /** Index of the first byte equal to `byte` at or after `from`; -1 when there is none. */
  indexOf(byte: number, from = 0): number {
    let base = -this.headAt;
    for (let i = this.head; i < this.pieces.length; i++) {
      const piece = this.pieces[i]!;
      if (base + piece.length > from) {
        const at = piece.indexOf(byte, Math.max(from - base, i === this.head ? this.headAt : 0));
        if (at >= 0) return base + at;
      }
      base += piece.length;
    }
    return -1;
  }

  /**
   * Takes exactly `count` bytes; undefined when fewer are waiting. Zero bytes take the mark of what waits or came last. `scratch` as
   * for `peek`.
   */
  take(count: number, scratch?: Bytes): Taken | undefined {
    if (count > this.held) return undefined;
    const first = this.marks[this.head] ?? this.lastMark;
    if (first === undefined) return undefined;
    if (count === 0) return { bytes: noBytes, mark: first };
    const bytes = this.peek(count, scratch);
    const last = this.drop(count);
    return { bytes, mark: spanMarks(first, last) };
  }

  /** Takes everything that waits, piece by piece and without joining. */
  takeAll(each: (bytes: Bytes, mark: Mark) => void): void {
    for (let i = this.head; i < this.pieces.length; i++) {
      const piece = this.pieces[i]!;
      each(i === this.head && this.headAt > 0 ? piece.subarray(this.headAt) : piece, this.marks[i]!);
    }
    this.taken += this.held;
    this.clear();
  }

  /** Throws `count` bytes away (at most what waits). */
  skip(count: number): void {
    if (count > 0) this.drop(Math.min(count, this.held));
  }

  private drop(count: number): Mark {
    let rest = count;
    let mark = this.marks[this.head]!;
    this.held -= count;
    this.taken += count;
    while (rest > 0) {
      mark = this.marks[this.head]!;
      const left = this.pieces[this.head]!.length - this.headAt;
      if (rest < left) {
        this.headAt += rest;
        break;
      }
      rest -= left;
      this.head++;
      this.headAt = 0;
    }
    if (this.held === 0) this.clear();
    else if (this.head > 1024 && this.head * 2 > this.pieces.length) this.compact();
    return mark;
  }

  private clear(): void {
    // The last mark stays, so that a zero-length take right after still knows its packet.
    const last = this.marks[this.marks.length - 1];
    this.pieces = last === undefined ? [] : [noBytes];
    this.marks = last === undefined ? [] : [last];
    this.head = this.pieces.length;
    this.headAt = 0;
    this.held = 0;
  }

  private compact(): void {
    this.pieces = this.pieces.slice(this.head);
    this.marks = this.marks.slice(this.head);
    this.head = 0;
  }
}
