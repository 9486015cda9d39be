/** Numbers as the wire has them -> values of a field's type. */
import {
  BOOL,
  BYTES,
  DOUBLE,
  ENUM,
  FIXED64,
  FLOAT,
  INT32,
  INT64,
  SFIXED32,
  SFIXED64,
  SINT32,
  SINT64,
  STRING,
  UINT32,
  UINT64,
  type ValueType,
} from "./message-table.js";
import type { WireReader } from "./wire.js";

/** The varint just read, as a field of this type has it. */
export function varintValue(reader: WireReader, type: number): unknown {
  switch (type) {
    case BOOL:
      return reader.lo !== 0 || reader.hi !== 0;
    case ENUM:
    case INT32:
      return reader.lo | 0;
    case UINT32:
      return reader.lo;
    case SINT32:
      return (reader.lo >>> 1) ^ -(reader.lo & 1);
    case INT64:
      return reader.signed();
    case SINT64:
      return reader.zigzag();
    default:
      return reader.unsigned();
  }
}

export function fixed32Value(reader: WireReader, type: number): number {
  if (type === FLOAT) return reader.float(reader.pos - 4);
  return type === SFIXED32 ? reader.lo | 0 : reader.lo;
}

export function fixed64Value(reader: WireReader, type: number): number | bigint {
  if (type === DOUBLE) return reader.double(reader.pos - 8);
  return type === SFIXED64 ? reader.signed() : reader.unsigned();
}

/** What an absent key or value of a map entry stands for. */
export function defaultValue(type: ValueType): unknown {
  switch (type.type) {
    case STRING:
      return "";
    case BYTES:
      return new Uint8Array(0);
    case BOOL:
      return false;
    case INT64:
    case UINT64:
    case FIXED64:
    case SFIXED64:
    case SINT64:
      return 0n;
    default:
      return 0;
  }
}
