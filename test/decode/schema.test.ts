import { create, createFileRegistry, fromBinary, toBinary, toJsonString } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { utf8Bytes } from "../../src/core/bytes.js";
import { CursorWireError } from "../../src/core/errors.js";
import { defaultLimits } from "../../src/core/limits.js";
import { Sensitive } from "../../src/core/printable.js";
import { parseProtos } from "../../src/decode/proto-text.js";
import { loadSchemas } from "../../src/decode/schema.js";
import { allTypes } from "./all-types.js";
import { bytesOf } from "./support.js";

const limits = defaultLimits;
const builtIn = loadSchemas({ limits });

async function withProto(text: string, name = "u.proto") {
  return loadSchemas({ descriptors: [await parseProtos([{ name, text }])], limits });
}

describe("built-in schemas (cursor page 6.3)", () => {
  const rows: [row: string, type: string, wire: string, json: object][] = [
    ["server heartbeat", "agent.v1.AgentServerMessage", "0a026a00", { interactionUpdate: { heartbeat: {} } }],
    ["client heartbeat", "agent.v1.AgentClientMessage", "3a00", { clientHeartbeat: {} }],
    [
      "KV acknowledgement of id 0",
      "agent.v1.AgentClientMessage",
      "1a021a00",
      { kvClientMessage: { setBlobResult: {} } },
    ],
    [
      "KV acknowledgement of id 7",
      "agent.v1.AgentClientMessage",
      "1a0408071a00",
      { kvClientMessage: { id: 7, setBlobResult: {} } },
    ],
    [
      "append, hex form",
      "aiserver.v1.BidiAppendRequest",
      "0a043361303012020a001801",
      { data: "3a00", requestId: { requestId: "" }, appendSeqno: "1" },
    ],
    [
      "append, binary form",
      "aiserver.v1.BidiAppendRequest",
      "22023a001801",
      { dataBinary: bytesOf("3a00"), appendSeqno: "1" },
    ],
  ];
  it.each(rows)("%s", (_, type, wire, json) => {
    expect(builtIn.json(type, bytesOf(wire))).toEqual(json);
    expect(builtIn.decode(type, bytesOf(wire)).faults).toEqual([]);
  });

  it("name enum values, or give the number", () => {
    expect(builtIn.enumName("agent.v1.AgentMode", 3)).toBe("AGENT_MODE_PLAN");
    expect(builtIn.enumName("agent.v1.AgentMode", 99)).toBe("99");
    expect(builtIn.enumName("no.Enum", 1)).toBe("1");
  });

  it("know their types, opaque ones too, and no others", () => {
    expect(builtIn.has("agent.v1.AgentRunRequest")).toBe(true);
    expect(builtIn.has("agent.v1.AdoptArgs")).toBe(true);
    expect(builtIn.has("google.protobuf.Struct")).toBe(true);
    expect(builtIn.has("agent.v1.AgentMode")).toBe(false);
    expect(builtIn.has("__proto__")).toBe(false);
  });
});

describe("protobuf-JSON of the well-known types", () => {
  const rows: [row: string, type: string, wire: string, json: unknown][] = [
    ["Timestamp", "Timestamp", "08 80e2cfaa06 10 c0843d", "2023-11-14T22:13:20.001Z"],
    ["Timestamp before 1970", "Timestamp", "08 ffffffffffffffffff01", "1969-12-31T23:59:59Z"],
    ["Timestamp out of range", "Timestamp", "08 ffffffffffffffff7f", { seconds: "9223372036854775807" }],
    ["Duration", "Duration", "08 03 10 80ade204", "3.010s"],
    ["Duration, negative", "Duration", "10 ffffffffffffffffff01", "-0.000000001s"],
    ["Duration, mixed signs", "Duration", "08 01 10 ffffffffffffffffff01", { seconds: "1", nanos: -1 }],
    ["FieldMask", "FieldMask", "0a03 615f62 0a01 63", "aB,c"],
    ["Int64Value", "Int64Value", "08 05", "5"],
    ["Int64Value, zero", "Int64Value", "", "0"],
    ["StringValue, empty", "StringValue", "", ""],
    ["BoolValue", "BoolValue", "0801", true],
    ["DoubleValue, not a number", "DoubleValue", "09 000000000000f87f", "NaN"],
    ["Value: null", "Value", "0800", null],
    ["Value: list", "Value", "3206 0a02 2001 0a00", [true, null]],
    ["Struct", "Struct", "0a08 0a01 61 12031a0162", { a: "b" }],
    ["Empty", "Empty", "", {}],
    ["Any", "Any", "0a01 78 1201 01", { "@type": "x", value: bytesOf("01") }],
  ];
  it.each(rows)("%s", (_, type, wire, json) => {
    expect(builtIn.json(`google.protobuf.${type}`, bytesOf(wire))).toEqual(json);
  });
});

describe("sensitivity", () => {
  it("marks values by type and field, and nothing else", () => {
    const bytes = bytesOf("0a036b6579 120375726c");
    const json = builtIn.json("agent.v1.ApiKeyCredentials", bytes, (type, field) =>
      type === "agent.v1.ApiKeyCredentials" && field === "api_key" ? "secret" : undefined,
    );
    expect(json).toEqual({ apiKey: new Sensitive("secret", "key"), baseUrl: "url" });
  });
});

describe("--descriptors and --proto", () => {
  const more =
    'syntax = "proto3"; package agent.v1; message AdoptArgs { string why = 1; } message Extra { AdoptArgs args = 1; }';

  it("add types and take the place of built-in ones, inside other built-in types too", async () => {
    const schemas = await withProto(more);
    expect(schemas.json("agent.v1.Extra", bytesOf("0a03 0a0161"))).toEqual({ args: { why: "a" } });
    // agent.v1.ExecServerMessage.adopt_args, field 56
    expect(schemas.json("agent.v1.ExecServerMessage", bytesOf("c203 03 0a0161"))).toEqual({ adoptArgs: { why: "a" } });
    expect(builtIn.json("agent.v1.ExecServerMessage", bytesOf("c203 03 0a0161"))).toEqual({ adoptArgs: { $bytes: 3 } });
  });

  it("read a set as JSON, and one without its well-known files", async () => {
    const text =
      'syntax = "proto3"; package u; import "google/protobuf/timestamp.proto"; message M { google.protobuf.Timestamp at = 1; }';
    const set = fromBinary(FileDescriptorSetSchema, await parseProtos([{ name: "u.proto", text }]));
    expect(set.file.map((file) => file.name)).toEqual(["u.proto"]);
    const json = utf8Bytes(toJsonString(FileDescriptorSetSchema, set));
    for (const bytes of [json, toBinary(FileDescriptorSetSchema, set)]) {
      const schemas = loadSchemas({ descriptors: [bytes], limits });
      expect(schemas.json("u.M", bytesOf("0a02 0801"))).toEqual({ at: "1970-01-01T00:00:01Z" });
    }
  });

  const broken: [row: string, bytes: Uint8Array][] = [
    ["empty", new Uint8Array(0)],
    ["text", utf8Bytes("message M {}")],
    [
      "cut off",
      toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: [{ name: "a.proto" }] })).subarray(
        0,
        5,
      ),
    ],
    ["bad JSON", utf8Bytes("{nope")],
    [
      "an import that is not there",
      toBinary(
        FileDescriptorSetSchema,
        create(FileDescriptorSetSchema, { file: [{ name: "a.proto", dependency: ["b.proto"] }] }),
      ),
    ],
  ];
  it.each(broken)("that cannot be read: %s", (_, bytes) => {
    expect(() => loadSchemas({ descriptors: [bytes], limits })).toThrow(CursorWireError);
    expect(() => loadSchemas({ descriptors: [bytes], limits })).toThrow(/FileDescriptorSet/);
  });
});

describe("parseProtos", () => {
  const features: [row: string, text: string, type: string, wire: string, json: unknown][] = [
    [
      "proto2: group",
      'syntax = "proto2"; message M { optional group G = 1 { optional int32 a = 2; } }',
      "M",
      "0b 1001 0c",
      { g: { a: 1 } },
    ],
    ["proto2: required and default", "message M { required int32 a = 1 [default = 5]; }", "M", "0802", { a: 2 }],
    [
      "editions: delimited",
      'edition = "2023"; message I { int32 a = 1; } message M { I i = 1 [features.message_encoding = DELIMITED]; }',
      "M",
      "0b 0801 0c",
      { i: { a: 1 } },
    ],
    [
      "nested types",
      'syntax = "proto3"; message M { message I { enum E { A = 0; B = 1; } E e = 1; } I i = 1; }',
      "M",
      "0a020801",
      { i: { e: "B" } },
    ],
    ["json_name", 'syntax = "proto3"; message M { int32 a_b = 1 [json_name = "zz"]; }', "M", "0801", { zz: 1 }],
    [
      "comments around the syntax",
      '/* syntax = "proto2"; */ // x\nsyntax = "proto3";\nmessage M { optional int32 a = 1; }',
      "M",
      "0801",
      { a: 1 },
    ],
    [
      "services, options and extensions are left out",
      'syntax = "proto3"; option java_package = "x"; import "google/protobuf/descriptor.proto"; extend google.protobuf.FieldOptions { string note = 50001; } message M { int32 a = 1 [(note) = "n"]; } service S { rpc R(M) returns (stream M); }',
      "M",
      "0801",
      { a: 1 },
    ],
    [
      "map of messages",
      'syntax = "proto3"; message M { map<string, M> m = 1; }',
      "M",
      "0a05 0a0161 1200",
      { m: { a: {} } },
    ],
  ];
  it.each(features)("%s", async (_, text, type, wire, json) => {
    expect((await withProto(text)).json(type, bytesOf(wire))).toEqual(json);
  });

  it("reads several files that import each other by other names, in any order", async () => {
    const a = {
      name: "x/a.proto",
      text: 'syntax = "proto3"; package p; import "deep/b.proto"; message A { q.B b = 1; }',
    };
    const b = { name: "b.proto", text: 'syntax = "proto3"; package q; message B { int32 n = 1; }' };
    for (const files of [
      [a, b],
      [b, a],
    ]) {
      const schemas = loadSchemas({ descriptors: [await parseProtos(files)], limits });
      expect(schemas.json("p.A", bytesOf("0a020801"))).toEqual({ b: { n: 1 } });
    }
  });

  it("knows the methods of services", async () => {
    const text =
      'syntax = "proto3"; package p; import "google/protobuf/empty.proto"; message A {} service S { rpc Do(A) returns (stream google.protobuf.Empty); }';
    const schemas = await withProto(text);
    expect(schemas.method?.("/p.S/Do")).toEqual({ input: "p.A", output: "google.protobuf.Empty" });
    for (const path of ["/p.S/No", "/p.T/Do", "/p.S", "/p.S/Do/x", "p.S/Do", ""])
      expect(schemas.method?.(path)).toBeUndefined();
  });

  it("makes descriptors that @bufbuild/protobuf takes, of every field type", async () => {
    const set = fromBinary(FileDescriptorSetSchema, await parseProtos([{ name: "t.proto", text: allTypes }]));
    expect(createFileRegistry(set).getMessage("t.All")?.fields.length).toBe(32);
  });

  it("names file and line of a mistake", async () => {
    const failed = parseProtos([{ name: "bad.proto", text: 'syntax = "proto3";\nmessage M { int32 = 1; }' }]);
    await expect(failed).rejects.toThrow(/bad\.proto.*line 2/);
    await expect(failed).rejects.toThrow(CursorWireError);
  });

  it("names the import that is missing", async () => {
    const text = 'syntax = "proto3"; import "other.proto"; message M { Other o = 1; }';
    await expect(parseProtos([{ name: "m.proto", text }])).rejects.toThrow(/Other.*other\.proto/);
  });
});

describe("fromJson", () => {
  it("takes protobuf-JSON to bytes", () => {
    const read = builtIn.fromJson("agent.v1.KvClientMessage", utf8Bytes('{"id":7,"setBlobResult":{}}'));
    expect(read).toEqual({ bytes: bytesOf("08071a00"), complete: true });
  });

  it("leaves out what the type does not have, and says so", () => {
    const read = builtIn.fromJson("agent.v1.KvClientMessage", utf8Bytes('{"id":7,"new":1}'));
    expect(read).toEqual({ bytes: bytesOf("0807"), complete: false });
  });

  it.each(["{", "[]", '{"id":"x"}', "", "[".repeat(100_000)])("is null for %j", (text) => {
    expect(builtIn.fromJson("agent.v1.KvClientMessage", utf8Bytes(text))).toBeNull();
    expect(builtIn.fromJson("no.Type", utf8Bytes(text))).toBeNull();
  });
});
