/**
 * The content of one JSON string (a body), kept as the bytes that stand in the file: never one JavaScript string when it is large.
 * Escapes are undone piece by piece, and only by those who need it.
 */
import { isAscii, isUtf8 } from "node:buffer";
import { backslash } from "./bytes-scan.js";

/** Characters that stand for themselves in a JSON string, and for one byte each. */
const plainText = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;

export class JsonText {
  /** Bytes between the quotes, as they stand in the file; for a text that was parsed with its entry, its UTF-16 units. */
  readonly rawBytes: number;
  /** ASCII without a single escape: the bytes in the file are the text. */
  readonly plain: boolean;
  private validUtf8: boolean | undefined;

  private constructor(
    private own: readonly Buffer[] | undefined,
    /** The text itself, where it was short and parsed with its entry. */
    readonly parsed: string | undefined,
    /** More bytes than the limit allows were there; there are no pieces. */
    readonly overLimit: number,
    rawBytes: number,
    plain: boolean,
  ) {
    this.rawBytes = rawBytes;
    this.plain = plain;
  }

  /** Of a string that was cut out of its entry. */
  static cut(pieces: readonly Buffer[], overLimit = 0): JsonText {
    let total = 0;
    let plain = true;
    for (const piece of pieces) {
      total += piece.length;
      plain = plain && isAscii(piece) && piece.indexOf(backslash) < 0;
    }
    return new JsonText(pieces, undefined, overLimit, total, plain);
  }

  /** Of a short string that was parsed with its entry. */
  static of(text: string): JsonText {
    return text === "" ? emptyText : new JsonText(undefined, text, 0, text.length, plainText.test(text));
  }

  get empty(): boolean {
    return this.rawBytes === 0 && this.overLimit === 0;
  }

  /** Only where `plain`: the text as bytes. */
  get bytes(): readonly Buffer[] {
    return this.own ?? [Buffer.from(this.parsed!, "latin1")];
  }

  /** The bytes of a cut string as they stand in the file, in parts that tear no escape, surrogate pair or UTF-8 sequence. */
  parts(): Iterable<Buffer> {
    const { own = [] } = this;
    return own.length < 2 ? own : safeParts(own);
  }

  /**
   * The bytes of a plain cut string, for a reader that needs them once: a large text is let go piece by piece behind the first, so that
   * it and what is made of it never fill the memory together.
   */
  *takePieces(): Generator<Buffer> {
    const pieces: (Buffer | undefined)[] = [...(this.own ?? [])];
    for (let i = 0; i < pieces.length; i++) {
      yield pieces[i]!;
      if (i === 0) continue;
      this.own = [pieces[0]!];
      pieces[i] = undefined;
    }
  }

  /** Whether the file's bytes are valid UTF-8 here, as JSON demands. */
  get utf8(): boolean {
    this.validUtf8 ??= this.plain || this.parsed !== undefined || this.everyPartIsUtf8();
    return this.validUtf8;
  }

  private everyPartIsUtf8(): boolean {
    for (const part of this.parts()) if (!isUtf8(part)) return false;
    return true;
  }

  /** The text, escapes undone. Bytes that are not UTF-8 are taken as Latin-1. */
  chunks(): Iterable<string> {
    if (this.parsed !== undefined) return [this.parsed];
    const { own = [] } = this;
    return own.length === 1 ? [unescapeJson(own[0]!)] : unescaped(this.parts());
  }
}

const emptyText = JsonText.cut([]);

function* unescaped(parts: Iterable<Buffer>): Generator<string> {
  for (const part of parts) yield unescapeJson(part);
}

function* safeParts(pieces: readonly Buffer[]): Generator<Buffer> {
  let carry: Buffer | undefined;
  for (const [i, piece] of pieces.entries()) {
    const bytes = carry === undefined ? piece : Buffer.concat([carry, piece]);
    const end = i === pieces.length - 1 ? bytes.length : safeEnd(bytes);
    carry = end < bytes.length ? bytes.subarray(end) : undefined;
    if (end > 0) yield bytes.subarray(0, end);
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
