/**
 * Segments that came before what precedes them, of one direction: sorted and without overlap, since the first copy of a byte wins.
 * They are copied, so that a few late segments do not pin whole blocks of the capture.
 */
import { type Bytes, equalBytes, keep } from "../../core/bytes.js";
import type { Mark } from "../../core/mark.js";
import type { Nanos } from "../../core/time.js";

export interface HeldSegment {
  /** Of the first byte. */
  readonly seq: number;
  readonly bytes: Bytes;
  /** Bytes on the wire behind `bytes` that were not captured. */
  readonly missing: number;
  readonly mark: Mark;
  /** The capture's time when it came. */
  readonly since: Nanos;
}

/** What a held segment costs beyond its bytes: a limit in bytes must also bound a million segments of one byte. */
export const heldOverhead = 512;

export class HeldSegments {
  private list: HeldSegment[] = [];
  private head = 0;
  /** Bytes held, with overhead. */
  size = 0;

  get first(): HeldSegment | undefined {
    return this.list[this.head];
  }

  get empty(): boolean {
    return this.head === this.list.length;
  }

  /** Takes what no held segment covers yet; returns whether an overlapping copy differs. */
  add(segment: HeldSegment): boolean {
    let differs = false;
    let rest: HeldSegment | undefined = segment;
    let at = this.find(segment.seq);
    if (at > this.head) {
      // The one before may reach into the new one.
      const before = this.list[at - 1]!;
      const overlap = (before.seq + lengthOf(before) - rest.seq) | 0;
      if (overlap > 0) {
        differs = conflict(before, rest);
        rest = from(rest, overlap);
      }
    }
    while (rest !== undefined) {
      const after: HeldSegment | undefined = this.list[at];
      const room = after === undefined ? undefined : (after.seq - rest.seq) | 0;
      if (after === undefined || room === undefined || room >= lengthOf(rest)) {
        this.insert(at, rest);
        break;
      }
      differs = conflict(after, rest) || differs;
      if (room > 0) {
        this.insert(at, upTo(rest, room));
        at++;
      }
      rest = from(rest, room + lengthOf(after));
      at++;
    }
    return differs;
  }

  shift(): HeldSegment | undefined {
    const segment = this.list[this.head];
    if (segment === undefined) return undefined;
    this.size -= segment.bytes.length + heldOverhead;
    this.head++;
    if (this.head === this.list.length) {
      this.list = [];
      this.head = 0;
    } else if (this.head > 64 && this.head * 2 > this.list.length) {
      this.list = this.list.slice(this.head);
      this.head = 0;
    }
    return segment;
  }

  /** Drops everything; returns how many bytes that were. */
  clear(): number {
    const bytes = this.size - (this.list.length - this.head) * heldOverhead;
    this.list = [];
    this.head = 0;
    this.size = 0;
    return bytes;
  }

  /** Index of the first segment that begins at or after `seq`. */
  private find(seq: number): number {
    let low = this.head;
    let high = this.list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (((this.list[middle]!.seq - seq) | 0) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private insert(at: number, segment: HeldSegment): void {
    const kept = { ...segment, bytes: keep(segment.bytes) };
    if (at === this.list.length) this.list.push(kept);
    else this.list.splice(at, 0, kept);
    this.size += kept.bytes.length + heldOverhead;
  }
}

function lengthOf(segment: HeldSegment): number {
  return segment.bytes.length + segment.missing;
}

/** The segment without its first `count` bytes; undefined when nothing is left. */
function from(segment: HeldSegment, count: number): HeldSegment | undefined {
  if (count >= lengthOf(segment)) return undefined;
  return {
    seq: (segment.seq + count) | 0,
    bytes: segment.bytes.subarray(Math.min(count, segment.bytes.length)),
    missing: Math.min(segment.missing, lengthOf(segment) - count),
    mark: segment.mark,
    since: segment.since,
  };
}

/** Its first `count` bytes. */
function upTo(segment: HeldSegment, count: number): HeldSegment {
  const bytes = segment.bytes.subarray(0, count);
  return { ...segment, bytes, missing: Math.min(segment.missing, count - bytes.length) };
}

/** Whether the captured parts of two overlapping segments differ. */
function conflict(a: HeldSegment, b: HeldSegment): boolean {
  return differing(a.seq, a.bytes, b.seq, b.bytes);
}

/** Whether two runs of bytes differ where both have them. */
export function differing(aSeq: number, a: Bytes, bSeq: number, b: Bytes): boolean {
  const shift = (bSeq - aSeq) | 0;
  const start = Math.max(0, shift);
  const end = Math.min(a.length, shift + b.length);
  return end > start && !equalBytes(a.subarray(start, end), b.subarray(start - shift, end - shift));
}
