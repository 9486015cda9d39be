/** Own decoder and protobuf-JSON against @bufbuild/protobuf's, on generated messages of every field type and of the shipped schemas. */

import { createRequire } from "node:module";
import {
  create,
  createFileRegistry,
  type DescField,
  type DescMessage,
  type FileRegistry,
  fromBinary,
  ScalarType,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { type ReflectList, type ReflectMap, reflect } from "@bufbuild/protobuf/reflect";
import {
  FileDescriptorSetSchema,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
} from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { defaultLimits } from "../../src/core/limits.js";
import type { Printable } from "../../src/core/printable.js";
import { parseProtos } from "../../src/decode/proto-text.js";
import { loadSchemas } from "../../src/decode/schema.js";
import { allTypes } from "./all-types.js";

const { set } = createRequire(import.meta.url)("../../dist/descriptors.json") as { set: string };
const files = fromBinary(FileDescriptorSetSchema, Buffer.from(set, "base64"));
const own = await parseProtos([{ name: "t.proto", text: allTypes }]);
const registry: FileRegistry = createFileRegistry({
  ...files,
  file: [
    file_google_protobuf_struct.proto,
    file_google_protobuf_timestamp.proto,
    ...files.file,
    ...fromBinary(FileDescriptorSetSchema, own).file,
  ],
});
const schemas = loadSchemas({ descriptors: [own], limits: defaultLimits });

const roots = [
  "t.All",
  "agent.v1.AgentServerMessage",
  "agent.v1.AgentClientMessage",
  "agent.v1.ConversationStateStructure",
  "agent.v1.UserMessage",
  "agent.v1.RequestContext",
  "aiserver.v1.ErrorDetails",
];

type Random = () => number;

function scalar(type: ScalarType, random: Random): unknown {
  const small = Math.floor(random() * 300);
  switch (type) {
    case ScalarType.STRING:
      return ["", "a", "grüße 😀", "x".repeat(200)][small % 4]!;
    case ScalarType.BYTES:
      return Uint8Array.from({ length: small % 40 }, (_, i) => (i * 37 + small) & 0xff);
    case ScalarType.BOOL:
      return random() < 0.5;
    case ScalarType.DOUBLE:
      return [0.1, -1e300, Number.NaN, Number.POSITIVE_INFINITY, 7][small % 5]!;
    case ScalarType.FLOAT:
      return Math.fround(random() * 100);
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return [0n, 1n, 0xffffffffffffffffn, 1n << 40n][small % 4]!;
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return [0n, -1n, -(1n << 63n), (1n << 63n) - 1n, 1n << 33n][small % 5]!;
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return [0, 1, 0xffffffff, 128][small % 4]!;
    default:
      return [0, -1, 2147483647, -2147483648, 300][small % 5]!;
  }
}

function one(field: DescField, random: Random, depth: number): unknown {
  if (field.enum !== undefined) return Math.floor(random() * 40) - 2;
  if (field.message !== undefined) return fill(field.message, random, depth + 1);
  return scalar(field.scalar!, random);
}

function mapKey(type: ScalarType, i: number): never {
  if (type === ScalarType.STRING) return `key ${i}` as never;
  return (type === ScalarType.BOOL ? i === 1 : type === ScalarType.INT64 ? BigInt(i) : i) as never;
}

/** A message with a third of its fields set. */
function fill(message: DescMessage, random: Random, depth: number) {
  const out = reflect(message);
  if (message.typeName === "google.protobuf.Value") {
    out.set(message.field.stringValue!, "v");
    return out;
  }
  for (const field of message.fields) {
    if (depth > 4 || random() > 0.33 || message.typeName.startsWith("google.")) continue;
    if (field.oneof?.fields.some((other) => out.isSet(other))) continue;
    if (field.fieldKind === "list") {
      for (let i = 0; i < random() * 4; i++) (out.get(field) as ReflectList).add(one(field, random, depth) as never);
    } else if (field.fieldKind === "map") {
      for (let i = 0; i < random() * 3; i++)
        (out.get(field) as ReflectMap).set(mapKey(field.mapKey, i), one(field, random, depth) as never);
    } else out.set(field, one(field, random, depth) as never);
  }
  return out;
}

function mulberry(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Bytes as base64 and bare objects, as toJson gives them. */
function plain(value: Printable): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== "object") return Object.is(value, -0) ? 0 : value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item as Printable)]));
}

describe("against @bufbuild/protobuf", () => {
  it.each(roots)("%s: the same JSON", (type) => {
    const message = registry.getMessage(type)!;
    for (let seed = 1; seed <= 60; seed++) {
      const bytes = toBinary(message, fill(message, mulberry(seed), 0).message as never);
      const decoded = schemas.decode(type, bytes);
      expect(decoded.faults, `seed ${seed}`).toEqual([]);
      expect(decoded.unknownCount).toBe(0);
      const theirs = toJson(message, fromBinary(message, bytes), { registry });
      expect(plain(schemas.json(type, bytes)), `seed ${seed}`).toEqual(
        JSON.parse(JSON.stringify(theirs, (_, v) => (Object.is(v, -0) ? 0 : v))),
      );
      const back = schemas.fromJson(type, Buffer.from(JSON.stringify(theirs)));
      expect(back?.complete).toBe(true);
      expect(plain(schemas.json(type, back!.bytes))).toEqual(plain(schemas.json(type, bytes)));
    }
  });

  it("accepts what it accepts, on damaged bytes", () => {
    const message = registry.getMessage(roots[1]!)!;
    const good = toBinary(message, fill(message, mulberry(7), 0).message as never);
    fc.assert(
      fc.property(fc.nat(good.length - 1), fc.uint8Array({ maxLength: 6 }), fc.nat(4), (at, junk, drop) => {
        const bytes = Buffer.concat([good.subarray(0, at), junk, good.subarray(at + drop)]);
        const ours = schemas.decode(roots[1]!, bytes);
        for (const fault of ours.faults) expect(fault.offset).toBeLessThanOrEqual(bytes.length);
        let theirs: unknown;
        try {
          theirs = toJson(message, fromBinary(message, bytes), { registry });
        } catch {
          return;
        }
        // What they read whole, we read whole, but for groups that do not end and tags beyond 32 bits, which they let pass.
        if (ours.faults.length === 0 && ours.unknownCount === 0) {
          expect(withoutDefaults(plain(schemas.json(roots[1]!, bytes)))).toEqual(withoutDefaults(theirs));
        }
      }),
      { numRuns: 300 },
    );
  });

  it("ends on noise, within the input", () => {
    fc.assert(
      fc.property(fc.constantFrom(...roots), fc.uint8Array({ maxLength: 200 }), (type, bytes) => {
        const decoded = schemas.decode(type, bytes);
        for (const fault of decoded.faults) expect(fault.offset).toBeLessThanOrEqual(bytes.length);
        for (const field of schemas.walk(type, bytes)) {
          expect(field.start).toBeLessThan(field.valueStart);
          expect(field.valueStart).toBeLessThanOrEqual(field.end);
          expect(field.end).toBeLessThanOrEqual(bytes.length);
        }
        schemas.unknown(type, bytes);
        schemas.json(type, bytes);
      }),
      { numRuns: 300 },
    );
  });

  it("creates nothing for an empty message", () => {
    for (const type of roots) {
      expect(toBinary(registry.getMessage(type)!, create(registry.getMessage(type)!)).length).toBe(0);
      expect(Object.keys(schemas.decode(type, new Uint8Array(0)).value)).toEqual([]);
    }
  });
});

/** A field without presence that stands on the wire with its zero is shown by us and not by them. */
function withoutDefaults(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDefaults);
  if (value === null || typeof value !== "object") return Object.is(value, -0) ? 0 : value;
  const zero = (item: unknown): boolean =>
    item === 0 || item === "" || item === false || item === "0" || /_UNSPECIFIED$/.test(String(item));
  const kept = Object.entries(value).filter(([key, item]) => !zero(item) && key !== "$bytes");
  return Object.fromEntries(kept.map(([key, item]) => [key, withoutDefaults(item)]));
}
