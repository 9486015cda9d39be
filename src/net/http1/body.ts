/**
 * The body of one HTTP/1 message in pieces -> its bytes without transfer coding, as they arrive, and its trailers. RFC 9112 6, 7.1.
 * Missing bytes are passed on, and the body goes on where its lengths say how.
 */
import type { Bytes } from "../../core/bytes.js";
import type { Detail, DiagnosticCode } from "../../core/diagnostic.js";
import { type Mark, spanMarks } from "../../core/mark.js";
import type { GapReason, Headers } from "../../model/exchange.js";
import { GrowingBytes } from "../growing-bytes.js";
import { readSizeLine } from "./chunk.js";
import type { BodyLength } from "./framing.js";
import { headEnd, splitHead } from "./head.js";

export interface BodyEvents {
  bytes(bytes: Bytes, mark: Mark): void;
  gap(length: number | undefined, why: GapReason, mark: Mark): void;
  trailers(headers: Headers, mark: Mark): void;
  note(code: DiagnosticCode, mark: Mark, detail?: Detail): void;
}

/** lost-in-chunks: the next chunk is as good a place to go on as the next head. lost: only the next head is. */
export type BodyOutcome = "open" | "done" | "lost-in-chunks" | "lost";

type Part = "fixed" | "size" | "chunk" | "chunk-end" | "trailers" | "close";

const LF = 10;
const CR = 13;
/** Longest chunk-size line, extensions included. */
const sizeLineBytes = 16_384;
const lineFeed = new Uint8Array([LF]);

export class BodyReader {
  private part: Part = "close";
  private remaining = 0;
  private line = "";
  private readonly gathered = new GrowingBytes();
  private searched = 0;
  private first: Mark | undefined;
  outcome: BodyOutcome = "done";

  constructor(
    private readonly events: BodyEvents,
    private readonly headBytes: number,
  ) {}

  /** Whether the body ends with the connection. */
  get untilClose(): boolean {
    return this.part === "close";
  }

  begin(length: Exclude<BodyLength, { kind: "none" | "switch" }>): void {
    this.outcome = "open";
    this.part = length.kind === "chunked" ? "size" : length.kind;
    this.remaining = length.kind === "fixed" ? length.length : 0;
    this.line = "";
  }

  /** Goes on with a chunk-size line. */
  resume(): void {
    this.begin({ kind: "chunked" });
  }

  /** Offset of the first byte that was not taken; `outcome` says whether the body is over. */
  feed(bytes: Bytes, at: number, mark: Mark): number {
    switch (this.part) {
      case "fixed":
      case "chunk":
        return this.content(bytes, at, mark);
      case "size":
        return this.size(bytes, at, mark);
      case "chunk-end":
        return this.chunkEnd(bytes, at, mark);
      case "trailers":
        return this.trailers(bytes, at, mark);
      case "close":
        this.events.bytes(at === 0 ? bytes : bytes.subarray(at), mark);
        return bytes.length;
    }
  }

  private content(bytes: Bytes, at: number, mark: Mark): number {
    const end = Math.min(bytes.length, at + this.remaining);
    this.events.bytes(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end), mark);
    this.remaining -= end - at;
    if (this.remaining === 0) this.contentDone();
    return end;
  }

  private contentDone(): void {
    if (this.part === "chunk") {
      this.remaining = 2;
      this.part = "chunk-end";
    } else this.outcome = "done";
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
      this.part = "chunk";
    } else {
      this.part = "trailers";
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
      this.part = "size";
      return at + 1;
    }
    if (byte !== CR || this.remaining === 1) return this.badChunk(mark, at);
    this.remaining = 1;
    return at + 1;
  }

  private badChunk(mark: Mark, at: number): number {
    this.events.note("http1.bad-chunk", mark);
    this.events.gap(undefined, "not-captured", mark);
    this.outcome = "lost-in-chunks";
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
    if (end < 0) {
      this.events.note("http1.head-too-long", mark, { limit: this.headBytes });
      this.gathered.clear();
      this.outcome = "lost";
      return bytes.length;
    }
    const { headers, badLines } = splitHead(view.subarray(1, end), false);
    this.gathered.clear();
    if (badLines > 0) this.events.note("http1.bad-header-line", mark, { lines: badLines });
    this.events.trailers(headers, spanMarks(this.first ?? mark, mark));
    this.outcome = "done";
    return at + end - had;
  }

  /** Bytes are missing. How many of them lie behind the body's end. */
  gap(length: number | undefined, why: GapReason, mark: Mark): number {
    switch (this.part) {
      case "close":
        this.events.gap(length, why, mark);
        return 0;
      case "fixed":
        return this.gapInFixed(length, why, mark);
      case "chunk":
      case "chunk-end":
        this.gapInChunk(length, why, mark);
        return 0;
      case "size":
      case "trailers":
        this.events.gap(undefined, why, mark);
        this.gathered.clear();
        this.outcome = "lost-in-chunks";
        return 0;
    }
  }

  private gapInFixed(length: number | undefined, why: GapReason, mark: Mark): number {
    const inside = length === undefined ? undefined : Math.min(length, this.remaining);
    this.events.gap(inside, why, mark);
    if (length === undefined || inside === undefined) {
      this.outcome = "lost";
      return 0;
    }
    this.remaining -= inside;
    if (this.remaining === 0) this.outcome = "done";
    return length - inside;
  }

  private gapInChunk(length: number | undefined, why: GapReason, mark: Mark): void {
    const left = this.part === "chunk" ? this.remaining : 0;
    const withEnd = this.part === "chunk" ? left + 2 : this.remaining;
    if (length === undefined || length > withEnd) {
      this.events.gap(undefined, why, mark);
      this.outcome = "lost-in-chunks";
      return;
    }
    const inside = Math.min(length, left);
    if (inside > 0) this.events.gap(inside, why, mark);
    this.remaining = length < left ? left - length : withEnd - length;
    if (length >= left) this.part = this.remaining === 0 ? "size" : "chunk-end";
  }
}
