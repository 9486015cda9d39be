/**
 * One strict CBOR item per payload: the subset of the pi page, section 3. cborg builds the value; the tokens it is fed come from our
 * own reader, which refuses what cborg cannot (half and single floats, bad UTF-8, depth, declared counts, unsafe integral floats),
 * keeps byte-order marks, and knows the byte at which each fault stands. Offsets are in the payload.
 */
import { isUtf8 } from "node:buffer";
import { Token, Type, tokensToObject } from "cborg";
import { asBuffer, type Bytes, readU16BE, readU32BE } from "../core/bytes.js";
import { shortAscii } from "../core/short-ascii.js";

/** Maps keep the sender's key order and any key, `__proto__` included. */
export type CborValue = null | boolean | number | string | Bytes | CborArray | CborMap;
export type CborArray = readonly CborValue[];
export type CborMap = ReadonlyMap<string, CborValue>;

export interface CborLimits {
  /** Deepest allowed item; the root is at 0. */
  readonly depth: number;
  /** Elements of one array, pairs of one map, checked on the declared count. */
  readonly container: number;
}

/** Defaults of the published peers. */
export const defaultCborLimits: CborLimits = Object.freeze({ depth: 64, container: 1_000_000 });

export type CborFaultKind =
  | "empty"
  | "truncated"
  | "trailing"
  | "tag"
  | "indefinite"
  | "break"
  | "undefined"
  | "simple"
  | "float-width"
  | "not-finite"
  | "unsafe-integer"
  | "reserved"
  | "key-type"
  | "duplicate-key"
  | "utf8"
  | "depth"
  | "container";

export interface CborFault {
  readonly kind: CborFaultKind;
  /** First byte of the offending item; for a truncated one, of the item that is cut. */
  readonly offset: number;
  readonly says: string;
}

/** The real encoder would have written other bytes for the same value: legal, a remark about the sender. */
export interface CborRemark {
  readonly what: "integer" | "length" | "float";
  readonly offset: number;
}

export type CborResult =
  | {
      readonly ok: true;
      readonly value: CborValue;
      /** First item that is not in shortest form; null when re-encoding gives the same bytes. */
      readonly remark: CborRemark | null;
      /** Offset of the first byte string; null when there is none. Legal CBOR, but no envelope may hold one. */
      readonly byteString: number | null;
    }
  | { readonly ok: false; readonly fault: CborFault };

/** Never throws and never allocates by a declared length. */
export function decodeCbor(payload: Bytes, limits: CborLimits = defaultCborLimits): CborResult {
  if (payload.length === 0) return { ok: false, fault: { kind: "empty", offset: 0, says: "the payload is empty" } };
  const reader = new StrictTokens(payload, limits);
  let value: CborValue;
  try {
    value = tokensToObject(reader, cborgOptions) as CborValue;
  } catch (error) {
    if (error instanceof Refused) return { ok: false, fault: error.fault };
    // The reader refuses everything else first, so what is left to cborg is a key it has already seen in this map.
    return { ok: false, fault: { kind: "duplicate-key", offset: reader.itemAt, says: "a map key comes twice" } };
  }
  const end = reader.pos();
  if (end < payload.length) {
    const says = `${payload.length - end} bytes follow the item`;
    return { ok: false, fault: { kind: "trailing", offset: end, says } };
  }
  return { ok: true, value, remark: reader.remark, byteString: reader.byteString };
}

/** Carries a fault through cborg; never leaves decodeCbor. */
class Refused extends Error {
  constructor(readonly fault: CborFault) {
    super(fault.says);
  }
}

const cborgOptions = { useMaps: true, rejectDuplicateMapKeys: true };
const nullToken = new Token(Type.null, null, 1);
const trueToken = new Token(Type.true, true, 1);
const falseToken = new Token(Type.false, false, 1);
/** Texts up to this many bytes are looked up before they are decoded. */
const shortText = 40;

class StrictTokens {
  itemAt = 0;
  remark: CborRemark | null = null;
  byteString: number | null = null;
  private at = 0;
  private readonly scratch = new Token(Type.null, null, 0);
  /** Items still due in each open container (a map counts keys and values), innermost last. */
  private readonly due: number[] = [];
  private readonly isMap: boolean[] = [];
  private readonly view: DataView;
  private readonly buffer: Buffer;

  constructor(
    private readonly data: Bytes,
    private readonly limits: CborLimits,
  ) {
    this.view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    this.buffer = asBuffer(data);
  }

  pos(): number {
    return this.at;
  }

  /** cborg asks before each item; the end is only ever reached in the middle of one. */
  done(): boolean {
    if (this.at >= this.data.length) this.refuse("truncated", this.at, "the payload ends inside the item");
    return false;
  }

  next(): Token {
    const start = this.at;
    this.itemAt = start;
    const isKey = this.enter(start);
    const first = this.data[start]!;
    const major = first >> 5;
    const info = first & 31;
    if (isKey && major !== 3) this.refuse("key-type", start, `a map key is ${majorNames[major]}, not text`);
    if (major === 7) return this.simpleOrFloat(start, info);
    if (major === 6) this.refuse("tag", start, "a tag");
    const value = this.argument(start, major, info);
    switch (major) {
      case 0:
        return this.leaf(Type.uint, this.safe(value, start));
      case 1:
        return this.leaf(Type.negint, -1 - this.safe(value, start, 1));
      case 2:
        this.byteString ??= start;
        this.skip(value, start);
        return this.leaf(Type.bytes, this.data.subarray(this.at - value, this.at));
      case 3:
        return this.leaf(Type.string, this.text(value, start));
      default:
        return this.container(value, start, major === 5);
    }
  }

  /** Counts the item against its container; true when it stands at a key's place. */
  private enter(start: number): boolean {
    const { due, isMap } = this;
    let top = due.length - 1;
    while (top >= 0 && due[top] === 0) {
      due.pop();
      isMap.pop();
      top--;
    }
    if (top + 1 > this.limits.depth) {
      this.refuse("depth", start, `an item at depth ${top + 1}, where ${this.limits.depth} is the deepest`);
    }
    if (top < 0) return false;
    const left = due[top]!;
    due[top] = left - 1;
    return isMap[top]! && left % 2 === 0;
  }

  private argument(start: number, major: number, info: number): number {
    this.at = start + 1;
    if (info < 24) return info;
    if (info === 31) {
      if (major < 2) this.refuse("reserved", start, "additional information 31 on an integer");
      this.refuse("indefinite", start, `${majorNames[major]} of indefinite length`);
    }
    if (info > 27) this.refuse("reserved", start, `additional information ${info}`);
    const width = 1 << (info - 24);
    if (start + 1 + width > this.data.length) this.refuse("truncated", start, "the payload ends inside the item");
    this.at = start + 1 + width;
    const value = this.wide(start + 1, width);
    if (value < shortestFor[width]!) this.remarkOn(major < 2 ? "integer" : "length", start);
    return value;
  }

  private wide(at: number, width: number): number {
    if (width === 1) return this.data[at]!;
    if (width === 2) return readU16BE(this.data, at);
    if (width === 4) return readU32BE(this.data, at);
    // Exact up to 2^53; anything larger is refused whatever it rounds to.
    return readU32BE(this.data, at) * 0x1_0000_0000 + readU32BE(this.data, at + 4);
  }

  private safe(value: number, start: number, above = 0): number {
    if (value + above > Number.MAX_SAFE_INTEGER) this.refuse("unsafe-integer", start, "an integer beyond ±(2^53−1)");
    return value;
  }

  private skip(length: number, start: number): void {
    if (length > this.data.length - this.at) {
      this.refuse("truncated", start, `a string of ${length} bytes where ${this.data.length - this.at} are left`);
    }
    this.at += length;
  }

  private text(length: number, start: number): string {
    const from = this.at;
    this.skip(length, start);
    if (length <= shortText) {
      const known = shortAscii(this.data, from, this.at);
      if (known !== undefined) return known;
    }
    if (!isUtf8(this.data.subarray(from, this.at))) this.refuse("utf8", start, "a text that is not valid UTF-8");
    // Unlike a TextDecoder by default, this keeps a byte-order mark.
    return this.buffer.toString("utf8", from, this.at);
  }

  private container(count: number, start: number, isMap: boolean): Token {
    if (count > this.limits.container) {
      const what = isMap ? "a map of" : "an array of";
      this.refuse("container", start, `${what} ${count} entries, where ${this.limits.container} is the most`);
    }
    this.due.push(isMap ? count * 2 : count);
    this.isMap.push(isMap);
    return new Token(isMap ? Type.map : Type.array, count, 0);
  }

  private simpleOrFloat(start: number, info: number): Token {
    this.at = start + 1;
    switch (info) {
      case 20:
        return falseToken;
      case 21:
        return trueToken;
      case 22:
        return nullToken;
      case 23:
        return this.refuse("undefined", start, "undefined");
      case 25:
        return this.refuse("float-width", start, "a half-precision float");
      case 26:
        return this.refuse("float-width", start, "a single-precision float");
      case 27:
        return this.float(start);
      case 31:
        return this.refuse("break", start, "a break outside an indefinite item");
      default:
        return info > 27
          ? this.refuse("reserved", start, `additional information ${info}`)
          : this.refuse("simple", start, "a simple value other than null, false and true");
    }
  }

  private float(start: number): Token {
    if (start + 9 > this.data.length) this.refuse("truncated", start, "the payload ends inside the item");
    this.at = start + 9;
    const value = this.view.getFloat64(start + 1);
    if (!Number.isFinite(value)) this.refuse("not-finite", start, `${value}`);
    if (Number.isInteger(value) && !Object.is(value, -0)) {
      if (!Number.isSafeInteger(value)) this.refuse("unsafe-integer", start, "an integral float beyond ±(2^53−1)");
      this.remarkOn("float", start);
    }
    return this.leaf(Type.float, value);
  }

  /** cborg takes a leaf's value at once, so that all leaves share one token; containers need their own. */
  private leaf(type: Type, value: CborValue): Token {
    this.scratch.type = type;
    this.scratch.value = value;
    return this.scratch;
  }

  private remarkOn(what: CborRemark["what"], offset: number): void {
    this.remark ??= { what, offset };
  }

  private refuse(kind: CborFaultKind, offset: number, says: string): never {
    throw new Refused({ kind, offset, says });
  }
}

const majorNames = [
  "an integer",
  "an integer",
  "a byte string",
  "a text",
  "an array",
  "a map",
  "a tag",
  "a simple value",
];
/** Below this the argument would have fitted a narrower form. */
const shortestFor: Readonly<Record<number, number>> = { 1: 24, 2: 0x100, 4: 0x1_0000, 8: 0x1_0000_0000 };
