/** How calls say what became of them: Connect EndStream and error JSON, Connect GET, gRPC trailers. */
import { brotliCompressSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { utf8Bytes } from "../../src/core/bytes.js";
import { defaultLimits } from "../../src/core/limits.js";
import { codeOfStatus, unaryError } from "../../src/decode/connect-error.js";
import { connectGet } from "../../src/decode/connect-get.js";
import { readEndStream } from "../../src/decode/endstream.js";
import { grpcStatus, webTrailers } from "../../src/decode/grpc.js";
import type { RequestHead } from "../../src/model/exchange.js";
import { bytesOf, exchangeOf, feed, headersOf } from "./support.js";

describe("EndStream (cursor page 1.6)", () => {
  it.each([["{}"], ['{"error":null}'], ['{"metadata":{}}'], [' {"unknown key":1} ']])("success: %s", (text) => {
    expect(readEndStream(utf8Bytes(text))).toMatchObject({ ok: true, error: null, faults: [], readable: true });
  });

  it("success with trailers", () => {
    const { ok, metadata } = readEndStream(utf8Bytes('{"metadata":{"a":["1","2"],"__proto__":["x"]}}'));
    expect(ok).toBe(true);
    expect([...metadata]).toEqual([
      ["a", ["1", "2"]],
      ["__proto__", ["x"]],
    ]);
  });

  it("failure with details, base64 without padding", () => {
    const text =
      '{"error":{"code":"unavailable","message":"m","details":[{"type":"aiserver.v1.ErrorDetails","value":"CAI","debug":{"x":1}}]},"metadata":{}}';
    expect(readEndStream(utf8Bytes(text))).toEqual({
      ok: false,
      readable: true,
      faults: [],
      metadata: new Map(),
      error: {
        code: "unavailable",
        wireCode: "unavailable",
        message: "m",
        details: [{ type: "aiserver.v1.ErrorDetails", value: bytesOf("0802"), debug: new Map([["x", 1]]) }],
      },
    });
  });

  it("an unknown code is read as unknown, and named", () => {
    const { error, faults } = readEndStream(utf8Bytes('{"error":{"code":"teapot"}}'));
    expect([error?.code, error?.wireCode, faults]).toEqual(["unknown", "teapot", ['unknown error code "teapot"']]);
  });

  const faulty: [row: string, text: string, fault: RegExp][] = [
    ["nothing", "", /no JSON \(unexpected end at byte 0\)/],
    ["no JSON", '{"a":', /no JSON \(unexpected end at byte 5\)/],
    ["no object", "[]", /no JSON object/],
    ["protobuf", "\x0a\x02\x6a\x00", /no JSON/],
    ["error is text", '{"error":"x"}', /error is no object/],
    ["no code", '{"error":{}}', /without a code/],
    ["message is a number", '{"error":{"code":"internal","message":1}}', /message is no string/],
    ["details are an object", '{"error":{"code":"internal","details":{}}}', /no array/],
    ["a detail without type", '{"error":{"code":"internal","details":[{}]}}', /without a type/],
    ["a detail that is no base64", '{"error":{"code":"internal","details":[{"type":"T","value":"*"}]}}', /no base64/],
    ["metadata is a list", '{"metadata":[]}', /metadata is no object/],
    ["metadata of numbers", '{"metadata":{"a":[1]}}', /"a" is no list of strings/],
    ["a repeated key", '{"error":null,"error":null}', /twice/],
  ];
  it.each(faulty)("fault: %s", (_, text, fault) => {
    expect(readEndStream(utf8Bytes(text)).faults.join("; ")).toMatch(fault);
  });

  it("never throws", () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string()), (text) => {
        readEndStream(utf8Bytes(text));
        readEndStream(utf8Bytes(`{"error":${text},"metadata":${text}}`));
      }),
      { numRuns: 200 },
    );
  });
});

describe("Connect unary errors (cursor page 1.4)", () => {
  it("are read from the body", () => {
    expect(unaryError(utf8Bytes('{"code":"not_found","message":"gone"}'))).toMatchObject({
      code: "not_found",
      message: "gone",
    });
    expect(unaryError(utf8Bytes('{"message":"gone"}'))).toBeNull();
    expect(unaryError(utf8Bytes("<html>"))).toBeNull();
  });

  it.each([
    [400, "internal"],
    [401, "unauthenticated"],
    [403, "permission_denied"],
    [404, "unimplemented"],
    [429, "unavailable"],
    [502, "unavailable"],
    [503, "unavailable"],
    [504, "unavailable"],
    [500, "unknown"],
  ])("or come from the status: %i is %s", (status, code) => {
    expect(codeOfStatus(status)).toBe(code);
  });
});

describe("Connect GET", () => {
  const get = (path: string, method = "GET"): RequestHead => ({
    method,
    authority: "h",
    scheme: "https",
    path,
    version: "2",
    headers: [],
  });
  const gz = gzipSync("\x0a\x01a").toString("base64url");
  const br = brotliCompressSync("hello").toString("base64");
  const rows: [row: string, path: string, text: string, codec: string | null, fault: string | null][] = [
    [
      "base64, URL alphabet, no padding",
      "/S/M?connect=v1&encoding=proto&base64=1&message=CgFh",
      "\x0a\x01a",
      null,
      null,
    ],
    ["plain text", "/S/M?encoding=json&message=%7B%22a%22%3A1%7D", '{"a":1}', null, null],
    ["gzip", `/S/M?message=${gz}&base64=1&encoding=proto&compression=gzip`, "\x0a\x01a", "gzip", null],
    [
      "br, standard alphabet",
      `/S/M?message=${encodeURIComponent(br)}&base64=1&encoding=proto&compression=br`,
      "hello",
      "br",
      null,
    ],
    ["a plus sign that was not escaped", "/S/M?encoding=proto&base64=1&message=++++", "\xfb\xef\xbe", null, null],
    ["an empty message", "/S/M?encoding=proto&base64=1&message=", "", null, null],
    ["an unknown codec", "/S/M?encoding=proto&base64=1&message=CgFh&compression=lzma", "\x0a\x01a", null, "no-codec"],
    [
      "not compressed at all",
      "/S/M?encoding=proto&base64=1&message=CgFh&compression=gzip",
      "",
      "gzip",
      "bad-compression",
    ],
    ["no base64", "/S/M?encoding=proto&base64=1&message=%2A", "", null, "bad-compression"],
  ];
  it.each(rows)("%s", (_, path, text, codec, fault) => {
    const read = connectGet(get(path), defaultLimits);
    expect(Buffer.from(read!.message).toString("latin1")).toBe(text);
    expect([read!.codec, read!.fault]).toEqual([codec, fault]);
  });

  it.each([
    ["a POST", get("/S/M?encoding=proto&message=", "POST")],
    ["no query", get("/S/M")],
    ["no message", get("/S/M?encoding=proto")],
    ["another GET", get("/search?message=hello")],
  ])("is not: %s", (_, head) => {
    expect(connectGet(head, defaultLimits)).toBeNull();
  });

  it("is a message of the request direction", () => {
    const exchange = exchangeOf({ method: "GET", path: "/S/M?connect=v1&encoding=proto&base64=1&message=CgFh" });
    const fed = feed({ framing: "whole-body", direction: "up", exchange, pieces: [] });
    expect(fed.messages.map((message) => [Buffer.from(message.body).toString("latin1"), message.place.side])).toEqual([
      ["\x0a\x01a", "request"],
    ]);
    expect(feed({ framing: "whole-body", direction: "down", exchange, pieces: [] }).messages).toEqual([]);
  });
});

describe("gRPC status", () => {
  it.each([
    ["success", { "grpc-status": "0" }, { status: 0, code: "ok", message: "", details: null }],
    [
      "failure, percent-encoded",
      { "Grpc-Status": "5", "grpc-message": "gr%C3%BC%C3%9Fe 100%" },
      { status: 5, code: "not_found", message: "grüße 100%", details: null },
    ],
    [
      "details",
      { "grpc-status": "13", "grpc-status-details-bin": "CAI" },
      { status: 13, code: "internal", message: "", details: bytesOf("0802") },
    ],
    ["beyond the table", { "grpc-status": "99" }, { status: 99, code: "unknown", message: "", details: null }],
    ["no number", { "grpc-status": "x" }, { status: 2, code: "unknown", message: "", details: null }],
  ])("%s", (_, headers, status) => {
    expect(grpcStatus(headersOf(headers as Record<string, string>))).toEqual(status);
  });

  it("is absent where the header is", () => {
    expect(grpcStatus(headersOf({ status: "0" }))).toBeNull();
  });

  it("of gRPC-Web stands in the trailers frame", () => {
    expect(webTrailers(utf8Bytes("grpc-status: 0\r\nGrpc-Message:ok: yes\r\n\r\nrubbish"))).toEqual([
      { name: "grpc-status", value: "0" },
      { name: "grpc-message", value: "ok: yes" },
    ]);
  });
});
