/**
 * The fields of a message that its schema does not name, at any depth, as rows by path: count and readings. Contents of opaque types are
 * not unknown and left out. With `everything` the schema is put aside and every field is such a row; it then only tells which are secret.
 */
import type { Bytes } from "../core/bytes.js";
import type { Sensitivity } from "../core/printable.js";
import type { UnknownField } from "../model/message.js";
import { type Guesser, maxFields, type Occurrence } from "./guess.js";
import { type FieldTable, GROUP, MESSAGE, type MessageTable } from "./message-table.js";
import type { JsonNames, SensitivityOf } from "./proto-json.js";
import { LEN, START_GROUP, wireNames } from "./wire.js";
import { type RawField, rawFields } from "./wire-fields.js";

/** Rows of one message: a hostile one could hold a number per field. */
const maxRows = 10_000;
/** Values of a row that are read; `count` is of all. */
const maxValues = 1000;
/** Unknown messages in unknown messages get rows this deep. */
const maxInner = 12;

export interface UnknownOptions {
  readonly guesser: Guesser;
  readonly names: JsonNames;
  readonly nesting: number;
  readonly everything: boolean;
  readonly sensitivity: SensitivityOf | undefined;
}

interface Row {
  readonly place: string;
  readonly path: string;
  readonly wire: number;
  /** The first ones. */
  readonly values: Occurrence[];
  count: number;
  sensitivity: Sensitivity;
}

type Range = Pick<RawField, "valueStart" | "valueEnd">;

export function unknownFields(table: MessageTable, bytes: Bytes, options: UnknownOptions): readonly UnknownField[] {
  const collector = new Collector(bytes, options);
  const whole = { valueStart: 0, valueEnd: bytes.length };
  if (options.everything) collector.everything(table, whole);
  else collector.message(table, whole, "", 0);
  return collector.result();
}

class Collector {
  private readonly rows = new Map<string, Row>();

  constructor(
    private readonly bytes: Bytes,
    private readonly options: UnknownOptions,
  ) {}

  result(): UnknownField[] {
    return [...this.rows.values()].map((row) => ({
      path: row.path,
      wire: wireNames[row.wire]!,
      count: row.count,
      readings: this.options.guesser.readings(row.place, row.values, {
        sensitivity: row.sensitivity,
        sizes: this.options.everything,
      }),
    }));
  }

  everything(table: MessageTable, whole: Range): void {
    for (const field of this.fields(whole)) {
      const place = `${table.name}/${field.number}`;
      this.options.guesser.learn(place, this.bytes, field);
      this.row(place, String(field.number), field, table, 0);
    }
  }

  message(table: MessageTable, range: Range, path: string, depth: number): void {
    if (depth >= this.options.nesting || table.opaque) return;
    for (const field of this.fields(range)) {
      const known = table.field(field.number);
      const here = `${path}${field.number}`;
      if (known === undefined || !fits(known, field.wire))
        this.row(`${table.name}/${field.number}`, here, field, null, 0);
      else if (known.map !== null) this.mapEntry(known.map, field, here, depth);
      else if (known.type === MESSAGE || known.type === GROUP)
        this.message(this.table(known), field, `${here}.`, depth + 1);
    }
  }

  private mapEntry(map: NonNullable<FieldTable["map"]>, entry: RawField, path: string, depth: number): void {
    for (const field of this.fields(entry)) {
      const type = field.number === 1 ? map.key : field.number === 2 ? map.value : undefined;
      const here = `${path}.${field.number}`;
      if (type === undefined || type.wire !== field.wire) this.row(`map/${field.number}`, here, field, null, 0);
      else if (type.type === MESSAGE)
        this.message(this.options.names.table(type.typeName), field, `${here}.`, depth + 1);
    }
  }

  private fields(range: Range): readonly RawField[] {
    return rawFields(this.bytes, range.valueStart, range.valueEnd, this.options.nesting, maxFields).fields;
  }

  private table(field: FieldTable): MessageTable {
    return this.options.names.table(field.typeName);
  }

  /** A row for this field, and for those inside it where it reads best as a message. `schema`: of the containing message, if known. */
  private row(place: string, path: string, field: RawField, schema: MessageTable | null, depth: number): void {
    const key = `${path}:${field.wire}`;
    let row = this.rows.get(key);
    if (row === undefined) {
      if (this.rows.size >= maxRows) return;
      row = { place, path, wire: field.wire, values: [], count: 0, sensitivity: "private" };
      this.rows.set(key, row);
    }
    row.count++;
    if (row.values.length < maxValues) row.values.push({ bytes: this.bytes, field });
    const known = schema?.field(field.number);
    if (schema !== null && known !== undefined && this.holdsSecret(schema, known, field, 0)) row.sensitivity = "secret";
    if (depth >= maxInner || !this.readsAsMessage(place, field)) return;
    const inner = known !== undefined && isMessage(known) ? this.table(known) : null;
    for (const child of this.options.guesser.inside(this.bytes, field)) {
      this.row(`${place}.${child.number}`, `${path}.${child.number}`, child, inner, depth + 1);
    }
  }

  private readsAsMessage(place: string, field: RawField): boolean {
    if (field.wire === START_GROUP) return true;
    return field.wire === LEN && this.options.guesser.best(place, this.bytes, field) === "message";
  }

  /** Whether the schema has a secret in this field or below it: no raw reading of it may then be shown. */
  private holdsSecret(table: MessageTable, known: FieldTable, field: RawField, depth: number): boolean {
    const { sensitivity, nesting } = this.options;
    if (sensitivity === undefined) return false;
    if (sensitivity(table.name, known.name) === "secret") return true;
    if (!isMessage(known) || depth >= nesting) return false;
    const inner = this.table(known);
    return this.fields(field).some((child) => {
      const below = inner.field(child.number);
      return below !== undefined && this.holdsSecret(inner, below, child, depth + 1);
    });
  }
}

function isMessage(field: FieldTable): boolean {
  return field.map === null && (field.type === MESSAGE || field.type === GROUP);
}

function fits(field: FieldTable, wire: number): boolean {
  if (wire === field.wire || (field.repeated && wire === LEN && field.wire !== START_GROUP)) return true;
  return isMessage(field) && (wire === LEN || wire === START_GROUP);
}
