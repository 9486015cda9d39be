/**
 * Cheap tests of what some bytes could be. They only choose between readings of a body (is this text base64, one character per byte,
 * or itself?) and tell a whole body from a cut one; decoding proper happens further down.
 */
import { asBuffer, type Bytes, concat, noBytes, readU32BE, strictUtf8 } from "../core/bytes.js";

/** What a media type says about a body's bytes. */
export type BodyKind = "envelope" | "event-stream" | "proto" | "json" | "text" | "binary" | "unknown";

const kinds = new Map<string, BodyKind>();

export function bodyKind(mediaType: string): BodyKind {
  let kind = kinds.get(mediaType);
  if (kind !== undefined) return kind;
  kind = kindOf(mediaType);
  // The few types of a capture come again and again; hostile ones are not collected.
  if (kinds.size < 256 && mediaType.length < 128) kinds.set(mediaType, kind);
  return kind;
}

function kindOf(mediaType: string): BodyKind {
  const type = mediaType.split(";")[0]!.trim().toLowerCase();
  // grpc-web-text is base64 on the wire: its characters are the bytes.
  if (type.startsWith("application/grpc-web-text")) return "text";
  if (/^application\/(?:connect\+|grpc)/.test(type)) return "envelope";
  if (type === "text/event-stream") return "event-stream";
  if (/^application\/(?:x-|vnd\.google\.)?proto(?:buf)?$|\+proto(?:buf)?$/.test(type)) return "proto";
  if (/[/+]json$|^application\/(?:x-)?ndjson$|^application\/jsonl$/.test(type)) return "json";
  if (/^text\/|[/+]xml$|javascript|ecmascript|x-www-form-urlencoded|graphql/.test(type)) return "text";
  if (type === "" || type === "x-unknown" || type === "application/x-unknown") return "unknown";
  return "binary";
}

export interface EnvelopeShape {
  /** whole: ends where an envelope ends. partial: begins with envelopes (or the front of one) and ends inside one. */
  readonly shape: "whole" | "partial" | "no";
  /** Whole envelopes. */
  readonly count: number;
  /** The last whole one ends the stream (Connect EndStream or gRPC-Web trailers). */
  readonly closed: boolean;
}

/** Connect, gRPC: 1 byte of flags, 4 bytes of length. Compression (1), EndStream (2) and trailers (0x80) are the only flags known. */
export function envelopeShape(pieces: readonly Bytes[]): EnvelopeShape {
  const total = sizeOf(pieces);
  const bytes = new PieceReader(pieces);
  let at = 0;
  let count = 0;
  let closed = false;
  while (at < total) {
    const head = bytes.read(at, 5);
    const flags = head[0]!;
    if ((flags & ~0x83) !== 0 || flags === 0x82 || flags === 0x83) return { shape: "no", count, closed };
    if (head.length < 5) return { shape: count > 0 ? "partial" : "no", count, closed };
    const length = readU32BE(head, 1);
    if (length > total - at - 5) {
      return { shape: count > 0 || plausible(flags, length) ? "partial" : "no", count, closed };
    }
    at += 5 + length;
    closed = (flags & 0x82) !== 0;
    count++;
  }
  return { shape: count > 0 ? "whole" : "no", count, closed };
}

/** A first envelope that is not all there: only a moderate length makes it believable. */
function plausible(flags: number, length: number): boolean {
  return (flags & 0x80) === 0 && length > 0 && length < 16 * 1024 * 1024;
}

/** A protobuf message from end to end, by its outermost fields; the empty one counts. */
export function looksLikeProto(bytes: Bytes): boolean {
  let at = 0;
  while (at < bytes.length) {
    const tag = varint(bytes, at);
    if (tag === undefined || tag.value >= 2 ** 32 || Math.floor(tag.value / 8) === 0) return false;
    at = tag.end;
    switch (tag.value % 8) {
      case 0: {
        const value = varint(bytes, at);
        if (value === undefined) return false;
        at = value.end;
        break;
      }
      case 1:
        at += 8;
        break;
      case 2: {
        const length = varint(bytes, at);
        if (length === undefined) return false;
        at = length.end + length.value;
        break;
      }
      case 5:
        at += 4;
        break;
      default:
        return false;
    }
  }
  return at === bytes.length;
}

function varint(bytes: Bytes, from: number): { value: number; end: number } | undefined {
  let value = 0;
  let scale = 1;
  for (let i = from; i < from + 10; i++) {
    const byte = bytes[i];
    if (byte === undefined) return undefined;
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return { value, end: i + 1 };
    scale *= 128;
  }
  return undefined;
}

const jsonBytes = 4 * 1024 * 1024;

export function looksLikeJson(pieces: readonly Bytes[]): boolean {
  const total = sizeOf(pieces);
  if (total === 0) return false;
  if (total > jsonBytes) return matchingEnds(pieces);
  const text = strictUtf8(concat(pieces));
  if (text === undefined) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** For what is too large to parse: an object or array whose last character closes it. */
function matchingEnds(pieces: readonly Bytes[]): boolean {
  const start = asBuffer(pieces[0]!).toString("latin1", 0, 64).trimStart()[0];
  const last = asBuffer(pieces[pieces.length - 1]!);
  const end = last
    .toString("latin1", Math.max(0, last.length - 64))
    .trimEnd()
    .at(-1);
  return (start === "{" && end === "}") || (start === "[" && end === "]");
}

export function sizeOf(pieces: readonly Bytes[]): number {
  let total = 0;
  for (const piece of pieces) total += piece.length;
  return total;
}

/** Reads few bytes at rising offsets without joining the pieces. */
class PieceReader {
  private piece = 0;
  /** Offset of that piece. */
  private base = 0;

  constructor(private readonly pieces: readonly Bytes[]) {}

  /** `count` bytes at `offset`, fewer at the end. Offsets never fall. */
  read(offset: number, count: number): Bytes {
    while (this.piece < this.pieces.length && offset >= this.base + this.pieces[this.piece]!.length) {
      this.base += this.pieces[this.piece]!.length;
      this.piece++;
    }
    const from = offset - this.base;
    const here = this.pieces[this.piece]?.subarray(from, from + count) ?? noBytes;
    if (here.length === count || this.piece >= this.pieces.length - 1) return here;
    const out = [...here];
    for (let i = this.piece + 1; i < this.pieces.length && out.length < count; i++) {
      out.push(...this.pieces[i]!.subarray(0, count - out.length));
    }
    return Uint8Array.from(out);
  }
}
