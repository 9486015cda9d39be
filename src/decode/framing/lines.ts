/** JSON lines: one message per line, LF or CRLF; empty lines are none. A line over the limit is passed over. Holes cost the line they are in. */

import { ByteQueue } from "../../core/byte-queue.js";
import { type Bytes, noBytes } from "../../core/bytes.js";
import { type Mark, spanMarks } from "../../core/mark.js";
import type { GapReason } from "../../model/exchange.js";
import type { MessageFault } from "../../model/message.js";
import type { CutFault, Framer, FramerContext } from "./framer.js";

const LF = 0x0a;
const CR = 0x0d;

export interface LinesOptions {
  /** Each piece is a record of its own, whether it ends in a line feed or not. */
  readonly piecewise: boolean;
}

export function linesFramer(context: FramerContext, options: LinesOptions): Framer {
  return new LinesFramer(context, options.piecewise);
}

class LinesFramer implements Framer {
  private readonly queue = new ByteQueue();
  private dropped: { start: number; bytes: number; mark: Mark } | null = null;
  /** Behind a hole, until the next line feed. */
  private resync = false;

  constructor(
    private readonly context: FramerContext,
    private readonly piecewise: boolean,
  ) {}

  push(bytes: Bytes, mark: Mark): void {
    this.queue.push(bytes, mark);
    // Line ends are looked for in the piece alone: a line in a million pieces is not searched a million times.
    for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1)) {
      this.line(this.queue.length - (bytes.length - at - 1), null);
    }
    if (this.piecewise && this.queue.length > 0) this.line(this.queue.length, null);
    else if (this.queue.length > this.context.limits.messageBytes || this.resync) this.drop();
  }

  /** Takes `count` bytes, a line with its end. */
  private line(count: number, fault: MessageFault | null): void {
    const start = this.dropped?.start ?? this.queue.offset;
    if (this.dropped !== null || count > this.context.limits.messageBytes) {
      this.drop(count);
      const { dropped, resync } = this;
      this.dropped = null;
      this.resync = false;
      if (dropped !== null && !resync) this.tooLong(start, dropped.bytes, dropped.mark);
      return;
    }
    const { bytes, mark } = this.queue.take(count)!;
    if (this.resync) {
      this.resync = false;
      return;
    }
    const body = bytes.subarray(0, endOfText(bytes));
    if (body.length === 0) return;
    const end = this.queue.offset;
    const size = body.length;
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

  private drop(count = this.queue.length): void {
    const start = this.queue.offset;
    const last = this.queue.lastMark;
    if (last === undefined) return;
    this.dropped ??= { start, bytes: 0, mark: this.queue.firstMark ?? last };
    this.dropped.bytes += count;
    this.dropped.mark = spanMarks(this.dropped.mark, last);
    this.queue.skip(count);
  }

  private tooLong(start: number, bytes: number, mark: Mark): void {
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
    if (this.queue.length > 0 || this.dropped !== null)
      this.line(this.queue.length, why === "lossy-utf8" ? "lossy" : "truncated");
    this.resync = !this.piecewise;
  }

  end(cut: CutFault | null): void {
    if (this.queue.length > 0 || this.dropped !== null) this.line(this.queue.length, cut);
  }
}

function endOfText(bytes: Bytes): number {
  let end = bytes.length;
  while (end > 0 && (bytes[end - 1] === LF || bytes[end - 1] === CR)) end--;
  return end;
}
