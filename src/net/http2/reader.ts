/**
 * One direction of an HTTP/2 connection: bytes in pieces -> frames. DATA is handed on as it arrives, padding removed; the payload
 * of every other known frame whole. RFC 9113 4, 6.
 */
import { type Bytes, utf8Bytes } from "../../core/bytes.js";
import type { Detail, DiagnosticCode } from "../../core/diagnostic.js";
import type { Mark } from "../../core/mark.js";
import type { Direction, GapReason } from "../../model/exchange.js";
import { FrameContent } from "./content.js";
import { type FrameHead, frameFault, frameHeaderBytes, frameType, looksLikeFrame, readFrameHead } from "./frame.js";
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

type State = "begin" | "header" | "content" | "lost";

export class FrameReader {
  private state: State = "begin";
  /** The connection's beginning was seen, or was told to be missing. */
  private started = false;
  private readonly header = new Uint8Array(frameHeaderBytes);
  private have = 0;
  /** Of the header under way. */
  private first: Mark | undefined;
  private readonly content: FrameContent;
  private faults = 0;
  private readonly resync: FrameResync;
  private lostFrom: Mark | undefined;
  /** What the other side's SETTINGS allow; null where they are not known. */
  maxFrame: number | null = 16_384;

  constructor(
    private readonly direction: Direction,
    private readonly handler: FrameHandler,
    headBytes: number,
    numbers: StreamNumbers,
  ) {
    this.content = new FrameContent(handler, headBytes);
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
        case "content":
          at = this.content.feed(piece, at, under);
          if (this.content.done) this.state = "header";
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
    this.content.begin(head, this.first ?? mark, mark);
    this.state = this.content.done ? "header" : "content";
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

  private lose(mark: Mark): void {
    this.state = "lost";
    this.have = 0;
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
      case "content":
        if (this.content.gap(length, why, mark)) this.missing(why, mark);
        else if (this.content.done) this.state = "header";
        return;
      case "lost":
        this.resync.cut();
        return;
      case "header":
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

  finish(mark: Mark): void {
    if (this.state === "lost") this.resync.finish();
    this.report(mark);
    if (this.state === "content") this.content.finish(mark);
    this.state = "lost";
  }
}

/** The largest frame a side may allow (RFC 9113 6.5.2). */
export function frameLimit(announced: number): number {
  return Math.min(Math.max(announced, 16_384), largestFrame);
}
