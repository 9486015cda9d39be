/**
 * A decoded message -> protobuf-JSON: lowerCamelCase names, enum names, 64-bit numbers as text, the well-known types in their own forms.
 * Bytes stay Bytes (the writer prints base64, or the size of a large one); a message of an opaque type is `{ "$bytes": size }`.
 * https://protobuf.dev/programming-guides/json
 */
import type { Bytes } from "../core/bytes.js";
import { type Printable, Sensitive, type Sensitivity } from "../core/printable.js";
import type { ProtoMessage } from "../model/schema.js";
import { ENUM, type FieldTable, GROUP, MESSAGE, type MessageTable, type ValueType } from "./message-table.js";
import { opaqueBytes } from "./protobuf.js";
import { wellKnownJson } from "./well-known-json.js";

export type SensitivityOf = (type: string, field: string) => Sensitivity | undefined;

export interface JsonNames {
  table(typeName: string): MessageTable;
  /** undefined: a number the enum does not have. */
  enumValue(enumType: string, value: number): string | undefined;
}

type JsonObject = { [key: string]: Printable };

export function messageJson(
  table: MessageTable,
  message: ProtoMessage,
  names: JsonNames,
  sensitivity?: SensitivityOf,
): Printable {
  return new Renderer(names, sensitivity).message(table, message);
}

class Renderer {
  constructor(
    private readonly names: JsonNames,
    private readonly sensitivity: SensitivityOf | undefined,
  ) {}

  readonly message = (table: MessageTable, message: ProtoMessage): Printable => {
    const opaque = opaqueBytes(message);
    if (opaque !== undefined) return opaque.length === 0 ? {} : { $bytes: opaque.length };
    const special = wellKnownJson(table.name, message, this.any);
    if (special !== undefined) return special;
    const out: JsonObject = Object.create(null);
    for (const field of table.fields) {
      const value = message[field.name];
      if (value === undefined) continue;
      const mark = this.sensitivity?.(table.name, field.name);
      const json = this.field(field, value);
      out[field.jsonName] =
        mark === undefined || json === null ? json : new Sensitive(mark, json as Sensitive["value"]);
    }
    return out;
  };

  /** The message inside a google.protobuf.Any is rendered by whoever can decode it; here it stays bytes. */
  private readonly any = (typeUrl: string, value: Bytes): Printable => ({ "@type": typeUrl, value });

  private field(field: FieldTable, value: unknown): Printable {
    if (field.map !== null) return this.map(field.map.value, value as ReadonlyMap<unknown, unknown>);
    if (!field.repeated) return this.value(field, value);
    return (value as readonly unknown[]).map((item) => this.value(field, item));
  }

  private map(type: ValueType, entries: ReadonlyMap<unknown, unknown>): Printable {
    const out: JsonObject = Object.create(null);
    for (const [key, value] of entries) out[String(key)] = this.value(type, value);
    return out;
  }

  private value(type: ValueType, value: unknown): Printable {
    switch (type.type) {
      case MESSAGE:
      case GROUP:
        return this.message(this.names.table(type.typeName), value as ProtoMessage);
      case ENUM:
        if (type.typeName === "google.protobuf.NullValue") return null;
        return this.names.enumValue(type.typeName, value as number) ?? (value as number);
      default:
        return scalarJson(value as number | bigint | boolean | string | Bytes);
    }
  }
}

function scalarJson(value: number | bigint | boolean | string | Bytes): Printable {
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  return value;
}
