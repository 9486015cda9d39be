/**
 * Protobuf bytes and a message table -> ProtoMessage, with positions for whatever is wrong. One pass, no throw; byte fields are views.
 * A fault that loses step (bad tag or varint, a length past the end, a group without its end) ends the message it is in, and the
 * enclosing one goes on behind it. Wire-type and UTF-8 faults are noted and skipped. https://protobuf.dev/programming-guides/encoding
 */
import { type Bytes, concat } from "../core/bytes.js";
import type { Limits } from "../core/limits.js";
import type { Decoded, ProtoMessage, WireFault } from "../model/schema.js";
import { chooseOneof, listOf, targetOf } from "./message-fields.js";
import {
  BYTES,
  type Fields,
  type FieldTable,
  GROUP,
  MESSAGE,
  type MessageTable,
  opaqueContent,
  type ValueType,
} from "./message-table.js";
import { defaultValue, fixed32Value, fixed64Value, varintValue } from "./scalar-values.js";
import { END_GROUP, I32, LEN, START_GROUP, VARINT, WireReader } from "./wire.js";
import { type RawField, rawField } from "./wire-fields.js";

/** Beyond this many the faults of one decoding are no longer listed. */
const maxFaults = 32;

/** Unknown fields of one message that are learnt from, and numbers at the root that are listed. */
const maxUnknown = 1000;

const noFaults: readonly WireFault[] = Object.freeze([]);
const noNumbers: readonly number[] = Object.freeze([]);

export type ResolveTable = (typeName: string) => MessageTable;

/** Bytes of a message whose type is opaque; undefined for any other. */
export function opaqueBytes(message: ProtoMessage): Bytes | undefined {
  return (message as Fields)[opaqueContent];
}

export interface MessageDecoder {
  decode(table: MessageTable, bytes: Bytes): Decoded;
}

/** Takes note of fields that no schema names. */
export interface UnknownLearner {
  learn(place: string, bytes: Bytes, field: RawField): void;
}

export function messageDecoder(
  resolve: ResolveTable,
  limits: Limits,
  learner: UnknownLearner | null = null,
): MessageDecoder {
  return new Decoder(resolve, limits.nesting, learner);
}

class Decoder implements MessageDecoder {
  private readonly reader = new WireReader();
  private faults: WireFault[] = [];
  private unknownRoot: number[] = [];
  private unknownCount = 0;
  /** Field names from the root to the message being read. */
  private readonly path: string[] = [];

  constructor(
    private readonly resolve: ResolveTable,
    private readonly nesting: number,
    private readonly learner: UnknownLearner | null,
  ) {}

  decode(table: MessageTable, bytes: Bytes): Decoded {
    this.reader.reset(bytes);
    this.faults = [];
    this.unknownRoot = [];
    this.unknownCount = 0;
    const value = table.create();
    if (table.opaque) this.takeOpaque(value, bytes);
    else this.message(table, value, 0, 0);
    return {
      type: table.name,
      value: value as ProtoMessage,
      unknownCount: this.unknownCount,
      unknownRoot: this.unknownRoot.length === 0 ? noNumbers : this.unknownRoot,
      faults: this.faults.length === 0 ? noFaults : this.faults,
    };
  }

  private note(what: WireFault["what"], offset: number, last?: string | number): void {
    if (this.faults.length >= maxFaults) return;
    const path = last === undefined ? this.path : [...this.path, last];
    this.faults.push({ what, offset, path: path.join(".") });
  }

  /** Reads fields up to the reader's end, or up to the end tag of `group`. False when this message cannot be read on. */
  private message(table: MessageTable, into: Fields, depth: number, group: number): boolean {
    const reader = this.reader;
    let chosen: FieldTable[] | null = null;
    while (reader.pos < reader.end) {
      const at = reader.pos;
      if (!reader.tag()) return this.stop(undefined);
      const number = reader.field;
      const field = table.field(number);
      if (field === undefined) {
        if (reader.wire === END_GROUP) return number === group || this.stopAt("group", at, number);
        if (!this.unknown(table.name, number, at, depth)) return false;
      } else if (reader.wire === field.wire) {
        if (field.oneof !== null) chosen = chooseOneof(table, into, chosen, field);
        if (!this.field(field, into, depth)) return false;
      } else if (!this.otherWire(field, into, at, depth)) return false;
    }
    return group === 0 || this.stopAt("truncated", reader.pos, undefined);
  }

  private stop(last: string | number | undefined): false {
    this.note(this.reader.fault, this.reader.faultAt, last);
    return false;
  }

  private stopAt(what: WireFault["what"], at: number, last: string | number | undefined): false {
    this.note(what, at, last);
    return false;
  }

  private unknown(type: string, number: number, start: number, depth: number): boolean {
    const reader = this.reader;
    const wire = reader.wire;
    const afterTag = reader.pos;
    this.unknownCount++;
    if (depth === 0 && this.unknownRoot.length < maxUnknown) this.unknownRoot.push(number);
    if (!reader.skip(this.nesting - depth)) return this.stop(number);
    if (this.unknownCount <= maxUnknown) {
      this.learner?.learn(`${type}/${number}`, reader.bytes, rawField(reader, number, wire, start, afterTag));
    }
    return true;
  }

  /** A known field with another wire type: packed numbers are the one legal case. */
  private otherWire(field: FieldTable, into: Fields, at: number, depth: number): boolean {
    const reader = this.reader;
    if (field.repeated && reader.wire === LEN && field.wire !== START_GROUP) return this.packed(field, into);
    if (reader.wire === END_GROUP) return this.stopAt("group", at, field.number);
    // The other encoding of a message: both are unambiguous, so either is read.
    if (field.type === MESSAGE && field.map === null && reader.wire === START_GROUP)
      return this.group(field, into, depth);
    if (field.type === GROUP && reader.wire === LEN) return this.nested(field, into, depth);
    this.note("wire-type", at, field.name);
    return reader.skip(this.nesting - depth) || this.stop(field.name);
  }

  private field(field: FieldTable, into: Fields, depth: number): boolean {
    if (field.type === MESSAGE) {
      return field.map === null ? this.nested(field, into, depth) : this.mapEntry(field, field.map, into, depth);
    }
    if (field.type === GROUP) return this.group(field, into, depth);
    const value = this.scalar(field.type, field.wire, field.name);
    if (value === undefined) return this.stop(field.name);
    if (field.repeated) listOf(into, field.name).push(value);
    else into[field.name] = value;
    return true;
  }

  /** undefined: the reader's fault says why. */
  private scalar(type: number, wire: number, name: string): unknown {
    const reader = this.reader;
    switch (wire) {
      case VARINT:
        return reader.varint() ? varintValue(reader, type) : undefined;
      case LEN: {
        if (!reader.length()) return undefined;
        const start = reader.pos;
        const end = start + reader.lo;
        reader.pos = end;
        if (type === BYTES) return reader.bytes.subarray(start, end);
        if (start === end) return "";
        const text = reader.text(start, end);
        if (!reader.validUtf8(text, start, end)) this.note("bad-utf8", start, name);
        return text;
      }
      case I32:
        return reader.fixed32() ? fixed32Value(reader, type) : undefined;
      default:
        return reader.fixed64() ? fixed64Value(reader, type) : undefined;
    }
  }

  private packed(field: FieldTable, into: Fields): boolean {
    const reader = this.reader;
    if (!reader.length()) return this.stop(field.name);
    const outer = reader.end;
    const end = reader.pos + reader.lo;
    reader.end = end;
    const list = end > reader.pos ? listOf(into, field.name) : [];
    while (reader.pos < end) {
      const value = this.scalar(field.type, field.wire, field.name);
      if (value === undefined) {
        // The field's length still holds: only its own rest is lost.
        this.stop(field.name);
        break;
      }
      list.push(value);
    }
    reader.pos = end;
    reader.end = outer;
    return true;
  }

  /** A length-delimited message. One that is cut off is read as far as it goes. */
  private nested(field: FieldTable, into: Fields, depth: number): boolean {
    const reader = this.reader;
    const whole = reader.length();
    if (!whole) {
      this.stop(field.name);
      if (reader.lo === 0) return false;
    }
    const outer = reader.end;
    const end = whole ? reader.pos + reader.lo : outer;
    reader.end = end;
    const ok = this.child(field, into, depth, 0);
    reader.pos = end;
    reader.end = outer;
    return whole && ok;
  }

  private group(field: FieldTable, into: Fields, depth: number): boolean {
    return this.child(field, into, depth, field.number);
  }

  /** Reads the message in front of the reader into its place. False only when the enclosing message cannot go on. */
  private child(field: FieldTable, into: Fields, depth: number, group: number): boolean {
    const reader = this.reader;
    field.table ??= this.resolve(field.typeName);
    const table = field.table;
    const target = targetOf(field, table, into);
    if (group === 0 && (table.opaque || depth + 1 >= this.nesting)) {
      if (table.opaque) this.takeOpaque(target, reader.bytes.subarray(reader.pos, reader.end));
      else this.note("nesting", reader.pos, field.name);
      return true;
    }
    if (depth + 1 >= this.nesting) return this.stopAt("nesting", reader.pos, field.name);
    this.path.push(field.name);
    const ok = this.message(table, target, depth + 1, group);
    this.path.pop();
    return group === 0 || ok;
  }

  private takeOpaque(target: Fields, bytes: Bytes): void {
    const before = target[opaqueContent];
    target[opaqueContent] = before === undefined ? bytes : concat([before, bytes]);
  }

  private mapEntry(field: FieldTable, map: NonNullable<FieldTable["map"]>, into: Fields, depth: number): boolean {
    const reader = this.reader;
    if (!reader.length()) return this.stop(field.name);
    const outer = reader.end;
    const end = reader.pos + reader.lo;
    reader.end = end;
    this.path.push(field.name);
    const holder: Fields = { key: defaultValue(map.key), value: undefined };
    while (reader.pos < end && this.entryField(map, holder, depth + 1)) {
      // entryField moves on
    }
    this.path.pop();
    reader.pos = end;
    reader.end = outer;
    let entries = into[field.name] as Map<unknown, unknown> | undefined;
    if (entries === undefined) {
      entries = new Map();
      into[field.name] = entries;
    }
    entries.set(holder.key, holder.value ?? this.emptyValue(map.value));
    return true;
  }

  private emptyValue(type: ValueType): unknown {
    return type.type === MESSAGE ? this.resolve(type.typeName).create() : defaultValue(type);
  }

  private entryField(map: NonNullable<FieldTable["map"]>, holder: Fields, depth: number): boolean {
    const reader = this.reader;
    const at = reader.pos;
    if (!reader.tag()) return this.stop(undefined);
    const name = reader.field === 1 ? "key" : "value";
    if (reader.field > 2) return this.unknown("map", reader.field, at, depth);
    const type = reader.field === 1 ? map.key : map.value;
    if (reader.wire !== type.wire) {
      this.note("wire-type", at, name);
      return reader.skip(this.nesting - depth) || this.stop(name);
    }
    if (type.type === MESSAGE) return this.nested(entryValueField(map, this.resolve), holder, depth);
    const value = this.scalar(type.type, type.wire, name);
    if (value === undefined) return this.stop(name);
    holder[name] = value;
    return true;
  }
}

const entryFields = new WeakMap<object, FieldTable>();

/** The value of a map entry as if it were an ordinary field. */
function entryValueField(map: NonNullable<FieldTable["map"]>, resolve: ResolveTable): FieldTable {
  let field = entryFields.get(map);
  if (field === undefined) {
    const table = resolve(map.value.typeName);
    field = {
      ...map.value,
      number: 2,
      name: "value",
      jsonName: "value",
      repeated: false,
      map: null,
      oneof: null,
      table,
    };
    entryFields.set(map, field);
  }
  return field;
}
