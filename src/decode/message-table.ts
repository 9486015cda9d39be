/** What a schema says of a message -> a flat table by field number, made once per type and on first use. */
import type { Bytes } from "../core/bytes.js";
import { I32, I64, LEN, START_GROUP, VARINT } from "./wire.js";

/** Field types by their numbers in descriptor.proto. */
export const DOUBLE = 1;
export const FLOAT = 2;
export const INT64 = 3;
export const UINT64 = 4;
export const INT32 = 5;
export const FIXED64 = 6;
export const FIXED32 = 7;
export const BOOL = 8;
export const STRING = 9;
export const GROUP = 10;
export const MESSAGE = 11;
export const BYTES = 12;
export const UINT32 = 13;
export const ENUM = 14;
export const SFIXED32 = 15;
export const SFIXED64 = 16;
export const SINT32 = 17;
export const SINT64 = 18;

export interface ValueType {
  /** One of the numbers above. */
  readonly type: number;
  readonly wire: number;
  /** Full name of the message or enum; "" for scalars. */
  readonly typeName: string;
}

export interface FieldTable extends ValueType {
  readonly number: number;
  readonly name: string;
  readonly jsonName: string;
  readonly repeated: boolean;
  /** For a map: the types of key and value; `type` is then MESSAGE. */
  readonly map: { readonly key: ValueType; readonly value: ValueType } | null;
  /** Name of the (real) oneof it belongs to. */
  readonly oneof: string | null;
  /** Filled on first use by whoever resolves type names. */
  table: MessageTable | null;
}

/** A message as the decoder fills it in. */
export type Fields = { [name: string]: unknown; [opaqueContent]?: Bytes };

/** On a message of an opaque type: its bytes. A symbol, so that the message still looks empty. */
export const opaqueContent: unique symbol = Symbol("opaque content");

export interface MessageTable {
  readonly name: string;
  readonly fields: readonly FieldTable[];
  readonly byName: ReadonlyMap<string, FieldTable>;
  /** A type that is known by name only, on purpose. */
  readonly opaque: boolean;
  /** False for a name that no schema has. */
  readonly known: boolean;
  field(number: number): FieldTable | undefined;
  /** A fresh message without prototype properties. */
  create(): Fields;
}

const wireOfType: readonly number[] = [
  VARINT,
  I64,
  I32,
  VARINT,
  VARINT,
  VARINT,
  I64,
  I32,
  VARINT,
  LEN,
  START_GROUP,
  LEN,
  LEN,
  VARINT,
  VARINT,
  I32,
  I64,
  VARINT,
  VARINT,
];

/** Above this, field numbers go to a Map. */
const denseNumbers = 512;

const nothing = Object.freeze(Object.create(null)) as object;

/** A field as a schema has it, in plain values. */
export interface FieldSpec {
  readonly number: number;
  readonly name: string;
  readonly jsonName: string;
  /** Of the field or, where it is repeated, of an element; MESSAGE for a map. */
  readonly type: number;
  /** Full name of the message or enum; "" for scalars and maps. */
  readonly typeName: string;
  readonly repeated: boolean;
  readonly oneof: string | null;
  readonly map: { readonly key: number; readonly value: number; readonly valueTypeName: string } | null;
}

function valueType(type: number, typeName: string): ValueType {
  return { type, wire: wireOfType[type]!, typeName };
}

function fieldTable(spec: FieldSpec): FieldTable {
  const { number, name, jsonName, type, typeName, repeated, oneof, map } = spec;
  const types = map === null ? null : { key: valueType(map.key, ""), value: valueType(map.value, map.valueTypeName) };
  return { number, name, jsonName, type, wire: wireOfType[type]!, typeName, repeated, map: types, oneof, table: null };
}

/** `opaque`: a type that is known by name only. */
export function messageTable(name: string, fields: readonly FieldSpec[], opaque: boolean): MessageTable {
  return tableOf(name, fields.map(fieldTable), opaque, true);
}

/** For a name that no schema has: every field is unknown. */
export function unknownTable(name: string): MessageTable {
  return tableOf(name, [], false, false);
}

function tableOf(name: string, fields: readonly FieldTable[], opaque: boolean, known: boolean): MessageTable {
  const dense: (FieldTable | undefined)[] = [];
  const sparse = new Map<number, FieldTable>();
  const top = Math.max(0, ...fields.map((field) => field.number).filter((number) => number < denseNumbers));
  for (let i = 0; i <= top; i++) dense.push(undefined);
  for (const field of fields) {
    if (field.number < denseNumbers) dense[field.number] = field;
    else sparse.set(field.number, field);
  }
  // A constructor per type: its objects share one hidden class family, which an object literal with null prototype does not get.
  const Message = function (this: Fields) {} as unknown as new () => Fields;
  Message.prototype = nothing;
  return {
    name,
    fields,
    byName: new Map(fields.map((field) => [field.name, field])),
    opaque,
    known,
    field: (number) => (number < denseNumbers ? dense[number] : sparse.get(number)),
    create: () => new Message(),
  };
}
