/**
 * One direction of an HTTP/1 connection: bytes in pieces -> heads, body bytes (transfer coding removed, as they arrive), trailers.
 * RFC 9112. Who answers whom is not known here; `MessageEvents` decides what body a head has and when the next message may begin.
 */
import type { Bytes } from "../../core/bytes.js";
import { type Mark, spanMarks } from "../../core/mark.js";
import type { Direction, GapReason } from "../../model/exchange.js";
import { GrowingBytes } from "../growing-bytes.js";
import { type BodyEvents, BodyReader } from "./body.js";
import type { BodyLength } from "./framing.js";
import { type HeadText, headEnd, isRequestLine, isStatusLine, mayBeginStartLine, splitHead } from "./head.js";
import { Resync, type ResyncPoint } from "./resync.js";

export interface MessageEvents extends BodyEvents {
  /** Whether the next message may begin; false: the reader stops in front of it and gives the bytes back. */
  ready(mark: Mark): boolean;
  /** `first`: mark of the head's first byte, `span`: of all of it. `cut`: its end is lost, so nothing is known of a body. */
  head(head: HeadText, first: Mark, span: Mark, cut: boolean): BodyLength | undefined;
  /** The message is complete. */
  done(mark: Mark): void;
  /** Whether a chunk found after a loss may belong to the message under way: it does not where the next one must have begun. */
  resumable(mark: Mark): boolean;
  /** Another message begins and the end of this one was never seen. */
  broken(mark: Mark): void;
}

type State = "start" | "head" | "body" | "lost" | "opaque" | "switched";

const LF = 10;
const CR = 13;

export class Http1Reader {
  private state: State = "start";
  private readonly gathered = new GrowingBytes();
  private searched = 0;
  private lineChecked = false;
  private first: Mark | undefined;
  /** A message is under way whose end was not seen. */
  private open = false;
  private readonly resync: Resync;
  private readonly body: BodyReader;
  /** False after a loss between messages, until the next head. */
  inStep: boolean;

  constructor(
    private readonly direction: Direction,
    private readonly events: MessageEvents,
    private readonly headBytes: number,
    startKnown: boolean,
  ) {
    this.inStep = startKnown;
    this.body = new BodyReader(events, headBytes);
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
      case "body":
        return this.readBody(bytes, at, mark);
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
      case "chunked":
      case "close":
        this.body.begin(length);
        this.state = "body";
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

  private readBody(bytes: Bytes, at: number, mark: Mark): number {
    const next = this.body.feed(bytes, at, mark);
    if (this.body.outcome !== "open") this.bodyOver(mark);
    return next;
  }

  private bodyOver(mark: Mark): void {
    switch (this.body.outcome) {
      case "open":
        return;
      case "done":
        this.finished(mark);
        return;
      case "lost-in-chunks":
        this.lose(true);
        return;
      case "lost":
        this.lose(false);
    }
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
    this.body.resume();
    this.state = "body";
    this.inStep = true;
    return true;
  }

  gap(length: number | undefined, why: GapReason, mark: Mark): void {
    switch (this.state) {
      case "body": {
        const behind = this.body.gap(length, why, mark);
        this.bodyOver(mark);
        if (behind > 0) this.lose(false);
        return;
      }
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

  /** The direction is over. complete: with it a body that lasted until the close. open: inside a message. */
  finish(mark: Mark): "idle" | "open" | "complete" {
    this.resync.finish(mark);
    if (this.state === "head") {
      const view = this.gathered.view();
      this.cutHead(view, mark);
      this.events.note("http1.head-cut", mark);
    }
    const complete = this.state === "body" && this.body.untilClose;
    const open = this.open;
    this.state = "opaque";
    this.open = false;
    this.gathered.clear();
    return complete ? "complete" : open ? "open" : "idle";
  }
}
