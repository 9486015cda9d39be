/**
 * One direction of an HTTP/2 connection: bytes in pieces -> frames. DATA is handed on as it arrives, padding removed; the payload
 * of every other known frame whole. RFC 9113 4, 6.
 */
import { type Bytes, utf8Bytes } from "../../core/bytes.js";
import type { Detail, DiagnosticCode } from "../../core/diagnostic.js";
import type { Mark } from "../../core/mark.js";
import type { Direction, GapReason } from "../../model/exchange.js";
import { GrowingBytes } from "../growing-bytes.js";
import {
  type FrameHead,
  frameFault,
  frameFlag,
  frameHeaderBytes,
  frameType,
  looksLikeFrame,
  readFrameHead,
} from "./frame.js";
import { FrameResync, type StreamNumbers } from "./resync.js";

export interface FrameHandler {
  data(stream: number, bytes: Bytes, mark: Mark): void;
  /** A DATA frame is over. */
  dataEnd(stream: number, endStream: boolean, mark: Mark): void;
  dataGap(stream: number, length: number | undefined, why: GapReason, mark: Mark): void;
  /** `first`: mark of the frame's first byte. `payload` null: it is missing, in part or wholly, or over a limit. */
  frame(head: FrameHead, payload: Bytes | null, first: Mark, mark: Mark): void;
  /** The beginning of the connection is not there. */
  late(mark: Mark): void;
  /** Whole frames are missing. */
  lost(why: GapReason, mark: Mark): void;
  note(code: DiagnosticCode, mark: Mark, detail?: Detail): void;
}

const preface = utf8Bytes("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const largestFrame = 0xff_ffff;
/** Believed while the other side's SETTINGS are not known. */
const plausibleFrame = 1_048_576;
const faultsInARow = 3;

type State = "begin" | "header" | "pad" | "data" | "padding" | "payload" | "lost";

export class FrameReader {
  private state: State = "begin";
  /** The connection's beginning was seen, or was told to be missing. */
  private started = false;
  private readonly header = new Uint8Array(frameHeaderBytes);
  private have = 0;
  private head: FrameHead = { length: 0, type: 0, flags: 0, stream: 0 };
  private first: Mark | undefined;
  /** Bytes of the frame's content that are still to come, and of its padding. */
  private remaining = 0;
  private padding = 0;
  private readonly gathered = new GrowingBytes();
  private payload: "keep" | "skip" | "damaged" = "keep";
  private faults = 0;
  private readonly resync: FrameResync;
  private lostFrom: Mark | undefined;
  /** What the other side's SETTINGS allow; null where they are not known. */
  maxFrame: number | null = 16_384;

  constructor(
    private readonly direction: Direction,
    private readonly handler: FrameHandler,
    private readonly headBytes: number,
    numbers: StreamNumbers,
  ) {
    this.resync = new FrameResync(numbers);
  }

  feed(bytes: Bytes, mark: Mark): void {
    let piece = bytes;
    let under = mark;
    for (let at = 0; at < piece.length; ) {
      switch (this.state) {
        case "begin":
          at = this.begin(piece, at, under);
          break;
        case "header":
          at = this.readHeader(piece, at, under);
          break;
        case "pad":
          at = this.readPad(piece, at, under);
          break;
        case "data":
          at = this.readData(piece, at, under);
          break;
        case "padding":
          at = this.readPadding(piece, at, under);
          break;
        case "payload":
          at = this.readPayload(piece, at, under);
          break;
        case "lost": {
          const found = this.resync.search(piece, at, this.maxFrame ?? plausibleFrame, under);
          if (found === undefined) return;
          this.found(found.mark);
          ({ bytes: piece, at, mark: under } = found);
          break;
        }
      }
    }
  }

  /** RFC 9113 3.4: the client begins with the preface, both sides with SETTINGS. */
  private begin(bytes: Bytes, from: number, mark: Mark): number {
    let at = from;
    if (this.direction === "down") {
      this.state = "header";
      return at;
    }
    while (at < bytes.length && this.have < preface.length) {
      if (bytes[at] !== preface[this.have]) {
        const nothing = this.have === 0;
        this.have = 0;
        this.beginLate(bytes, at, nothing, mark);
        return at;
      }
      at++;
      this.have++;
    }
    if (this.have === preface.length) {
      this.have = 0;
      this.state = "header";
      this.started = true;
    }
    return at;
  }

  private beginLate(bytes: Bytes, at: number, atStart: boolean, mark: Mark): void {
    this.started = true;
    this.maxFrame = null;
    this.handler.late(mark);
    const whole = at + frameHeaderBytes <= bytes.length;
    if (atStart && whole && looksLikeFrame(bytes, at, plausibleFrame)) this.state = "header";
    else this.lose(mark);
  }

  private readHeader(bytes: Bytes, at: number, mark: Mark): number {
    if (this.have === 0) {
      this.first = mark;
      if (bytes.length - at >= frameHeaderBytes) return at + this.startFrame(bytes, at, mark);
    }
    const count = Math.min(frameHeaderBytes - this.have, bytes.length - at);
    this.header.set(bytes.subarray(at, at + count), this.have);
    this.have += count;
    if (this.have === frameHeaderBytes) {
      this.have = 0;
      const taken = this.startFrame(this.header, 0, mark);
      // Out of step: the nine bytes are gone for the search, which costs at most the frame they were part of.
      if (taken === 0) this.resync.skipped += frameHeaderBytes;
    }
    return at + count;
  }

  /** How many bytes were taken: all of the header, or none where it is no header. */
  private startFrame(bytes: Bytes, at: number, mark: Mark): number {
    const head = readFrameHead(bytes, at);
    if (!this.started) {
      const settings = head.type === frameType.settings && (head.flags & 1) === 0 && frameFault(head) === null;
      if (settings) this.started = true;
      else {
        this.beginLate(bytes, at, true, mark);
        if (this.state !== "header") return 0;
      }
    }
    if (!this.accept(head, mark)) {
      this.lose(mark);
      this.handler.lost("not-captured", mark);
      return 0;
    }
    this.head = head;
    this.begun(head, mark);
    return frameHeaderBytes;
  }

  /** A broken rule is the sender's fault and the frame's length still holds; many in a row, and this is not a frame at all. */
  private accept(head: FrameHead, mark: Mark): boolean {
    const { type, length, stream } = head;
    const tooLong = this.maxFrame !== null && length > this.maxFrame;
    const known = type <= frameType.continuation;
    const what = frameFault(head) ?? (tooLong ? `more than ${this.maxFrame} bytes` : null);
    if (what === null) {
      this.faults = 0;
      return true;
    }
    this.faults++;
    if ((tooLong && (!known || frameFault(head) !== null)) || this.faults >= faultsInARow) {
      this.faults = 0;
      this.handler.note("http2.out-of-step", mark, { type, length, stream });
      return false;
    }
    this.handler.note("http2.bad-frame", mark, { type, length, stream, what });
    return true;
  }

  private begun(head: FrameHead, mark: Mark): void {
    this.remaining = head.length;
    this.padding = 0;
    const broken = frameFault(head) !== null;
    if (head.type === frameType.data && !broken) {
      this.state = (head.flags & frameFlag.padded) === 0 ? "data" : "pad";
      if (this.remaining === 0) this.endData(mark);
      return;
    }
    this.state = "payload";
    this.payload =
      head.type > frameType.continuation || broken ? "skip" : head.length > this.headBytes ? "damaged" : "keep";
    if (this.remaining === 0) this.endPayload(this.header.subarray(0, 0), mark);
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
    this.state = "data";
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
      this.state = "padding";
      return;
    }
    this.state = "header";
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
    this.state = "header";
    const { payload } = this;
    const bytes = payload === "keep" ? (whole ?? this.gathered.take()) : null;
    this.gathered.clear();
    if (payload !== "skip") this.handler.frame(this.head, bytes, this.first ?? mark, mark);
  }

  private lose(mark: Mark): void {
    this.state = "lost";
    this.have = 0;
    this.gathered.clear();
    this.resync.cut();
    this.lostFrom ??= mark;
  }

  private found(mark: Mark): void {
    this.state = "header";
    this.report(mark);
  }

  private report(mark: Mark): void {
    if (this.resync.skipped > 0)
      this.handler.note("http2.skipped", this.lostFrom ?? mark, {
        bytes: this.resync.skipped,
        direction: this.direction,
      });
    this.resync.skipped = 0;
    this.lostFrom = undefined;
  }

  gap(length: number | undefined, why: GapReason, mark: Mark): void {
    switch (this.state) {
      case "begin":
        this.started = true;
        this.maxFrame = null;
        this.handler.late(mark);
        this.lose(mark);
        return;
      case "data":
      case "padding":
        this.gapInData(length, why, mark);
        return;
      case "payload":
        this.gapInPayload(length, why, mark);
        return;
      case "lost":
        this.resync.cut();
        return;
      case "header":
      case "pad":
        if (this.state === "pad") this.handler.dataGap(this.head.stream, undefined, why, mark);
        this.missing(why, mark);
        return;
    }
  }

  /** Frames of any stream may be among what is missing. */
  private missing(why: GapReason, mark: Mark): void {
    if (!this.started) {
      this.started = true;
      this.handler.late(mark);
    }
    this.lose(mark);
    this.handler.lost(why, mark);
  }

  private gapInData(length: number | undefined, why: GapReason, mark: Mark): void {
    if (length === undefined || length > this.remaining + this.padding) {
      this.handler.dataGap(this.head.stream, undefined, why, mark);
      this.missing(why, mark);
      return;
    }
    const inside = Math.min(length, this.remaining);
    if (inside > 0) this.handler.dataGap(this.head.stream, inside, why, mark);
    this.remaining -= inside;
    this.padding -= length - inside;
    if (this.remaining === 0) this.endData(mark);
  }

  private gapInPayload(length: number | undefined, why: GapReason, mark: Mark): void {
    if (this.payload === "keep") this.payload = "damaged";
    if (length === undefined || length > this.remaining) {
      this.endPayload(null, mark);
      this.missing(why, mark);
      return;
    }
    this.remaining -= length;
    if (this.remaining === 0) this.endPayload(null, mark);
  }

  finish(mark: Mark): void {
    if (this.state === "lost") this.resync.finish();
    this.report(mark);
    if (this.state === "payload") {
      this.payload = this.payload === "keep" ? "damaged" : this.payload;
      this.endPayload(null, mark);
    }
    this.state = "lost";
  }
}

/** The largest frame a side may allow (RFC 9113 6.5.2). */
export function frameLimit(announced: number): number {
  return Math.min(Math.max(announced, 16_384), largestFrame);
}
