/**
 * Text of a body -> bytes, for the two ways in which recorders write bytes as characters.
 *
 * Byte per character: every byte became one code point, by ISO 8859-1 (U+0000..U+00FF as they are) or by windows-1252 as browsers
 * decode it (WHATWG Encoding: 0x80..0x9F become 27 code points above U+00FF; 0x81 0x8D 0x8F 0x90 0x9D stay U+0081 ...). Both can be
 * turned back without loss, and no text is both: one with a mapped code point cannot hold the other C1 controls.
 * UTF-8: the text was text; its UTF-8 bytes are the body. Python's surrogateescape (U+DC80..U+DCFF for bytes that are no UTF-8) is
 * undone on the way.
 */
import { isAscii } from "node:buffer";
import type { Bytes } from "../core/bytes.js";
import { byteTable, controlFlag, readByTable, windowsFlag } from "./byte-table.js";
import { backslash } from "./bytes-scan.js";
import type { JsonText } from "./json-text.js";

/** Code points that windows-1252 gives the bytes 0x80..0x9F; 0: the byte stays as it is. */
const mapped = [
  0x20ac, 0, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0, 0x017d, 0, 0,
  0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0, 0x017e, 0x0178,
];
const toByte = new Uint8Array(0x2123);
const isMappedByte = new Uint8Array(256);
mapped.forEach((code, i) => {
  if (code === 0) return;
  toByte[code] = 0x80 + i;
  isMappedByte[0x80 + i] = 1;
});

export interface ByteText {
  readonly pieces: readonly Bytes[];
  /** A windows-1252 code point occurred; otherwise ISO 8859-1. */
  readonly windows1252: boolean;
  /** Every character was ASCII: the bytes are the same by any reading. */
  readonly ascii: boolean;
}

/** undefined: some character stands for no byte. */
export function bytePerCharacter(text: JsonText): ByteText | undefined {
  const state: Reading = { windows1252: false, c1: false, high: false };
  const pieces: Bytes[] = [];
  if (text.parsed !== undefined) {
    const bytes = readString(text.parsed, state);
    if (bytes === undefined) return undefined;
    pieces.push(bytes);
  } else {
    const raw = !text.utf8;
    for (const part of text.parts()) {
      const bytes = readBytes(part, raw, state);
      if (bytes === undefined) return undefined;
      pieces.push(bytes);
    }
  }
  if (state.windows1252 && state.c1) return undefined;
  return { pieces, windows1252: state.windows1252, ascii: !state.high };
}

interface Reading {
  windows1252: boolean;
  /** A C1 control that windows-1252 could not have left there. */
  c1: boolean;
  high: boolean;
}

/** Most parts end up shorter than they are in the file: they are read here and copied at their true size. */
const scratch = Buffer.allocUnsafeSlow(1024 * 1024 + 64);

function readString(text: string, state: Reading): Bytes | undefined {
  const out = Buffer.allocUnsafe(text.length);
  for (let i = 0; i < text.length; i++) {
    const byte = byteOf(text.charCodeAt(i), state);
    if (byte < 0) return undefined;
    out[i] = byte;
  }
  return out;
}

/** The byte that a code point above 0x7F stands for, or the ASCII character itself; -1: none. */
function byteOf(code: number, state: Reading): number {
  if (code < 0x80) return code;
  state.high = true;
  if (code <= 0xff) {
    if (isMappedByte[code] === 1) state.c1 = true;
    return code;
  }
  const byte = code < toByte.length ? toByte[code]! : 0;
  if (byte === 0) return -1;
  state.windows1252 = true;
  return byte;
}

const table = byteTable(mapped);

/** JSON text in UTF-8 (or, `raw`, in bytes that are none) -> one byte per character. Escapes are never split: see JsonText.parts. */
function readBytes(part: Buffer, raw: boolean, state: Reading): Bytes | undefined {
  if (!raw && isDense(part)) {
    const out = part.length < scratch.length ? scratch : Buffer.allocUnsafe(part.length);
    const flags = { seen: 0 };
    const count = readByTable(table, part, out, flags);
    if (count >= 0) {
      state.high ||= !isAscii(out.subarray(0, count));
      state.windows1252 ||= (flags.seen & windowsFlag) !== 0;
      state.c1 ||= (flags.seen & controlFlag) !== 0;
      return Buffer.from(out.subarray(0, count));
    }
  }
  return readOneByOne(part, raw, state);
}

/** Whether, by a look at its middle, every eighth byte or more is an escape or above ASCII: then branches on bytes cost more than a table. */
function isDense(part: Buffer): boolean {
  if (part.length < 512) return false;
  const from = (part.length >> 1) - 128;
  let odd = 0;
  for (let i = from; i < from + 256; i++) {
    const byte = part[i]!;
    if (byte >= 0x80 || byte === backslash) odd++;
  }
  return odd >= 32;
}

function readOneByOne(part: Buffer, raw: boolean, state: Reading): Bytes | undefined {
  const length = part.length;
  const out = length < scratch.length ? scratch : Buffer.allocUnsafe(length);
  let to = 0;
  let i = 0;
  let slash = nextSlash(part, 0);
  // Where the next try for a run may begin: one that failed is not repeated for the bytes it looked at.
  let retry = 0;
  while (i < length) {
    const byte = part[i]!;
    if (byte < 0x80 && byte !== backslash) {
      if (i >= retry) {
        if (slash < i) slash = nextSlash(part, i);
        const run = plainRun(part, i, slash);
        if (run > 0) {
          part.copy(out, to, i, i + run);
          to += run;
          i += run;
          continue;
        }
        retry = i + runBytes;
      }
      out[to++] = byte;
      i++;
      continue;
    }
    let code: number;
    if (byte === backslash) {
      const next = part[i + 1]!;
      code = next === 0x75 ? hex4(part, i + 2) : escapes[next]!;
      if (code < 0) return undefined;
      i += next === 0x75 ? 6 : 2;
    } else if (raw) {
      code = byte;
      i++;
    } else if (byte < 0xe0) {
      code = ((byte & 0x1f) << 6) | (part[i + 1]! & 0x3f);
      i += 2;
    } else if (byte < 0xf0) {
      code = ((byte & 0x0f) << 12) | ((part[i + 1]! & 0x3f) << 6) | (part[i + 2]! & 0x3f);
      i += 3;
    } else return undefined;
    code = byteOf(code, state);
    if (code < 0) return undefined;
    out[to++] = code;
  }
  return Buffer.from(out.subarray(0, to));
}

/** Hex and base64 fields inside of a body are long runs of ASCII: those are copied, not read byte by byte. */
const runBytes = 1024;

/** Length of a run of ASCII without escapes from `at`, in steps of `runBytes`; 0: none. `slash`: where the next escape is. */
function plainRun(part: Buffer, at: number, slash: number): number {
  let end = at;
  while (end + runBytes <= slash && isAscii(part.subarray(end, end + runBytes))) end += runBytes;
  return end - at;
}

function nextSlash(part: Buffer, from: number): number {
  const at = part.indexOf(backslash, from);
  return at < 0 ? part.length : at;
}

/** Escape letter -> character; -1: no JSON escape. */
const escapes = new Int16Array(256).fill(-1);
for (const [letter, code] of [
  ['"', 0x22],
  ["\\", 0x5c],
  ["/", 0x2f],
  ["b", 0x08],
  ["f", 0x0c],
  ["n", 0x0a],
  ["r", 0x0d],
  ["t", 0x09],
] as const) {
  escapes[letter.charCodeAt(0)] = code;
}

const hexDigit = new Int8Array(256).fill(-1);
for (let i = 0; i < 16; i++) {
  const digit = i.toString(16);
  hexDigit[digit.charCodeAt(0)] = i;
  hexDigit[digit.toUpperCase().charCodeAt(0)] = i;
}

/** -1 where these are no four hex digits. */
function hex4(bytes: Bytes, at: number): number {
  if (at + 4 > bytes.length) return -1;
  const a = hexDigit[bytes[at]!]!;
  const b = hexDigit[bytes[at + 1]!]!;
  const c = hexDigit[bytes[at + 2]!]!;
  const d = hexDigit[bytes[at + 3]!]!;
  return (a | b | c | d) < 0 ? -1 : (a << 12) | (b << 8) | (c << 4) | d;
}

export interface Utf8Text {
  readonly pieces: readonly Bytes[];
  readonly bytes: number;
  /** UTF-16 units, which some producers count as bytes. */
  readonly units: number;
  readonly ascii: boolean;
  /** U+FFFD: how many, and where the first stands. */
  readonly replaced: { readonly count: number; readonly character: number; readonly byte: number } | undefined;
  /** Controls that no text holds: U+0000..U+001F without tab, line feed, form feed, return and escape. */
  readonly controls: boolean;
  /** Bytes came back from U+DC80..U+DCFF. */
  readonly escapedBytes: boolean;
}

const noText = /[\u0000-\u0008\u000b\u000e-\u001a\u001c-\u001f]/;
const replacement = "\ufffd";

/** The UTF-8 bytes of the text. */
export function utf8OfText(text: JsonText): Utf8Text {
  const total = { bytes: 0, units: 0, ascii: true, controls: false, escapedBytes: false };
  let replaced: { count: number; character: number; byte: number } | undefined;
  const pieces: Bytes[] = [];
  for (const chunk of text.chunks()) {
    const first = chunk.indexOf(replacement);
    if (first >= 0) {
      replaced ??= {
        count: 0,
        character: total.units + first,
        byte: total.bytes + Buffer.byteLength(chunk.slice(0, first)),
      };
      for (let at = first; at >= 0; at = chunk.indexOf(replacement, at + 1)) replaced.count++;
    }
    const surrogates = /(?:^|[^\ud800-\udbff])[\udc80-\udcff]/.test(chunk);
    const bytes = surrogates ? unescapeSurrogates(chunk) : Buffer.from(chunk, "utf8");
    if (surrogates) total.escapedBytes = true;
    if (surrogates || bytes.length !== chunk.length) total.ascii = false;
    if (!total.controls && noText.test(chunk)) total.controls = true;
    total.bytes += bytes.length;
    total.units += chunk.length;
    pieces.push(bytes);
  }
  return { ...total, pieces, replaced };
}

/** PEP 383: a lone U+DC80..U+DCFF is one byte 0x80..0xFF. */
function unescapeSurrogates(text: string): Bytes {
  const parts: Bytes[] = [];
  let from = 0;
  for (const match of text.matchAll(/[\ud800-\udbff][\udc00-\udfff]|([\udc80-\udcff])/g)) {
    if (match[1] === undefined) continue;
    parts.push(Buffer.from(text.slice(from, match.index), "utf8"), Uint8Array.of(match[1].charCodeAt(0) - 0xdc00));
    from = match.index + 1;
  }
  parts.push(Buffer.from(text.slice(from), "utf8"));
  return Buffer.concat(parts);
}
