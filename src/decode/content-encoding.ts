/**
 * Undoes Content-Encoding while the body arrives: gzip and deflate piece by piece, br and zstd (and several codings) when the body is
 * complete. A body that is not encoded although its head says so (a recorder decoded it) is handed on as it is.
 */
import { isUtf8 } from "node:buffer";
import { type Bytes, concat } from "../core/bytes.js";
import type { Limits } from "../core/limits.js";
import { type Mark, spanMarks } from "../core/mark.js";
import { type Codec, codecOf, inflate } from "./compression.js";
import { looksEnveloped } from "./framing/envelope.js";
import type { CutFault } from "./framing/framer.js";
import { zlibWrapped } from "./inflate-bounds.js";
import { inflaterFor, type StreamInflater } from "./inflate-stream.js";

/** Compressed bytes up to which a body is kept for one call of zlib, which is faster than piece by piece, unless messages are due in between. */
const wholeBytes = 1024 * 1024;

/** Codings of a Content-Encoding value, in the order in which they were applied; undefined for one that is not known. */
export function contentCodecs(value: string | undefined): readonly (Codec | undefined)[] {
  const tokens = (value ?? "").split(",").map((token) => token.trim());
  return tokens.filter((token) => token !== "" && token.toLowerCase() !== "identity").map(codecOf);
}

export interface ContentDecoder {
  push(bytes: Bytes, mark: Mark): void;
  /** Bytes are missing: nothing behind them can be decoded. */
  gap(): void;
  /** Answers why the body is not whole; null when it is. */
  end(): CutFault | null;
  /** The body was not encoded at all. */
  readonly plain: boolean;
}

export interface ContentDecoderOptions {
  readonly codecs: readonly Codec[];
  /** Whether messages are due while the body arrives. */
  readonly incremental: boolean;
  readonly limits: Limits;
  out(bytes: Bytes, mark: Mark): void;
}

export function contentDecoder(options: ContentDecoderOptions): ContentDecoder {
  return new Decoder(options);
}

class Decoder implements ContentDecoder {
  plain = false;
  private pieces: Bytes[] = [];
  private held = 0;
  /** Pieces fed since something last came out. */
  private mark: Mark | null = null;
  private stream: StreamInflater | null = null;
  private fault: CutFault | null = null;
  private stopped = false;

  constructor(private readonly options: ContentDecoderOptions) {}

  push(bytes: Bytes, mark: Mark): void {
    if (this.stopped || bytes.length === 0) return;
    if (this.plain) return this.options.out(bytes, mark);
    this.mark = this.mark === null ? mark : spanMarks(this.mark, mark);
    if (this.stream !== null) return this.feed(bytes);
    this.pieces.push(bytes);
    this.held += bytes.length;
    if (this.held >= 4 && this.notEncoded()) return this.handOn();
    if (this.streams()) this.openStream();
    else if (this.held > this.options.limits.messageBytes) {
      this.pieces = [];
      this.fault = "over-limit";
      this.stopped = true;
    }
  }

  gap(): void {
    this.end();
    this.stopped = true;
  }

  end(): CutFault | null {
    if (this.stopped || this.plain) return this.fault;
    this.stopped = true;
    if (this.stream !== null) {
      this.stream.end();
      this.fault = this.stream.fault;
    } else if (this.held > 0) this.endWhole();
    return this.fault;
  }

  /** gzip and wrapped deflate, when it pays or is asked for. Bare deflate cannot be told from plain bytes before it has been tried. */
  private streams(): boolean {
    const { codecs, incremental } = this.options;
    if (codecs.length !== 1 || this.held < 2) return false;
    const [codec] = codecs;
    if (codec !== "gzip" && !(codec === "deflate" && zlibWrapped(concat(this.pieces)))) return false;
    return incremental || this.held > wholeBytes;
  }

  private openStream(): void {
    this.stream = inflaterFor(this.options.codecs[0] as "gzip" | "deflate", this.options.limits, (piece) =>
      this.give(piece),
    );
    const pieces = this.pieces;
    this.pieces = [];
    for (const piece of pieces) this.feed(piece);
  }

  private feed(bytes: Bytes): void {
    this.stream!.push(bytes);
    if (this.stream!.fault === null) return;
    this.fault = this.stream!.fault;
    this.stopped = true;
  }

  private give(piece: Bytes): void {
    if (piece.length === 0) return;
    const mark = this.mark!;
    this.options.out(piece, mark);
    // The next output comes from what is fed from here on, and from what this packet still holds.
    this.mark = { input: mark.input, first: mark.last, last: mark.last, when: mark.when };
  }

  private endWhole(): void {
    let bytes = concat(this.pieces);
    this.pieces = [];
    let fault: CutFault | null = null;
    for (const codec of [...this.options.codecs].reverse()) {
      const result = inflate(codec, bytes, this.options.limits);
      if (result.fault === "bad-compression" && result.bytes.length === 0 && looksPlain(bytes)) {
        this.pieces = [bytes];
        return this.handOn();
      }
      bytes = result.bytes;
      fault ??= result.fault;
    }
    this.fault = fault;
    this.give(bytes);
  }

  /** Whether the first bytes cannot be what the head promises. */
  private notEncoded(): boolean {
    const codec = this.options.codecs.at(-1);
    const head = this.pieces[0]!.length >= 4 ? this.pieces[0]! : concat(this.pieces);
    if (codec === "gzip") return head[0] !== 0x1f || head[1] !== 0x8b;
    if (codec === "zstd")
      return !(head[1] === 0xb5 && head[2] === 0x2f && head[3] === 0xfd) && (head[0]! & 0xf0) !== 0x50;
    return false;
  }

  private handOn(): void {
    this.plain = true;
    const pieces = this.pieces;
    this.pieces = [];
    for (const piece of pieces) this.options.out(piece, this.mark!);
  }
}

/** Text or envelopes: bytes that make sense without decoding. */
function looksPlain(bytes: Bytes): boolean {
  return bytes.length > 0 && (isUtf8(bytes) || looksEnveloped(bytes));
}
