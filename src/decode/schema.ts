/**
 * Schemas by name: the built-in ones, compiled from proto/, with descriptor sets of the user in front of them. The built-in files are
 * dist/schema.json and dist/descriptors.json; src/decode and dist/decode lie equally deep, so one path serves both.
 */
import { createRequire } from "node:module";
import type { Bytes } from "../core/bytes.js";
import { CursorWireError } from "../core/errors.js";
import type { Limits } from "../core/limits.js";
import type { Printable } from "../core/printable.js";
import type { UnknownField } from "../model/message.js";
import type { Decoded, ProtoMessage, Schemas, WireField } from "../model/schema.js";
import { type CompactSchema, compactSource } from "./compact-schema.js";
import { userSource } from "./descriptor-source.js";
import { Guesser } from "./guess.js";
import { type MessageTable, unknownTable } from "./message-table.js";
import { type JsonNames, messageJson, type SensitivityOf } from "./proto-json.js";
import { type MessageDecoder, messageDecoder } from "./protobuf.js";
import type { SchemaSource } from "./schema-source.js";
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
  const own = (options.descriptors ?? []).map(userSource);
  return new Registry([...own, builtIn()], options.limits, options.none ?? false);
}

let builtInSource: SchemaSource | null = null;

function builtIn(): SchemaSource {
  builtInSource ??= compactSource(builtFile<CompactSchema>("schema.json"), () => {
    return Buffer.from(builtFile<{ set: string }>("descriptors.json").set, "base64");
  });
  return builtInSource;
}

function builtFile<T>(name: string): T {
  try {
    return createRequire(import.meta.url)(`../../dist/${name}`) as T;
  } catch (cause) {
    throw new CursorWireError("internal.schema", `dist/${name} is missing: run \`npm run build\``, { cause });
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
    private readonly sources: readonly SchemaSource[],
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
      table = this.find((source) => source.table(name)) ?? unknownTable(name);
      // Names that no schema has come from the wire (types in error details): they are not kept.
      if (table.known) this.tables.set(name, table);
    }
    return table;
  }

  private find<T>(look: (source: SchemaSource) => T | undefined): T | undefined {
    for (const source of this.sources) {
      const found = look(source);
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
    // `json` and `unknown` of one message are the same rows without schema: a value is learnt from once, and what is marked stays marked.
    const same = last?.bytes === bytes && last.type === type;
    if (everything && same && (sensitivity === undefined || last.sensitivity === sensitivity)) return last.rows;
    const rows = unknownFields(this.table(type), bytes, { guesser, names: this, nesting, everything, sensitivity });
    if (everything) this.last = { type, bytes, sensitivity, rows };
    return rows;
  }

  fromJson(type: string, text: Bytes): { bytes: Bytes; complete: boolean } | null {
    return this.find((source) => source.fromJson(type, text)) ?? null;
  }

  walk(type: string | null, bytes: Bytes): readonly WireField[] {
    const table = type === null || this.none ? null : this.table(type);
    return walkFields(table, bytes, { guesser: this.guesser, names: this, nesting: this.nesting });
  }

  method(path: string): { readonly input: string; readonly output: string } | undefined {
    const [, service, name] = /\/([\w.]+)\/(\w+)$/.exec(path) ?? [];
    if (service === undefined) return undefined;
    return this.find((source) => source.method(service, name ?? ""));
  }

  enumName(enumType: string, value: number): string {
    return this.enumValue(enumType, value) ?? String(value);
  }

  enumValue(enumType: string, value: number): string | undefined {
    return this.find((source) => source.enumValue(enumType, value));
  }
}
