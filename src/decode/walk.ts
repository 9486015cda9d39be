/** The fields of a message with their positions, depth first, named where a table knows them. For `show`: the first 100,000. */
import { type Bytes, hex, utf8 } from "../core/bytes.js";
import type { WireField } from "../model/schema.js";
import { type Guesser, numberValue } from "./guess.js";
import {
  BOOL,
  BYTES,
  DOUBLE,
  ENUM,
  FIXED32,
  FIXED64,
  FLOAT,
  GROUP,
  INT32,
  INT64,
  MESSAGE,
  type MessageTable,
  SFIXED32,
  SFIXED64,
  SINT32,
  SINT64,
  STRING,
  UINT32,
  UINT64,
  type ValueType,
} from "./message-table.js";
import type { JsonNames } from "./proto-json.js";
import { LEN, START_GROUP, wireNames } from "./wire.js";
import { type RawField, rawFields } from "./wire-fields.js";

/** Longest preview of a text in characters, and of bytes. */
const previewChars = 60;
const previewBytes = 16;

/** Fields that are listed at the most. */
const maxListed = 100_000;

export interface WalkOptions {
  readonly guesser: Guesser;
  readonly names: JsonNames;
  readonly nesting: number;
}

/** What is known of a field: its name, and its type unless it is a map. */
interface Known {
  readonly name: string;
  readonly type: ValueType | null;
  readonly repeated: boolean;
  readonly map: { readonly key: ValueType; readonly value: ValueType } | null;
}

type Lookup = (number: number) => Known | undefined;

export function walkFields(table: MessageTable | null, bytes: Bytes, options: WalkOptions): readonly WireField[] {
  const walker = new Walker(bytes, options);
  walker.message(table?.name ?? null, lookupIn(table), { valueStart: 0, valueEnd: bytes.length }, "", 0);
  return walker.out;
}

function lookupIn(table: MessageTable | null): Lookup {
  return (number) => {
    const field = table?.field(number);
    return field && { name: field.name, type: field, repeated: field.repeated, map: field.map };
  };
}

function lookupInEntry(map: NonNullable<Known["map"]>): Lookup {
  return (number) => {
    if (number !== 1 && number !== 2) return undefined;
    const [name, type] = number === 1 ? (["key", map.key] as const) : (["value", map.value] as const);
    return { name, type, repeated: false, map: null };
  };
}

/** A field on another wire type than its own is read like an unknown one. */
function fitting(known: Known | undefined, wire: number): Known | undefined {
  const own = known?.map == null ? known?.type?.wire : LEN;
  if (known === undefined || own === wire || (wire === LEN && known.repeated && own !== START_GROUP)) return known;
  const message = known.type?.type === MESSAGE || known.type?.type === GROUP;
  return message && known.map === null && (wire === LEN || wire === START_GROUP) ? known : undefined;
}

class Walker {
  readonly out: WireField[] = [];

  constructor(
    private readonly bytes: Bytes,
    private readonly options: WalkOptions,
  ) {}

  message(
    type: string | null,
    lookup: Lookup,
    range: Pick<RawField, "valueStart" | "valueEnd">,
    path: string,
    depth: number,
  ): void {
    const room = maxListed - this.out.length;
    const { fields } = rawFields(this.bytes, range.valueStart, range.valueEnd, this.options.nesting, room);
    for (const field of fields) {
      if (this.out.length >= maxListed) return;
      const known = fitting(lookup(field.number), field.wire);
      const place = `${type ?? ""}/${field.number}`;
      const { start, valueStart, end } = field;
      const here = `${path}${field.number}`;
      const says = known === undefined ? this.guessed(place, field) : this.says(known, field);
      const wire = wireNames[field.wire]!;
      this.out.push({ path: here, name: known?.name ?? null, type, wire, start, valueStart, end, depth, says });
      if (depth + 1 < this.options.nesting) this.inside(known, place, field, here, depth + 1);
    }
  }

  private inside(known: Known | undefined, place: string, field: RawField, path: string, depth: number): void {
    if (known?.map != null) this.message(null, lookupInEntry(known.map), field, `${path}.`, depth);
    else if (known?.type?.type === MESSAGE || known?.type?.type === GROUP) {
      const table = this.options.names.table(known.type.typeName);
      this.message(table.name, lookupIn(table), field, `${path}.`, depth);
    } else if (known === undefined && this.bestReading(place, field) === "message") {
      this.message(null, () => undefined, field, `${path}.`, depth);
    }
  }

  private bestReading(place: string, field: RawField): string {
    if (field.wire === START_GROUP) return "message";
    return field.wire === LEN ? this.options.guesser.best(place, this.bytes, field) : "number";
  }

  private says(known: Known, field: RawField): string {
    if (known.map !== null) return "map entry";
    const type = known.type!;
    if (type.type === MESSAGE || type.type === GROUP) return `${type.typeName}, ${field.valueEnd - field.valueStart} B`;
    if (type.type === STRING) return this.text(field);
    if (type.type === BYTES) return this.raw(field);
    if (field.wire === LEN) return `packed, ${field.valueEnd - field.valueStart} B`;
    const as = readingOf[type.type] ?? "uint64";
    const value = numberValue(as, this.bytes, field);
    if (type.type !== ENUM) return String(value);
    return this.options.names.enumValue(type.typeName, Number(value)) ?? String(value);
  }

  private guessed(place: string, field: RawField): string {
    if (field.wire === START_GROUP) return "group";
    const best = this.options.guesser.best(place, this.bytes, field);
    if (best === "string") return `string? ${this.text(field)}`;
    if (best === "bytes") return `bytes? ${this.raw(field)}`;
    if (field.wire === LEN) return `${best}? ${field.valueEnd - field.valueStart} B`;
    return `${best}? ${numberValue(best, this.bytes, field)}`;
  }

  private text(field: RawField): string {
    // Four bytes a character at most: the rest of a long text is not even decoded.
    const text = utf8(
      this.bytes.subarray(field.valueStart, Math.min(field.valueEnd, field.valueStart + 4 * previewChars)),
    );
    const whole = text.length <= previewChars && field.valueEnd - field.valueStart <= 4 * previewChars;
    return whole
      ? JSON.stringify(text)
      : `${JSON.stringify(text.slice(0, previewChars))}…, ${field.valueEnd - field.valueStart} B`;
  }

  private raw(field: RawField): string {
    const size = field.valueEnd - field.valueStart;
    const shown = hex(this.bytes.subarray(field.valueStart, Math.min(field.valueEnd, field.valueStart + previewBytes)));
    return size <= previewBytes ? `${shown === "" ? "empty" : shown}` : `${shown}…, ${size} B`;
  }
}

/** How a scalar type is read, in the names that readings have. */
const readingOf: Readonly<Record<number, string>> = {
  [DOUBLE]: "double",
  [FLOAT]: "float",
  [BOOL]: "bool",
  [UINT64]: "uint64",
  [UINT32]: "uint64",
  [FIXED64]: "fixed64",
  [FIXED32]: "fixed32",
  [SFIXED64]: "sfixed64",
  [SFIXED32]: "sfixed32",
  [SINT32]: "sint64",
  [SINT64]: "sint64",
  [INT64]: "int64",
  [INT32]: "int64",
  [ENUM]: "int64",
};
