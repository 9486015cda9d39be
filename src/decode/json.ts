/**
 * JSON text -> values that lose nothing: objects are Maps (any key, order kept), a repeated key keeps its earlier values beside the last one,
 * integers of up to 40 digits that a double cannot hold stay bigint. For what is printed or is small; JSON.parse is for the rest. RFC 8259.
 */
import { type Bytes, utf8 } from "../core/bytes.js";
import type { Printable } from "../core/printable.js";

export type JsonValue = null | boolean | number | bigint | string | readonly JsonValue[] | JsonObject;
export type JsonObject = ReadonlyMap<string, JsonValue>;

export interface JsonRead {
  /** undefined: no JSON. */
  readonly value: JsonValue | undefined;
  /** Keys that stand more than once in their object; their earlier values are in `value` as "key (1)", "key (2)", … */
  readonly duplicates: readonly string[];
  /** Byte offset of the first character that cannot stand there. */
  readonly fault: { readonly why: string; readonly offset: number } | null;
}

const defaultNesting = 100;

export function parseJson(bytes: Bytes, nesting = defaultNesting): JsonRead {
  const text = utf8(bytes);
  const parser = new Parser(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text, nesting);
  try {
    const value = parser.whole();
    return { value, duplicates: parser.duplicates, fault: null };
  } catch (fault) {
    if (!(fault instanceof Stop)) throw fault;
    const offset = Buffer.byteLength(text.slice(0, fault.at), "utf8");
    return { value: undefined, duplicates: parser.duplicates, fault: { why: fault.why, offset } };
  }
}

/** For the outputs: Maps become objects without prototype. */
export function printableJson(value: JsonValue): Printable {
  if (Array.isArray(value)) return value.map(printableJson);
  if (!(value instanceof Map)) return value as Printable;
  const out: { [key: string]: Printable } = Object.create(null);
  for (const [key, item] of value as JsonObject) out[key] = printableJson(item);
  return out;
}

/** Leaves the recursion; never leaves this file. */
class Stop {
  constructor(
    readonly why: string,
    readonly at: number,
  ) {}
}

const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

const numberPattern = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
const plainPattern = /[^"\\\u0000-\u001f]*/y;
const spacePattern = /[ \t\n\r]*/y;

class Parser {
  readonly duplicates: string[] = [];
  private at = 0;

  constructor(
    private readonly text: string,
    private readonly nesting: number,
  ) {}

  whole(): JsonValue {
    const value = this.value(0);
    this.space();
    if (this.at < this.text.length) throw new Stop("text behind the value", this.at);
    return value;
  }

  private space(): void {
    spacePattern.lastIndex = this.at;
    spacePattern.test(this.text);
    this.at = spacePattern.lastIndex;
  }

  private value(depth: number): JsonValue {
    this.space();
    if (depth > this.nesting) throw new Stop(`nesting above ${this.nesting}`, this.at);
    switch (this.text[this.at]) {
      case "{":
        return this.object(depth);
      case "[":
        return this.array(depth);
      case '"':
        return this.string();
      case "t":
        return this.word("true", true);
      case "f":
        return this.word("false", false);
      case "n":
        return this.word("null", null);
      case undefined:
        throw new Stop("unexpected end", this.at);
      default:
        return this.number();
    }
  }

  private word<T>(word: string, value: T): T {
    if (!this.text.startsWith(word, this.at)) throw new Stop("unexpected character", this.at);
    this.at += word.length;
    return value;
  }

  private number(): number | bigint {
    numberPattern.lastIndex = this.at;
    const match = numberPattern.exec(this.text);
    if (match === null) throw new Stop("unexpected character", this.at);
    this.at = numberPattern.lastIndex;
    const number = Number(match[0]);
    return match[1] === undefined && match[2] === undefined && !Number.isSafeInteger(number)
      ? BigInt(match[0])
      : number;
  }

  private string(): string {
    const start = this.at++;
    let out = "";
    for (;;) {
      plainPattern.lastIndex = this.at;
      plainPattern.test(this.text);
      out += this.text.slice(this.at, plainPattern.lastIndex);
      this.at = plainPattern.lastIndex;
      const next = this.text[this.at];
      if (next === '"') {
        this.at++;
        return out;
      }
      if (next === undefined) throw new Stop("a string without an end", start);
      if (next !== "\\") throw new Stop("a control character in a string", this.at);
      out += this.escape();
    }
  }

  private escape(): string {
    const letter = this.text[this.at + 1] ?? "";
    if (letter === "u") {
      const digits = this.text.slice(this.at + 2, this.at + 6);
      if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw new Stop("a bad \\u escape", this.at);
      this.at += 6;
      return String.fromCharCode(Number.parseInt(digits, 16));
    }
    const plain = Object.hasOwn(escapes, letter) ? escapes[letter] : undefined;
    if (plain === undefined) throw new Stop("a bad escape", this.at);
    this.at += 2;
    return plain;
  }

  private array(depth: number): JsonValue[] {
    const out: JsonValue[] = [];
    this.at++;
    this.space();
    if (this.text[this.at] === "]") {
      this.at++;
      return out;
    }
    for (;;) {
      out.push(this.value(depth + 1));
      if (this.separator("]")) return out;
    }
  }

  private object(depth: number): JsonObject {
    const out = new Map<string, JsonValue>();
    this.at++;
    this.space();
    if (this.text[this.at] === "}") {
      this.at++;
      return out;
    }
    const times = new Map<string, number>();
    for (;;) {
      this.space();
      if (this.text[this.at] !== '"') throw new Stop("a key is due", this.at);
      const key = this.string();
      this.space();
      if (this.text[this.at] !== ":") throw new Stop("a colon is due", this.at);
      this.at++;
      this.put(out, times, key, this.value(depth + 1));
      if (this.separator("}")) return out;
    }
  }

  /** The last value keeps the key, as JSON.parse has it; the ones before it move aside. */
  private put(out: Map<string, JsonValue>, times: Map<string, number>, key: string, value: JsonValue): void {
    const before = out.get(key);
    if (before !== undefined) {
      const seen = times.get(key) ?? 0;
      if (seen === 0) this.duplicates.push(key);
      let count = seen + 1;
      while (out.has(`${key} (${count})`)) count++;
      times.set(key, count);
      out.set(`${key} (${count})`, before);
    }
    out.set(key, value);
  }

  /** A comma, or the end. */
  private separator(end: "]" | "}"): boolean {
    this.space();
    const next = this.text[this.at];
    if (next !== "," && next !== end) throw new Stop(next === undefined ? "unexpected end" : "a comma is due", this.at);
    this.at++;
    return next === end;
  }
}
