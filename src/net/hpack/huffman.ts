/**
 * The Huffman code of HPACK. RFC 7541 5.2 and appendix B. The code is canonical: lengths alone define it (shorter codes first, then
 * by symbol). Codes of up to 12 bits, which is all of printable ASCII but a few, are found in one look, two at a time where both fit.
 */
import type { Bytes } from "../../core/bytes.js";

const EOS = 256;
const lookBits = 12;
const longestBits = 30;

/** Code lengths as runs "length*count" of symbols 0 to 256. */
const lengthRuns =
  "13 23 28*7 24 30 28*2 30 28*8 30 28*9 6 10*2 12 13 6 8 11 10*2 8 11 8 6*3 5*3 6*7 7 8 15 6 12 10 13 6 7*22 8 7 8 13 19 13 14 6 15" +
  " 5 6 5 6 5 6*3 5 7*2 6*3 5 6 7 6 5*2 6 7*5 15 11 14 13 28 20 22 20*2 22*3 23 22 23*5 24 23 24*2 22 23 24 23*4 21 22 23 22 23*2" +
  " 24 22 21 20 22*2 23*2 21 23 22*2 24 21 22 23*2 21*2 22 21 23 22 23*2 20 22*3 23 22*2 23 26*2 20 19 22 23 22 25 26*3 27*2 26 24" +
  " 25 19 21 26 27*2 26 27 24 21*2 26*2 28 27*3 20 24 20 21 22 21*2 23 22*2 25*2 24*2 26 23 26 27 26*2 27*5 28 27*5 26 30";

const lengths = lengthRuns.split(" ").flatMap((run) => {
  const [length = 0, count = 1] = run.split("*").map(Number);
  return new Array<number>(count).fill(length);
});

/** Symbols by code; `firstCode[n]` is the first code of n bits and `firstIndex[n]` its place in `symbols`. */
const symbols = lengths.map((_, symbol) => symbol).sort((a, b) => lengths[a]! - lengths[b]! || a - b);
const counts = new Int32Array(longestBits + 1);
const firstCode = new Int32Array(longestBits + 1);
const firstIndex = new Int32Array(longestBits + 1);
/** By the next 12 bits: symbol | length << 8; 0 where the code is longer. */
const single = new Uint16Array(1 << lookBits);
/** By the next 12 bits: first symbol | second << 8 | bits of all << 16 | number of symbols << 24; 0 where the first is longer. */
const pairs = new Int32Array(1 << lookBits);

function fillTables(): void {
  for (const length of lengths) counts[length]!++;
  let code = 0;
  let index = 0;
  for (let bits = 1; bits <= longestBits; bits++) {
    code <<= 1;
    firstCode[bits] = code;
    firstIndex[bits] = index;
    if (bits <= lookBits) {
      for (let i = 0; i < counts[bits]!; i++) {
        const spare = lookBits - bits;
        const from = (code + i) << spare;
        single.fill(symbols[index + i]! | (bits << 8), from, from + (1 << spare));
      }
    }
    code += counts[bits]!;
    index += counts[bits]!;
  }
  for (let look = 0; look < pairs.length; look++) {
    const first = single[look]!;
    if (first === 0) continue;
    const bits = first >> 8;
    const second = single[(look << bits) & (pairs.length - 1)]!;
    const both = bits + (second >> 8);
    pairs[look] =
      second === 0 || both > lookBits
        ? (first & 255) | (bits << 16) | (1 << 24)
        : (first & 255) | ((second & 255) << 8) | (both << 16) | (2 << 24);
  }
}
fillTables();

/** Most bytes that `length` coded bytes can give: the shortest code has five bits. */
export function huffmanRoom(length: number): number {
  return Math.ceil((length * 8) / 5) + 2;
}

/**
 * Decodes `bytes[from..to)` into `out`, which has `huffmanRoom` bytes. The number of bytes written; -1: not a valid string
 * (EOS inside, padding of 8 bits or more, or padding that is not all ones).
 */
export function huffmanDecode(bytes: Bytes, from: number, to: number, out: Bytes): number {
  const end = to * 8;
  const safe = end - 24;
  let pos = from * 8;
  let n = 0;
  while (pos <= safe) {
    const at = pos >> 3;
    const word = (bytes[at]! << 16) | (bytes[at + 1]! << 8) | bytes[at + 2]!;
    const entry = pairs[(word >> (24 - lookBits - (pos & 7))) & ((1 << lookBits) - 1)]!;
    if (entry === 0) {
      pos = longCode(bytes, pos, end, out, n);
      if (pos < 0) return -1;
      n++;
      continue;
    }
    out[n] = entry & 255;
    out[n + 1] = (entry >> 8) & 255;
    n += entry >> 24;
    pos += (entry >> 16) & 255;
  }
  return lastBits(bytes, pos, end, out, n);
}

function lastBits(bytes: Bytes, from: number, end: number, out: Bytes, count: number): number {
  let pos = from;
  let n = count;
  while (pos < end) {
    const left = end - pos;
    let look = 0;
    for (let i = 0; i < lookBits; i++) look = (look << 1) | (i < left ? bitAt(bytes, pos + i) : 1);
    const entry = single[look]!;
    const bits = entry >> 8;
    if (entry !== 0 && bits <= left) {
      out[n++] = entry & 255;
      pos += bits;
      continue;
    }
    // Padding: the first bits of EOS, which are ones.
    if (left < 8) return look === (1 << lookBits) - 1 ? n : -1;
    if (entry !== 0) return -1;
    pos = longCode(bytes, pos, end, out, n++);
    if (pos < 0) return -1;
  }
  return n;
}

/** A code of more than 12 bits; returns the position behind it, or -1. */
function longCode(bytes: Bytes, from: number, end: number, out: Bytes, n: number): number {
  let code = 0;
  for (let bits = 1; bits <= longestBits && from + bits <= end; bits++) {
    code = (code << 1) | bitAt(bytes, from + bits - 1);
    const place = code - firstCode[bits]!;
    if (place >= counts[bits]!) continue;
    const symbol = symbols[firstIndex[bits]! + place]!;
    if (symbol === EOS) return -1;
    out[n] = symbol;
    return from + bits;
  }
  return -1;
}

function bitAt(bytes: Bytes, pos: number): number {
  return (bytes[pos >> 3]! >> (7 - (pos & 7))) & 1;
}
