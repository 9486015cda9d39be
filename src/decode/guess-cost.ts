/**
 * How many bits a value costs under each reading of a field that no schema names: the reading that describes it shortest is the likeliest
 * one. A text costs about 5 bits a character, raw bytes 8, a message what its tags and values cost. Costs of several values of one field
 * add up, which is how a field that is ambiguous once becomes clear with time.
 */
import { isUtf8 } from "node:buffer";
import type { Bytes } from "../core/bytes.js";
import { I32, I64, LEN, START_GROUP, VARINT, WireReader } from "./wire.js";
import { type RawField, rawFields } from "./wire-fields.js";

/** Messages in messages are weighed this deep. */
const maxDepth = 12;
/** Text costs are measured on this many bytes and scaled up; fields of a message likewise. */
const sampleBytes = 2048;
const sampleFields = 512;

export interface Cost {
  readonly as: string;
  readonly bits: number;
}

/** A value with its possible readings, in no order, and what it holds if it is a message. */
export interface Weighed {
  readonly field: RawField;
  readonly costs: readonly Cost[];
  readonly children: readonly Weighed[];
}

export function weigh(bytes: Bytes, field: RawField, depth = 0): Weighed {
  const { valueStart: start, valueEnd: end } = field;
  switch (field.wire) {
    case VARINT:
      return { field, costs: varintCosts(bytes, start, end), children: [] };
    case I64:
      return { field, costs: fixedCosts(bytes, start, 8), children: [] };
    case I32:
      return { field, costs: fixedCosts(bytes, start, 4), children: [] };
    case LEN:
      return weighLength(bytes, field, depth);
    default:
      return {
        field,
        costs: [{ as: "group", bits: 0 }],
        children: depth < maxDepth ? weighGroup(bytes, field, depth) : [],
      };
  }
}

/** Whether a length-delimited value can be read so at all; numbers always can. */
export function possible(as: string, bytes: Bytes, field: RawField, nesting: number): boolean {
  if (field.wire !== LEN) return true;
  const { valueStart: start, valueEnd: end } = field;
  switch (as) {
    case "string":
      return isUtf8(bytes.subarray(start, end));
    case "message":
      return rawFields(bytes, start, end, nesting, 0).faultAt < 0;
    case "packed":
      return start < end && packedBits(bytes, start, end) < Number.POSITIVE_INFINITY;
    default:
      return true;
  }
}

function magnitudeBits(value: number): number {
  return 2 * Math.log2(value + 1) + 1;
}

function readVarint(bytes: Bytes, start: number, end: number): WireReader {
  const reader = new WireReader();
  reader.reset(bytes);
  reader.pos = start;
  reader.end = end;
  reader.varint();
  return reader;
}

function varintCosts(bytes: Bytes, start: number, end: number): Cost[] {
  const reader = readVarint(bytes, start, end);
  const unsigned = reader.hi * 2 ** 32 + reader.lo;
  const negative = reader.hi >= 2 ** 31;
  const out: Cost[] = [
    { as: "uint64", bits: 1 + (negative ? 66 : Math.min(magnitudeBits(unsigned), 8 * (end - start))) },
  ];
  if (negative) out.push({ as: "int64", bits: 2 + Math.min(magnitudeBits(Math.abs(Number(reader.signed()))), 66) });
  out.push({ as: "sint64", bits: 4 + Math.min(magnitudeBits(unsigned), 8 * (end - start)) });
  if (unsigned <= 1) out.push({ as: "bool", bits: 2.5 });
  return out;
}

function fixedCosts(bytes: Bytes, start: number, size: 4 | 8): Cost[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset + start, size);
  const real = size === 8 ? view.getFloat64(0, true) : view.getFloat32(0, true);
  const signed = size === 8 ? Number(view.getBigInt64(0, true)) : view.getInt32(0, true);
  const names = size === 8 ? ["double", "fixed64", "sfixed64"] : ["float", "fixed32", "sfixed32"];
  const wide = size * 8 + 2;
  const out: Cost[] = [
    { as: names[0]!, bits: 1 + (plausibleReal(real) ? wide * 0.5 : wide) },
    { as: names[1]!, bits: 2 + (signed < 0 ? wide : Math.min(magnitudeBits(signed), wide)) },
  ];
  if (signed < 0) out.push({ as: names[2]!, bits: 3 + Math.min(magnitudeBits(-signed), wide) });
  return out;
}

function plausibleReal(value: number): boolean {
  const size = Math.abs(value);
  return value === 0 || (size > 1e-12 && size < 1e18);
}

function weighLength(bytes: Bytes, field: RawField, depth: number): Weighed {
  const { valueStart: start, valueEnd: end } = field;
  const size = end - start;
  // Empty text and empty bytes are not written in proto3 unless they have presence; an empty message is.
  if (size === 0) return { field, costs: emptyCosts, children: [] };
  const costs: Cost[] = [{ as: "bytes", bits: 3 + 8 * size }];
  const text = textBits(bytes, start, end);
  if (text < Number.POSITIVE_INFINITY) costs.push({ as: "string", bits: 1.3 + text });
  const packed = packedBits(bytes, start, end);
  if (packed < Number.POSITIVE_INFINITY) costs.push({ as: "packed", bits: 5 + packed });
  const { fields, count, faultAt } = depth < maxDepth ? rawFields(bytes, start, end, maxDepth, sampleFields) : noFields;
  if (faultAt >= 0 || fields.length === 0) return { field, costs, children: [] };
  const children = fields.map((child) => weigh(bytes, child, depth + 1));
  costs.push({ as: "message", bits: 1.5 + (messageBits(children, end) * count) / children.length });
  return { field, costs, children };
}

const noFields = { fields: [], count: 0, faultAt: 0 };

const emptyCosts: readonly Cost[] = [
  { as: "message", bits: 0.5 },
  { as: "string", bits: 2 },
  { as: "bytes", bits: 3 },
];

function weighGroup(bytes: Bytes, field: RawField, depth: number): Weighed[] {
  const { fields } = rawFields(bytes, field.valueStart, field.valueEnd, maxDepth, sampleFields);
  return fields.map((child) => weigh(bytes, child, depth + 1));
}

/** Bits per byte of ordinary text, by byte. */
const textCost = Float64Array.from({ length: 256 }, (_, byte) => {
  if (byte === 0x20 || (byte >= 0x61 && byte <= 0x7a)) return 4.6;
  if (byte >= 0x30 && byte <= 0x39) return 5.2;
  if (byte >= 0x41 && byte <= 0x5a) return 6;
  if (byte === 0x0a) return 8;
  if (byte === 0x09 || byte === 0x0d) return 9;
  if (byte < 0x20 || byte === 0x7f) return 15;
  return 6.5;
});

function textBits(bytes: Bytes, start: number, end: number): number {
  if (!isUtf8(bytes.subarray(start, end))) return Number.POSITIVE_INFINITY;
  const stop = Math.min(end, start + sampleBytes);
  let bits = 0;
  for (let i = start; i < stop; i++) bits += textCost[bytes[i]!]!;
  return (bits * (end - start)) / (stop - start);
}

/** Bits of a packed one-byte varint. */
const smallBits = Float64Array.from({ length: 128 }, (_, value) => 1 + Math.min(magnitudeBits(value), 8));

function packedBits(bytes: Bytes, start: number, end: number): number {
  if (bytes[end - 1]! >= 0x80) return Number.POSITIVE_INFINITY;
  const stop = Math.min(end, start + sampleBytes);
  let bits = 0;
  let value = 0;
  let length = 0;
  for (let i = start; i < stop; i++) {
    const byte = bytes[i]!;
    value += (byte & 0x7f) * 2 ** (7 * length);
    length++;
    if (byte >= 0x80) {
      if (length === 10) return Number.POSITIVE_INFINITY;
      continue;
    }
    bits += length === 1 ? smallBits[value]! : 1 + Math.min(magnitudeBits(value), 8 * length);
    value = 0;
    length = 0;
  }
  return (bits * (end - start)) / (stop - start);
}

function messageBits(children: readonly Weighed[], end: number): number {
  let bits = 0;
  let before = 0;
  const wires = new Map<number, number>();
  for (const { field, costs } of children) {
    bits += tagBits(field.number, before) + wireBits(field.wire);
    // One number has one type: a second wire type speaks against a message.
    const known = wires.get(field.number);
    if (known !== undefined && known !== field.wire) bits += 12;
    wires.set(field.number, field.wire);
    if (field.wire === LEN) bits += Math.log2(end - field.valueStart + 1);
    bits += field.wire === START_GROUP ? 8 * (field.valueEnd - field.valueStart) : leastBits(costs);
    before = field.number;
  }
  return bits;
}

export function leastBits(costs: readonly Cost[]): number {
  let least = Number.POSITIVE_INFINITY;
  for (const cost of costs) if (cost.bits < least) least = cost.bits;
  return least;
}

/** Encoders write fields by rising number, and numbers are small. */
function tagBits(number: number, before: number): number {
  if (number === before) return 1.5;
  if (number > before) return 1 + 2 * Math.log2(number - before);
  return 6 + 2 * Math.log2(number);
}

function wireBits(wire: number): number {
  if (wire === LEN) return 1;
  if (wire === VARINT) return 1.3;
  return wire === START_GROUP ? 9 : 4.5;
}
