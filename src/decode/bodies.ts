/**
 * The stage between the neck and a dialect's session: body bytes of one direction -> framed, decompressed messages, then gaps and the end.
 * Offsets in places count the bytes of the body after Content-Encoding is undone, framing headers included, gaps left out; for WebSocket
 * they count payload bytes. A direction without any byte yields no message.
 */
import { createHash, type Hash } from "node:crypto";
import { type Bytes, noBytes } from "../core/bytes.js";
import type { Note } from "../core/diagnostic.js";
import { assertNever } from "../core/errors.js";
import type { Limits } from "../core/limits.js";
import { type Mark, placeOf } from "../core/mark.js";
import {
  type Direction,
  type Evidence,
  type Exchange,
  type Headers,
  headerValue,
  type StreamEvent,
} from "../model/exchange.js";
import type { Framing, SessionInput, StreamMessage } from "../model/message.js";
import { connectGet } from "./connect-get.js";
import { type ContentDecoder, contentCodecs, contentDecoder } from "./content-encoding.js";
import { framerFor } from "./framers.js";
import type { CutFault, Framed, Framer, FramerContext } from "./framing/framer.js";
import { LossyCutter } from "./lossy.js";

export { looksEnveloped } from "./framing/envelope.js";

type BytesEvent = Extract<StreamEvent, { kind: "bytes" }>;
type FrameEvent = Extract<StreamEvent, { kind: "frame" }>;
type EndEvent = Extract<StreamEvent, { kind: "end" }>;

/** Events of this direction only. Nothing may follow "end". */
export type BodyEvent = Extract<StreamEvent, { kind: "bytes" | "frame" | "gap" | "end" }>;

export interface BodyReader {
  push(event: BodyEvent): void;
  /** Of the body after Content-Encoding; hex, null when hashing was not asked for. */
  summary(): { readonly bytes: number; readonly sha256: string | null };
}

export interface BodyReaderOptions {
  readonly exchange: Exchange;
  readonly direction: Direction;
  readonly framing: Framing;
  /** Of that direction's head; empty where there is none. */
  readonly headers: Headers;
  readonly limits: Limits;
  readonly note: Note;
  readonly hash: boolean;
  out(input: SessionInput): void;
}

export function bodyReader(options: BodyReaderOptions): BodyReader {
  return new Reader(options);
}

class Reader implements BodyReader {
  private readonly side: "request" | "response";
  private readonly context: FramerContext;
  private readonly framer: Framer;
  private readonly lossy: LossyCutter | null;
  private readonly hash: Hash | null;
  private digest: string | null = null;
  /** null: not decided yet, or nothing to undo. */
  private decoder: ContentDecoder | null = null;
  private decided = false;
  private coding = "";
  private lossyCoded: LossyCutter | null = null;
  /** Body bytes before Content-Encoding is undone. */
  private codedBytes = 0;
  private evidence: Evidence = "exact";
  private ordinal = 0;
  private bytes = 0;
  private cut: CutFault | null = null;
  private ended = false;

  constructor(private readonly options: BodyReaderOptions) {
    this.side = options.direction === "up" ? "request" : "response";
    this.hash = options.hash ? createHash("sha256") : null;
    this.context = {
      limits: options.limits,
      note: options.note,
      emit: (framed) => this.emit(framed),
      place: (mark, start, end) => placeOf(mark, this.side, start, end),
    };
    this.framer = framerFor(this.context, options);
    this.lossy = LossyCutter.fits(options.framing) ? new LossyCutter() : null;
  }

  summary(): { bytes: number; sha256: string | null } {
    this.digest ??= this.hash?.digest("hex") ?? null;
    return { bytes: this.bytes, sha256: this.digest };
  }

  push(event: BodyEvent): void {
    if (this.ended) return;
    switch (event.kind) {
      case "bytes":
        this.take(event);
        return;
      case "frame":
        this.frame(event);
        return;
      case "gap":
        this.decoder?.gap();
        this.framer.gap(this.decoder === null || this.decoder.plain ? event.length : undefined, event.why);
        this.options.out(event);
        return;
      case "end":
        this.end(event);
        return;
      default:
        assertNever(event);
    }
  }

  private take(event: BytesEvent): void {
    this.evidence = event.evidence;
    if (!this.decided) this.decide(event);
    this.codedBytes += event.bytes.length;
    if (this.decoder === null) this.decoded(event.bytes, event.mark);
    else if (event.evidence === "lossy-utf8") this.takeLossyCoded(this.decoder, event);
    else this.decoder.push(event.bytes, event.mark);
  }

  /** Compressed bytes that went through a text: decoding ends where the damage begins, and is not to blame. */
  private takeLossyCoded(decoder: ContentDecoder, event: BytesEvent): void {
    this.lossyCoded ??= new LossyCutter();
    const clean = this.lossyCoded.push(event.bytes);
    if (clean.length > 0) decoder.push(clean, event.mark);
    if (!this.lossyCoded.justEnded) return;
    decoder.gap();
    this.lossyGap(event.mark);
  }

  private lossyGap(mark: Mark): void {
    this.framer.gap(undefined, "lossy-utf8");
    const { exchange, direction } = this.options;
    this.options.out({ kind: "gap", exchange, direction, length: undefined, why: "lossy-utf8", mark });
  }

  private decide(event: BytesEvent): void {
    this.decided = true;
    this.coding = headerValue(this.options.headers, "content-encoding") ?? "";
    if (this.coding === "") return;
    const codecs = contentCodecs(this.coding);
    if (event.contentDecoded || codecs.length === 0) return;
    if (codecs.includes(undefined)) {
      const place = placeOf(event.mark, this.side);
      this.options.note({ code: "decode.unknown-coding", place, detail: { coding: this.coding } });
      this.cut = "no-codec";
      return;
    }
    const { limits, framing } = this.options;
    this.decoder = contentDecoder({
      codecs: codecs.filter((codec) => codec !== undefined),
      incremental: framing !== "whole-body" && framing !== "none",
      limits,
      out: (bytes, mark) => this.decoded(bytes, mark),
    });
  }

  private decoded(bytes: Bytes, mark: Mark): void {
    if (bytes.length === 0) return;
    this.bytes += bytes.length;
    this.hash?.update(bytes);
    if (this.evidence !== "lossy-utf8" || this.lossy === null) {
      this.framer.push(bytes, mark);
      return;
    }
    const clean = this.lossy.push(bytes);
    if (clean.length > 0) this.framer.push(clean, mark);
    if (this.lossy.justEnded) this.lossyGap(mark);
  }

  private frame(event: FrameEvent): void {
    const { bytes, mark, opcode, wireBytes } = event;
    this.evidence = event.evidence;
    const start = this.bytes;
    this.bytes += bytes.length;
    this.hash?.update(bytes);
    if (this.options.framing === "none") return;
    const codec = event.compressed ? "permessage-deflate" : null;
    const fault = event.fault ?? null;
    const end = this.bytes;
    this.emit({
      flags: opcode,
      body: bytes,
      wireBytes,
      declared: wireBytes,
      headerBytes: 0,
      codec,
      fault,
      mark,
      start,
      end,
    });
  }

  private emit(framed: Framed): void {
    const { exchange, direction, framing } = this.options;
    const { flags, body, wireBytes, declared, headerBytes, codec, fault, mark } = framed;
    const lossy = this.evidence === "lossy-utf8" && fault === null && LossyCutter.isLossy(body);
    // Written out: spreading an object here costs more than all the rest of the work on a small message.
    const message: StreamMessage = {
      exchange,
      direction,
      framing,
      ordinal: this.ordinal++,
      flags,
      body,
      wireBytes,
      declared,
      headerBytes,
      codec,
      fault: lossy ? "lossy" : fault,
      evidence: this.evidence,
      mark,
      place: placeOf(mark, this.side, framed.start, framed.end),
    };
    this.options.out({ kind: "message", message });
  }

  private end(event: EndEvent): void {
    this.ended = true;
    if (this.decoder !== null) this.endContent(this.decoder, event);
    const held = this.lossy?.end();
    if (held !== undefined && held.length > 0) this.framer.push(held, event.mark);
    const cut = this.cut ?? (event.reason === "complete" ? null : "truncated");
    this.framer.end(cut);
    if (this.bytes === 0 && this.codedBytes > 0) this.nothingDecoded(event.mark);
    else if (this.codedBytes === 0) this.queryMessage();
    this.options.out(event);
  }

  private endContent(decoder: ContentDecoder, event: EndEvent): void {
    const fault = decoder.end();
    if (this.lossyCoded !== null) return;
    this.cut = fault;
    const place = placeOf(event.mark, this.side);
    const detail = { coding: this.coding };
    if (decoder.plain) this.options.note({ code: "decode.not-encoded", place, detail });
    else if (fault !== null)
      this.options.note({ code: "decode.bad-content-coding", place, detail: { ...detail, why: fault } });
  }

  /** A body that does not decode at all is still one message, so that nobody takes it for an empty body. */
  private nothingDecoded(mark: Mark): void {
    if (this.cut === null || this.lossyCoded !== null || this.options.framing === "none") return;
    const sizes = { wireBytes: this.codedBytes, declared: this.codedBytes, headerBytes: 0 };
    this.emit({ flags: -1, body: noBytes, ...sizes, codec: null, fault: this.cut, mark, start: 0, end: 0 });
  }

  /** A Connect GET carries its message in the query. */
  private queryMessage(): void {
    const { exchange, direction, framing, limits } = this.options;
    const { request } = exchange;
    if (direction !== "up" || framing !== "whole-body" || request === null) return;
    const get = connectGet(request, limits);
    if (get === null) return;
    const { message: body, wireBytes, codec, fault } = get;
    const sizes = { wireBytes, declared: wireBytes, headerBytes: 0 };
    this.emit({ flags: -1, body, ...sizes, codec, fault, mark: exchange.mark, start: 0, end: 0 });
  }
}
