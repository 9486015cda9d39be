/** The header of a WebSocket frame. RFC 6455 5.2. */
import type { Bytes } from "../../core/bytes.js";

export interface FrameHeader {
  readonly fin: boolean;
  /** Reserved bits 1 to 3 as the numbers 4, 2, 1. */
  readonly rsv: number;
  readonly opcode: number;
  /** Four bytes (a copy), or null. */
  readonly mask: Bytes | null;
  /** Of the payload; NaN above 2^53. */
  readonly length: number;
  /** The length could have been written shorter. */
  readonly longForm: boolean;
  readonly headerBytes: number;
}

/** Bytes of the header whose second byte this is. */
export function headerLength(second: number): number {
  const short = second & 0x7f;
  return 2 + (short === 127 ? 8 : short === 126 ? 2 : 0) + ((second & 0x80) === 0 ? 0 : 4);
}

/** `bytes` holds the whole header at `at`. */
export function readHeader(bytes: Bytes, at: number): FrameHeader {
  const first = bytes[at]!;
  const second = bytes[at + 1]!;
  const headerBytes = headerLength(second);
  const masked = (second & 0x80) !== 0;
  let length = second & 0x7f;
  let longForm = false;
  if (length === 126) {
    length = (bytes[at + 2]! << 8) | bytes[at + 3]!;
    longForm = length < 126;
  } else if (length === 127) {
    length = 0;
    for (let i = 2; i < 10; i++) length = length * 256 + bytes[at + i]!;
    if (!Number.isSafeInteger(length)) length = Number.NaN;
    longForm = length < 65_536;
  }
  const mask = masked ? bytes.slice(at + headerBytes - 4, at + headerBytes) : null;
  return { fin: first >= 0x80, rsv: (first >> 4) & 7, opcode: first & 15, mask, length, longForm, headerBytes };
}

export function isControl(opcode: number): boolean {
  return opcode >= 8;
}

export function isReserved(opcode: number): boolean {
  return (opcode > 2 && opcode < 8) || opcode > 10;
}
