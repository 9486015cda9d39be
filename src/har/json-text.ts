/**
 * The content of one JSON string (a body), kept as the bytes that stand in the file: never one JavaScript string when it is large.
 * Escapes are undone piece by piece, and only by those who need it.
 */
import { isAscii, isUtf8 } from "node:buffer";
import { asBuffer, type Bytes } from "../core/bytes.js";
import { backslash } from "./bytes-scan.js";

export class JsonText {
  /** Bytes between the quotes, as they stand in the file. */
  readonly rawBytes: number;
  /** ASCII without a single escape: the bytes in the file are the text. */
  readonly plain: boolean;

  constructor(
    readonly pieces: readonly Bytes[],
    /** More bytes than the limit allows were there; `pieces` is empty. */
    readonly overLimit = 0,
  ) {
    this.rawBytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
    this.plain = pieces.every((piece) => isAscii(piece) && asBuffer(piece).indexOf(backslash) < 0);
  }

  /** Of a short string that was already parsed. */
  static of(text: string): JsonText {
    return new JsonText(text === "" ? [] : [Buffer.from(JSON.stringify(text).slice(1, -1), "utf8")]);
  }

  get empty(): boolean {
    return this.rawBytes === 0 && this.overLimit === 0;
  }

  /** The bytes as they stand in the file, cut so that no escape, surrogate pair or UTF-8 sequence is torn. */
  *parts(): Generator<Buffer> {
    let carry: Buffer | undefined;
    for (const [i, piece] of this.pieces.entries()) {
      const bytes = carry === undefined ? asBuffer(piece) : Buffer.concat([carry, piece]);
      const end = i === this.pieces.length - 1 ? bytes.length : safeEnd(bytes);
      carry = end < bytes.length ? bytes.subarray(end) : undefined;
      if (end > 0) yield bytes.subarray(0, end);
    }
  }

  /** Whether the file's bytes are valid UTF-8 here, as JSON demands. */
  get utf8(): boolean {
    if (this.plain) return true;
    for (const part of this.parts()) if (!isUtf8(part)) return false;
    return true;
  }

  /** The text, escapes undone. Bytes that are not UTF-8 are taken as Latin-1. */
  *chunks(): Generator<string> {
    for (const part of this.parts()) yield unescapeJson(part);
  }

  /** The whole text; for texts known to be short. */
  text(): string {
    return [...this.chunks()].join("");
  }
}

/** Where `bytes` can be cut so that no escape, surrogate pair or UTF-8 sequence is torn. */
export function safeEnd(bytes: Buffer): number {
  const length = bytes.length;
  const last = lastEscape(bytes);
  if (last >= 0) {
    const size = bytes[last + 1] === 0x75 ? 6 : 2;
    if (last + size > length) return last;
    // A high surrogate at the very end waits for its other half.
    if (size === 6 && last + 6 === length && /^\\u[dD][89abAB]/.test(bytes.toString("latin1", last, length)))
      return last;
    if (last + size === length) return length;
  }
  for (let back = 1; back <= Math.min(3, length); back++) {
    const byte = bytes[length - back]!;
    if (byte < 0x80) return length;
    if (byte >= 0xc0) return sequenceLength(byte) > back ? length - back : length;
  }
  return length;
}

/** Index of the backslash that starts the last escape within the last 12 bytes; -1 when there is none. */
function lastEscape(bytes: Buffer): number {
  const at = bytes.lastIndexOf(backslash);
  if (at < bytes.length - 12 || at < 0) return -1;
  let run = at;
  while (run > 0 && bytes[run - 1] === backslash) run--;
  return ((at - run) & 1) === 0 ? at : at - 1;
}

function sequenceLength(lead: number): number {
  return lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
}

/** Undoes JSON escapes. What is no JSON (raw control characters, unknown escapes) is taken as it stands. */
export function unescapeJson(bytes: Buffer): string {
  const text = bytes.toString(isUtf8(bytes) ? "utf8" : "latin1");
  if (bytes.indexOf(backslash) < 0) return text;
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return unescapeLoosely(text);
  }
}

const simple: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

function unescapeLoosely(text: string): string {
  return text.replace(/\\(?:u([0-9a-fA-F]{4})|([\s\S]))/g, (whole, code?: string, other?: string) => {
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
    if (other === undefined) return whole;
    if (other === '"' || other === "\\" || other === "/") return other;
    return simple[other] ?? whole;
  });
}
