/** A range of bytes -> the fields it holds, with positions and without any schema. */
import type { Bytes } from "../core/bytes.js";
import { LEN, START_GROUP, WireReader } from "./wire.js";

export interface RawField {
  readonly number: number;
  readonly wire: number;
  /** Of the tag. */
  readonly start: number;
  /** Of the value: after tag and length; for a group after its start tag. */
  readonly valueStart: number;
  /** Of the value: for a group before its end tag. */
  readonly valueEnd: number;
  /** Of the field. */
  readonly end: number;
}

export interface RawFields {
  /** The first ones, up to the bound that was asked for. */
  readonly fields: readonly RawField[];
  /** All of them. */
  readonly count: number;
  /** Where reading on is impossible; -1 when all is well. */
  readonly faultAt: number;
}

/**
 * Fields of `bytes[start..end)`, one level deep; groups are followed to their end tags. At most `max` are kept, since a field of two bytes
 * becomes an object of a hundred.
 */
export function rawFields(bytes: Bytes, start: number, end: number, nesting: number, max: number): RawFields {
  const reader = new WireReader();
  reader.reset(bytes);
  reader.pos = start;
  reader.end = end;
  const fields: RawField[] = [];
  let count = 0;
  while (reader.pos < end) {
    const at = reader.pos;
    if (!reader.tag()) return { fields, count, faultAt: reader.faultAt };
    const { field: number, wire } = reader;
    const afterTag = reader.pos;
    if (!reader.skip(nesting)) return { fields, count, faultAt: reader.faultAt };
    if (count++ < max) fields.push(rawField(reader, number, wire, at, afterTag));
  }
  return { fields, count, faultAt: -1 };
}

/** The field that `reader` has just skipped. */
export function rawField(reader: WireReader, number: number, wire: number, start: number, afterTag: number): RawField {
  const end = reader.pos;
  const valueStart = wire === LEN ? end - reader.lo : afterTag;
  const valueEnd = wire === START_GROUP ? end - tagBytes(number) : end;
  return { number, wire, start, valueStart, valueEnd, end };
}

/** Bytes of a shortest-form tag. Longer forms of a group's end tag are legal and rare: its value then ends a byte or more late. */
function tagBytes(number: number): number {
  return number < 16 ? 1 : number < 2048 ? 2 : number < 262_144 ? 3 : number < 33_554_432 ? 4 : 5;
}
