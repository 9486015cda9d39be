/**
 * What follows a frame header: DATA handed on as it arrives, without padding (RFC 9113 6.1); the payload of other frames gathered
 * until it is whole.
 */
import { type Bytes, noBytes } from "../../core/bytes.js";
import type { Mark } from "../../core/mark.js";
import type { GapReason } from "../../model/exchange.js";
import { GrowingBytes } from "../growing-bytes.js";
import { type FrameHead, frameFault, frameFlag, frameType } from "./frame.js";
import type { FrameHandler } from "./reader.js";

export class FrameContent {
  private part: "pad" | "data" | "padding" | "payload" = "payload";
  private head: FrameHead = { length: 0, type: 0, flags: 0, stream: 0 };
  private first: Mark | undefined;
  /** Bytes of the content that are still to come, and of its padding. */
  private remaining = 0;
  private padding = 0;
  private readonly gathered = new GrowingBytes();
  private payload: "keep" | "skip" | "damaged" = "keep";
  /** Everything the header announced was there. */
  done = true;

  constructor(
    private readonly handler: FrameHandler,
    private readonly headBytes: number,
  ) {}

  /** `first`: mark of the header's first byte. */
  begin(head: FrameHead, first: Mark, mark: Mark): void {
    this.head = head;
    this.first = first;
    this.remaining = head.length;
    this.padding = 0;
    this.done = false;
    const broken = frameFault(head) !== null;
    if (head.type === frameType.data && !broken) {
      this.part = (head.flags & frameFlag.padded) === 0 ? "data" : "pad";
      if (this.remaining === 0) this.endData(mark);
      return;
    }
    this.part = "payload";
    if (head.type > frameType.continuation || broken) this.payload = "skip";
    else this.payload = head.length > this.headBytes ? "damaged" : "keep";
    if (this.remaining === 0) this.endPayload(noBytes, mark);
  }

  /** Offset of the first byte that was not taken. */
  feed(bytes: Bytes, at: number, mark: Mark): number {
    switch (this.part) {
      case "pad":
        return this.readPad(bytes, at, mark);
      case "data":
        return this.readData(bytes, at, mark);
      case "padding":
        return this.readPadding(bytes, at, mark);
      case "payload":
        return this.readPayload(bytes, at, mark);
    }
  }

  private readPad(bytes: Bytes, at: number, mark: Mark): number {
    const pad = bytes[at]!;
    this.remaining--;
    if (pad > this.remaining) {
      const { type, length, stream } = this.head;
      this.handler.note("http2.bad-frame", mark, { type, length, stream, what: "more padding than payload" });
      this.padding = this.remaining;
      this.remaining = 0;
    } else {
      this.padding = pad;
      this.remaining -= pad;
    }
    this.part = "data";
    if (this.remaining === 0) this.endData(mark);
    return at + 1;
  }

  private readData(bytes: Bytes, at: number, mark: Mark): number {
    const end = Math.min(bytes.length, at + this.remaining);
    this.handler.data(this.head.stream, at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end), mark);
    this.remaining -= end - at;
    if (this.remaining === 0) this.endData(mark);
    return end;
  }

  /** Called with nothing of the content left; the padding may still be to come. */
  private endData(mark: Mark): void {
    if (this.padding > 0) {
      this.part = "padding";
      return;
    }
    this.done = true;
    this.handler.dataEnd(this.head.stream, (this.head.flags & frameFlag.endStream) !== 0, mark);
  }

  private readPadding(bytes: Bytes, at: number, mark: Mark): number {
    const count = Math.min(this.padding, bytes.length - at);
    this.padding -= count;
    if (this.padding === 0) this.endData(mark);
    return at + count;
  }

  private readPayload(bytes: Bytes, at: number, mark: Mark): number {
    const end = Math.min(bytes.length, at + this.remaining);
    const whole = this.remaining === this.head.length && end - at === this.remaining;
    this.remaining -= end - at;
    if (whole) this.endPayload(bytes.subarray(at, end), mark);
    else {
      if (this.payload === "keep") this.gathered.append(bytes.subarray(at, end));
      if (this.remaining === 0) this.endPayload(null, mark);
    }
    return end;
  }

  private endPayload(whole: Bytes | null, mark: Mark): void {
    const { payload } = this;
    const bytes = payload === "keep" ? (whole ?? this.gathered.take()) : null;
    if (this.gathered.length > 0) this.gathered.clear();
    this.done = true;
    if (payload !== "skip") this.handler.frame(this.head, bytes, this.first ?? mark, mark);
  }

  /** Bytes are missing. Returns whether the frame's end, too, may be among them, and frames behind it. */
  gap(length: number | undefined, why: GapReason, mark: Mark): boolean {
    if (this.part === "pad") {
      this.handler.dataGap(this.head.stream, undefined, why, mark);
      return true;
    }
    const inside = length !== undefined && length <= this.remaining + this.padding;
    if (this.part === "payload") this.gapInPayload(inside ? length : this.remaining, mark);
    else if (inside) this.gapInData(length, why, mark);
    else this.handler.dataGap(this.head.stream, undefined, why, mark);
    return !inside;
  }

  private gapInData(length: number, why: GapReason, mark: Mark): void {
    const inside = Math.min(length, this.remaining);
    if (inside > 0) this.handler.dataGap(this.head.stream, inside, why, mark);
    this.remaining -= inside;
    this.padding -= length - inside;
    if (this.remaining === 0) this.endData(mark);
  }

  private gapInPayload(length: number, mark: Mark): void {
    if (this.payload === "keep") this.payload = "damaged";
    this.remaining -= length;
    if (this.remaining === 0) this.endPayload(null, mark);
  }

  /** No more bytes come: a payload that is not whole is lost. */
  finish(mark: Mark): void {
    if (!this.done && this.part === "payload") this.gapInPayload(this.remaining, mark);
  }
}
