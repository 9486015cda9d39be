/**
 * The bytes of one direction cut into TLS records (RFC 8446 section 5.1). Where bytes are lost the cut goes on at the next record
 * when the lost one's length tells where that is; else every place that looks like a record header is offered as a candidate.
 */
import { ByteQueue } from "../../core/byte-queue.js";
import { type Bytes, concat, keep, noBytes } from "../../core/bytes.js";
import type { Mark } from "../../core/mark.js";
import { recordHeaderBytes } from "./opener.js";

/** 2^14 and what TLS 1.2 lets a cipher add; TLS 1.3 allows less. */
export const recordLimit = 16_384 + 2048;

/** What records that span packets are joined in; one is enough, since each is opened before the next is cut. */
const scratch = new Uint8Array(recordHeaderBytes + recordLimit);

/** A MAC and a block of a cipher, the longest there are. */
const tailBytes = 64;

export interface Cut {
  /** Header and fragment; good until the next record is cut. */
  readonly record: Bytes;
  readonly mark: Mark;
  /** false: it only looks like a record; say `accept` or `reject`. */
  readonly sure: boolean;
}

export class RecordCutter {
  private queue = new ByteQueue();
  private undone: Cut | undefined;
  private scanning = false;
  /** Bytes of a record with a hole in it that are still to come. */
  private rest = 0;
  private tail: Bytes = noBytes;

  push(bytes: Bytes, mark: Mark): void {
    this.queue.push(bytes, mark);
  }

  /** Bytes that wait for the end of their record. */
  get waiting(): number {
    return this.queue.length;
  }

  /** The last bytes that went by since the latest loss without being a record; at most 64. */
  get skippedLast(): Bytes {
    return this.tail;
  }

  /** What stands where a record header should. */
  head(): Bytes {
    return this.queue.peek(recordHeaderBytes);
  }

  /** Takes the next record; undefined: more bytes are needed; "broken": what stands there is no record. */
  next(lost: (bytes: number) => void): Cut | "broken" | undefined {
    if (this.undone !== undefined) {
      const cut = this.undone;
      this.undone = undefined;
      return cut;
    }
    if (this.rest > 0) {
      const part = Math.min(this.rest, this.queue.length);
      this.skip(part);
      this.rest -= part;
      lost(part);
      if (this.rest > 0) return undefined;
    }
    if (this.scanning && !this.seek(lost)) return undefined;
    if (this.queue.length < recordHeaderBytes) return undefined;
    const fragment = this.fragmentLength(0);
    if (fragment === undefined) return "broken";
    const length = recordHeaderBytes + fragment;
    if (this.queue.length < length) return undefined;
    if (this.scanning) return { record: this.queue.peek(length, scratch), mark: this.queue.firstMark!, sure: false };
    const taken = this.queue.take(length, scratch)!;
    return { record: taken.bytes, mark: taken.mark, sure: true };
  }

  /** Gives a sure record back: `next` returns it again. */
  undo(cut: Cut): void {
    this.undone = { ...cut, record: keep(cut.record) };
  }

  /** The candidate is a record: takes it, and the records follow each other again. */
  accept(cut: Cut): Mark {
    this.scanning = false;
    return this.queue.take(cut.record.length)!.mark;
  }

  /** The candidate is none: the search goes on one byte further. */
  reject(lost: (bytes: number) => void): void {
    this.skip(1);
    lost(1);
  }

  /** The bytes so far were no record: searches on. */
  search(): void {
    this.scanning = true;
  }

  /**
   * `length` bytes are missing after what was pushed. Tells how many bytes of records are lost by that: what is begun, and the hole.
   * Undefined: unknown.
   */
  gap(length: number | undefined): number | undefined {
    const begun = this.queue.length;
    if (length === undefined) {
      this.drop();
      return undefined;
    }
    if (this.rest > 0 || (!this.scanning && begun >= recordHeaderBytes)) {
      const open = this.rest > 0 ? this.rest : this.missingBytes();
      if (open !== undefined && length <= open) {
        this.queue.skip(begun);
        this.tail = noBytes;
        this.rest = open - length;
        return begun + length;
      }
    }
    this.drop();
    return begun + length;
  }

  private skip(count: number): void {
    if (count === 0) return;
    const bytes = this.queue.peek(count);
    this.tail =
      count >= tailBytes ? keep(bytes.subarray(count - tailBytes)) : concat([this.tail, bytes]).slice(-tailBytes);
    this.queue.skip(count);
  }

  private drop(): void {
    this.queue.skip(this.queue.length);
    this.tail = noBytes;
    this.rest = 0;
    this.scanning = true;
  }

  /** Bytes that the record in front still lacks. */
  private missingBytes(): number | undefined {
    const fragment = this.fragmentLength(0);
    return fragment === undefined ? undefined : recordHeaderBytes + fragment - this.queue.length;
  }

  /** Skips to the next place that may be a header. False: none so far. */
  private seek(lost: (bytes: number) => void): boolean {
    let from = 0;
    for (;;) {
      const major = this.queue.indexOf(3, from + 1);
      const at = major < 0 ? Math.max(this.queue.length - 1, 0) : major - 1;
      const whole = this.queue.length - at >= recordHeaderBytes;
      if (major >= 0 && whole && !this.looksLikeHeader(at)) {
        from = at + 1;
        continue;
      }
      this.skip(at);
      if (at > 0) lost(at);
      return major >= 0 && whole;
    }
  }

  private looksLikeHeader(at: number): boolean {
    const length = this.fragmentLength(at);
    return length !== undefined && length > 0;
  }

  /** What the record header at `at` says; undefined where none can be. */
  private fragmentLength(at: number): number | undefined {
    const { queue } = this;
    const type = queue.at(at)!;
    if (type < 20 || type > 24 || queue.at(at + 1) !== 3 || queue.at(at + 2)! > 4) return undefined;
    const length = queue.at(at + 3)! * 256 + queue.at(at + 4)!;
    return length <= recordLimit ? length : undefined;
  }

  /** Copies what waits, so that it does not pin the chunks it came in. */
  unpin(): void {
    const fresh = new ByteQueue();
    this.queue.takeAll((bytes, mark) => fresh.push(keep(bytes), mark));
    this.queue = fresh;
  }
}
