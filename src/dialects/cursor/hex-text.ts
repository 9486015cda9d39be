/** Hex text as bytes -> the bytes it spells, and what is wrong with it (protocols/cursor.md 2.1: lowercase, two digits per byte). */
import { type Bytes, latin1 } from "../../core/bytes.js";

export type HexFault = "odd" | "upper" | "not-hex";

const upper = 0x100;
const wrong = 0x200;
/** By character: its value as the first and as the second digit of a byte, with a flag where it is upper case or no digit at all. */
const firsts = new Uint16Array(256).fill(wrong);
const seconds = new Uint16Array(256).fill(wrong);

for (let value = 0; value < 16; value++) {
  const digit = value.toString(16);
  for (const [text, flag] of [
    [digit.toUpperCase(), upper],
    [digit, 0],
  ] as const) {
    firsts[text.charCodeAt(0)] = (value << 4) | flag;
    seconds[text.charCodeAt(0)] = value | flag;
  }
}

/**
 * Of text that is no hex: what stands in front of the first wrong digit. One pass over the bytes as they are: the native way needs them
 * as a string first, on the heap, and a second pass for the case of the digits.
 */
export function fromHexText(text: Bytes): { hexFault: HexFault | null; inner: Bytes } {
  const length = text.length >> 1;
  const inner = Buffer.allocUnsafe(length);
  let flags = 0;
  for (let i = 0, at = 0; i < length; i++, at += 2) {
    const value = firsts[text[at]!]! | seconds[text[at + 1]!]!;
    flags |= value;
    inner[i] = value;
  }
  if ((flags & wrong) !== 0) return { hexFault: "not-hex", inner: Buffer.from(latin1(text), "hex") };
  if (text.length % 2 === 1) return { hexFault: firsts[text[text.length - 1]!] === wrong ? "not-hex" : "odd", inner };
  return { hexFault: (flags & upper) === 0 ? null : "upper", inner };
}
