/**
 * Characters that each stand for one byte, read from JSON text by a table instead of branches: on binary bodies every branch on a byte
 * is a coin toss, and the table reads them about three times as fast. It knows what is common (ASCII, two-byte UTF-8, the 27 code points
 * of windows-1252, simple escapes and \u00XX) and gives everything else back.
 */
import type { Bytes } from "../core/bytes.js";

/** A row's bits: 0-7 the byte, 8 whether it comes out, 9-10 flags, 11 and up the next state. */
const emits = 1 << 8;
export const windowsFlag = 1 << 9;
/** A C1 control that windows-1252 could not have left. */
export const controlFlag = 1 << 10;
const stateShift = 11;

/** States: between characters; given up; after a lead byte or within an escape, made on demand. */
const start = 0;
const failed = 1;
const rows: number[][] = [];

function state(): number {
  rows.push(new Array<number>(256).fill(failed << stateShift));
  return rows.length - 1;
}

function emit(from: number, input: number, byte: number, flags = 0): void {
  rows[from]![input] = byte | emits | flags | (start << stateShift);
}

function go(from: number, input: number): number {
  const known = rows[from]![input]! >> stateShift;
  if (known !== failed) return known;
  const next = state();
  rows[from]![input] = next << stateShift;
  return next;
}

const hexDigits = "0123456789abcdef";

/** Every way of writing hex digit `value`. */
function digitCodes(value: number): number[] {
  const digit = hexDigits[value]!;
  return [...new Set([digit, digit.toUpperCase()])].map((char) => char.charCodeAt(0));
}

/** Table over (state, byte); `mapped[i]` is the code point of byte 0x80 + i in windows-1252, 0 where it is itself. */
export function byteTable(mapped: readonly number[]): Int32Array {
  rows.length = 0;
  state();
  state();
  for (let code = 0x20; code < 0x80; code++) if (code !== 0x22 && code !== 0x5c) emit(start, code, code);
  for (let code = 0x80; code <= 0xff; code++) {
    const flags = code < 0xa0 && mapped[code - 0x80] !== 0 ? controlFlag : 0;
    emitText(String.fromCharCode(code), code, flags);
  }
  mapped.forEach((code, i) => {
    if (code !== 0) emitText(String.fromCharCode(code), 0x80 + i, windowsFlag);
  });
  const escaped = go(start, 0x5c);
  for (const [letter, code] of [...'"\\/'].map((char) => [char, char.charCodeAt(0)] as const)) {
    emit(escaped, letter.charCodeAt(0), code);
  }
  for (const [i, letter] of [..."btn fr"].entries()) if (letter !== " ") emit(escaped, letter.charCodeAt(0), 8 + i);
  const low = go(go(go(escaped, 0x75), 0x30), 0x30);
  for (let high = 0; high < 16; high++) {
    for (const first of digitCodes(high)) {
      const second = go(low, first);
      for (let value = 0; value < 16; value++) {
        const byte = high * 16 + value;
        const flags = byte >= 0x80 && byte < 0xa0 && mapped[byte - 0x80] !== 0 ? controlFlag : 0;
        for (const last of digitCodes(value)) emit(second, last, byte, flags);
      }
    }
  }
  return Int32Array.from(rows.flat());
}

function emitText(text: string, byte: number, flags: number): void {
  const utf8 = Buffer.from(text, "utf8");
  let from = start;
  for (const part of utf8.subarray(0, -1)) from = go(from, part);
  emit(from, utf8[utf8.length - 1]!, byte, flags);
}

/** Fills `out` and returns how many bytes came out; -1 where the text holds something the table does not know. `flags.seen` collects. */
export function readByTable(table: Int32Array, text: Bytes, out: Bytes, flags: { seen: number }): number {
  let at = start;
  let to = 0;
  let seen = 0;
  for (let i = 0; i < text.length; i++) {
    const row = table[(at << 8) | text[i]!]!;
    out[to] = row;
    to += (row >> 8) & 1;
    seen |= row;
    at = row >> stateShift;
  }
  flags.seen |= seen & (windowsFlag | controlFlag);
  return at === start ? to : -1;
}
