/**
 * One direction of an HTTP/1 connection: bytes in pieces -> heads, body bytes (transfer coding removed, as they arrive), trailers.
 * RFC 9112. Who answers whom is not known here; `MessageEvents` decides what body a head has and when the next message may begin.
 */
import type { Bytes } from "../../core/bytes.js";
import type { Detail, DiagnosticCode } from "../../core/diagnostic.js";
import { type Mark, spanMarks } from "../../core/mark.js";
import type { Direction, GapReason, Headers } from "../../model/exchange.js";
import { GrowingBytes } from "../growing-bytes.js";
import { readSizeLine } from "./chunk.js";
import type { BodyLength } from "./framing.js";
import { type HeadText, headEnd, isRequestLine, isStatusLine, mayBeginStartLine, splitHead } from "./head.js";
import { Resync, type ResyncPoint } from "./resync.js";

export interface MessageEvents {
  /** Whether the next message may begin; false: the reader stops in front of it and gives the bytes back. */
  ready(mark: Mark): boolean;
  /** `first`: mark of the head's first byte, `span`: of all of it. `cut`: its end is lost, so nothing is known of a body. */
  head(head: HeadText, first: Mark, span: Mark, cut: boolean): BodyLength | undefined;
  bytes(bytes: Bytes, mark: Mark): void;
  gap(length: number | undefined, why: GapReason, mark: Mark): void;
  trailers(headers: Headers, mark: Mark): void;
  /** The message is complete. */
  done(mark: Mark): void;
  /** Whether a chunk found after a loss may belong to the message under way: it does not where the next one must have begun. */
  resumable(mark: Mark): boolean;
  /** Another message begins and the end of this one was never seen. */
  broken(mark: Mark): void;
  note(code: DiagnosticCode, mark: Mark, detail?: Detail): void;
}

type State =
  | "start"
  | "head"
  | "fixed"
  | "size"
  | "chunk"
  | "chunk-end"
  | "trailers"
  | "close"
  | "lost"
  | "opaque"
  | "switched";

const LF = 10;
const CR = 13;
/** Longest chunk-size line, extensions included. */
const sizeLineBytes = 16_384;
const lineFeed = new Uint8Array([LF]);

export class Http1Reader {
  private state: State = "start";
  private remaining = 0;
  private line = "";
  private readonly gathered = new GrowingBytes();
  private searched = 0;
  private lineChecked = false;
  private first: Mark | undefined;
  /** A message is under way whose end was not seen. */
  private open = false;
  private readonly resync: Resync;
  /** False after a loss between messages, until the next head. */
  inStep: boolean;

  constructor(
    private readonly direction: Direction,
    private readonly events: MessageEvents,
    private readonly headBytes: number,
    startKnown: boolean,
  ) {
    this.inStep = startKnown;
    this.resync = new Resync(direction, (code, mark, detail) => events.note(code, mark, detail));
  }

  /** Between two messages, or with nothing to hold on to: what comes may belong to another protocol. */
  get between(): boolean {
    return this.state === "start" || this.state === "lost" || this.state === "switched" || this.state === "opaque";
  }

  /** Whether the head of a message may have been lost since the last one that was read. */
  get lost(): boolean {
    return this.state === "lost" || this.state === "opaque";
  }

  /** Returns what it did not take, because the next message may not begin yet or belongs to another protocol. */
  feed(bytes: Bytes, mark: Mark): Bytes | undefined {
    let piece = bytes;
    let under = mark;
    for (let at = 0; at < piece.length; ) {
      if (this.state === "lost") {
        const found = this.resync.search(piece, at, under);
        if (found === undefined) return undefined;
        if (!this.goOn(found)) continue;
        ({ bytes: piece, at, mark: under } = found);
        continue;
      }
      const next = this.step(piece, at, under);
      if (next < 0) return at === 0 ? piece : piece.subarray(at);
      at = next;
      if (this.state === "switched") return at < piece.length ? piece.subarray(at) : undefined;
    }
    return undefined;
  }

  /** Offset of the first byte that was not taken; -1: stop here. */
  private step(bytes: Bytes, at: number, mark: Mark): number {
    switch (this.state) {
      case "start":
        return this.start(bytes, at, mark);
      case "head":
        return this.head(bytes, at, mark);
      case "fixed":
      case "chunk":
        return this.body(bytes, at, mark);
      case "size":
        return this.size(bytes, at, mark);
      case "chunk-end":
        return this.chunkEnd(bytes, at, mark);
      case "trailers":
        return this.trailers(bytes, at, mark);
      case "close":
        this.events.bytes(at === 0 ? bytes : bytes.subarray(at), mark);
        return bytes.length;
      case "lost":
      case "switched":
      case "opaque":
        return bytes.length;
    }
  }

  private start(bytes: Bytes, from: number, mark: Mark): number {
    let at = from;
    // RFC 9112 2.2: empty lines before a message are ignored.
    while (at < bytes.length && (bytes[at] === LF || bytes[at] === CR)) at++;
    if (at === bytes.length) return at;
    if (!this.events.ready(mark)) return -1;
    if (!mayBeginStartLine(bytes.subarray(at, at + 80), this.direction)) {
      this.lose(false);
      return at;
    }
    this.state = "head";
    this.first = mark;
    this.searched = 0;
    this.lineChecked = false;
    return this.head(bytes, at, mark);
  }

  private head(bytes: Bytes, at: number, mark: Mark): number {
    const whole = this.gathered.length === 0;
    const had = this.gathered.length;
    let view = at === 0 ? bytes : bytes.subarray(at);
    if (!whole) {
      this.gathered.append(view.subarray(0, this.headBytes + 4 - had));
      view = this.gathered.view();
    }
    const end = headEnd(view, this.searched);
    if (end >= 0 && end <= this.headBytes) {
      const text = splitHead(view.subarray(0, end));
      return this.begin(text, mark) ? this.taken(at + end - had) : this.notHead(at, had, mark);
    }
    if (!this.lineIsGood(view)) return this.notHead(at, had, mark);
    if (view.length >= this.headBytes) return this.tooLong(view, mark, bytes.length);
    if (whole) this.gathered.append(view);
    this.searched = view.length;
    return bytes.length;
  }

  /** Looks at the start line once it is whole, so that text which only looks like a method is not gathered. */
  private lineIsGood(view: Bytes): boolean {
    if (this.lineChecked) return true;
    const end = view.subarray(0, this.headBytes).indexOf(LF, this.searched);
    if (end < 0) return true;
    this.lineChecked = true;
    const line = splitHead(view.subarray(0, end)).startLine;
    return this.direction === "up" ? isRequestLine(line) : isStatusLine(line);
  }

  private notHead(at: number, had: number, mark: Mark): number {
    this.gathered.clear();
    this.lose(false);
    this.resync.skip(had, this.first ?? mark);
    return at;
  }

  private tooLong(view: Bytes, mark: Mark, end: number): number {
    this.events.note("http1.head-too-long", mark, { limit: this.headBytes });
    this.cutHead(view, mark);
    this.gathered.clear();
    this.events.gap(undefined, "not-captured", mark);
    this.state = "opaque";
    this.inStep = false;
    return end;
  }

  /** A head whose end is lost is worth its start line and whole lines. */
  private cutHead(view: Bytes, mark: Mark): void {
    const lines = view.lastIndexOf(LF);
    if (lines < 0 || !this.lineIsGood(view)) return;
    const first = this.first ?? mark;
    this.open = this.events.head(splitHead(view.subarray(0, lines)), first, spanMarks(first, mark), true) !== undefined;
  }

  /** The gathered head was used. */
  private taken(at: number): number {
    if (this.gathered.length > 0) this.gathered.clear();
    return at;
  }

  /** Returns false where this is no head. */
  private begin(text: HeadText, mark: Mark): boolean {
    const first = this.first ?? mark;
    const length = this.events.head(text, first, spanMarks(first, mark), false);
    if (length === undefined) return false;
    if (text.badLines > 0) this.events.note("http1.bad-header-line", mark, { lines: text.badLines });
    this.inStep = true;
    this.open = true;
    switch (length.kind) {
      case "none":
        this.finished(mark);
        break;
      case "fixed":
        this.remaining = length.length;
        this.state = "fixed";
        break;
      case "chunked":
        this.line = "";
        this.state = "size";
        break;
      case "close":
        this.state = "close";
        break;
      case "switch":
        this.open = false;
        this.state = "switched";
        break;
    }
    return true;
  }

  private finished(mark: Mark): void {
    this.state = "start";
    this.open = false;
    this.events.done(mark);
  }

  private body(bytes: Bytes, at: number, mark: Mark): number {
    const end = Math.min(bytes.length, at + this.remaining);
    this.events.bytes(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end), mark);
    this.remaining -= end - at;
    if (this.remaining === 0) this.bodyDone(mark);
    return end;
  }

  private bodyDone(mark: Mark): void {
    if (this.state === "chunk") {
      this.remaining = 2;
      this.state = "chunk-end";
    } else this.finished(mark);
  }

  private size(bytes: Bytes, at: number, mark: Mark): number {
    const end = bytes.indexOf(LF, at);
    const stop = end < 0 ? bytes.length : end;
    if (this.line.length + stop - at > sizeLineBytes) return this.badChunk(mark, at);
    const size = readSizeLine(bytes, at, stop, this.line, end >= 0);
    if (typeof size === "string") {
      this.line = size;
      return bytes.length;
    }
    if (size < 0) return this.badChunk(mark, at);
    this.line = "";
    if (size > 0) {
      this.remaining = size;
      this.state = "chunk";
    } else {
      this.state = "trailers";
      // With a line feed in front, an empty trailer section ends like any other: in an empty line.
      this.gathered.append(lineFeed);
      this.searched = 0;
      this.first = mark;
    }
    return stop + 1;
  }

  private chunkEnd(bytes: Bytes, at: number, mark: Mark): number {
    const byte = bytes[at];
    if (byte === LF) {
      this.state = "size";
      return at + 1;
    }
    if (byte !== CR || this.remaining === 1) return this.badChunk(mark, at);
    this.remaining = 1;
    return at + 1;
  }

  private badChunk(mark: Mark, at: number): number {
    this.events.note("http1.bad-chunk", mark);
    this.events.gap(undefined, "not-captured", mark);
    this.line = "";
    this.lose(true);
    return at;
  }

  private trailers(bytes: Bytes, at: number, mark: Mark): number {
    const had = this.gathered.length;
    this.gathered.append(bytes.subarray(at, at + this.headBytes + 4 - had));
    const view = this.gathered.view();
    const end = headEnd(view, this.searched);
    if (end < 0 && view.length < this.headBytes) {
      this.searched = view.length;
      return bytes.length;
    }
    const span = spanMarks(this.first ?? mark, mark);
    if (end < 0) {
      this.events.note("http1.head-too-long", mark, { limit: this.headBytes });
      this.gathered.clear();
      this.lose(false);
      return bytes.length;
    }
    const { headers, badLines } = splitHead(view.subarray(1, end), false);
    this.gathered.clear();
    if (badLines > 0) this.events.note("http1.bad-header-line", mark, { lines: badLines });
    this.events.trailers(headers, span);
    this.finished(mark);
    return at + end - had;
  }

  /** Out of step from here on. `inChunks`: the next chunk is as good a place to go on as the next head. */
  private lose(inChunks: boolean): void {
    this.state = "lost";
    this.inStep = false;
    this.resync.begin(inChunks && this.open);
  }

  /** false: a chunk was found, but the message it would belong to must be over. */
  private goOn(found: ResyncPoint): boolean {
    if (found.start) {
      if (this.open) this.events.broken(found.mark);
      this.open = false;
      this.state = "start";
      return true;
    }
    if (!this.events.resumable(found.mark)) {
      this.resync.chunked = false;
      return false;
    }
    this.state = "size";
    this.inStep = true;
    return true;
  }

  gap(length: number | undefined, why: GapReason, mark: Mark): void {
    switch (this.state) {
      case "close":
        this.events.gap(length, why, mark);
        return;
      case "fixed":
        this.gapInFixed(length, why, mark);
        return;
      case "chunk":
      case "chunk-end":
        this.gapInChunk(length, why, mark);
        return;
      case "size":
      case "trailers":
        this.events.gap(undefined, why, mark);
        this.line = "";
        this.gathered.clear();
        this.lose(true);
        return;
      case "head":
        this.cutHead(this.gathered.view(), mark);
        this.gathered.clear();
        this.events.note("http1.head-cut", mark);
        if (this.open) this.events.gap(undefined, why, mark);
        this.lose(false);
        return;
      case "start":
      case "lost":
        this.lose(this.resync.chunked);
        return;
      case "opaque":
      case "switched":
        return;
    }
  }

  private gapInFixed(length: number | undefined, why: GapReason, mark: Mark): void {
    const inside = length === undefined ? undefined : Math.min(length, this.remaining);
    this.events.gap(inside, why, mark);
    if (length === undefined || inside === undefined) {
      this.lose(false);
      return;
    }
    this.remaining -= inside;
    if (this.remaining > 0) return;
    this.finished(mark);
    if (length > inside) this.lose(false);
  }

  private gapInChunk(length: number | undefined, why: GapReason, mark: Mark): void {
    const left = this.state === "chunk" ? this.remaining : 0;
    const withEnd = this.state === "chunk" ? left + 2 : this.remaining;
    if (length === undefined || length > withEnd) {
      this.events.gap(undefined, why, mark);
      this.lose(true);
      return;
    }
    const inside = Math.min(length, left);
    if (inside > 0) this.events.gap(inside, why, mark);
    this.remaining = length < left ? left - length : withEnd - length;
    if (length >= left) this.state = this.remaining === 0 ? "size" : "chunk-end";
  }

  /** The direction is over. complete: with it a body that lasted until the close. open: inside a message. */
  finish(mark: Mark): "idle" | "open" | "complete" {
    this.resync.finish(mark);
    if (this.state === "head") {
      const view = this.gathered.view();
      this.cutHead(view, mark);
      this.events.note("http1.head-cut", mark);
    }
    const complete = this.state === "close";
    const open = this.open;
    this.state = "opaque";
    this.open = false;
    this.gathered.clear();
    return complete ? "complete" : open ? "open" : "idle";
  }
}
