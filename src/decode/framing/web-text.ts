/**
 * gRPC-Web text: base64 around gRPC-Web frames, in groups of four characters that may be padded in the middle where the sender flushed.
 * Offsets handed on are those of the text. gRPC-Web protocol, "application/grpc-web-text".
 */
import { asBuffer, type Bytes, concat } from "../../core/bytes.js";
import type { Mark } from "../../core/mark.js";
import type { GapReason } from "../../model/exchange.js";
import type { CutFault, Framed, Framer, FramerContext } from "./framer.js";

const padding = 0x3d;

export function webTextFramer(context: FramerContext, inner: (context: FramerContext) => Framer): Framer {
  return new WebTextFramer(context, inner);
}

class WebTextFramer implements Framer {
  private readonly inner: Framer;
  /** Characters that are no whole group yet. */
  private rest: Bytes = new Uint8Array(0);
  private textBytes = 0;
  private outBytes = 0;
  /** Where groups of less than three bytes end: text offset and decoded offset, rising. */
  private readonly breaks: { readonly text: number; readonly out: number }[] = [{ text: 0, out: 0 }];

  constructor(context: FramerContext, inner: (context: FramerContext) => Framer) {
    this.inner = inner({
      ...context,
      emit: (framed: Framed) =>
        context.emit({ ...framed, start: this.textOffset(framed.start), end: this.textOffset(framed.end) }),
      place: (mark, start, end) => context.place(mark, this.textOffset(start), this.textOffset(end)),
    });
  }

  push(bytes: Bytes, mark: Mark): void {
    const text = this.rest.length === 0 ? bytes : concat([this.rest, bytes]);
    const whole = text.length - (text.length % 4);
    for (let at = 0; at < whole; ) {
      // One run of groups: up to and with the first padded one.
      const pad = text.indexOf(padding, at);
      const end = pad < 0 || pad >= whole ? whole : pad - (pad % 4) + 4;
      const out = new Uint8Array(Buffer.from(asBuffer(text.subarray(at, end)).toString("latin1"), "base64"));
      this.textBytes += end - at;
      this.outBytes += out.length;
      if (out.length * 4 !== (end - at) * 3) this.breaks.push({ text: this.textBytes, out: this.outBytes });
      this.inner.push(out, mark);
      at = end;
    }
    this.rest = text.slice(whole);
  }

  gap(length: number | undefined, why: GapReason): void {
    // A hole of whole groups is one of known size only when the text before it ends with a group.
    const known = length !== undefined && this.rest.length === 0 && length % 4 === 0;
    this.rest = this.rest.subarray(0, 0);
    this.inner.gap(known ? (length / 4) * 3 : undefined, why);
  }

  end(cut: CutFault | null): void {
    this.inner.end(cut ?? (this.rest.length > 0 ? "truncated" : null));
  }

  private textOffset(out: number): number {
    let low = 0;
    let high = this.breaks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.breaks[middle]!.out <= out) low = middle;
      else high = middle - 1;
    }
    const from = this.breaks[low]!;
    return from.text + Math.floor(((out - from.out) * 4) / 3);
  }
}
