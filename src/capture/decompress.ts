/**
 * Compressed capture files, recognised by content and unpacked piece by piece: memory is bounded by one small input piece times the
 * format's worst ratio, whatever the file declares about itself. RFC 1952 (gzip), 1950 (zlib), 8878 (zstd).
 */
import { crc32 } from "node:zlib";
import { Gunzip, Inflate } from "fflate";
import { asBuffer, type Bytes, concat, noBytes, readU16BE } from "../core/bytes.js";
import { unzstd } from "./zstd.js";

export type Compression = "gzip" | "zlib" | "zstd";

/** What went wrong: `cut` = the end is missing, `damaged` = the rest makes no sense, `trailing` = other bytes follow a whole stream. */
export type CompressionFault = "cut" | "damaged" | "trailing";

export interface DecompressOptions {
  /** Largest window a zstd frame may ask for. */
  readonly windowBytes: number;
  /** Called at most once, when the unpacking ends early or oddly; what came out before stands. */
  readonly fault: (what: CompressionFault, why: string) => void;
}

/** Deflate makes at most 1,032 bytes of one: 16 KiB in cannot give more than 17 MB at once. */
const pieceBytes = 16 * 1024;

/** Names the compression from the first bytes of a file; needs four. */
export function compressionOf(head: Bytes): Compression | null {
  if (head.length < 4) return null;
  if (head[0] === 0x1f && head[1] === 0x8b && head[2] === 8) return "gzip";
  // A data frame, or a skippable one in front of it (pzstd and seekable files begin so).
  if (head[1] === 0xb5 && head[2] === 0x2f && head[3] === 0xfd && head[0] === 0x28) return "zstd";
  if (head[1] === 0x2a && head[2] === 0x4d && head[3] === 0x18 && (head[0]! & 0xf0) === 0x50) return "zstd";
  // Deflate, a window of 32 KiB, no preset dictionary, check bits right.
  if (head[0] === 0x78 && (head[1]! & 0x20) === 0 && readU16BE(head, 0) % 31 === 0 && inflates(head)) return "zlib";
  return null;
}

/** Two bytes are a weak sign ("x^" is text): the beginning must inflate, too. */
function inflates(head: Bytes): boolean {
  // A stored block gives nothing before it is whole; its length says itself twice (RFC 1951 3.2.4).
  if (head.length >= 7 && (head[2]! & 6) === 0) return (readU16BE(head, 3) ^ readU16BE(head, 5)) === 0xffff;
  try {
    let out = 0;
    const inflate = new Inflate((bytes) => {
      out += bytes.length;
    });
    inflate.push(head.subarray(2, 1024));
    return out > 0 || head.length < 1024;
  } catch {
    return false;
  }
}

export function decompress(kind: Compression, raw: Iterable<Bytes>, options: DecompressOptions): Iterable<Bytes> {
  switch (kind) {
    case "gzip":
      return gunzip(raw, options);
    case "zlib":
      return unzlib(raw, options);
    case "zstd":
      return unzstd(raw, options);
  }
}

function* gunzip(raw: Iterable<Bytes>, { fault }: DecompressOptions): Iterable<Bytes> {
  let out: Bytes[] = [];
  let crc = 0;
  let size = 0;
  let lastRaw: Bytes = noBytes;
  let failed: CompressionFault | null = null;
  let why = "";
  const stream = new Gunzip((bytes) => {
    if (bytes.length === 0) return;
    out.push(bytes);
    crc = crc32(bytes, crc);
    size += bytes.length;
  });
  stream.onmember = () => {
    crc = 0;
    size = 0;
  };
  const push = (piece: Bytes, final: boolean) => {
    try {
      stream.push(piece, final);
    } catch (error) {
      // Code 6 comes from a member header only: what stands behind a whole member is no further member.
      failed = codeOf(error) === 6 ? "trailing" : final ? "cut" : "damaged";
      why = wordsOf(error);
    }
  };
  for (const piece of pieces(raw)) {
    push(piece, false);
    lastRaw = piece.length >= 8 ? piece.subarray(-8) : concat([lastRaw, piece]).slice(-8);
    yield* out;
    out = [];
    if (failed !== null) return fault(failed, why);
  }
  push(noBytes, true);
  yield* out;
  if (failed !== null) return fault(failed, why);
  // fflate takes an end at a code boundary for the end of the stream; the trailer tells (RFC 1952 2.3.1).
  if (lastRaw.length < 8) return fault("cut", "");
  const trailer = asBuffer(lastRaw);
  if (trailer.readUInt32LE(0) !== crc || trailer.readUInt32LE(4) !== size % 2 ** 32) {
    fault("damaged", "its checksum does not fit");
  }
}

function* unzlib(raw: Iterable<Bytes>, { fault }: DecompressOptions): Iterable<Bytes> {
  let out: Bytes[] = [];
  let header = 2;
  const inflate = new Inflate((bytes) => {
    if (bytes.length > 0) out.push(bytes);
  });
  // One piece is held back: only with bytes in the last push does fflate say that the end is missing.
  let held: Bytes | undefined;
  const push = (piece: Bytes, final: boolean): boolean => {
    try {
      inflate.push(piece, final);
      return true;
    } catch (error) {
      fault(final ? "cut" : "damaged", wordsOf(error));
      return false;
    }
  };
  for (let piece of pieces(raw)) {
    const skip = Math.min(header, piece.length);
    header -= skip;
    piece = piece.subarray(skip);
    if (piece.length === 0) continue;
    if (held !== undefined && !push(held, false)) return yield* out;
    yield* out;
    out = [];
    held = piece;
  }
  push(held ?? noBytes, true);
  yield* out;
}

function* pieces(raw: Iterable<Bytes>): Iterable<Bytes> {
  for (const block of raw) {
    for (let at = 0; at < block.length; at += pieceBytes) yield block.subarray(at, at + pieceBytes);
  }
}

function codeOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
