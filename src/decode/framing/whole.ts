/** The whole body is one message. A body without any byte is none. */
import { type Bytes, concat, noBytes } from "../../core/bytes.js";
import { type Mark, spanMarks } from "../../core/mark.js";
import type { GapReason } from "../../model/exchange.js";
import type { MessageFault } from "../../model/message.js";
import type { CutFault, Framer, FramerContext } from "./framer.js";

export interface WholeOptions {
  /** Looks at a sound body and says what is wrong with it. */
  readonly judge?: (body: Bytes) => MessageFault | null;
}

export function wholeFramer(context: FramerContext, options: WholeOptions = {}): Framer {
  return new WholeFramer(context, options);
}

class WholeFramer implements Framer {
  private pieces: Bytes[] = [];
  private size = 0;
  private mark: Mark | null = null;
  private done = false;

  constructor(
    private readonly context: FramerContext,
    private readonly options: WholeOptions,
  ) {}

  push(bytes: Bytes, mark: Mark): void {
    if (this.done || bytes.length === 0) return;
    this.mark = this.mark === null ? mark : spanMarks(this.mark, mark);
    this.size += bytes.length;
    if (this.size > this.context.limits.messageBytes) this.pieces = [];
    else this.pieces.push(bytes);
  }

  gap(_length: number | undefined, why: GapReason): void {
    this.finish(why === "lossy-utf8" ? "lossy" : "truncated");
  }

  end(cut: CutFault | null): void {
    this.finish(cut);
  }

  private finish(cut: MessageFault | null): void {
    if (this.done) return;
    this.done = true;
    const { mark, size, context } = this;
    if (mark === null) return;
    const over = size > context.limits.messageBytes;
    const body = over || cut === "over-limit" ? noBytes : concat(this.pieces);
    this.pieces = [];
    const fault = over ? "over-limit" : (cut ?? this.options.judge?.(body) ?? null);
    const place = context.place(mark, 0, size);
    if (over) {
      context.note({
        code: "decode.message-too-long",
        place,
        detail: { bytes: size, limit: context.limits.messageBytes },
      });
    } else if (fault === "enveloped") {
      context.note({ code: "decode.envelope-under-unary", place, detail: { first: `0x0${body[0]}`, bytes: size } });
    } else if (fault === "truncated") context.note({ code: "decode.body-cut", place, detail: { bytes: size } });
    context.emit({
      flags: -1,
      body,
      wireBytes: size,
      declared: size,
      headerBytes: 0,
      codec: null,
      fault,
      mark,
      start: 0,
      end: size,
    });
  }
}
