/**
 * The protobuf wire format: tags, varints and lengths out of bytes, with positions. Nothing here throws; a fault is kept in `fault`
 * and the call answers false. https://protobuf.dev/programming-guides/encoding
 */
import { isUtf8 } from "node:buffer";
import { asBuffer, type Bytes, noBytes } from "../core/bytes.js";
import type { UnknownField } from "../model/message.js";
import type { WireFault } from "../model/schema.js";

export const VARINT = 0;
export const I64 = 1;
export const LEN = 2;
export const START_GROUP = 3;
export const END_GROUP = 4;
export const I32 = 5;

/** Names of the wire types as reports print them; index: wire type. */
export const wireNames: readonly UnknownField["wire"][] = ["varint", "i64", "len", "group", "group", "i32"];

const replacement = "\ufffd";

/**
 * What Buffer.toString does once it has sorted out its arguments. Called straight on the bytes it takes half the time, and needs no Buffer;
 * it is not documented, so it is only used where it is there.
 */
const utf8Slice = (Buffer.prototype as { utf8Slice?: (this: Bytes, start: number, end: number) => string }).utf8Slice;

export class WireReader {
  bytes: Bytes = noBytes;
  pos = 0;
  /** Exclusive end of the message being read. */
  end = 0;
  /** Low and high 32 bits of the last varint or 64-bit value, unsigned. */
  lo = 0;
  hi = 0;
  /** Of the last tag. */
  field = 0;
  wire = 0;
  fault: WireFault["what"] = "truncated";
  /** Where the fault is. */
  faultAt = 0;
  private buffer: Buffer | null = null;
  private view: DataView | null = null;

  reset(bytes: Bytes): void {
    this.bytes = bytes;
    this.pos = 0;
    this.end = bytes.length;
    this.buffer = null;
    this.view = null;
  }

  fail(what: WireFault["what"], at: number): false {
    this.fault = what;
    this.faultAt = at;
    return false;
  }

  varint(): boolean {
    const pos = this.pos;
    if (pos < this.end) {
      const first = this.bytes[pos]!;
      if (first < 0x80) {
        this.lo = first;
        this.hi = 0;
        this.pos = pos + 1;
        return true;
      }
    }
    return this.longVarint();
  }

  private longVarint(): boolean {
    const { bytes, end, pos: start } = this;
    let pos = start;
    let lo = 0;
    let hi = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (pos >= end) return this.fail("truncated", start);
      const byte = bytes[pos++]!;
      const bits = byte & 0x7f;
      if (shift < 28) lo |= bits << shift;
      else if (shift === 28) {
        lo |= bits << 28;
        hi = bits >>> 4;
      } else hi |= bits << (shift - 32);
      if (byte < 0x80) {
        this.lo = lo >>> 0;
        this.hi = hi >>> 0;
        this.pos = pos;
        return true;
      }
    }
    return this.fail("bad-varint", start);
  }

  /** Reads a tag into `field` and `wire`. A tag is at most 5 bytes; field number 0 and wire types 6 and 7 do not exist. */
  tag(): boolean {
    const start = this.pos;
    if (!this.varint()) return false;
    const wire = this.lo & 7;
    const field = this.lo >>> 3;
    if (this.hi !== 0 || field === 0 || wire > I32) return this.fail("bad-tag", start);
    this.field = field;
    this.wire = wire;
    return true;
  }

  /** Reads a length into `lo`, checked against what is left. `lo` holds it after a "truncated" fault, too. */
  length(): boolean {
    const start = this.pos;
    if (!this.varint()) {
      this.lo = 0;
      return false;
    }
    if (this.hi !== 0) this.lo = 0xffffffff;
    if (this.lo > this.end - this.pos) return this.fail("truncated", start);
    return true;
  }

  fixed32(): boolean {
    const at = this.pos;
    if (this.end - at < 4) return this.fail("truncated", at);
    this.lo = this.u32(at);
    this.pos = at + 4;
    return true;
  }

  fixed64(): boolean {
    const at = this.pos;
    if (this.end - at < 8) return this.fail("truncated", at);
    this.lo = this.u32(at);
    this.hi = this.u32(at + 4);
    this.pos = at + 8;
    return true;
  }

  private u32(at: number): number {
    const bytes = this.bytes;
    return (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0;
  }

  float(at: number): number {
    return this.dataView().getFloat32(at, true);
  }

  double(at: number): number {
    return this.dataView().getFloat64(at, true);
  }

  private dataView(): DataView {
    const { bytes } = this;
    this.view ??= new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return this.view;
  }

  /** The last value as unsigned 64 bits. */
  unsigned(): bigint {
    return this.hi === 0 ? BigInt(this.lo) : (BigInt(this.hi) << 32n) | BigInt(this.lo);
  }

  signed(): bigint {
    if (this.hi === 0) return BigInt(this.lo);
    return (BigInt(this.hi | 0) << 32n) | BigInt(this.lo);
  }

  zigzag(): bigint {
    const value = this.unsigned();
    return (value >> 1n) ^ -(value & 1n);
  }

  /** UTF-8 text of a range; bad sequences become U+FFFD. */
  text(start: number, end: number): string {
    if (utf8Slice !== undefined) return utf8Slice.call(this.bytes, start, end);
    this.buffer ??= asBuffer(this.bytes);
    return this.buffer.toString("utf8", start, end);
  }

  /** Whether `text`, decoded from this range, came from valid UTF-8. */
  validUtf8(text: string, start: number, end: number): boolean {
    return !text.includes(replacement) || isUtf8(this.bytes.subarray(start, end));
  }

  /** Skips the value of the last tag. Groups are followed to their end tag, `depth` levels at most. */
  skip(depth: number): boolean {
    switch (this.wire) {
      case VARINT:
        return this.varint();
      case I64:
        return this.fixed64();
      case I32:
        return this.fixed32();
      case LEN:
        if (!this.length()) return false;
        this.pos += this.lo;
        return true;
      case START_GROUP:
        return this.skipGroup(depth);
      default:
        return this.fail("group", this.pos);
    }
  }

  private skipGroup(depth: number): boolean {
    const open = [this.field];
    while (open.length > 0) {
      const at = this.pos;
      if (at >= this.end) return this.fail("truncated", at);
      if (!this.tag()) return false;
      if (this.wire === START_GROUP) {
        if (open.length >= depth) return this.fail("nesting", at);
        open.push(this.field);
      } else if (this.wire === END_GROUP) {
        if (open.pop() !== this.field) return this.fail("group", at);
      } else if (!this.skip(0)) return false;
    }
    return true;
  }
}
