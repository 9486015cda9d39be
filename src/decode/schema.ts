/**
 * Schemas by name: the descriptor set compiled from proto/, with descriptor sets of the user in front of it. The built-in set is
 * dist/descriptors.json, written by scripts/compile-protos.mjs; src/decode and dist/decode lie equally deep, so one path serves both.
 */
import { createRequire } from "node:module";
import { createFileRegistry, type FileRegistry, fromBinary, fromJsonString, toBinary } from "@bufbuild/protobuf";
import {
  type FileDescriptorSet,
  FileDescriptorSetSchema,
  file_google_protobuf_any,
  file_google_protobuf_api,
  file_google_protobuf_descriptor,
  file_google_protobuf_duration,
  file_google_protobuf_empty,
  file_google_protobuf_field_mask,
  file_google_protobuf_source_context,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_type,
  file_google_protobuf_wrappers,
} from "@bufbuild/protobuf/wkt";
import { type Bytes, utf8 } from "../core/bytes.js";
import { CursorWireError } from "../core/errors.js";
import type { Limits } from "../core/limits.js";
import type { Printable } from "../core/printable.js";
import type { UnknownField } from "../model/message.js";
import type { Decoded, ProtoMessage, Schemas, WireField } from "../model/schema.js";
import { Guesser } from "./guess.js";
import { type MessageTable, messageTable, unknownTable } from "./message-table.js";
import { type JsonNames, messageJson, type SensitivityOf } from "./proto-json.js";
import { type MessageDecoder, messageDecoder } from "./protobuf.js";
import { unknownFields } from "./unknown-fields.js";
import { walkFields } from "./walk.js";

export interface SchemaOptions {
  /** FileDescriptorSets (binary or JSON) or buf images; the first that knows a type wins, and all win over the built-in one. */
  readonly descriptors?: readonly Bytes[];
  /** Without schema: `json` and `unknown` show every field by number; `decode` still works, so that turns can be told. */
  readonly none?: boolean;
  readonly limits: Limits;
}

/** Throws CursorWireError `input.descriptors` for a set that cannot be read. */
export function loadSchemas(options: SchemaOptions): Schemas {
  const own = (options.descriptors ?? []).map(userRegistry);
  return new Registry([...own, builtIn()], options.limits, options.none ?? false);
}

const wellKnown = [
  file_google_protobuf_any,
  file_google_protobuf_source_context,
  file_google_protobuf_type,
  file_google_protobuf_api,
  file_google_protobuf_descriptor,
  file_google_protobuf_duration,
  file_google_protobuf_empty,
  file_google_protobuf_field_mask,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
];

let builtInRegistry: FileRegistry | null = null;

function builtIn(): FileRegistry {
  builtInRegistry ??= registryOf(fromBinary(FileDescriptorSetSchema, builtInSet()));
  return builtInRegistry;
}

function builtInSet(): Bytes {
  try {
    const { set } = createRequire(import.meta.url)("../../dist/descriptors.json") as { set: string };
    return Buffer.from(set, "base64");
  } catch (cause) {
    throw new CursorWireError("internal.descriptors", "dist/descriptors.json is missing: run `npm run build`", {
      cause,
    });
  }
}

/** Well-known files that the set leaves out are supplied. */
function registryOf(set: FileDescriptorSet): FileRegistry {
  const given = new Set(set.file.map((file) => file.name));
  const missing = wellKnown.map((file) => file.proto).filter((proto) => !given.has(proto.name));
  return createFileRegistry({ ...set, file: [...missing, ...set.file] });
}

function userRegistry(bytes: Bytes): FileRegistry {
  try {
    const text = bytes[0] === 0x7b;
    const set = text
      ? fromJsonString(FileDescriptorSetSchema, utf8(bytes), { ignoreUnknownFields: true })
      : fromBinary(FileDescriptorSetSchema, bytes);
    if (set.file.length === 0) throw new Error("it holds no file");
    return registryOf(set);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CursorWireError(
      "input.descriptors",
      `no FileDescriptorSet or buf image (${why}); write one with \`buf build -o set.binpb\` or \`protoc --include_imports -o set.binpb\``,
      { cause },
    );
  }
}

interface UnknownCall {
  readonly type: string;
  readonly bytes: Bytes;
  readonly sensitivity: SensitivityOf | undefined;
  readonly rows: readonly UnknownField[];
}

class Registry implements Schemas, JsonNames {
  private readonly tables = new Map<string, MessageTable>();
  private readonly decoder: MessageDecoder;
  private readonly guesser: Guesser;
  private readonly nesting: number;
  private last: UnknownCall | null = null;

  constructor(
    private readonly registries: readonly FileRegistry[],
    limits: Limits,
    private readonly none: boolean,
  ) {
    this.nesting = limits.nesting;
    this.guesser = new Guesser(limits.nesting);
    this.decoder = messageDecoder((name) => this.table(name), limits, this.guesser);
  }

  table(name: string): MessageTable {
    let table = this.tables.get(name);
    if (table === undefined) {
      const message = this.find((registry) => registry.getMessage(name));
      table = message === undefined ? unknownTable(name) : messageTable(message);
      // Names that no schema has come from the wire (details types): they are not kept.
      if (table.known) this.tables.set(name, table);
    }
    return table;
  }

  private find<T>(look: (registry: FileRegistry) => T | undefined): T | undefined {
    for (const registry of this.registries) {
      const found = look(registry);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  has(type: string): boolean {
    return this.table(type).known;
  }

  decode(type: string, bytes: Bytes): Decoded {
    return this.decoder.decode(this.table(type), bytes);
  }

  branch(type: string, value: ProtoMessage, oneof: string): string | undefined {
    const { byName } = this.table(type);
    for (const name in value) if (byName.get(name)?.oneof === oneof) return name;
    return undefined;
  }

  json(type: string, bytes: Bytes, sensitivity?: SensitivityOf): Printable {
    if (this.none)
      return this.unknown(type, bytes, sensitivity).map(({ readings, ...row }) => ({
        ...row,
        readings: readings.map((one) => ({ ...one })),
      }));
    const table = this.table(type);
    return messageJson(table, this.decoder.decode(table, bytes).value, this, sensitivity);
  }

  unknown(type: string, bytes: Bytes, sensitivity?: SensitivityOf): readonly UnknownField[] {
    const { guesser, nesting, none: everything, last } = this;
    // `json` and `unknown` of one message are the same rows without schema: a value is learnt from once.
    if (everything && last?.bytes === bytes && last.type === type && last.sensitivity === sensitivity) return last.rows;
    const rows = unknownFields(this.table(type), bytes, { guesser, names: this, nesting, everything, sensitivity });
    if (everything) this.last = { type, bytes, sensitivity, rows };
    return rows;
  }

  fromJson(type: string, text: Bytes): { bytes: Bytes; complete: boolean } | null {
    const registry = this.registries.find((one) => one.getMessage(type) !== undefined);
    const message = registry?.getMessage(type);
    if (registry === undefined || message === undefined) return null;
    const json = utf8(text);
    for (const complete of [true, false]) {
      try {
        const value = fromJsonString(message, json, { registry, ignoreUnknownFields: !complete });
        return { bytes: toBinary(message, value), complete };
      } catch {
        // Once more, without what the type does not have.
      }
    }
    return null;
  }

  walk(type: string | null, bytes: Bytes): readonly WireField[] {
    const table = type === null || this.none ? null : this.table(type);
    return walkFields(table, bytes, { guesser: this.guesser, names: this, nesting: this.nesting });
  }

  enumName(enumType: string, value: number): string {
    return this.enumValue(enumType, value) ?? String(value);
  }

  enumValue(enumType: string, value: number): string | undefined {
    return this.find((registry) => registry.getEnum(enumType))?.value[value]?.name;
  }
}
