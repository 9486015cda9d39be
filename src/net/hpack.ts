/**
 * HPACK header blocks -> header lists, one decoder per direction. RFC 7541. A reference to an entry that the capture does not hold
 * gives a header named "unknown"; a malformed block gives the headers before the fault.
 */
import { asBuffer, type Bytes, noBytes, strictUtf8 } from "../core/bytes.js";
import { shortAscii } from "../core/short-ascii.js";
import type { Header } from "../model/exchange.js";
import { huffmanDecode, huffmanRoom } from "./hpack/huffman.js";
import { HpackTable, staticCount } from "./hpack/table.js";

export interface HpackFault {
  readonly what: "index" | "integer" | "huffman" | "truncated" | "table size update";
  /** In the block. */
  readonly offset: number;
}

export interface HpackBlock {
  /** Pseudo-headers included, in wire order. */
  readonly headers: readonly Header[];
  /** Table indices that refer to entries never seen. */
  readonly unknown: readonly number[];
  /** Sizes of updates above what the other side allows. */
  readonly oversized: readonly number[];
  readonly fault: HpackFault | null;
}

export const unknownName = "unknown";

const unknownHeader: Header = Object.freeze({ name: unknownName, value: "" });
const none: readonly number[] = Object.freeze([]);
/** Up to here a loop is faster than two native calls. */
const shortBytes = 64;
const notAscii = /[\x80-\xff]/;
/** Largest integer taken: no length or index comes near it. */
const largest = 0x0fff_ffff;

/** Room for one decoded string, shared: it is read before anything else runs. */
let scratch = Buffer.alloc(8192);

export class HpackDecoder {
  private readonly table: HpackTable;
  private block: Bytes = noBytes;
  private buffer: Buffer = asBuffer(noBytes);
  private at = 0;
  private fault: HpackFault | null = null;
  private unknown: number[] | null = null;
  private oversized: number[] | null = null;
  /** Bytes of the last string, decoded. */
  private textBytes = 0;
  /** What the other side's SETTINGS allow; null where they were not seen. */
  allowed: number | null = 4096;

  constructor(limits: { readonly headBytes: number }) {
    this.table = new HpackTable(Math.max(65_536, limits.headBytes));
  }

  /** False after a late start or a loss: references to older entries are unknown. */
  get complete(): boolean {
    return this.table.complete;
  }

  /** The connection's beginning, or a header block, is not in the capture. */
  lose(): void {
    this.table.lose();
  }

  decode(block: Bytes): HpackBlock {
    this.block = block;
    this.buffer = asBuffer(block);
    this.at = 0;
    this.fault = null;
    this.unknown = null;
    this.oversized = null;
    const headers: Header[] = [];
    while (this.at < block.length) {
      const start = this.at;
      const header = this.field();
      if (this.fault !== null) {
        // The encoder's table and this one are no longer the same.
        this.table.lose();
        this.fault = { ...(this.fault as HpackFault), offset: start };
        break;
      }
      if (header !== null) headers.push(header);
    }
    const result = { headers, unknown: this.unknown ?? none, oversized: this.oversized ?? none, fault: this.fault };
    this.block = noBytes;
    this.buffer = asBuffer(noBytes);
    return result;
  }

  /** One field, or null for a table size update (RFC 7541 6). */
  private field(): Header | null {
    const first = this.block[this.at]!;
    if (first >= 0x80) return this.indexed(this.integer(7));
    if (first >= 0x40) return this.literal(6, true);
    if (first >= 0x20) return this.sizeUpdate();
    return this.literal(4, false);
  }

  private indexed(index: number): Header | null {
    const header = this.table.get(index);
    return header ?? this.missing(index);
  }

  private missing(index: number): Header | null {
    if (index <= 0 || this.table.complete) return this.fail("index");
    this.unknown ??= [];
    this.unknown.push(index);
    return unknownHeader;
  }

  private literal(prefix: number, keep: boolean): Header | null {
    const index = this.integer(prefix);
    let name: string;
    let nameBytes: number;
    let exact = true;
    if (index === 0) {
      name = this.text();
      nameBytes = this.textBytes;
    } else {
      name = this.indexed(index)?.name ?? "";
      nameBytes = name.length;
      exact = index <= staticCount || (name !== unknownName && !notAscii.test(name));
    }
    if (this.fault !== null) return null;
    const header = { name, value: this.text() };
    if (this.fault !== null) return null;
    if (keep) this.table.add(header, nameBytes + this.textBytes, exact);
    return header;
  }

  private sizeUpdate(): null {
    const size = this.integer(5);
    if (this.fault !== null) return null;
    if (this.allowed !== null && size > this.allowed) {
      this.oversized ??= [];
      this.oversized.push(size);
    }
    this.table.resize(size);
    return null;
  }

  /** An integer with an n-bit prefix (5.1). */
  private integer(prefix: number): number {
    const mask = (1 << prefix) - 1;
    let value = this.block[this.at++]! & mask;
    if (value < mask) return value;
    for (let shift = 0; ; shift += 7) {
      const byte = this.block[this.at++];
      if (byte === undefined) return this.fail("truncated") ?? 0;
      if (shift > 28) return this.fail("integer") ?? 0;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value > largest ? (this.fail("integer") ?? 0) : value;
    }
  }

  /** A string literal (5.2). */
  private text(): string {
    const first = this.block[this.at];
    if (first === undefined) return this.fail("truncated") ?? "";
    const length = this.integer(7);
    const from = this.at;
    const to = from + length;
    if (this.fault !== null) return "";
    if (to > this.block.length) return this.fail("truncated") ?? "";
    this.at = to;
    if (first < 0x80) {
      this.textBytes = length;
      return readable(this.buffer, from, to);
    }
    if (huffmanRoom(length) > scratch.length) scratch = Buffer.alloc(huffmanRoom(length));
    const count = huffmanDecode(this.block, from, to, scratch);
    if (count < 0) return this.fail("huffman") ?? "";
    this.textBytes = count;
    return readable(scratch, 0, count);
  }

  private fail(what: HpackFault["what"]): null {
    this.fault ??= { what, offset: this.at };
    return null;
  }
}

/** UTF-8 where it is that, else one character per byte. */
function readable(buffer: Buffer, from: number, to: number): string {
  const short = to - from > shortBytes ? undefined : shortAscii(buffer, from, to);
  if (short !== undefined) return short;
  const text = buffer.toString("latin1", from, to);
  return notAscii.test(text) ? (strictUtf8(buffer.subarray(from, to)) ?? text) : text;
}
