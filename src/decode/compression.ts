/**
 * Undoes gzip, deflate, br and zstd for one message or body at a time. Output is bounded by `inflatedBytes` and, above 1 MiB, by
 * `inflateRatio` times the input: a bomb stops there, before its output exists as a whole. Nothing throws and nothing is allocated by a
 * length that the input declares. RFC 1952, 1950, 1951, 7932, 8878.
 */
import { brotliDecompressSync, crc32, gunzipSync, inflateRawSync, inflateSync as zlibInflateSync } from "node:zlib";
import { inflateSync } from "fflate";
import { asBuffer, type Bytes, concat, noBytes } from "../core/bytes.js";
import { assertNever } from "../core/errors.js";
import type { Limits } from "../core/limits.js";
import { inflatedLimit, zlibWrapped } from "./inflate-bounds.js";
import { inflaterFor } from "./inflate-stream.js";
import { unzstd } from "./zstd.js";

export type Codec = "gzip" | "deflate" | "br" | "zstd";

export interface Inflated {
  /** What could be won back: all of it, or the part in front of the fault. Empty after "over-limit". */
  readonly bytes: Bytes;
  readonly fault: "bad-compression" | "over-limit" | "truncated" | "no-codec" | null;
}

/**
 * Compressed bytes up to which fflate is used in place of Node's zlib, and the bytes they may become then. zlib pays 7 us for every call (a
 * handle, a 16 KiB buffer), fflate pays for every byte and for every buffer it must grow: measured by bench/compression.mjs.
 */
export const fflateBytes = 160;
const fflateOutBytes = 2048;

const scratch = new Uint8Array(fflateOutBytes);

/** Token of Content-Encoding, Connect-Content-Encoding or grpc-encoding; "identity" and unknown ones are not codecs. */
export function codecOf(token: string): Codec | undefined {
  switch (token.trim().toLowerCase()) {
    case "gzip":
    case "x-gzip":
      return "gzip";
    case "deflate":
      return "deflate";
    case "br":
      return "br";
    case "zstd":
      return "zstd";
    default:
      return undefined;
  }
}

export function inflate(codec: Codec, bytes: Bytes, limits: Limits): Inflated {
  const max = inflatedLimit(bytes.length, limits);
  switch (codec) {
    case "gzip":
      return smallGzip(bytes, max) ?? byZlib(codec, bytes, max, limits);
    case "deflate":
      return smallDeflate(bytes, max) ?? byZlib(codec, bytes, max, limits);
    case "br":
      return byZlib(codec, bytes, max, limits);
    case "zstd":
      return unzstd(bytes, max);
    default:
      return assertNever(codec);
  }
}

const gzipMagic = Buffer.from([0x1f, 0x8b, 0x08]);

function smallGzip(bytes: Bytes, max: number): Inflated | null {
  const size = bytes.length;
  if (size > fflateBytes || max < fflateOutBytes) return null;
  const start = gzipHeaderBytes(bytes);
  // What may be a second member goes to zlib: fflate stops behind the first without a word.
  if (start < 0 || size < start + 8 || asBuffer(bytes).indexOf(gzipMagic, start) >= 0) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset + size - 8, 8);
  const declared = view.getUint32(4, true);
  if (declared > fflateOutBytes) return null;
  const out = tryInflate(bytes.subarray(start, size - 8));
  // fflate checks neither size nor checksum; rubbish behind the member fails here too.
  if (out === null || declared !== out.length || view.getUint32(0, true) !== crc32(out)) return null;
  return { bytes: out, fault: null };
}

/** Length of the first member's header; -1 where it is none or unusual. */
export function gzipHeaderBytes(bytes: Bytes): number {
  if (bytes.length < 10 || bytes[0] !== 0x1f || bytes[1] !== 0x8b || bytes[2] !== 8) return -1;
  // Extra field, name, comment, header checksum: rare enough to leave to zlib.
  return (bytes[3]! & 0x1e) === 0 ? 10 : -1;
}

function smallDeflate(bytes: Bytes, max: number): Inflated | null {
  const size = bytes.length;
  if (size > fflateBytes || max < fflateOutBytes || size < 6 || !zlibWrapped(bytes)) return null;
  const out = tryInflate(bytes.subarray(2, size - 4));
  if (out === null) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset + size - 4, 4);
  return view.getUint32(0, false) === adler32(out) ? { bytes: out, fault: null } : null;
}

/** null: no deflate. What does not fit is cut off: the checksum then tells. */
function tryInflate(raw: Bytes): Bytes | null {
  try {
    return inflateSync(raw, { out: scratch }).slice();
  } catch {
    return null;
  }
}

function adler32(bytes: Bytes): number {
  let a = 1;
  let b = 0;
  for (let i = 0; i < bytes.length; ) {
    const stop = Math.min(bytes.length, i + 3800);
    for (; i < stop; i++) {
      a += bytes[i]!;
      b += a;
    }
    a %= 65_521;
    b %= 65_521;
  }
  return ((b << 16) | a) >>> 0;
}

function byZlib(codec: Exclude<Codec, "zstd">, bytes: Bytes, max: number, limits: Limits): Inflated {
  try {
    return { bytes: plain(zlibSync(codec, bytes, max)), fault: null };
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === "ERR_BUFFER_TOO_LARGE") return { bytes: noBytes, fault: "over-limit" };
    return salvage(codec, bytes, code === "Z_BUF_ERROR" || bytes.length === 0, limits);
  }
}

/** zlib hands out slices of its 16 KiB chunks: small ones are copied, so that they do not hold the chunk. */
function plain(buffer: Buffer): Bytes {
  if (buffer.length < 8192) return new Uint8Array(buffer);
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length);
}

function zlibSync(codec: Exclude<Codec, "zstd">, bytes: Bytes, max: number): Buffer {
  const options = { maxOutputLength: max };
  switch (codec) {
    case "gzip":
      return gunzipSync(bytes, options);
    case "deflate":
      return zlibWrapped(bytes) ? zlibInflateSync(bytes, options) : inflateRawSync(bytes, options);
    case "br":
      return brotliDecompressSync(bytes, options);
    default:
      return assertNever(codec);
  }
}

/** What came before the fault. Brotli keeps nothing in its synchronous form. */
function salvage(codec: Exclude<Codec, "zstd">, bytes: Bytes, cut: boolean, limits: Limits): Inflated {
  const fault = cut ? "truncated" : "bad-compression";
  if (codec === "br") return { bytes: noBytes, fault };
  const pieces: Bytes[] = [];
  const inflater = inflaterFor(codec, limits, (piece) => pieces.push(piece));
  inflater.push(bytes);
  inflater.end();
  if (inflater.fault === "over-limit") return { bytes: noBytes, fault: "over-limit" };
  return { bytes: concat(pieces), fault };
}
