/**
 * Readings of fields that no schema names. Every possible reading of an ambiguous value is kept; their scores (they add up to 1) come from
 * all values seen so far at the same place: the containing type and the field numbers below it.
 */
import { type Bytes, utf8 } from "../core/bytes.js";
import { type Printable, Sensitive, type Sensitivity } from "../core/printable.js";
import type { Reading } from "../model/message.js";
import { type Cost, costs, impossible } from "./guess-cost.js";
import { LEN, START_GROUP, VARINT, WireReader } from "./wire.js";
import { type RawField, rawFields } from "./wire-fields.js";

/** Places whose readings are learnt, and values that count at each. Beyond them a value speaks for itself alone. */
const maxPlaces = 20_000;
const maxValues = 256;
/** Messages in unknown messages are opened this deep. */
const maxDepth = 12;

interface Learnt {
  values: number;
  /** Bits so far, by reading. A reading that was impossible once has paid for it. */
  readonly bits: Map<string, number>;
}

/** One occurrence of a field. */
export interface Occurrence {
  readonly bytes: Bytes;
  readonly field: RawField;
}

export class Guesser {
  private readonly places = new Map<string, Learnt>();

  constructor(private readonly nesting: number) {}

  /** Takes a value into account; opens it where it may be a message. `place`: containing type, slash, field numbers with dots. */
  learn(place: string, bytes: Bytes, field: RawField, depth = 0): void {
    const key = `${place}:${field.wire}`;
    let learnt = this.places.get(key);
    if (learnt === undefined) {
      if (this.places.size >= maxPlaces) return;
      learnt = { values: 0, bits: new Map() };
      this.places.set(key, learnt);
    }
    if (learnt.values >= maxValues) return;
    const here = costs(bytes, field, depth);
    for (const as of learnt.bits.keys()) {
      if (!here.some((cost) => cost.as === as)) add(learnt.bits, as, impossible);
    }
    for (const cost of here) {
      if (!learnt.bits.has(cost.as)) learnt.bits.set(cost.as, learnt.values * impossible);
      add(learnt.bits, cost.as, cost.bits);
    }
    learnt.values++;
    if (depth >= maxDepth) return;
    for (const inner of this.inside(bytes, field)) this.learn(`${place}.${inner.number}`, bytes, inner, depth + 1);
  }

  /** Fields of a value read as a message; none where it is no message. */
  inside(bytes: Bytes, field: RawField): readonly RawField[] {
    if (field.wire !== LEN && field.wire !== START_GROUP) return [];
    const { fields, faultAt } = rawFields(bytes, field.valueStart, field.valueEnd, this.nesting);
    return faultAt >= 0 ? [] : fields;
  }

  /** Possible readings of one value, likeliest first. */
  ranked(place: string, bytes: Bytes, field: RawField): { as: string; score: number }[] {
    const here = costs(bytes, field);
    const learnt = this.places.get(`${place}:${field.wire}`);
    const bits = (cost: Cost): number => learnt?.bits.get(cost.as) ?? cost.bits;
    const least = Math.min(...here.map(bits));
    const weights = here.map((cost) => ({ as: cost.as, weight: 2 ** (least - bits(cost)) }));
    const total = weights.reduce((sum, one) => sum + one.weight, 0);
    return weights
      .map(({ as, weight }) => ({ as, score: Math.round((weight / total) * 10_000) / 10_000 }))
      .sort((a, b) => b.score - a.score || (a.as < b.as ? -1 : 1));
  }

  /** Readings of all values of one field in a message: a list where there are several. */
  readings(place: string, values: readonly Occurrence[], sensitivity: Sensitivity): Reading[] {
    const ranks = values.map(({ bytes, field }) => this.ranked(place, bytes, field));
    const everywhere = ranks[0]!.filter(({ as }) => ranks.every((rank) => rank.some((one) => one.as === as)));
    return everywhere.map(({ as, score }) => {
      const read = values.map(({ bytes, field }) => this.value(place, as, bytes, field, 0));
      const value = read.length === 1 ? read[0]! : read;
      return { as, value: new Sensitive(sensitivity, value as Sensitive["value"]), score };
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
        return packedValue(bytes, start, end);
      default:
        return numberValue(as, bytes, field);
    }
  }

  private messageValue(place: string, bytes: Bytes, field: RawField, depth: number): Printable {
    const out: { [number: string]: Printable } = Object.create(null);
    const repeated = new Set<number>();
    for (const inner of this.inside(bytes, field)) {
      const where = `${place}.${inner.number}`;
      const value = this.value(where, this.ranked(where, bytes, inner)[0]!.as, bytes, inner, depth + 1);
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

function add(bits: Map<string, number>, as: string, more: number): void {
  bits.set(as, (bits.get(as) ?? 0) + more);
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
