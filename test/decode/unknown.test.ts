/** Fields that no schema names: readings, their scores, what is learnt, and the schema-less form of a whole message. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Bytes, concat, utf8Bytes } from "../../src/core/bytes.js";
import { defaultLimits } from "../../src/core/limits.js";
import { type Printable, Sensitive } from "../../src/core/printable.js";
import { parseProtos } from "../../src/decode/proto-text.js";
import { loadSchemas } from "../../src/decode/schema.js";
import type { UnknownField } from "../../src/model/message.js";
import { allTypes } from "./all-types.js";
import { bytesOf } from "./support.js";

const set = await parseProtos([{ name: "t.proto", text: allTypes }]);
const fresh = (none = false) => loadSchemas({ descriptors: [set], limits: defaultLimits, none });

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(Math.floor(value / 128))];
}

/** A length-delimited field. */
function len(number: number, payload: Bytes | string): Bytes {
  const body = typeof payload === "string" ? utf8Bytes(payload) : payload;
  return concat([Uint8Array.from([...varint(number * 8 + 2), ...varint(body.length)]), body]);
}

function shown(value: Printable): unknown {
  if (value instanceof Sensitive) return shown(value.value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  if (Array.isArray(value)) return value.map(shown);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shown(item as Printable)]));
}

function best(rows: readonly UnknownField[], path: string): [as: string | undefined, value: unknown] {
  const row = rows.find((one) => one.path === path);
  return [row?.readings[0]?.as, shown(row?.readings[0]?.value ?? null)];
}

const uuid = "8a189618-b536-4438-8e50-083b91daa9c6";
const sha = bytesOf("96b95dba563bbaab697daae8baaa33f4b599b2ececa877b0c17c1b6b0c5d1f3a");

describe("one value of a field never seen before", () => {
  const cases: [row: string, wire: Bytes, as: string, value: unknown][] = [
    ["text", len(111, "hello"), "string", "hello"],
    ["text of two letters that parses as a message", len(111, "hi"), "string", "hi"],
    ["text beyond ASCII", len(111, "grüße 😀"), "string", "grüße 😀"],
    ["text with a line feed in front", len(111, "\nand so on"), "string", "\nand so on"],
    ["JSON", len(111, '{"role":"user","content":"x"}'), "string", '{"role":"user","content":"x"}'],
    ["a UUID", len(111, uuid), "string", uuid],
    ["hex digits", len(111, "1a0408031a00"), "string", "1a0408031a00"],
    ["a message whose bytes are all printable", len(111, len(1, uuid)), "message", { 1: uuid }],
    ["a message with a number", len(111, bytesOf("0807 1a00")), "message", { 1: 7, 3: {} }],
    ["messages in a message", len(111, len(2, len(3, "deep inside"))), "message", { 2: { 3: "deep inside" } }],
    [
      "a message with a repeated field",
      len(111, concat([len(1, "one"), len(1, "two")])),
      "message",
      { 1: ["one", "two"] },
    ],
    ["an empty value", len(111, ""), "message", {}],
    ["a SHA-256", len(111, sha), "bytes", Buffer.from(sha).toString("hex")],
    ["packed numbers", len(111, Uint8Array.from([1, 2, 3, 4, 5, 6])), "packed", [1, 2, 3, 4, 5, 6]],
    ["a small number", bytesOf("f80605"), "uint64", 5],
    ["zero or one", bytesOf("f80601"), "bool", true],
    ["minus one", bytesOf("f806 ffffffffffffffffff01"), "int64", -1],
    ["above 2^53", bytesOf("f806 ffffffffffffffff7f"), "uint64", "9223372036854775807"],
    ["a double", bytesOf("f906 000000000000f83f"), "double", 1.5],
    ["a large integer in 64 bits", bytesOf("f906 0100000000000000"), "fixed64", 1],
    ["a float", bytesOf("fd06 0000c03f"), "float", 1.5],
    ["a small integer in 32 bits", bytesOf("fd06 05000000"), "fixed32", 5],
    ["a group", bytesOf("fb06 0807 fc06"), "group", { 1: 7 }],
  ];
  it.each(cases)("%s", (_, wire, as, value) => {
    const rows = fresh().unknown("t.All", wire);
    expect(best(rows, "111")).toEqual([as, value]);
    expect(rows[0]!.count).toBe(1);
    expect(
      rows[0]!.readings.every((one) => one.value instanceof Sensitive && one.value.sensitivity === "private"),
    ).toBe(true);
    const scores = rows[0]!.readings.map((one) => one.score);
    expect(scores).toEqual([...scores].sort((a, b) => b - a));
    expect(scores.reduce((sum, score) => sum + score, 0)).toBeCloseTo(1, 2);
  });

  it("keeps both readings of an ambiguous one", () => {
    // "(7" is text, and field 5 = 55.
    const { readings } = fresh().unknown("t.All", len(111, "(7"))[0]!;
    expect(readings.map((one) => one.as)).toEqual(expect.arrayContaining(["string", "message"]));
    expect(readings.map((one) => [one.as, shown(one.value)])).toEqual(
      expect.arrayContaining([
        ["message", { 5: 55 }],
        ["string", "(7"],
      ]),
    );
  });
});

describe("places", () => {
  it("have paths of field numbers from the root, wire types and counts", () => {
    // inner.99 twice in inners[], counts entry field 9, unknown 111 with a message inside
    const entry = concat([len(1, "k"), bytesOf("1002"), len(9, "extra")]);
    const wire = concat([len(20, len(99, "one")), len(20, len(99, "two")), len(21, entry), len(111, len(4, "below"))]);
    const rows = fresh().unknown("t.All", wire);
    expect(rows.map((row) => [row.path, row.wire, row.count])).toEqual([
      ["20.99", "len", 2],
      ["21.9", "len", 1],
      ["111", "len", 1],
      ["111.4", "len", 1],
    ]);
    expect(best(rows, "20.99")).toEqual(["string", ["one", "two"]]);
    expect(best(rows, "111.4")).toEqual(["string", "below"]);
  });

  it("are kept apart by wire type", () => {
    const rows = fresh().unknown("t.All", concat([len(111, "text here"), bytesOf("f80605")]));
    expect(rows.map((row) => [row.path, row.wire])).toEqual([
      ["111", "len"],
      ["111", "varint"],
    ]);
  });

  it("hold known fields on another wire type, too", () => {
    expect(
      fresh()
        .unknown("t.All", bytesOf("4805"))
        .map((row) => [row.path, row.wire]),
    ).toEqual([["9", "varint"]]);
  });
});

describe("learning", () => {
  it("makes an ambiguous value clear by the others of its place", () => {
    const schemas = fresh();
    const ambiguous = len(17, len(99, "(7"));
    expect(best(schemas.unknown("t.All", ambiguous), "17.99")[0]).toBe("string");
    for (let i = 0; i < 20; i++) schemas.decode("t.All", len(17, len(99, Uint8Array.from([0x28, 100 + i, 0x30, 1]))));
    expect(best(schemas.unknown("t.All", ambiguous), "17.99")).toEqual(["message", { 5: 55 }]);
    // The same message type elsewhere is the same place; another type is not.
    expect(best(schemas.unknown("t.All", len(20, len(99, "(7"))), "20.99")[0]).toBe("message");
    expect(best(schemas.unknown("t.All", len(99, "(7")), "99")[0]).toBe("string");
  });

  it("is not overturned by one damaged value", () => {
    const schemas = fresh();
    for (let i = 0; i < 20; i++) schemas.decode("t.All", len(111, `some text ${i}`));
    schemas.decode("t.All", len(111, sha));
    expect(best(schemas.unknown("t.All", len(111, "more text")), "111")[0]).toBe("string");
    expect(best(schemas.unknown("t.All", len(111, sha)), "111")[0]).toBe("bytes");
  });
});

describe("without schema", () => {
  const wire = concat([len(9, "hello"), bytesOf("2805"), len(17, concat([bytesOf("0807"), len(2, "inner text")]))]);

  it("the whole message is rows by number", () => {
    const schemas = fresh(true);
    const rows = schemas.unknown("t.All", wire);
    expect(rows.map((row) => [row.path, row.wire, ...best(rows, row.path)])).toEqual([
      ["9", "len", "string", "hello"],
      ["5", "varint", "uint64", 5],
      ["17", "len", "message", { $bytes: 14 }],
      ["17.1", "varint", "uint64", 7],
      ["17.2", "len", "string", "inner text"],
    ]);
    expect(shown(schemas.json("t.All", wire))).toEqual(shown(rows as unknown as Printable));
  });

  it("turns can still be told, and no name is shown", () => {
    const schemas = fresh(true);
    expect(schemas.decode("t.All", wire).value.s).toBe("hello");
    expect(schemas.walk("t.All", wire).every((field) => field.name === null && field.type === null)).toBe(true);
  });

  it("secrets stay secret, in every raw form that holds them", () => {
    const secret = "sk-0123456789";
    const bytes = len(17, concat([len(2, secret), bytesOf("0807")]));
    const rows = fresh(true).unknown("t.All", bytes, (type, field) =>
      type === "t.Inner" && field === "s" ? "secret" : undefined,
    );
    expect(rows.map((row) => [row.path, (row.readings[0]!.value as Sensitive).sensitivity])).toEqual([
      ["17", "secret"],
      ["17.2", "secret"],
      ["17.1", "private"],
    ]);
  });

  it("secrets stay secret in the rows beside the message", () => {
    const schemas = fresh(true);
    const bytes = len(17, len(2, "sk-0123456789"));
    schemas.json("t.All", bytes, (type, field) => (type === "t.Inner" && field === "s" ? "secret" : undefined));
    const marks = schemas.unknown("t.All", bytes).map((row) => (row.readings[0]!.value as Sensitive).sensitivity);
    expect(marks).toEqual(["secret", "secret"]);
  });
});

describe("walk", () => {
  it("names what the schema knows and reads the rest", () => {
    const wire = concat([len(9, "hello"), len(21, concat([len(1, "k"), bytesOf("1002")])), len(111, len(1, uuid))]);
    expect(
      fresh()
        .walk("t.All", wire)
        .map(({ path, name, type, depth, says }) => [path, name, type, depth, says]),
    ).toEqual([
      ["9", "s", "t.All", 0, '"hello"'],
      ["21", "counts", "t.All", 0, "map entry"],
      ["21.1", "key", null, 1, '"k"'],
      ["21.2", "value", null, 1, "2"],
      ["111", null, "t.All", 0, "message? 38 B"],
      ["111.1", null, null, 1, `string? "${uuid}"`],
    ]);
  });

  it("says numbers, enums, bytes and long texts in short", () => {
    const wire = concat([
      bytesOf("8001 01"),
      bytesOf("7003"),
      len(10, sha),
      len(9, "x".repeat(100)),
      len(18, bytesOf("0102")),
      bytesOf("09000000000000f83f"),
    ]);
    expect(
      fresh()
        .walk("t.All", wire)
        .map((field) => field.says),
    ).toEqual([
      "ONE",
      "-2",
      "96b95dba563bbaab697daae8baaa33f4…, 32 B",
      `"${"x".repeat(60)}"…, 100 B`,
      "packed, 2 B",
      "1.5",
    ]);
  });

  it("without a type shows every field", () => {
    expect(
      fresh()
        .walk(null, bytesOf("0807 1203616263"))
        .map((field) => [field.path, field.says]),
    ).toEqual([
      ["1", "uint64? 7"],
      ["2", 'string? "abc"'],
    ]);
  });
});

describe("noise", () => {
  it("ends, with and without schema", () => {
    const schemas = [fresh(), fresh(true)];
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 120 }), (bytes) => {
        for (const one of schemas) {
          one.decode("t.All", bytes);
          for (const row of one.unknown("t.All", bytes)) {
            expect(row.count).toBeGreaterThan(0);
            expect(row.readings.length).toBeGreaterThan(0);
          }
        }
      }),
      { numRuns: 300 },
    );
  });
});
