import { beforeAll, describe, expect, it } from "vitest";
import { defaultLimits } from "../../src/core/limits.js";
import { parseProtos } from "../../src/decode/proto-text.js";
import { opaqueBytes } from "../../src/decode/protobuf.js";
import { loadSchemas } from "../../src/decode/schema.js";
import type { ProtoMessage, Schemas } from "../../src/model/schema.js";
import { allTypes } from "./all-types.js";
import { bytesOf } from "./support.js";

let schemas: Schemas;
beforeAll(async () => {
  schemas = loadSchemas({
    descriptors: [await parseProtos([{ name: "t.proto", text: allTypes }])],
    limits: defaultLimits,
  });
});

function decode(hexText: string, type = "t.All") {
  return schemas.decode(type, bytesOf(hexText));
}

const values: [row: string, wire: string, value: object][] = [
  ["varint: int64, -1", "18 ffffffffffffffffff01", { i64: -1n }],
  ["varint: int64, largest", "18 ffffffffffffffff7f", { i64: 0x7fffffffffffffffn }],
  ["varint: uint64, largest", "20 ffffffffffffffffff01", { u64: 0xffffffffffffffffn }],
  ["varint: uint64, above 32 bits", "20 8080808010", { u64: 0x100000000n }],
  ["varint: int32, -1 in ten bytes", "28 ffffffffffffffffff01", { i32: -1 }],
  ["varint: int32, -1 in five bytes", "28 ffffffff0f", { i32: -1 }],
  ["varint: int32, upper half dropped", "28 8180808010", { i32: 1 }],
  ["varint: uint32", "58 ffffffff0f", { u32: 0xffffffff }],
  ["varint: bool, any bit", "40 8080808010", { b: true }],
  ["varint: bool false stays present", "40 00", { b: false }],
  ["varint: longer than needed", "58 8100", { u32: 1 }],
  ["zigzag: sint32", "70 03", { z32: -2 }],
  ["zigzag: sint32, smallest", "70 ffffffff0f", { z32: -2147483648 }],
  ["zigzag: sint64", "78 ffffffffffffffffff01", { z64: -0x8000000000000000n }],
  ["enum: unknown value stays a number", "8001 ffffffffffffffffff01", { kind: -1 }],
  ["i64: double", "09 000000000000f83f", { d: 1.5 }],
  ["i64: fixed64", "31 ffffffffffffffff", { x64: 0xffffffffffffffffn }],
  ["i64: sfixed64", "69 feffffffffffffff", { sx64: -2n }],
  ["i32: float", "15 0000c03f", { f: 1.5 }],
  ["i32: fixed32", "3d ffffffff", { x32: 0xffffffff }],
  ["i32: sfixed32", "65 feffffff", { sx32: -2 }],
  ["len: string with byte-order mark", "4a 04 efbbbf61", { s: "\ufeffa" }],
  ["len: string, four-byte character", "4a 04 f09f9880", { s: "😀" }],
  ["len: a true U+FFFD is no fault", "4a 03 efbfbd", { s: "\ufffd" }],
  ["len: bytes", "52 02 00ff", { y: bytesOf("00ff") }],
  ["len: empty message", "8a01 00", { inner: {} }],
  ["last one wins", "28 01 28 02", { i32: 2 }],
  ["messages merge", "8a01 02 0801 8a01 03 120161", { inner: { a: 1, s: "a" } }],
  ["merging goes deep", "8a01 04 1a02 0801 8a01 05 1a03 120161", { inner: { inner: { a: 1, s: "a" } } }],
  ["merged lists are joined", "8a01 02 2001 8a01 02 2002", { inner: { n: [1, 2] } }],
  ["repeated: packed", "9201 03 010203", { packed: [1, 2, 3] }],
  ["repeated: unpacked", "9001 01 9001 02", { packed: [1, 2] }],
  ["repeated: both forms", "9001 01 9201 02 0203", { packed: [1, 2, 3] }],
  ["repeated: packed and empty", "9201 00", {}],
  ["repeated: packed doubles", "c201 08 000000000000f83f", { doubles: [1.5] }],
  ["repeated: strings", "9a01 0161 9a01 00", { names: ["a", ""] }],
  ["repeated: messages", "a201 02 0801 a201 00", { inners: [{ a: 1 }, {}] }],
  ["map: string to int32", "aa01 05 0a0161 1002", { counts: new Map([["a", 2]]) }],
  ["map: value before key", "aa01 05 1002 0a0161", { counts: new Map([["a", 2]]) }],
  ["map: key and value absent", "aa01 00", { counts: new Map([["", 0]]) }],
  ["map: later entry wins", "aa01 05 0a0161 1002 aa01 05 0a0161 1003", { counts: new Map([["a", 3]]) }],
  ["map: int64 to message", "b201 06 0807 1202 0801", { byId: new Map([[7n, { a: 1 }]]) }],
  ["map: message absent", "b201 02 0807", { byId: new Map([[7n, {}]]) }],
  ["map: bool to bytes", "ba01 05 0801 1201 ff", { flags: new Map([[true, bytesOf("ff")]]) }],
  ["oneof: last member wins", "f001 01 8202 0161", { c3: "a" }],
  ["oneof: same message member merges", "fa01 02 0801 fa01 03 120161", { c2: { a: 1, s: "a" } }],
  ["oneof: other member in between forgets", "fa01 02 0801 f001 01 fa01 03 120161", { c2: { s: "a" } }],
  ["presence: optional zero is there", "c002 00", { maybe: 0 }],
  ["numbers: largest", "f8ffffff0f 01", { far: 1 }],
  ["numbers: beyond the dense table", "c0bb01 01", { middle: 1 }],
  ["a message in group form", "8b01 0801 8c01", { inner: { a: 1 } }],
];

describe("values (protobuf encoding)", () => {
  it.each(values)("%s", (_, wire, value) => {
    const decoded = decode(wire);
    expect(decoded.faults).toEqual([]);
    expect(decoded.value).toEqual(value);
    expect(decoded.unknownCount).toBe(0);
  });
});

const faults: [row: string, wire: string, value: object, what: string, offset: number, path: string][] = [
  ["tag: field number 0", "2801 00", { i32: 1 }, "bad-tag", 2, ""],
  ["tag: wire type 6", "2801 0e", { i32: 1 }, "bad-tag", 2, ""],
  ["tag: wire type 7", "2801 0f", { i32: 1 }, "bad-tag", 2, ""],
  ["tag: above 32 bits", "2801 888080801001", { i32: 1 }, "bad-tag", 2, ""],
  ["tag: cut off", "2801 88", { i32: 1 }, "truncated", 2, ""],
  ["varint: cut off", "2801 2880", { i32: 1 }, "truncated", 3, "i32"],
  ["varint: eleven bytes", "2801 28 8080808080808080808001", { i32: 1 }, "bad-varint", 3, "i32"],
  ["i32: cut off", "2801 3d 0000", { i32: 1 }, "truncated", 3, "x32"],
  ["i64: cut off", "2801 31 00000000000000", { i32: 1 }, "truncated", 3, "x64"],
  ["len: text cut off is left out", "2801 4a 05 6162", { i32: 1 }, "truncated", 3, "s"],
  [
    "len: a message cut off is read as far as it goes",
    "8a01 05 0801 1205",
    { inner: { a: 1 } },
    "truncated",
    2,
    "inner",
  ],
  ["len: above what exists", "2801 52 ffffffff0f", { i32: 1 }, "truncated", 3, "y"],
  ["len: above 32 bits", "2801 52 ffffffffff01", { i32: 1 }, "truncated", 3, "y"],
  ["unknown: cut off", "2801 fa06 05 61", { i32: 1 }, "truncated", 4, "111"],
  ["wire type: message as varint, the rest is read", "8801 05 2801", { i32: 1 }, "wire-type", 0, "inner"],
  ["wire type: text as varint", "4805 2801", { i32: 1 }, "wire-type", 0, "s"],
  ["utf-8: kept with U+FFFD, the rest is read", "4a 02 61ff 2801", { s: "a\ufffd", i32: 1 }, "bad-utf8", 2, "s"],
  ["utf-8: surrogate half", "4a 03 eda080", { s: "\ufffd\ufffd\ufffd" }, "bad-utf8", 2, "s"],
  ["group: end without start", "2801 3c", { i32: 1 }, "group", 2, "7"],
  ["group: unknown, without end", "2801 fb06 0801", { i32: 1 }, "truncated", 6, "111"],
  ["group: unknown, other end", "2801 fb06 0801 8407", { i32: 1 }, "group", 6, "111"],
  ["group: known, without end", "8b01 0801", { inner: { a: 1 } }, "truncated", 4, "inner"],
  [
    "packed: an item cut off costs only its own rest",
    "9201 02 0180 2801",
    { packed: [1], i32: 1 },
    "truncated",
    4,
    "packed",
  ],
  ["nested: only the inner message stops", "8a01 03 0801 00 2801", { inner: { a: 1 }, i32: 1 }, "bad-tag", 5, "inner"],
  [
    "map: an entry with a bad key",
    "aa01 04 0a05 6162 2801",
    { counts: new Map([["", 0]]), i32: 1 },
    "truncated",
    4,
    "counts.key",
  ],
];

describe("faults", () => {
  it.each(faults)("%s", (_, wire, value, what, offset, path) => {
    const decoded = decode(wire);
    expect(decoded.value).toEqual(value);
    expect(decoded.faults[0]).toEqual({ what, offset, path });
  });

  it("are listed up to 32", () => {
    expect(decode("4805".repeat(100)).faults.length).toBe(32);
  });
});

describe("unknown fields", () => {
  it("are counted at any depth, numbers at the root in wire order", () => {
    const decoded = decode("f806 01 8a01 04 3001 3802 f206 00 aa01 02 1a00");
    expect(decoded.unknownCount).toBe(5);
    expect(decoded.unknownRoot).toEqual([111, 110]);
    expect(decoded.faults).toEqual([]);
  });

  it("skip groups, nested ones too", () => {
    expect(decode("fb06 0801 8b07 0802 8c07 fc06 2801").value).toEqual({ i32: 1 });
  });

  it("inside an opaque type are its content, not unknown", () => {
    const decoded = decode("9203 04 0801 1005");
    expect(decoded.unknownCount).toBe(0);
    expect(decoded.faults).toEqual([]);
    expect(Object.keys(decoded.value.known as ProtoMessage)).toEqual([]);
    expect(Buffer.from(opaqueBytes(decoded.value.known as ProtoMessage)!).toString("hex")).toBe("08011005");
    expect(schemas.json("t.All", bytesOf("9203 04 0801 1005"))).toEqual({ known: { $bytes: 4 } });
    expect(schemas.unknown("t.All", bytesOf("9203 04 0801 1005"))).toEqual([]);
  });

  it("inside an empty type are unknown", () => {
    expect(decode("9a03 02 0801").unknownCount).toBe(1);
  });

  it("of an unknown type are all there is", () => {
    const decoded = decode("0801 1202 6162", "no.Such");
    expect(decoded).toMatchObject({ type: "no.Such", value: {}, unknownCount: 2, unknownRoot: [1, 2], faults: [] });
  });
});

describe("depth", () => {
  /** Inner in Inner, `levels` deep, built from the inside with lengths of up to 5 bytes. */
  function nested(levels: number): Uint8Array {
    const tags: number[][] = [];
    let size = 0;
    for (let i = 0; i < levels; i++) {
      const head = [0x1a];
      let rest = size;
      while (rest >= 0x80) {
        head.push((rest & 0x7f) | 0x80);
        rest >>>= 7;
      }
      head.push(rest);
      tags.push(head);
      size += head.length;
    }
    return Uint8Array.from(tags.reverse().flat());
  }

  it("up to the limit is read", () => {
    expect(schemas.decode("t.Inner", nested(99)).faults).toEqual([]);
  });

  it("beyond the limit is one fault and no stack", () => {
    const { faults: found } = schemas.decode("t.Inner", nested(100_000));
    expect(found.map((one) => one.what)).toEqual(["nesting"]);
    expect(() => schemas.unknown("t.Inner", nested(100_000))).not.toThrow();
    expect(() => schemas.walk("t.Inner", nested(100_000))).not.toThrow();
    expect(() => schemas.json("t.Inner", nested(100_000))).not.toThrow();
  });

  it("of groups is bounded too", () => {
    const groups = Buffer.concat([Buffer.alloc(200_000, 0x7b), Buffer.alloc(200_000, 0x7c)]);
    expect(schemas.decode("t.Inner", groups).faults[0]?.what).toBe("nesting");
  });
});

describe("messages", () => {
  it("have no properties but their fields", () => {
    const { value } = decode("2801");
    expect("toString" in value).toBe(false);
    expect("__proto__" in value).toBe(false);
    expect(Object.keys(value)).toEqual(["i32"]);
  });

  it("hold bytes as views of the input", () => {
    const bytes = bytesOf("52 02 00ff");
    expect((schemas.decode("t.All", bytes).value.y as Uint8Array).buffer).toBe(bytes.buffer);
  });

  it("tell the branch of a oneof", () => {
    const { value } = decode("2801 8202 0161");
    expect(schemas.branch("t.All", value, "choice")).toBe("c3");
    expect(schemas.branch("t.All", decode("2801").value, "choice")).toBeUndefined();
    expect(schemas.branch("t.All", value, "no_such")).toBeUndefined();
  });
});
