/**
 * gRPC-Web text: base64 around gRPC-Web frames, in groups of four characters that may be padded in the middle where the sender flushed.
 * Offsets handed on are those of the text. gRPC-Web protocol, "application/grpc-web-text".
 */
import { asBuffer, type Bytes, concat } from "../../core/bytes.js";
import type { Mark } from "../../core/mark.js";
import type { GapReason } from "../../model/exchange.js";
import type { CutFault, Framed, Framer, FramerContext } from "./framer.js";

const padding = 0x3d;
/** Padded groups inside one message whose place is kept; offsets behind more than that many are too low. */
const maxBreaks = 65_536;

const paddedGroup = /^[A-Za-z0-9+/]{2}(?:[A-Za-z0-9+/]=|==)$/;

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
  private breaks: { readonly text: number; readonly out: number }[] = [{ text: 0, out: 0 }];

  /** Something that is no base64 was met. */
  private dead = false;

  constructor(
    private readonly context: FramerContext,
    inner: (context: FramerContext) => Framer,
  ) {
    this.inner = inner({
      ...context,
      emit: (framed: Framed) => {
        context.emit({ ...framed, start: this.textOffset(framed.start), end: this.textOffset(framed.end) });
        this.forget(framed.end);
      },
      place: (mark, start, end) => context.place(mark, this.textOffset(start), this.textOffset(end)),
    });
  }

  push(bytes: Bytes, mark: Mark): void {
    if (this.dead) return;
    const text = this.rest.length === 0 ? bytes : concat([this.rest, bytes]);
    const whole = text.length - (text.length % 4);
    for (let at = 0; at < whole; ) {
      // One run of groups: up to and with the first padded one.
      const pad = text.indexOf(padding, at);
      const end = pad < 0 || pad >= whole ? whole : pad - (pad % 4) + 4;
      const run = asBuffer(text.subarray(at, end)).toString("latin1");
      const good = soundLength(run);
      this.run(run.slice(0, good), mark);
      if (good < run.length) return this.die(mark);
      at = end;
    }
    this.rest = text.slice(whole);
  }

  private run(text: string, mark: Mark): void {
    if (text === "") return;
    const out = new Uint8Array(Buffer.from(text, "base64"));
    this.textBytes += text.length;
    this.outBytes += out.length;
    if (out.length * 4 !== text.length * 3 && this.breaks.length < maxBreaks) {
      this.breaks.push({ text: this.textBytes, out: this.outBytes });
    }
    this.inner.push(out, mark);
  }

  private die(mark: Mark): void {
    this.dead = true;
    this.rest = this.rest.subarray(0, 0);
    const place = this.context.place(mark, this.textBytes, this.textBytes + 4);
    this.context.note({ code: "decode.bad-base64", place, detail: { offset: this.textBytes } });
    this.inner.end("truncated");
  }

  gap(length: number | undefined, why: GapReason): void {
    if (this.dead) return;
    // A hole of whole groups is one of known size only when the text before it ends with a group.
    const known = length !== undefined && this.rest.length === 0 && length % 4 === 0;
    this.rest = this.rest.subarray(0, 0);
    this.inner.gap(known ? (length / 4) * 3 : undefined, why);
  }

  end(cut: CutFault | null): void {
    if (this.dead) return;
    this.inner.end(cut ?? (this.rest.length > 0 ? "truncated" : null));
  }

  /** What lies in front of a message that has gone is not asked for again. */
  private forget(out: number): void {
    const kept = this.breaks.findIndex((one) => one.out > out);
    const from = kept < 0 ? this.breaks.length - 1 : kept - 1;
    if (from > 0) this.breaks = this.breaks.slice(from);
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

/** Characters up to the first group that is no base64. */
function soundLength(run: string): number {
  const other = run.search(/[^A-Za-z0-9+/]/);
  if (other < 0) return run.length;
  const group = other - (other % 4);
  return paddedGroup.test(run.slice(group, group + 4)) ? group + 4 : group;
}
