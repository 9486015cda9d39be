/** JSON that loses nothing, and server-sent events. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { utf8Bytes } from "../../src/core/bytes.js";
import { type JsonValue, parseJson, printableJson } from "../../src/decode/json.js";
import { parseSse } from "../../src/decode/sse.js";

function read(text: string, nesting?: number) {
  return parseJson(utf8Bytes(text), nesting);
}

describe("parseJson (RFC 8259)", () => {
  it("gives what JSON.parse gives", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), fc.nat(3), (text, indent) => {
        const spaced = JSON.stringify(JSON.parse(text), null, indent);
        const { value, fault, duplicates } = read(spaced);
        expect([fault, duplicates]).toEqual([null, []]);
        expect(toPlain(value!)).toEqual(JSON.parse(spaced));
      }),
      { numRuns: 200 },
    );
  });

  it("refuses what JSON.parse refuses", () => {
    fc.assert(
      fc.property(
        fc.json({ maxDepth: 2 }),
        fc.nat(40),
        fc.constantFrom("", ",", "}", "]", '"', "\\", "x", "0", "-", ".", " ", "\n"),
        (text, at, junk) => {
          const damaged = text.slice(0, at) + junk + text.slice(at + 1);
          let ok = true;
          try {
            JSON.parse(damaged);
          } catch {
            ok = false;
          }
          expect(read(damaged).fault === null).toBe(ok);
        },
      ),
      { numRuns: 400 },
    );
  });

  it("keeps every value of a repeated key; the last one has the name", () => {
    const { value, duplicates } = read('{"a":1,"b":0,"a":2,"a":3,"a (1)":4}');
    expect(duplicates).toEqual(["a", "a (1)"]);
    expect([...(value as ReadonlyMap<string, unknown>)]).toEqual([
      ["a", 3],
      ["b", 0],
      ["a (1)", 4],
      ["a (2)", 2],
      ["a (1) (1)", 1],
    ]);
  });

  it("keeps integers that a double cannot hold, and keys like __proto__", () => {
    const { value } = read('{"__proto__":9007199254740993,"x":-1e3}');
    expect(value).toEqual(
      new Map<string, unknown>([
        ["__proto__", 9007199254740993n],
        ["x", -1000],
      ]),
    );
    expect(Object.keys(printableJson(value!) as object)).toEqual(["__proto__", "x"]);
  });

  const faults: [text: string, why: string, offset: number][] = [
    ["", "unexpected end", 0],
    ["ü", "unexpected character", 0],
    ['{"ü":tru}', "unexpected character", 6],
    ["[1,]", "unexpected character", 3],
    ["[1 2]", "a comma is due", 3],
    ['{"a" 1}', "a colon is due", 5],
    ["{a:1}", "a key is due", 1],
    ['"abc', "a string without an end", 0],
    ['"a\nb"', "a control character in a string", 2],
    ['"\\x"', "a bad escape", 1],
    ['"\\u12g4"', "a bad \\u escape", 1],
    ["1 2", "text behind the value", 2],
    ["01", "text behind the value", 1],
    ["[", "unexpected end", 1],
  ];
  it.each(faults)("%j: %s at %i", (text, why, offset) => {
    expect(read(text)).toMatchObject({ value: undefined, fault: { why, offset } });
  });

  it("bounds nesting", () => {
    expect(read("[".repeat(100)).fault?.why).toBe("unexpected end");
    expect(read("[".repeat(101)).fault?.why).toBe("nesting above 100");
    expect(read("[".repeat(1_000_000)).fault?.why).toBe("nesting above 100");
    expect(read("[[1]]", 1).fault?.why).toBe("nesting above 1");
  });
});

function toPlain(value: JsonValue): unknown {
  if (typeof value === "bigint") return Number(value);
  if (Array.isArray(value)) return value.map(toPlain);
  if (!(value instanceof Map)) return value;
  return Object.fromEntries([...(value as ReadonlyMap<string, JsonValue>)].map(([key, item]) => [key, toPlain(item)]));
}

describe("parseSse (HTML standard, 9.2.6)", () => {
  const plain = { event: "message", data: null, id: null, retry: null, comments: [] as string[] };
  const rows: [row: string, block: string, event: object][] = [
    ["data", "data: hello", { ...plain, data: "hello" }],
    ["lines of data", "data: a\ndata:b\r\ndata", { ...plain, data: "a\nb\n" }],
    ["one space after the colon goes", "data:  a", { ...plain, data: " a" }],
    [
      "name, id and time",
      "event: add\nid: 7\nretry: 100\ndata: x",
      { ...plain, event: "add", id: "7", retry: 100, data: "x" },
    ],
    ["an id with NUL is ignored", "id: a\0b", plain],
    ["a time that is no number is ignored", "retry: 1s", plain],
    ["comments", ": ping\n:pong", { ...plain, comments: ["ping", "pong"] }],
    ["unknown fields", "foo: bar\nbaz", plain],
    ["a byte-order mark", "\ufeffdata: x", { ...plain, data: "x" }],
    ["CR alone", "data: a\rdata: b", { ...plain, data: "a\nb" }],
  ];
  it.each(rows)("%s", (_, block, event) => {
    expect(parseSse(utf8Bytes(block))).toEqual(event);
  });
});
