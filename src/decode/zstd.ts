/**
 * zstd frames -> bytes, through fzstd, which is loaded when the first frame is met. fzstd allocates what a frame header declares, so the
 * headers are read here first, and a frame that declares more than `max` never reaches it. RFC 8878, section 3.1.1.
 */
import { createRequire } from "node:module";
import type * as Fzstd from "fzstd";
import { type Bytes, concat, noBytes } from "../core/bytes.js";

export interface Unzstd {
  readonly bytes: Bytes;
  /** "no-codec": the optional package fzstd is not installed. */
  readonly fault: "bad-compression" | "over-limit" | "truncated" | "no-codec" | null;
}

/** Decoders must offer 8 MiB (RFC 8878, 3.1.1.1.2); frames that ask for a larger window than this and the output are refused. */
const windowBytes = 8 * 1024 * 1024;
const sliceBytes = 1024;

interface Frame {
  /** Exclusive; beyond the input when the frame is cut off. */
  readonly end: number;
  /** Size of the content, where the header says. */
  readonly declared: number | null;
  /** What fzstd would allocate. */
  readonly allocates: number;
  readonly skippable: boolean;
  readonly whole: boolean;
}

let library: typeof Fzstd | null | undefined;

function fzstd(): typeof Fzstd | null {
  if (library === undefined) {
    try {
      library = createRequire(import.meta.url)("fzstd") as typeof Fzstd;
    } catch {
      library = null;
    }
  }
  return library;
}

/** Undoes one or more frames; at most `max` bytes come out. */
export function unzstd(bytes: Bytes, max: number): Unzstd {
  const lib = fzstd();
  if (lib === null) return { bytes: noBytes, fault: "no-codec" };
  const pieces: Bytes[] = [];
  let size = 0;
  for (let at = 0; at < bytes.length; ) {
    const frame = readFrame(bytes, at);
    if (frame === null)
      return { bytes: concat(pieces), fault: bytes.length - at < 4 ? "truncated" : "bad-compression" };
    if (!frame.skippable) {
      if (frame.allocates > Math.max(max, windowBytes)) return { bytes: noBytes, fault: "over-limit" };
      const result = oneFrame(lib, bytes.subarray(at, frame.end), frame, max - size);
      size += result.bytes.length;
      if (result.fault === "over-limit") return { bytes: noBytes, fault: "over-limit" };
      pieces.push(result.bytes);
      if (result.fault !== null) return { bytes: concat(pieces), fault: frame.whole ? result.fault : "truncated" };
    }
    at = frame.end;
    if (!frame.whole) return { bytes: concat(pieces), fault: "truncated" };
  }
  return pieces.length === 0 ? { bytes: noBytes, fault: "truncated" } : { bytes: concat(pieces), fault: null };
}

function oneFrame(lib: typeof Fzstd, bytes: Bytes, frame: Frame, max: number): Unzstd {
  if (frame.declared !== null && frame.whole) return wholeFrame(lib, bytes, max);
  // The streaming form copies its window for every block: with a large one a cut frame is not worth it.
  return frame.allocates > windowBytes ? { bytes: noBytes, fault: "truncated" } : pieceByPiece(lib, bytes, max);
}

function wholeFrame(lib: typeof Fzstd, bytes: Bytes, max: number): Unzstd {
  try {
    const out = lib.decompress(bytes);
    return out.length > max ? { bytes: noBytes, fault: "over-limit" } : { bytes: out, fault: null };
  } catch {
    return { bytes: noBytes, fault: "bad-compression" };
  }
}

function pieceByPiece(lib: typeof Fzstd, bytes: Bytes, max: number): Unzstd {
  const pieces: Bytes[] = [];
  let size = 0;
  const stream = new lib.Decompress((piece) => {
    size += piece.length;
    if (size <= max) pieces.push(piece);
  });
  try {
    // A block is at least 4 bytes and becomes at most 128 KiB: small slices keep a bomb short.
    for (let at = 0; at < bytes.length && size <= max; at += sliceBytes) {
      const end = at + sliceBytes;
      stream.push(bytes.subarray(at, end), end >= bytes.length);
    }
  } catch {
    return { bytes: concat(pieces), fault: "bad-compression" };
  }
  return size > max ? { bytes: noBytes, fault: "over-limit" } : { bytes: concat(pieces), fault: null };
}

/** null: no frame begins here, or its header is cut off. */
function readFrame(bytes: Bytes, at: number): Frame | null {
  if (bytes.length - at < 6) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const magic = view.getUint32(at, true);
  if (magic >= 0x184d2a50 && magic <= 0x184d2a5f) {
    if (bytes.length - at < 8) return null;
    const end = at + 8 + view.getUint32(at + 4, true);
    return { end, declared: null, allocates: 0, skippable: true, whole: end <= bytes.length };
  }
  if (magic !== 0xfd2fb528) return null;
  const descriptor = bytes[at + 4]!;
  const single = (descriptor & 0x20) !== 0;
  const dictionary = [0, 1, 2, 4][descriptor & 3]!;
  const sizeFlag = descriptor >> 6;
  const sizeBytes = sizeFlag === 0 ? (single ? 1 : 0) : 1 << sizeFlag;
  const sizeAt = at + (single ? 5 : 6) + dictionary;
  const first = sizeAt + sizeBytes;
  if (first > bytes.length) return null;
  const declared = littleEndian(bytes, sizeAt, sizeBytes) + (sizeFlag === 1 ? 256 : 0);
  const window = single ? declared : windowSize(bytes[at + 5]!);
  const blocks = blocksEnd(bytes, first);
  const end = blocks === null ? bytes.length + 1 : blocks + ((descriptor & 4) !== 0 ? 4 : 0);
  const known = sizeBytes === 0 ? null : declared;
  return { end, declared: known, allocates: Math.max(window, declared), skippable: false, whole: end <= bytes.length };
}

function windowSize(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3));
  return base + (base / 8) * (descriptor & 7);
}

function littleEndian(bytes: Bytes, at: number, count: number): number {
  let value = 0;
  for (let i = count - 1; i >= 0; i--) value = value * 256 + bytes[at + i]!;
  return value;
}

/** End of the last block; null where it is cut off. */
function blocksEnd(bytes: Bytes, first: number): number | null {
  for (let at = first; at + 3 <= bytes.length; ) {
    const header = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16);
    const type = (header >> 1) & 3;
    at += 3 + (type === 1 ? 1 : header >> 3);
    if (at > bytes.length) return null;
    if ((header & 1) === 1) return at;
  }
  return null;
}
