/** Protobuf as the dialects see it. Implemented by decode/schema.ts and decode/protobuf.ts. */
import type { Bytes } from "../core/bytes.js";
import type { Printable, Sensitivity } from "../core/printable.js";
import type { UnknownField } from "./message.js";

/**
 * A decoded message: present fields only, by their .proto names, on an object without prototype. Scalars: number, boolean, string,
 * bigint (64 bit), Bytes (views); enum: number; repeated: array; map: Map from key to value; message: ProtoMessage.
 */
export interface ProtoMessage {
  readonly [field: string]: ProtoValue | undefined;
}
export type ProtoValue =
  | number
  | bigint
  | boolean
  | string
  | Bytes
  | ProtoMessage
  | readonly ProtoValue[]
  | ReadonlyMap<string | number | bigint | boolean, ProtoValue>;

/** A fault of the wire format, at a byte offset of the decoded bytes. */
export interface WireFault {
  readonly what: "truncated" | "bad-varint" | "bad-tag" | "wire-type" | "bad-utf8" | "group" | "nesting";
  readonly offset: number;
  /** Field path by names where known, else numbers: "interaction_update.text_delta.1". */
  readonly path: string;
}

export interface Decoded {
  readonly type: string;
  readonly value: ProtoMessage;
  /** Number of fields (at any depth) that the schema does not name. */
  readonly unknownCount: number;
  /** Unknown field numbers at the root, in wire order, the first 1,000. */
  readonly unknownRoot: readonly number[];
  /**
   * Empty: the bytes are a well-formed message of this type. A fault that loses step ends the message it is in; wire-type and bad-utf8
   * do not: the field is left out, or holds U+FFFD. Beyond 32 they are not listed.
   */
  readonly faults: readonly WireFault[];
}

/** A field found by walking the wire, for `show`. Offsets are in the walked bytes. */
export interface WireField {
  readonly path: string;
  /** Field name where the schema knows it. */
  readonly name: string | null;
  /** Type of the message that holds it; null where unknown. Type and name together say whether it is sensitive. */
  readonly type: string | null;
  readonly wire: UnknownField["wire"];
  /** Of the tag. */
  readonly start: number;
  /** Of the value (after tag and length). */
  readonly valueStart: number;
  readonly end: number;
  readonly depth: number;
  readonly says: string;
}

export interface Schemas {
  has(type: string): boolean;
  /** Never throws. An unknown type decodes as an empty message with all fields unknown. */
  decode(type: string, bytes: Bytes): Decoded;
  /** Name of the set field of a oneof ("message", "action", …), or undefined. */
  branch(type: string, value: ProtoMessage, oneof: string): string | undefined;
  /**
   * protobuf-JSON (lowerCamelCase names, enum names, 64-bit as strings), sensitive fields marked. Bytes fields are Bytes: the writer prints
   * base64, or `{ "$bytes": n }` above its limit; messages of opaque types are `{ "$bytes": n }`. With `none`: the rows of `unknown`.
   */
  json(type: string, bytes: Bytes, sensitivity?: (type: string, field: string) => Sensitivity | undefined): Printable;
  /**
   * Unknown fields of the message, readings best first, values marked private; learns over all `decode` calls so far. With `none`: all
   * fields; those that `sensitivity` calls secret stay marked so.
   */
  unknown(
    type: string,
    bytes: Bytes,
    sensitivity?: (type: string, field: string) => Sensitivity | undefined,
  ): readonly UnknownField[];
  /**
   * protobuf-JSON (the twin content types application/json and application/connect+json) -> the binary form, so that one path serves both.
   * null: no JSON of this type. complete: false where keys or enum values that the type does not have were left out.
   */
  fromJson(type: string, text: Bytes): { readonly bytes: Bytes; readonly complete: boolean } | null;
  /** Every field with its position, depth first. */
  walk(type: string | null, bytes: Bytes): readonly WireField[];
  /** Request and response types of an RPC path ("/pkg.Service/Method"), where a descriptor set names the service. */
  method?(path: string): { readonly input: string; readonly output: string } | undefined;
  /** Enum value name, or the number as text. */
  enumName(enumType: string, value: number): string;
}
