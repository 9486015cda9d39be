/**
 * Plain values as bytes and back: what is not looked at for a while takes a tenth of its room. Objects keep their class (of those that
 * are named), the order of their keys, and who is the same object as whom. Bytes are good only for the packer that made them.
 */
import type { Bytes } from "./bytes.js";
import { Place, type PlaceSide } from "./place.js";
import { exactly, unknownWhen, type When } from "./time.js";

/** How common objects are packed: those of one class all have these keys; plain ones are known by them. */
export interface PackedClass {
  /** null: plain objects. */
  readonly prototype: object | null;
  readonly keys: readonly string[];
  /** Makes one of the values of the keys, which `next` gives in their order. */
  make(next: <T>() => T): object;
}

/** Written out, an object is made five times faster than key by key. */
export function packedPlain<T extends object>(
  keys: readonly (keyof T & string)[],
  make: (next: <V>() => V) => T,
): PackedClass {
  return { prototype: null, keys, make };
}

export function packedClass<T extends object>(
  type: { readonly prototype: T },
  keys: readonly string[],
  make: (next: <V>() => V) => T,
): PackedClass {
  return { prototype: type.prototype, keys, make };
}

/** Plain objects with the same keys in the same order. */
interface Shape {
  readonly id: number;
  readonly keys: readonly string[];
  readonly make: PackedClass["make"] | null;
}

class ShapeNode {
  readonly next = new Map<string, ShapeNode>();
  shape: Shape | null = null;
}

const Tag = {
  undefined: 0,
  null: 1,
  true: 2,
  false: 3,
  int: 4,
  double: 5,
  bigint: 6,
  longBigint: 7,
  known: 8,
  latin1: 9,
  utf16: 10,
  list: 11,
  object: 12,
  instance: 13,
  same: 14,
  place: 15,
  exact: 16,
  interval: 17,
} as const;

/** Texts that come again and again: names of kinds and lanes, not contents. */
const knownTexts = 4096;
const knownLength = 40;
const noItems: readonly never[] = Object.freeze([]);
const sides: readonly (PlaceSide | undefined)[] = [undefined, "request", "response"];

/** Thrown inside of a packing only. */
class Unpackable extends Error {}

export class Packer {
  private readonly root = new ShapeNode();
  private readonly shapes: Shape[] = [];
  private readonly classIds = new Map<object, number>();
  private readonly textIds = new Map<string, number>();
  private readonly texts: string[] = [];
  private out = Buffer.alloc(16 * 1024);
  private at = 0;
  private readonly met = new Map<object, number>();
  private readonly made: object[] = [];

  constructor(private readonly classes: readonly PackedClass[]) {
    for (const [id, { prototype }] of classes.entries()) if (prototype !== null) this.classIds.set(prototype, id);
  }

  /** Good until the next call. undefined: it holds something that is no plain value (a Map, a function, an object of an unknown class). */
  pack(value: unknown): Bytes | undefined {
    this.at = 0;
    try {
      this.write(value);
      return this.out.subarray(0, this.at);
    } catch (error) {
      if (error instanceof Unpackable) return undefined;
      throw error;
    } finally {
      this.met.clear();
    }
  }

  /** What `pack` was given, made anew. */
  unpack(bytes: Bytes): unknown {
    const scratch = this.out;
    this.out = Buffer.from(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
    this.at = 0;
    const value = this.read();
    this.made.length = 0;
    this.out = scratch;
    return value;
  }

  private room(bytes: number): void {
    if (this.at + bytes <= this.out.length) return;
    const more = Buffer.alloc(Math.max(this.out.length * 2, this.at + bytes));
    more.set(this.out);
    this.out = more;
  }

  private write(value: unknown): void {
    this.room(64);
    switch (typeof value) {
      case "undefined":
        this.out[this.at++] = Tag.undefined;
        return;
      case "boolean":
        this.out[this.at++] = value ? Tag.true : Tag.false;
        return;
      case "number":
        this.number(value);
        return;
      case "bigint":
        this.bigint(value);
        return;
      case "string":
        this.text(value);
        return;
      case "object":
        if (value === null) this.out[this.at++] = Tag.null;
        else if (Array.isArray(value)) this.list(value);
        else this.object(value);
        return;
      default:
        throw new Unpackable();
    }
  }

  private number(value: number): void {
    if ((value | 0) === value && !Object.is(value, -0)) {
      this.out[this.at++] = Tag.int;
      this.varint(((value << 1) ^ (value >> 31)) >>> 0);
      return;
    }
    this.out[this.at++] = Tag.double;
    this.at = this.out.writeDoubleLE(value, this.at);
  }

  private bigint(value: bigint): void {
    if (BigInt.asIntN(64, value) === value) {
      this.out[this.at++] = Tag.bigint;
      this.at = this.out.writeBigInt64LE(value, this.at);
      return;
    }
    this.out[this.at++] = Tag.longBigint;
    this.text(value.toString());
  }

  private text(value: string): void {
    const known = value.length > knownLength ? undefined : this.knownText(value);
    if (known !== undefined) {
      this.out[this.at++] = Tag.known;
      this.varint(known);
      return;
    }
    // Lone surrogates, too, come back as they were.
    const isWide = wide.test(value);
    this.out[this.at++] = isWide ? Tag.utf16 : Tag.latin1;
    this.varint(value.length);
    this.room(value.length * 2);
    this.at += isWide ? this.out.write(value, this.at, "utf16le") : this.out.write(value, this.at, "latin1");
  }

  private knownText(value: string): number | undefined {
    const known = this.textIds.get(value);
    if (known !== undefined || this.texts.length >= knownTexts) return known;
    const id = this.texts.push(value) - 1;
    this.textIds.set(value, id);
    return id;
  }

  private list(value: readonly unknown[]): void {
    this.out[this.at++] = Tag.list;
    this.varint(value.length);
    for (const item of value) this.write(item);
  }

  private object(value: object): void {
    const prototype = Object.getPrototypeOf(value) as object | null;
    if (prototype === Place.prototype) {
      this.place(value as Place);
      return;
    }
    const same = this.met.get(value);
    if (same !== undefined) {
      this.out[this.at++] = Tag.same;
      this.varint(same);
      return;
    }
    this.met.set(value, this.met.size);
    const known = prototype === null ? undefined : this.classIds.get(prototype);
    if (known !== undefined) this.instance(known, value as Record<string, unknown>);
    else if (prototype === null || prototype === Object.prototype) this.plain(value as Record<string, unknown>);
    else throw new Unpackable();
  }

  private instance(id: number, value: Record<string, unknown>): void {
    this.out[this.at++] = Tag.instance;
    this.out[this.at++] = id;
    for (const key of this.classes[id]!.keys) this.write(value[key]);
  }

  private plain(value: Record<string, unknown>): void {
    const shape = this.shapeOf(value);
    if (shape.keys.length === 2 && shape.keys[0] === "earliest" && typeof value["earliest"] === "bigint") {
      this.when(value as unknown as When);
      return;
    }
    this.out[this.at++] = Tag.object;
    this.varint(shape.id);
    for (const key of shape.keys) this.write(value[key]);
  }

  private when(value: When): void {
    const isExact = value.earliest === value.latest;
    this.out[this.at++] = isExact ? Tag.exact : Tag.interval;
    this.bigint(value.earliest);
    if (!isExact) this.bigint(value.latest);
  }

  private place(place: Place): void {
    this.out[this.at++] = Tag.place;
    this.out[this.at++] = sides.indexOf(place.side);
    this.number(place.input);
    this.number(place.first);
    this.number(place.last);
    this.write(place.start);
    this.write(place.end);
  }

  private shapeOf(value: object): Shape {
    let node = this.root;
    for (const key in value) {
      // Set on the copy it would not be a key.
      if (key === "__proto__") throw new Unpackable();
      let next: ShapeNode | undefined = node.next.get(key);
      if (next === undefined) {
        next = new ShapeNode();
        node.next.set(key, next);
      }
      node = next;
    }
    if (node.shape === null) {
      const keys = Object.keys(value);
      const known = this.classes.find((row) => row.prototype === null && row.keys.join() === keys.join());
      node.shape = { id: this.shapes.length, keys, make: known?.make ?? null };
      this.shapes.push(node.shape);
    }
    return node.shape;
  }

  private varint(value: number): void {
    let rest = value;
    while (rest > 0x7f) {
      this.out[this.at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.out[this.at++] = rest;
  }

  private readVarint(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.out[this.at++]!;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
  }

  private read(): unknown {
    const tag = this.out[this.at++]!;
    switch (tag) {
      case Tag.undefined:
        return undefined;
      case Tag.null:
        return null;
      case Tag.true:
        return true;
      case Tag.false:
        return false;
      case Tag.int: {
        const value = this.readVarint();
        return (value >>> 1) ^ -(value & 1);
      }
      case Tag.double:
        this.at += 8;
        return this.out.readDoubleLE(this.at - 8);
      case Tag.bigint:
        this.at += 8;
        return this.out.readBigInt64LE(this.at - 8);
      case Tag.longBigint:
        return BigInt(this.read() as string);
      case Tag.known:
        return this.texts[this.readVarint()];
      case Tag.latin1:
        return this.readText("latin1", this.readVarint());
      case Tag.utf16:
        return this.readText("utf16le", this.readVarint() * 2);
      case Tag.list:
        return this.readList();
      default:
        return this.readObject(tag);
    }
  }

  private readText(encoding: "latin1" | "utf16le", length: number): string {
    this.at += length;
    return this.out.toString(encoding, this.at - length, this.at);
  }

  private readList(): readonly unknown[] {
    const length = this.readVarint();
    if (length === 0) return noItems;
    const list: unknown[] = [];
    for (let i = 0; i < length; i++) list.push(this.read());
    return list;
  }

  private readObject(tag: number): object {
    switch (tag) {
      case Tag.place:
        return this.readPlace();
      case Tag.same:
        return this.made[this.readVarint()]!;
      case Tag.instance:
        return this.readInstance();
      default:
        return this.readPlain(tag);
    }
  }

  private readPlace(): Place {
    const side = sides[this.out[this.at++]!];
    return new Place(this.next(), this.next(), this.next(), side, this.next(), this.next());
  }

  private readonly next = <T>(): T => this.read() as T;

  /** Numbered when it is met, before what it holds. */
  private readInstance(): object {
    const number = this.made.push(noItems) - 1;
    const value = this.classes[this.out[this.at++]!]!.make(this.next);
    this.made[number] = value;
    return value;
  }

  private readPlain(tag: number): object {
    const number = this.made.push(noItems) - 1;
    const value = tag === Tag.object ? this.readKeys() : this.readWhen(tag === Tag.exact);
    this.made[number] = value;
    return value;
  }

  private readKeys(): object {
    const { keys, make } = this.shapes[this.readVarint()]!;
    if (make !== null) return make(this.next);
    const value: Record<string, unknown> = {};
    for (const key of keys) value[key] = this.read();
    return value;
  }

  private readWhen(isExact: boolean): When {
    const earliest = this.next<bigint>();
    if (!isExact) return { earliest, latest: this.next() };
    return earliest === 0n ? unknownWhen : exactly(earliest);
  }
}

const wide = /[^\0-\xff]/;
