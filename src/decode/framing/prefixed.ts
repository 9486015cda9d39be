/**
 * Messages behind a header of fixed length that declares the payload's length: Connect, gRPC and gRPC-Web envelopes (flags, 4-byte
 * big-endian length) and pi frames (4-byte big-endian length). A message over the limit is passed over without being kept; a hole of known
 * size inside a payload costs that message only.
 */

import { ByteQueue } from "../../core/byte-queue.js";
import { type Bytes, noBytes } from "../../core/bytes.js";
import { type Mark, spanMarks } from "../../core/mark.js";
import type { GapReason } from "../../model/exchange.js";
import type { MessageFault } from "../../model/message.js";
import type { CutFault, Framed, Framer, FramerContext } from "./framer.js";

/** A message as its header and payload stand in the body. */
export interface Prefixed {
  readonly flags: number;
  readonly payload: Bytes;
  readonly wireBytes: number;
  readonly declared: number;
  readonly fault: MessageFault | null;
  readonly mark: Mark;
  readonly start: number;
  readonly end: number;
}

export interface PrefixedOptions {
  /** 5: flags and length; 4: length alone. */
  readonly headerBytes: 4 | 5;
  /** Largest payload that is kept. */
  readonly maxBytes: number;
  /** Undoes compression and judges flags. */
  finish(message: Prefixed): Framed;
  /** Looks at each header as it arrives. "dead": nothing from here on can be framed. "bare": the direction is no sequence of these at all. */
  header?(flags: number, length: number, first: boolean): "ok" | "dead" | "bare";
  /** Asked at the end, when the only message is unfinished: whether the body is rather one bare message. */
  looksBare?(body: Bytes, flags: number): boolean;
  /** Takes over when the direction is bare. */
  bare?(first: Bytes, mark: Mark): Framer;
}

export function prefixedFramer(context: FramerContext, options: PrefixedOptions): Framer {
  return new PrefixedFramer(context, options);
}

/** A message whose payload is passed over. */
interface Skipped {
  readonly flags: number;
  readonly declared: number;
  readonly start: number;
  readonly payload: Bytes;
  readonly fault: MessageFault;
  mark: Mark;
  seen: number;
  left: number;
}

class PrefixedFramer implements Framer {
  private readonly queue = new ByteQueue();
  private messages = 0;
  private skipped: Skipped | null = null;
  /** A hole hid a header, and nothing has been said yet about what comes behind it. */
  private lost = false;
  private bare: Framer | null = null;
  private finished = false;

  constructor(
    private readonly context: FramerContext,
    private readonly options: PrefixedOptions,
  ) {}

  push(bytes: Bytes, mark: Mark): void {
    if (this.bare !== null) return this.bare.push(bytes, mark);
    if (this.finished) return this.noteLost(mark);
    this.queue.push(bytes, mark);
    while (this.step()) {
      // step() takes one message, or part of one that is passed over
    }
  }

  private step(): boolean {
    if (this.skipped !== null) return this.skip(this.skipped);
    const { queue } = this;
    const { headerBytes, maxBytes } = this.options;
    if (queue.length < headerBytes) return false;
    const flags = headerBytes === 5 ? queue.at(0)! : -1;
    const length = this.length();
    const verdict = this.options.header?.(flags, length, this.messages === 0) ?? "ok";
    if (verdict === "bare" && this.options.bare !== undefined) return this.turnBare();
    if (verdict !== "ok" || length > maxBytes) {
      // A dead direction is passed over to its end: no length of it can be believed.
      this.startSkip(flags, length, verdict === "ok" ? length : Number.POSITIVE_INFINITY);
      return true;
    }
    if (queue.length < headerBytes + length) return false;
    const start = queue.offset;
    const { bytes, mark } = queue.take(headerBytes + length)!;
    const payload = bytes.subarray(headerBytes);
    this.emit({ flags, payload, wireBytes: length, declared: length, fault: null, mark, start, end: queue.offset });
    return queue.length > 0;
  }

  private length(): number {
    const { queue } = this;
    const at = this.options.headerBytes - 4;
    return ((queue.at(at)! << 24) | (queue.at(at + 1)! << 16) | (queue.at(at + 2)! << 8) | queue.at(at + 3)!) >>> 0;
  }

  private emit(message: Prefixed): void {
    this.messages++;
    this.context.emit(this.options.finish(message));
  }

  private startSkip(flags: number, declared: number, left: number): void {
    const start = this.queue.offset;
    const { mark } = this.queue.take(this.options.headerBytes)!;
    this.skipped = { flags, declared, start, payload: noBytes, fault: "over-limit", mark, seen: 0, left };
    const code = Number.isFinite(left) ? "decode.message-too-long" : "decode.bad-length";
    const place = this.context.place(mark, start, this.queue.offset);
    this.context.note({ code, place, detail: { bytes: declared, limit: this.options.maxBytes } });
  }

  /** Passes over payload bytes; answers whether the next message can be looked at. */
  private skip(skipped: Skipped): boolean {
    const { queue } = this;
    const count = Math.min(queue.length, skipped.left);
    if (count > 0) {
      skipped.mark = spanMarks(skipped.mark, queue.lastMark!);
      queue.skip(count);
      skipped.seen += count;
      skipped.left -= count;
    }
    if (skipped.left > 0) return false;
    this.endSkip(skipped);
    return queue.length > 0;
  }

  private endSkip(skipped: Skipped): void {
    this.skipped = null;
    const { flags, payload, declared, fault, mark, start, seen } = skipped;
    this.emit({ flags, payload, wireBytes: seen, declared, fault, mark, start, end: this.queue.offset });
  }

  private turnBare(): boolean {
    const { queue } = this;
    const { bytes, mark } = queue.take(queue.length)!;
    this.bare = this.options.bare!(bytes, mark);
    return false;
  }

  gap(length: number | undefined, why: GapReason): void {
    if (this.bare !== null) return this.bare.gap(length, why);
    if (this.finished) return;
    const fault = why === "lossy-utf8" ? "lossy" : "truncated";
    const { skipped } = this;
    if (skipped !== null && length !== undefined && length <= skipped.left) {
      skipped.left -= length;
      if (skipped.left === 0) this.endSkip(skipped);
      return;
    }
    if (skipped === null && this.headerIsThere()) {
      const declared = this.length();
      const left = declared - (this.queue.length - this.options.headerBytes);
      if (length !== undefined && length <= left) {
        this.damage(declared, left - length, fault);
        return;
      }
    }
    this.flush(fault);
    this.finished = true;
    this.lost = why !== "lossy-utf8";
  }

  private headerIsThere(): boolean {
    return this.queue.length >= this.options.headerBytes;
  }

  /** The message in front of the queue has a hole: what is there is kept, what follows the hole is passed over. */
  private damage(declared: number, left: number, fault: MessageFault): void {
    const { queue } = this;
    const flags = this.options.headerBytes === 5 ? queue.at(0)! : -1;
    const start = queue.offset;
    const { bytes, mark } = queue.take(queue.length)!;
    const payload = bytes.subarray(this.options.headerBytes);
    this.skipped = { flags, declared, start, payload, fault, mark, seen: payload.length, left };
    if (left === 0) this.endSkip(this.skipped);
  }

  /** Bytes behind a hole that hid a header. */
  private noteLost(mark: Mark): void {
    if (!this.lost) return;
    this.lost = false;
    const at = this.queue.offset;
    this.context.note({ code: "decode.lost-step", place: this.context.place(mark, at, at), detail: { offset: at } });
  }

  end(cut: CutFault | null): void {
    if (this.bare !== null) return this.bare.end(cut);
    if (this.finished) return;
    this.finished = true;
    if (this.skipped === null && this.messages === 0 && this.queue.length > 0 && this.options.bare !== undefined) {
      const body = this.queue.peek(this.queue.length);
      if (this.options.looksBare?.(body, body[0]!) === true) {
        this.turnBare();
        this.bare!.end(cut);
        return;
      }
    }
    this.flush(cut ?? "truncated");
  }

  /** Emits what is left as a message that is not whole. */
  private flush(fault: MessageFault): void {
    const { queue, skipped } = this;
    if (skipped !== null) {
      if (Number.isFinite(skipped.left))
        this.noteTruncated(skipped.mark, skipped.start, skipped.declared, skipped.seen);
      this.endSkip(skipped);
      return;
    }
    if (queue.length === 0) return;
    const { headerBytes } = this.options;
    const whole = queue.length >= headerBytes;
    const flags = headerBytes === 5 ? queue.at(0)! : -1;
    const declared = whole ? this.length() : 0;
    const start = queue.offset;
    const { bytes, mark } = queue.take(queue.length)!;
    const payload = bytes.subarray(Math.min(headerBytes, bytes.length));
    if (fault === "truncated") this.noteTruncated(mark, start, declared, payload.length);
    this.emit({ flags, payload, wireBytes: payload.length, declared, fault, mark, start, end: queue.offset });
  }

  private noteTruncated(mark: Mark, start: number, declared: number, seen: number): void {
    const place = this.context.place(mark, start, this.queue.offset);
    this.context.note({ code: "decode.message-cut", place, detail: { bytes: seen, declared } });
  }
}
