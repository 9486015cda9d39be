/**
 * Readings of fields that no schema names. Every possible reading of an ambiguous value is kept; their scores (they add up to 1) come from
 * all values seen so far at the same place: the containing type and the field numbers below it.
 */
import { type Bytes, utf8 } from "../core/bytes.js";
import { type Printable, Sensitive, type Sensitivity } from "../core/printable.js";
import type { Reading } from "../model/message.js";
import { leastBits, possible, type Weighed, weigh } from "./guess-cost.js";
import { I64, LEN, START_GROUP, VARINT, WireReader } from "./wire.js";
import { type RawField, rawFields } from "./wire-fields.js";

/** Places whose readings are learnt, and the values that count at each. Beyond them a value speaks for itself alone. */
const maxPlaces = 20_000;
const maxValues = 64;
/** Messages in unknown messages are opened this deep. */
const maxDepth = 12;

/** What a reading costs at the most in one value. Bounded: one damaged value must not outvote a hundred good ones. */
const maxRegret = 60;

/** Fields of one message that are listed at the most. */
export const maxFields = 20_000;

/** Packed numbers up to this size are given one by one, larger ones as bytes. */
const maxPackedBytes = 65_536;

interface Learnt {
  values: number;
  /** By reading: how many bits worse it was than the best one, all values together. */
  readonly regret: Map<string, number>;
  /** Readings by regret, and for how many values that was worked out. */
  order: readonly { readonly as: string; readonly bits: number }[];
  orderedAt: number;
}

/** One occurrence of a field. */
export interface Occurrence {
  readonly bytes: Bytes;
  readonly field: RawField;
}

export interface ReadingOptions {
  readonly sensitivity: Sensitivity;
  /** A message is given by its size: its fields are listed elsewhere. */
  readonly sizes: boolean;
}

export class Guesser {
  private readonly places = new Map<string, Learnt>();

  constructor(private readonly nesting: number) {}

  /** Takes a value into account, and what it holds where it reads best as a message. `place`: containing type, slash, field numbers with dots. */
  learn(place: string, bytes: Bytes, field: RawField): void {
    const learnt = this.places.get(`${place}:${field.wire}`);
    if (learnt !== undefined && learnt.values >= maxValues) return;
    this.take(place, weigh(bytes, field));
  }

  private take(place: string, weighed: Weighed): void {
    const { field, costs, children } = weighed;
    const key = `${place}:${field.wire}`;
    let learnt = this.places.get(key);
    if (learnt === undefined) {
      if (this.places.size >= maxPlaces) return;
      learnt = { values: 0, regret: new Map(), order: [], orderedAt: 0 };
      this.places.set(key, learnt);
    }
    if (learnt.values >= maxValues) return;
    const least = leastBits(costs);
    for (const as of learnt.regret.keys()) {
      if (!costs.some((cost) => cost.as === as)) add(learnt.regret, as, maxRegret);
    }
    for (const { as, bits } of costs) {
      if (!learnt.regret.has(as)) learnt.regret.set(as, learnt.values * maxRegret);
      add(learnt.regret, as, Math.min(maxRegret, bits - least));
    }
    learnt.values++;
    if (children.length === 0 || order(learnt)[0]?.as !== (field.wire === LEN ? "message" : "group")) return;
    for (const child of children) this.take(`${place}.${child.field.number}`, child);
  }

  /** Fields of a value read as a message; none where it is no message. */
  inside(bytes: Bytes, field: RawField): readonly RawField[] {
    if (field.wire !== LEN && field.wire !== START_GROUP) return [];
    const { fields, faultAt } = rawFields(bytes, field.valueStart, field.valueEnd, this.nesting, maxFields);
    return faultAt >= 0 ? [] : fields;
  }

  /** Readings of one value, likeliest first; those that are out of the question are left out. */
  ranked(place: string, bytes: Bytes, field: RawField): { as: string; score: number }[] {
    const learnt = this.places.get(`${place}:${field.wire}`);
    const known =
      learnt === undefined ? [] : order(learnt).filter(({ as }) => possible(as, bytes, field, this.nesting));
    // A value that can be read in no way seen before speaks for itself, like one of a place never seen.
    const costs = known.length > 0 ? known : weigh(bytes, field).costs;
    const least = leastBits(costs);
    const weights = costs.map(({ as, bits }) => ({ as, weight: 2 ** (least - bits) }));
    const total = weights.reduce((sum, one) => sum + one.weight, 0);
    return weights
      .map(({ as, weight }) => ({ as, score: Math.round((weight / total) * 10_000) / 10_000 }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score || (a.as < b.as ? -1 : 1));
  }

  /** The likeliest reading alone. */
  best(place: string, bytes: Bytes, field: RawField): string {
    const learnt = this.places.get(`${place}:${field.wire}`);
    const known = learnt && order(learnt).find(({ as }) => possible(as, bytes, field, this.nesting));
    return known?.as ?? this.ranked(place, bytes, field)[0]!.as;
  }

  /** Readings of all values of one field in a message: a list where there are several. */
  readings(place: string, values: readonly Occurrence[], options: ReadingOptions): Reading[] {
    const ranks = values.map(({ bytes, field }) => this.ranked(place, bytes, field));
    const common = ranks[0]!.filter(({ as }) => ranks.every((rank) => rank.some((one) => one.as === as)));
    const everywhere = common.length > 0 ? common : [{ as: defaultReading(values[0]!.field.wire), score: 1 }];
    return everywhere.map(({ as, score }) => {
      const read = values.map(({ bytes, field }) => {
        if (options.sizes && as === "message") return { $bytes: field.valueEnd - field.valueStart };
        return this.value(place, as, bytes, field, 0);
      });
      const value = read.length === 1 ? read[0]! : read;
      return { as, value: new Sensitive(options.sensitivity, value as Sensitive["value"]), score };
    });
  }

  private value(place: string, as: string, bytes: Bytes, field: RawField, depth: number): Printable {
    const { valueStart: start, valueEnd: end } = field;
    switch (as) {
      case "string":
        return utf8(bytes.subarray(start, end));
      case "bytes":
        return bytes.subarray(start, end);
      case "message":
      case "group":
        return depth < maxDepth ? this.messageValue(place, bytes, field, depth) : bytes.subarray(start, end);
      case "packed":
        return end - start > maxPackedBytes ? bytes.subarray(start, end) : packedValue(bytes, start, end);
      default:
        return numberValue(as, bytes, field);
    }
  }

  private messageValue(place: string, bytes: Bytes, field: RawField, depth: number): Printable {
    const out: { [number: string]: Printable } = Object.create(null);
    const repeated = new Set<number>();
    for (const inner of this.inside(bytes, field)) {
      const where = `${place}.${inner.number}`;
      const value = this.value(where, this.best(where, bytes, inner), bytes, inner, depth + 1);
      const before = out[inner.number];
      if (before === undefined) out[inner.number] = value;
      else if (repeated.has(inner.number)) (before as Printable[]).push(value);
      else {
        repeated.add(inner.number);
        out[inner.number] = [before, value];
      }
    }
    return out;
  }
}

/** What any value of a wire type can be read as. */
function defaultReading(wire: number): string {
  switch (wire) {
    case VARINT:
      return "uint64";
    case LEN:
      return "bytes";
    case START_GROUP:
      return "group";
    default:
      return wire === I64 ? "fixed64" : "fixed32";
  }
}

function order(learnt: Learnt): Learnt["order"] {
  if (learnt.orderedAt !== learnt.values) {
    learnt.orderedAt = learnt.values;
    learnt.order = [...learnt.regret]
      .map(([as, bits]) => ({ as, bits }))
      .sort((a, b) => a.bits - b.bits || (a.as < b.as ? -1 : 1));
  }
  return learnt.order;
}

function add(regret: Map<string, number>, as: string, more: number): void {
  regret.set(as, (regret.get(as) ?? 0) + more);
}

function packedValue(bytes: Bytes, start: number, end: number): Printable {
  const reader = new WireReader();
  reader.reset(bytes);
  reader.pos = start;
  reader.end = end;
  const out: Printable[] = [];
  while (reader.pos < end && reader.varint()) out.push(plain(reader.unsigned()));
  return out;
}

/** A number under one of the readings that guess-cost.ts names. */
export function numberValue(as: string, bytes: Bytes, field: RawField): Printable {
  const reader = new WireReader();
  reader.reset(bytes);
  reader.pos = field.valueStart;
  reader.end = field.valueEnd;
  if (field.wire === VARINT) reader.varint();
  else if (field.valueEnd - field.valueStart === 8) reader.fixed64();
  else reader.fixed32();
  switch (as) {
    case "bool":
      return reader.lo !== 0 || reader.hi !== 0;
    case "sint64":
      return plain(reader.zigzag());
    case "int64":
    case "sfixed64":
      return plain(reader.signed());
    case "double":
      return finite(reader.double(field.valueStart));
    case "float":
      return finite(reader.float(field.valueStart));
    case "fixed32":
      return reader.lo;
    case "sfixed32":
      return reader.lo | 0;
    default:
      return plain(reader.unsigned());
  }
}

/** A number where a double holds it, else decimal text as protobuf-JSON has it. */
function plain(value: bigint): Printable {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}

function finite(value: number): Printable {
  return Number.isFinite(value) ? value : String(value);
}
