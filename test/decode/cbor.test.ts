import { decode } from "cborg";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encode } from "../../fixtures/pi/make/cbor.mjs";
import { fromHex } from "../../src/core/bytes.js";
import { type CborFaultKind, type CborValue, decodeCbor } from "../../src/decode/cbor.js";

function plain(value: CborValue): unknown {
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, item]) => [key, plain(item)]));
  return Array.isArray(value) ? value.map(plain) : value;
}

const deep = (depth: number, inner = "00") => "81".repeat(depth) + inner;

describe("strict CBOR (pi page, section 3)", () => {
  it.each<[string, string, unknown]>([
    ["null", "f6", null],
    ["false", "f4", false],
    ["true", "f5", true],
    ["small integer", "17", 23],
    ["one byte", "18ff", 255],
    ["two bytes", "19ffff", 65535],
    ["four bytes", "1affffffff", 4294967295],
    ["largest safe integer", "1b001fffffffffffff", 9007199254740991],
    ["negative", "20", -1],
    ["smallest safe integer", "3b001ffffffffffffe", -9007199254740991],
    ["64-bit float", "fb3ff8000000000000", 1.5],
    ["negative zero", "fb8000000000000000", -0],
    ["text", "6568656c6c6f", "hello"],
    ["text with a byte-order mark, kept", "66efbbbfc3a978", "\uFEFFéx"],
    ["text longer than the short ones", `7830${"61".repeat(48)}`, "a".repeat(48)],
    ["text beyond the basic plane", "64f09f9880", "😀"],
    ["empty array", "80", []],
    ["array", "83010203", [1, 2, 3]],
    ["map", "a2616101616202", { a: 1, b: 2 }],
    ["scalar at depth 64", deep(64), JSON.parse(`${"[".repeat(64)}0${"]".repeat(64)}`)],
  ])("takes %s", (_, hex, value) => {
    const result = decodeCbor(fromHex(hex));
    expect(result).toMatchObject({ ok: true, remark: null, byteString: null });
    if (result.ok) expect(plain(result.value)).toEqual(value);
  });

  it.each<[string, string, CborFaultKind, number]>([
    ["an empty payload", "", "empty", 0],
    ["a cut head", "82010219", "trailing", 3],
    ["a cut head inside", "820119", "truncated", 2],
    ["a cut array", "8201", "truncated", 2],
    ["a cut map, no value", "a16161", "truncated", 3],
    ["a cut text", "6568656c", "truncated", 0],
    ["a text that declares more than there is", "7b00ffffffffffffff61", "truncated", 0],
    ["a cut float", "fb3ff8", "truncated", 0],
    ["trailing bytes", "0000", "trailing", 1],
    ["a tag", "8201c100", "tag", 2],
    ["an indefinite text", "7f6161ff", "indefinite", 0],
    ["an indefinite byte string", "5f4161ff", "indefinite", 0],
    ["an indefinite array", "9f00ff", "indefinite", 0],
    ["an indefinite map", "bf616100ff", "indefinite", 0],
    ["a break", "81ff", "break", 1],
    ["undefined", "8100f7", "trailing", 2],
    ["undefined inside", "81f7", "undefined", 1],
    ["a half float", "f93c00", "float-width", 0],
    ["a single float", "fa3f800000", "float-width", 0],
    ["another simple value", "e0", "simple", 0],
    ["a simple value in the next byte", "f820", "simple", 0],
    ["NaN", "fb7ff8000000000000", "not-finite", 0],
    ["infinity", "fb7ff0000000000000", "not-finite", 0],
    ["2^53", "1b0020000000000000", "unsafe-integer", 0],
    ["-2^53", "3b001fffffffffffff", "unsafe-integer", 0],
    ["2^53 as a float", "fb4340000000000000", "unsafe-integer", 0],
    ["1e21", "fb444b1ae4d6e2ef50", "unsafe-integer", 0],
    ["additional information 28", "1c", "reserved", 0],
    ["additional information 30 on a text", "7e", "reserved", 0],
    ["additional information 31 on an integer", "1f", "reserved", 0],
    ["an integer key", "a10000", "key-type", 1],
    ["a byte string key", "a1416100", "key-type", 1],
    ["a null key", "a1f600", "key-type", 1],
    ["a duplicate key", "a2616100616101", "duplicate-key", 4],
    ["a duplicate key further in", "81a2616100616101", "duplicate-key", 5],
    ["invalid UTF-8", "62c328", "utf8", 0],
    ["a surrogate in UTF-8", "63eda080", "utf8", 0],
    ["invalid UTF-8 in a long text", `7830${"61".repeat(46)}c328`, "utf8", 0],
    ["a scalar at depth 65", deep(65), "depth", 65],
    ["an empty array at depth 65", deep(65, "80"), "depth", 65],
    ["a million and one elements", "9a000f4241", "container", 0],
    ["a map of a million and one", "ba000f4241", "container", 0],
    ["2^63 elements", "9b8000000000000000", "container", 0],
  ])("refuses %s", (_, hex, kind, offset) => {
    expect(decodeCbor(fromHex(hex))).toMatchObject({ ok: false, fault: { kind, offset } });
  });

  it("takes a million elements as far as they are there", () => {
    expect(decodeCbor(fromHex("9a000f424000"))).toMatchObject({ ok: false, fault: { kind: "truncated" } });
  });

  it.each<[string, string, string, number]>([
    ["an integer", "1805", "integer", 0],
    ["an integer in eight bytes", "81" + "1b0000000000000005", "integer", 1],
    ["a text length", "780161", "length", 0],
    ["an array length", "980100", "length", 0],
    ["an integral float", "fb4008000000000000", "float", 0],
  ])("remarks on a longer form: %s", (_, hex, what, offset) => {
    expect(decodeCbor(fromHex(hex))).toMatchObject({ ok: true, remark: { what, offset } });
  });

  it("takes a byte string and says where it is", () => {
    expect(decodeCbor(fromHex("8201420102"))).toMatchObject({ ok: true, byteString: 2 });
  });

  it("keeps the sender's key order and any key", () => {
    const result = decodeCbor(encode({ b: 1, a: 2 }));
    expect(result.ok && [...(result.value as Map<string, unknown>).keys()]).toEqual(["b", "a"]);
    const odd = decodeCbor(fromHex("a2695f5f70726f746f5f5f016131026130".slice(0, -4)));
    expect(odd.ok && [...(odd.value as Map<string, unknown>).keys()]).toEqual(["__proto__", "1"]);
  });

  it("bounds depth and containers as told", () => {
    expect(decodeCbor(fromHex("818100"), { depth: 1, container: 10 })).toMatchObject({
      ok: false,
      fault: { kind: "depth" },
    });
    expect(decodeCbor(fromHex("83000000"), { depth: 1, container: 2 })).toMatchObject({
      ok: false,
      fault: { kind: "container" },
    });
  });

  it("survives a payload of nothing but array heads", () => {
    expect(decodeCbor(new Uint8Array(200_000).fill(0x81))).toMatchObject({
      ok: false,
      fault: { kind: "depth", offset: 65 },
    });
  });

  it("at every cut of a good payload: refused as truncated, at a byte inside", () => {
    const whole = encode({
      type: "response",
      id: "request-1",
      ok: true,
      result: { list: [1, 2.5, null], text: "grüß" },
    });
    for (let cut = 1; cut < whole.length; cut++) {
      const result = decodeCbor(whole.subarray(0, cut));
      expect(result).toMatchObject({ ok: false, fault: { kind: "truncated" } });
      if (!result.ok) expect(result.fault.offset).toBeLessThanOrEqual(cut);
    }
  });

  const json = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constant(null),
      fc.boolean(),
      fc.maxSafeInteger(),
      fc.double({ noNaN: true, noDefaultInfinity: true }).filter((n) => !Number.isInteger(n) || Object.is(n, -0)),
      fc.string({ unit: "binary" }).filter((text) => !/\p{Surrogate}/u.test(text)),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(
        fc.string({ unit: "binary" }).filter((text) => !/\p{Surrogate}/u.test(text) && text !== "__proto__"),
        tie("value"),
        { maxKeys: 4 },
      ),
    ),
  })).value;

  it("reads back what our writer writes, without a remark", () => {
    fc.assert(
      fc.property(json, (value) => {
        const result = decodeCbor(encode(value));
        expect(result).toMatchObject({ ok: true, remark: null });
        if (result.ok)
          expect(plain(result.value)).toEqual(
            JSON.parse(
              JSON.stringify(value, (_, item) => (Object.is(item, -0) ? "-0" : item)),
              (_, item) => (item === "-0" ? -0 : item),
            ),
          );
      }),
      { numRuns: 150 },
    );
  });

  it("never throws, and takes nothing that cborg refuses", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const result = decodeCbor(bytes);
        if (!result.ok) {
          expect(result.fault.offset).toBeLessThanOrEqual(bytes.length);
          return;
        }
        const strict = {
          useMaps: true,
          rejectDuplicateMapKeys: true,
          allowIndefinite: false,
          allowUndefined: false,
        } as const;
        expect(() =>
          decode(bytes, { ...strict, allowNaN: false, allowInfinity: false, allowBigInt: false }),
        ).not.toThrow();
      }),
      { numRuns: 500 },
    );
  });
});
