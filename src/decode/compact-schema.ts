/**
 * The built-in schema as plain JSON: what reading a capture needs of the descriptors, in a form that is ready a millisecond after it is
 * read. Written by scripts/compile-protos.mjs into dist/schema.json; the descriptor set beside it serves the JSON twins.
 */
import type * as Bufbuild from "@bufbuild/protobuf";
import type { Bytes } from "../core/bytes.js";
import { DescriptorSource, fieldSpec, isOpaque } from "./descriptor-source.js";
import { type FieldSpec, type MessageTable, messageTable } from "./message-table.js";
import type { SchemaSource } from "./schema-source.js";

/** number, name, type, type name, label (0 one, 1 list, 2 map), oneof, JSON name ("" where it follows from the name), key and value of a map */
type FieldRow = readonly [number, string, number, string, 0 | 1 | 2, string, string, ...(number | string)[]];

export interface CompactSchema {
  /** 1 in front of the fields: opaque. */
  readonly messages: Readonly<Record<string, readonly [0 | 1, ...FieldRow[]]>>;
  readonly enums: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

export function compactSchema(
  types: Iterable<Bufbuild.DescMessage | Bufbuild.DescEnum | { readonly kind: string }>,
): CompactSchema {
  const messages: Record<string, readonly [0 | 1, ...FieldRow[]]> = {};
  const enums: Record<string, Record<string, string>> = {};
  for (const type of types) {
    if (isMessage(type))
      messages[type.typeName] = [isOpaque(type) ? 1 : 0, ...type.fields.map((field) => row(fieldSpec(field)))];
    else if (isEnum(type)) {
      enums[type.typeName] = Object.fromEntries(
        Object.entries(type.value).map(([number, value]) => [number, value.name]),
      );
    }
  }
  return { messages, enums };
}

function isMessage(type: { readonly kind: string }): type is Bufbuild.DescMessage {
  return type.kind === "message";
}

function isEnum(type: { readonly kind: string }): type is Bufbuild.DescEnum {
  return type.kind === "enum";
}

function row(spec: FieldSpec): FieldRow {
  const { number, name, type, typeName, repeated, oneof, map } = spec;
  const json = spec.jsonName === camelCase(name) ? "" : spec.jsonName;
  const label = map !== null ? 2 : repeated ? 1 : 0;
  const rest = map === null ? [] : [map.key, map.value, map.valueTypeName];
  return [number, name, type, typeName, label, oneof ?? "", json, ...rest];
}

function spec(row: FieldRow): FieldSpec {
  const [number, name, type, typeName, label, oneof, json, key, value, valueTypeName] = row;
  return {
    number,
    name,
    jsonName: json === "" ? camelCase(name) : json,
    type,
    typeName,
    repeated: label === 1,
    oneof: oneof === "" ? null : oneof,
    map: label === 2 ? { key: key as number, value: value as number, valueTypeName: valueTypeName as string } : null,
  };
}

/** The JSON name that protoc gives a field. */
function camelCase(name: string): string {
  return name.replace(/_+(.?)/g, (_, letter: string) => letter.toUpperCase());
}

/** `descriptors`: fetches the descriptor set the schema was made from, when it is needed. */
export function compactSource(schema: CompactSchema, descriptors: () => Bytes): SchemaSource {
  return new CompactSource(schema, descriptors);
}

class CompactSource implements SchemaSource {
  private full: DescriptorSource | null = null;

  constructor(
    private readonly schema: CompactSchema,
    private readonly descriptors: () => Bytes,
  ) {}

  // Names come from the wire (types in error details): only the schema's own keys count.
  table(type: string): MessageTable | undefined {
    if (!Object.hasOwn(this.schema.messages, type)) return undefined;
    const [opaque, ...rows] = this.schema.messages[type]!;
    return messageTable(type, rows.map(spec), opaque === 1);
  }

  enumValue(enumType: string, value: number): string | undefined {
    if (!Object.hasOwn(this.schema.enums, enumType)) return undefined;
    return this.schema.enums[enumType]![value];
  }

  method(): undefined {
    return undefined;
  }

  fromJson(type: string, text: Bytes): ReturnType<SchemaSource["fromJson"]> {
    if (!Object.hasOwn(this.schema.messages, type)) return undefined;
    this.full ??= DescriptorSource.of(this.descriptors());
    return this.full.fromJson(type, text);
  }
}
