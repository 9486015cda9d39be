/** An HPACK encoder for the tests: every representation RFC 7541 6 has, chosen by the caller. Its tables are those of hpack.js. */
import { createRequire } from "node:module";
import { type Bytes, concat } from "../../src/core/bytes.js";

const require = createRequire(import.meta.url);
const codes: readonly (readonly [number, number])[] = require("hpack.js/lib/hpack/huffman.js").encode;
const statics: readonly { readonly name: string; readonly value: string }[] =
  require("hpack.js/lib/hpack/static-table.js").table;

export type Field = readonly [name: string, value: string];

export interface Choice {
  readonly how: "index" | "incremental" | "plain" | "never";
  readonly huffman: boolean;
  /** Name by index where the tables have it. */
  readonly namedByIndex: boolean;
}

export const usual: Choice = { how: "incremental", huffman: true, namedByIndex: true };

export class HpackEncoder {
  private rows: Field[] = [];
  private size = 0;
  private limit = 4096;

  /** A block; `choose` is asked for each field. */
  block(fields: readonly Field[], choose: (index: number) => Choice = () => usual): Bytes {
    return concat(fields.map((field, index) => this.field(field, choose(index))));
  }

  resize(limit: number): Bytes {
    this.limit = limit;
    this.evict();
    return integer(0x20, 5, limit);
  }

  private field(field: Field, choice: Choice): Bytes {
    const whole = this.find((row) => row[0] === field[0] && row[1] === field[1]);
    if (choice.how !== "plain" && choice.how !== "never" && whole > 0) return integer(0x80, 7, whole);
    const named = choice.namedByIndex ? this.find((row) => row[0] === field[0]) : 0;
    const incremental = choice.how === "incremental" || choice.how === "index";
    const start = incremental ? integer(0x40, 6, named) : integer(choice.how === "never" ? 0x10 : 0, 4, named);
    const name = named > 0 ? [] : [text(field[0], choice.huffman)];
    if (incremental) this.add(field);
    return concat([start, ...name, text(field[1], choice.huffman)]);
  }

  private find(fits: (row: Field) => boolean): number {
    const fixed = statics.findIndex((row) => fits([row.name, row.value]));
    if (fixed >= 0) return fixed + 1;
    const own = this.rows.findIndex(fits);
    return own < 0 ? 0 : statics.length + 1 + own;
  }

  private add(field: Field): void {
    this.rows.unshift(field);
    this.size += cost(field);
    this.evict();
  }

  private evict(): void {
    while (this.size > this.limit) this.size -= cost(this.rows.pop()!);
  }
}

function cost(field: Field): number {
  return Buffer.byteLength(field[0]) + Buffer.byteLength(field[1]) + 32;
}

export function integer(flags: number, prefix: number, value: number): Bytes {
  const mask = 2 ** prefix - 1;
  if (value < mask) return new Uint8Array([flags | value]);
  const bytes = [flags | mask];
  let rest = value - mask;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  bytes.push(rest);
  return new Uint8Array(bytes);
}

export function text(value: string, huffman: boolean): Bytes {
  const raw = new Uint8Array(Buffer.from(value, "utf8"));
  const coded = huffman ? huffmanCode(raw) : raw;
  return concat([integer(huffman ? 0x80 : 0, 7, coded.length), coded]);
}

export function huffmanCode(bytes: Bytes): Bytes {
  let bits = "";
  for (const byte of bytes) {
    const [length, code] = codes[byte]!;
    bits += code.toString(2).padStart(length, "0");
  }
  bits = bits.padEnd(Math.ceil(bits.length / 8) * 8, "1");
  return new Uint8Array((bits.match(/.{8}/g) ?? []).map((octet) => Number.parseInt(octet, 2)));
}
