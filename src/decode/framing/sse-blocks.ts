/**
 * Real server-sent events: one message per block up to an empty line, the block's raw lines as body (sse.ts parses them). Lines end in LF,
 * CRLF or CR. A block that the end of the stream cuts off is "truncated": a client would drop it. HTML standard, 9.2.5 and 9.2.6.
 */

import { ByteQueue } from "../../core/byte-queue.js";
import { type Bytes, noBytes } from "../../core/bytes.js";
import { type Mark, spanMarks } from "../../core/mark.js";
import type { GapReason } from "../../model/exchange.js";
import type { MessageFault } from "../../model/message.js";
import type { CutFault, Framer, FramerContext } from "./framer.js";

const LF = 0x0a;
const CR = 0x0d;

export function sseFramer(context: FramerContext): Framer {
  return new SseFramer(context);
}

class SseFramer implements Framer {
  private readonly queue = new ByteQueue();
  /** Bytes of the current line so far. */
  private lineBytes = 0;
  /** The last byte was a CR: an LF right behind it belongs to it. */
  private afterCr = false;
  private over: { start: number; bytes: number; mark: Mark } | null = null;
  /** Behind a hole, until the next empty line. */
  private resync = false;

  constructor(private readonly context: FramerContext) {}

  push(bytes: Bytes, mark: Mark): void {
    this.queue.push(bytes, mark);
    const ends = new LineEnds(bytes);
    let at = 0;
    for (let end = ends.next(0); end >= 0; end = ends.next(at)) {
      const length = this.lineBytes + end - at;
      const secondHalf = length === 0 && this.afterCr && bytes[end] === LF;
      this.afterCr = bytes[end] === CR;
      this.lineBytes = 0;
      at = end + 1;
      if (length === 0 && !secondHalf) this.block(this.queue.length - (bytes.length - at), null);
    }
    if (at < bytes.length) this.afterCr = false;
    this.lineBytes += bytes.length - at;
    if (this.queue.length > this.context.limits.messageBytes || this.resync) this.passOver(this.queue.length);
  }

  /** Takes the first `count` bytes: a block with its empty line. */
  private block(count: number, fault: MessageFault | null): void {
    if (this.over !== null || this.resync || count > this.context.limits.messageBytes) {
      this.passOver(count);
      this.endOver();
      return;
    }
    const taken = this.queue.take(count);
    if (taken === undefined) return;
    const { bytes, mark } = taken;
    const body = withoutLineEnds(bytes);
    if (body.length === 0) return;
    const end = this.queue.offset;
    const size = body.length;
    const start = end - count;
    this.context.emit({
      flags: -1,
      body,
      wireBytes: size,
      declared: size,
      headerBytes: 0,
      codec: null,
      fault,
      mark,
      start,
      end,
    });
  }

  private passOver(count: number): void {
    const mark = this.queue.lastMark;
    if (mark === undefined) return;
    this.over ??= { start: this.queue.offset, bytes: 0, mark: this.queue.firstMark ?? mark };
    this.over.bytes += count;
    this.over.mark = spanMarks(this.over.mark, mark);
    this.queue.skip(count);
  }

  private endOver(): void {
    const { over } = this;
    this.over = null;
    const resync = this.resync;
    this.resync = false;
    if (over === null || resync) return;
    const { start, bytes, mark } = over;
    const end = this.queue.offset;
    const limit = this.context.limits.messageBytes;
    this.context.note({
      code: "decode.message-too-long",
      place: this.context.place(mark, start, end),
      detail: { bytes, limit },
    });
    const sizes = { wireBytes: bytes, declared: bytes, headerBytes: 0, codec: null };
    this.context.emit({ flags: -1, body: noBytes, ...sizes, fault: "over-limit", mark, start, end });
  }

  gap(_length: number | undefined, why: GapReason): void {
    this.block(this.queue.length, why === "lossy-utf8" ? "lossy" : "truncated");
    this.resync = true;
    this.lineBytes = 0;
    this.afterCr = false;
  }

  end(cut: CutFault | null): void {
    this.block(this.queue.length, cut ?? "truncated");
  }
}

/** Positions of LF and CR in one piece. Each is searched for only when passed, so that a piece without CR is not searched again and again. */
class LineEnds {
  private lf = -2;
  private cr = -2;

  constructor(private readonly bytes: Bytes) {}

  /** The first at or after `from`; -1 when there is none. */
  next(from: number): number {
    if (this.lf !== -1 && this.lf < from) this.lf = this.bytes.indexOf(LF, from);
    if (this.cr !== -1 && this.cr < from) this.cr = this.bytes.indexOf(CR, from);
    return this.lf < 0 ? this.cr : this.cr < 0 ? this.lf : Math.min(this.lf, this.cr);
  }
}

function withoutLineEnds(bytes: Bytes): Bytes {
  let start = 0;
  let end = bytes.length;
  while (start < end && (bytes[start] === LF || bytes[start] === CR)) start++;
  while (end > start && (bytes[end - 1] === LF || bytes[end - 1] === CR)) end--;
  return bytes.subarray(start, end);
}
