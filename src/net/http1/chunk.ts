/** Chunk-size lines of the chunked transfer coding. RFC 9112 7.1. */
import { type Bytes, latin1 } from "../../core/bytes.js";

const CR = 13;
const LF = 10;

/**
 * The size that `before` + `bytes[at..end)` says; -1 where that is none; the text so far where the line is not `whole` yet.
 * Extensions are skipped.
 */
export function readSizeLine(bytes: Bytes, at: number, end: number, before: string, whole: boolean): number | string {
  if (before !== "" || !whole) {
    const line = before + latin1(bytes.subarray(at, end));
    if (!whole) return line;
    const text = Buffer.from(line, "latin1");
    return sizeOf(text, 0, text.length);
  }
  return sizeOf(bytes, at, end);
}

/** Hex digits, then nothing, blanks, or an extension. Sizes stay below 2^48. */
function sizeOf(bytes: Bytes, from: number, to: number): number {
  let end = to;
  if (end > from && bytes[end - 1] === CR) end--;
  let at = from;
  let size = 0;
  for (; at < end; at++) {
    const digit = hexDigit(bytes[at]!);
    if (digit < 0) break;
    size = size * 16 + digit;
    if (size > 0xffff_ffff_ffff) return -1;
  }
  if (at === from) return -1;
  while (at < end && (bytes[at] === 32 || bytes[at] === 9)) at++;
  return at === end || bytes[at] === 0x3b ? size : -1;
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

/**
 * Where in bytes that are not in step a chunk-size line stands, or -1: at the very first byte (a server writes a chunk in one go,
 * so a segment often begins with one), or behind a CRLF where another CRLF stands just behind the chunk it announces.
 */
export function findSizeLine(bytes: Bytes, from: number, atStart: boolean): number {
  if (atStart && announces(bytes, from) !== undefined) return from;
  for (let at = bytes.indexOf(LF, from); at >= 0; at = bytes.indexOf(LF, at + 1)) {
    if (at === from || bytes[at - 1] !== CR) continue;
    const behind = announces(bytes, at + 1);
    if (behind !== undefined && bytes[behind] === CR && bytes[behind + 1] === LF) return at + 1;
  }
  return -1;
}

/** Offset behind the chunk whose size line is at `at`; undefined where there is no such line. */
function announces(bytes: Bytes, at: number): number | undefined {
  const end = bytes.subarray(at, at + 64).indexOf(LF);
  if (end < 2 || bytes[at + end - 1] !== CR) return undefined;
  const size = sizeOf(bytes, at, at + end);
  return size < 0 ? undefined : at + end + 1 + size;
}
