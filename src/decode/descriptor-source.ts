/**
 * FileDescriptorSets and buf images as a source of types, through @bufbuild/protobuf. The library is loaded when the first set is: reading
 * a capture with the built-in schema does without it, which halves the time to start.
 */
import { createRequire } from "node:module";
import type * as Bufbuild from "@bufbuild/protobuf";
import type * as WellKnown from "@bufbuild/protobuf/wkt";
import { type Bytes, utf8 } from "../core/bytes.js";
import { CursorWireError } from "../core/errors.js";
import { ENUM, type FieldSpec, GROUP, MESSAGE, messageTable } from "./message-table.js";
import type { SchemaSource } from "./schema-source.js";

interface Library {
  readonly base: typeof Bufbuild;
  readonly known: typeof WellKnown;
}

let library: Library | null = null;

function load(): Library {
  if (library === null) {
    const require = createRequire(import.meta.url);
    const base = require("@bufbuild/protobuf") as typeof Bufbuild;
    library = { base, known: require("@bufbuild/protobuf/wkt") as typeof WellKnown };
  }
  return library;
}

/** A set the user gave, binary or JSON. Throws CursorWireError `input.descriptors` where it cannot be read. */
export function userSource(bytes: Bytes): SchemaSource {
  try {
    return new DescriptorSource(load().base, registryOf(bytes));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CursorWireError(
      "input.descriptors",
      `no FileDescriptorSet or buf image (${why}); write one with \`buf build -o set.binpb\` or \`protoc --include_imports -o set.binpb\``,
      { cause },
    );
  }
}

/** All types of a set. Well-known files that it leaves out are supplied. Throws what the library throws. */
export function registryOf(bytes: Bytes): Bufbuild.FileRegistry {
  const { base, known } = load();
  const schema = known.FileDescriptorSetSchema;
  const set =
    bytes[0] === 0x7b
      ? base.fromJsonString(schema, utf8(bytes), { ignoreUnknownFields: true })
      : base.fromBinary(schema, bytes);
  if (set.file.length === 0) throw new Error("it holds no file");
  const given = new Set(set.file.map((file) => file.name));
  const supplied = wellKnownFiles(known).filter((file) => !given.has(file.name));
  return base.createFileRegistry({ ...set, file: [...supplied, ...set.file] });
}

function wellKnownFiles(known: typeof WellKnown): WellKnown.FileDescriptorProto[] {
  return [
    known.file_google_protobuf_any,
    known.file_google_protobuf_source_context,
    known.file_google_protobuf_type,
    known.file_google_protobuf_api,
    known.file_google_protobuf_descriptor,
    known.file_google_protobuf_duration,
    known.file_google_protobuf_empty,
    known.file_google_protobuf_field_mask,
    known.file_google_protobuf_struct,
    known.file_google_protobuf_timestamp,
    known.file_google_protobuf_wrappers,
  ].map((file) => file.proto);
}

export class DescriptorSource implements SchemaSource {
  constructor(
    private readonly base: typeof Bufbuild,
    private readonly registry: Bufbuild.FileRegistry,
  ) {}

  static of(set: Bytes): DescriptorSource {
    return new DescriptorSource(load().base, registryOf(set));
  }

  table(type: string): ReturnType<SchemaSource["table"]> {
    const message = this.registry.getMessage(type);
    return message && messageTable(message.typeName, message.fields.map(fieldSpec), isOpaque(message));
  }

  enumValue(enumType: string, value: number): string | undefined {
    return this.registry.getEnum(enumType)?.value[value]?.name;
  }

  method(service: string, name: string): ReturnType<SchemaSource["method"]> {
    const method = this.registry.getService(service)?.methods.find((one) => one.name === name);
    return method && { input: method.input.typeName, output: method.output.typeName };
  }

  fromJson(type: string, text: Bytes): ReturnType<SchemaSource["fromJson"]> {
    const message = this.registry.getMessage(type);
    if (message === undefined) return undefined;
    const json = utf8(text);
    for (const complete of [true, false]) {
      try {
        const options = { registry: this.registry, ignoreUnknownFields: !complete };
        return { bytes: this.base.toBinary(message, this.base.fromJsonString(message, json, options)), complete };
      } catch {
        // Once more, without what the type does not have.
      }
    }
    return null;
  }
}

export function fieldSpec(field: Bufbuild.DescField): FieldSpec {
  const { number, name, jsonName } = field;
  const oneof = field.oneof?.name ?? null;
  if (field.fieldKind === "map") {
    const value = field.message !== undefined ? MESSAGE : field.enum !== undefined ? ENUM : field.scalar!;
    const valueTypeName = field.message?.typeName ?? field.enum?.typeName ?? "";
    const map = { key: field.mapKey, value, valueTypeName };
    return { number, name, jsonName, type: MESSAGE, typeName: "", repeated: false, oneof, map };
  }
  const typeName = field.message?.typeName ?? field.enum?.typeName ?? "";
  return {
    number,
    name,
    jsonName,
    type: typeOf(field),
    typeName,
    repeated: field.fieldKind === "list",
    oneof,
    map: null,
  };
}

function typeOf(field: Bufbuild.DescField): number {
  if (field.enum !== undefined) return ENUM;
  if (field.message === undefined) return field.scalar!;
  const delimited = (field.fieldKind === "message" || field.fieldKind === "list") && field.delimitedEncoding;
  return delimited === true ? GROUP : MESSAGE;
}

/** proto/ marks a type that is known by name only by reserving every field number. */
export function isOpaque(message: Bufbuild.DescMessage): boolean {
  return (
    message.fields.length === 0 &&
    message.proto.reservedRange.some((range) => range.start <= 1 && range.end >= 0x1fffffff)
  );
}
