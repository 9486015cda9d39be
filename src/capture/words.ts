/** Unsigned words in the byte order of a capture file. */
import type { Bytes } from "../core/bytes.js";

export function u32(bytes: Bytes, at: number, littleEndian: boolean): number {
  const a = bytes[at]!;
  const b = bytes[at + 1]!;
  const c = bytes[at + 2]!;
  const d = bytes[at + 3]!;
  return (littleEndian ? (d << 24) | (c << 16) | (b << 8) | a : (a << 24) | (b << 16) | (c << 8) | d) >>> 0;
}

export function u16(bytes: Bytes, at: number, littleEndian: boolean): number {
  const a = bytes[at]!;
  const b = bytes[at + 1]!;
  return littleEndian ? (b << 8) | a : (a << 8) | b;
}
