import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { bodyOf, codesOf, entry, eventsOf, gapsOf, harText, type ReadExchange, readText } from "./read.js";

const envelope = (flags: number, body: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
};
const field = (number: number, body: Buffer): Buffer =>
  Buffer.concat([Buffer.from([number * 8 + 2, body.length]), body]);
const latin1 = (bytes: Buffer): string => bytes.toString("latin1");

interface Case {
  readonly type?: string;
  readonly headers?: [string, string][];
  readonly content: object;
  readonly bodySize?: number;
  readonly response?: object;
}

function respond({ type = "application/proto", headers = [], content, bodySize = -1, response = {} }: Case) {
  const list = [["content-type", type], ...headers].map(([name, value]) => ({ name, value }));
  const result = readText(
    harText([
      entry({ responseHeaders: list, response: { bodySize, content: { mimeType: type, ...content }, ...response } }),
    ]),
  );
  const read = result.exchanges[0]!;
  return { read, body: bodyOf(read, "down"), how: how(read, "down"), gaps: gapsOf(read), codes: codesOf(result) };
}

function request(type: string, postData: object | undefined, bodySize: number, more: object = {}) {
  const list = [{ name: "Content-Type", value: type }];
  const result = readText(harText([entry({ requestHeaders: list, request: { bodySize, postData, ...more } })]));
  const read = result.exchanges[0]!;
  return { body: bodyOf(read, "up"), how: how(read, "up"), gaps: gapsOf(read), codes: codesOf(result) };
}

function how(read: ReadExchange, direction: "up" | "down"): string {
  const events = eventsOf(read, "bytes").filter((event) => event.direction === direction);
  const kinds = new Set(events.map((event) => `${event.evidence}${event.contentDecoded ? "" : " encoded"}`));
  return [...kinds].join();
}

const high = Buffer.from([0x80, 0x81, 0x8d, 0x93, 0x99, 0xa0, 0xe9, 0xff, 0x00, 0x41]);
const stream = Buffer.concat([
  envelope(0, field(1, high)),
  envelope(0, field(1, Buffer.from("caf\u00e9"))),
  envelope(2, Buffer.from("{}")),
]);
const message = field(1, Buffer.concat([high, Buffer.alloc(100, 0xc3)]));
const sse = Buffer.from("event: m\ndata: caf\u00e9 \u2014 \u201chi\u201d\n\n");
/** WHATWG windows-1252; Node's own decoder leaves 0x80..0x9F as they are. */
const mapped =
  "\u20ac\u0081\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u008d\u017d\u008f\u0090\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u009d\u017e\u0178";
const windows1252 = (bytes: Buffer): string =>
  latin1(bytes).replace(/[\u0080-\u009f]/g, (char) => mapped[char.charCodeAt(0) - 0x80]!);

describe("text of a body: which bytes were it?", () => {
  const rows: [string, Case, Buffer, string][] = [
    ["ASCII: the same by any reading", { content: { size: 3, text: "abc" } }, Buffer.from("abc"), "exact"],
    [
      "ASCII with escapes",
      { type: "text/plain", content: { size: 4, text: 'a"\\\n' } },
      Buffer.from('a"\\\n'),
      "exact",
    ],
    [
      "envelopes, one character per byte",
      { type: "application/connect+proto", content: { size: stream.length, text: latin1(stream) } },
      stream,
      "latin1",
    ],
    [
      "envelopes under text/event-stream, as windows-1252",
      { type: "text/event-stream", content: { size: 999, text: windows1252(stream) } },
      stream,
      "windows-1252",
    ],
    [
      "envelopes that lack their size",
      { type: "application/grpc-web+proto", content: { size: -1, text: latin1(stream) } },
      stream,
      "latin1",
    ],
    [
      "SSE is text",
      { type: "text/event-stream", content: { size: sse.length, text: sse.toString() } },
      sse,
      "re-encoded",
    ],
    [
      "SSE with a size in UTF-16 units",
      { type: "text/event-stream", content: { size: sse.toString().length, text: sse.toString() } },
      sse,
      "re-encoded",
    ],
    [
      "protobuf, one character per byte",
      { content: { size: message.length, text: latin1(message) } },
      message,
      "latin1",
    ],
    [
      "protobuf, windows-1252",
      { content: { size: message.length, text: windows1252(message) } },
      message,
      "windows-1252",
    ],
    [
      "protobuf that happens to be UTF-8",
      { content: { size: 6, text: field(1, Buffer.from("\u00e9\u00fc")).toString() } },
      field(1, Buffer.from("\u00e9\u00fc")),
      "re-encoded",
    ],
    [
      "JSON under a protobuf type",
      { content: { size: 9, text: '{"a":"\u00e9"}' } },
      Buffer.from('{"a":"\u00e9"}'),
      "re-encoded",
    ],
    [
      "neither reading fits: the size decides, bytes",
      { content: { size: 2, text: "\u00e9\u00ff" } },
      Buffer.from([0xe9, 0xff]),
      "latin1",
    ],
    [
      "neither reading fits: the size decides, UTF-8",
      { content: { size: 4, text: "\u00e9\u00ff" } },
      Buffer.from("\u00e9\u00ff"),
      "re-encoded",
    ],
    [
      "neither fits and no size: a binary type means bytes",
      { type: "application/octet-stream", content: { size: -1, text: "\u00e9\u00ff" } },
      Buffer.from([0xe9, 0xff]),
      "latin1",
    ],
    [
      "no type and no controls: text",
      { type: "", content: { size: -1, text: "caf\u00e9" } },
      Buffer.from("caf\u00e9"),
      "re-encoded",
    ],
    [
      "no type with controls: bytes",
      { type: "", content: { size: -1, text: "caf\u00e9\u0000" } },
      Buffer.from("caf\u00e9\u0000", "latin1"),
      "latin1",
    ],
    [
      "controls under a textual type: bytes",
      { type: "text/plain", content: { size: -1, text: latin1(stream) } },
      stream,
      "latin1",
    ],
    [
      "JSON is text, though its size counts units",
      { type: "application/json", content: { size: 12, text: '{"a":"Gr\u00fc\u00df"}' } },
      Buffer.from('{"a":"Gr\u00fc\u00df"}'),
      "re-encoded",
    ],
    [
      "C1 controls beside windows-1252 characters: neither",
      { type: "application/octet-stream", content: { size: -1, text: "\u0080\u20ac" } },
      Buffer.from("\u0080\u20ac"),
      "re-encoded",
    ],
    [
      "the five bytes windows-1252 leaves alone",
      { type: "application/octet-stream", content: { size: -1, text: "\u20ac\u0081\u008d\u008f\u0090\u009d" } },
      Buffer.from([0x80, 0x81, 0x8d, 0x8f, 0x90, 0x9d]),
      "windows-1252",
    ],
    [
      "long texts go the way of short ones",
      {
        type: "text/event-stream",
        content: { size: 99_999, text: windows1252(Buffer.concat(Array(40).fill(stream))) },
      },
      Buffer.concat(Array(40).fill(stream)),
      "windows-1252",
    ],
    [
      "gRPC-Web text is base64 on the wire",
      { type: "application/grpc-web-text+proto", content: { size: 32, text: stream.toString("base64") } },
      Buffer.from(stream.toString("base64")),
      "exact",
    ],
  ];
  it.each(rows)("%s", (_, given, bytes, evidence) => {
    const { body, how, codes, gaps } = respond(given);
    expect([body.toString("hex"), how, gaps]).toEqual([bytes.toString("hex"), evidence, []]);
    expect(Object.keys(codes).filter((code) => code !== "har.body-size-differs")).toEqual([]);
  });
});

describe("base64", () => {
  const text = message.toString("base64");
  const rows: [string, object, string, Record<string, number>][] = [
    ["declared", { text, encoding: "base64" }, "exact", {}],
    ["declared, shouted", { text, encoding: " BASE64 " }, "exact", {}],
    ["line breaks", { text: text.replace(/.{76}/g, "$&\r\n"), encoding: "base64" }, "exact", {}],
    ["URL alphabet, no padding", { text: message.toString("base64url"), encoding: "base64" }, "exact", {}],
    [
      "parts that were encoded one by one",
      {
        text: message.subarray(0, 100).toString("base64") + message.subarray(100).toString("base64"),
        encoding: "base64",
      },
      "exact",
      {},
    ],
    ["not declared under a type that cannot hold it", { text }, "base64-guessed", { "har.base64-guessed": 1 }],
    [
      "an unknown encoding is named",
      { text: latin1(message), encoding: "rot13" },
      "latin1",
      { "har.unknown-encoding": 1 },
    ],
    ["encoding utf-8 says nothing", { text: latin1(message), encoding: "utf-8" }, "latin1", {}],
  ];
  it.each(rows)("%s", (_, content, evidence, codes) => {
    const got = respond({ content: { size: message.length, ...content } });
    expect([got.body.equals(message), got.how, got.codes]).toEqual([true, evidence, codes]);
  });

  it.each([
    ["text/plain may hold it as it is", "text/plain", text],
    ["a form too", "application/x-www-form-urlencoded", "cGFyYW0xPXZhbHVlMSZwYXJhbTI9dmFsdWUy"],
    ["not padded: not strict", "application/proto", text.replace(/=+$/, "")],
    ["decoded it does not parse", "application/proto", Buffer.from("//////////8=", "base64").toString("base64")],
    ["JSON string", "application/json", `"${text}"`],
  ])("is not guessed: %s", (_, type, given) => {
    const got = respond({ type, content: { size: given.length, text: given } });
    expect([got.body.toString(), got.how, got.codes]).toEqual([given, "exact", {}]);
  });

  it("a stranger ends the body there, with a gap", () => {
    const got = respond({ content: { size: message.length, text: `${text.slice(0, 40)}\u2026`, encoding: "base64" } });
    expect(got.body.equals(message.subarray(0, 30))).toBe(true);
    expect(got.gaps).toEqual([["down", message.length - 30, "truncated-by-producer"]]);
    expect(got.codes).toEqual({ "har.bad-base64": 1 });
  });

  it("the word base64 beside text that is none", () => {
    const got = respond({ type: "application/json", content: { size: 8, text: '{"a": 1}', encoding: "base64" } });
    expect([got.body.toString(), got.how, got.codes]).toEqual(['{"a": 1}', "exact", { "har.bad-base64": 1 }]);
  });
});

describe("U+FFFD", () => {
  it("under a binary type the body is lossy, with count and first position", () => {
    const text = "\n\ufffd\u0005abc\ufffd";
    const result = readText(
      harText([entry({ request: { bodySize: 7, postData: { mimeType: "application/proto", text } } })]),
    );
    expect(how(result.exchanges[0]!, "up")).toBe("lossy-utf8");
    expect(bodyOf(result.exchanges[0]!, "up").toString()).toBe(text);
    expect(result.diagnostics.list()).toMatchObject([
      { code: "har.lossy-text", severity: "warning", detail: { side: "request", count: 2, character: 1, byte: 1 } },
    ]);
  });

  it.each([
    ["JSON whose size is that of the text", "application/json", 9, "re-encoded", "har.replacement-in-text"],
    ["JSON without a size", "application/json", -1, "re-encoded", "har.replacement-in-text"],
    ["JSON that was shorter on the wire", "application/json", 6, "lossy-utf8", "har.lossy-text"],
    ["an event stream of text", "text/event-stream", 9, "re-encoded", "har.replacement-in-text"],
    ["bytes", "application/octet-stream", 9, "lossy-utf8", "har.lossy-text"],
  ])("%s", (_, type, size, evidence, code) => {
    const got = respond({ type, content: { size, text: '"a\ufffdbcd"' } });
    expect([got.how, got.codes]).toEqual([evidence, { [code]: 1 }]);
  });
});

describe("content coding left in place", () => {
  const plain = Buffer.from(`{"name":"${"caf\u00e9 ".repeat(50)}"}`);
  const rows: [string, string, Buffer][] = [
    ["gzip", "gzip", gzipSync(plain)],
    ["x-gzip in a list", "identity, x-gzip", gzipSync(plain)],
    ["deflate with zlib header", "deflate", deflateSync(plain)],
    ["raw deflate", "deflate", deflateRawSync(plain)],
    ["br", "br", brotliCompressSync(plain)],
    ["zstd by its magic", "zstd", Buffer.from("28b52ffd0458090000", "hex")],
  ];
  it.each(rows)("%s", (_, coding, bytes) => {
    const got = respond({
      type: "application/json",
      headers: [["Content-Encoding", coding]],
      content: { size: plain.length, text: bytes.toString("base64"), encoding: "base64" },
    });
    expect([got.body.equals(bytes), got.how, got.codes]).toEqual([
      true,
      "exact encoded",
      { "har.body-kept-encoded": 1 },
    ]);
  });

  it.each(["gzip", "deflate", "br", "zstd", "identity"])("%s undone", (coding) => {
    const got = respond({
      type: "application/json",
      headers: [["content-encoding", coding]],
      content: { size: plain.length, text: plain.toString() },
    });
    expect([got.body.equals(plain), got.how, got.codes]).toEqual([true, "re-encoded", {}]);
  });

  it("a .gz file whose transfer coding was undone", () => {
    const file = gzipSync(plain);
    const got = respond({
      type: "application/gzip",
      headers: [["content-encoding", "gzip"]],
      content: { size: file.length, text: file.toString("base64"), encoding: "base64" },
    });
    expect(got.how).toBe("exact");
  });
});

describe("cut by the producer?", () => {
  const long = Buffer.concat([
    envelope(0, field(1, high)),
    envelope(0, Buffer.alloc(10_000, 9)),
    envelope(2, Buffer.from("{}")),
  ]);
  const b64 = (bytes: Buffer, size: number) => ({ size, text: bytes.toString("base64"), encoding: "base64" });
  const cut = (seen: number, total: number) => [["down", total - seen, "truncated-by-producer"]];
  const rows: [string, Case, unknown][] = [
    [
      "at a limit, inside an envelope",
      { type: "text/event-stream", content: b64(long.subarray(0, 8192), long.length) },
      cut(8192, long.length),
    ],
    [
      "anywhere, inside an envelope",
      { type: "application/connect+proto", content: b64(long.subarray(0, 5001), long.length) },
      cut(5001, long.length),
    ],
    [
      "between envelopes, before the end of the stream",
      { type: "application/connect+proto", content: b64(stream.subarray(0, 17), stream.length) },
      cut(17, stream.length),
    ],
    [
      "no size, at a limit, inside an envelope",
      { type: "text/event-stream", content: b64(long.subarray(0, 8192), -1) },
      [["down", null, "truncated-by-producer"]],
    ],
    [
      "text of one character per byte, at a limit",
      { type: "application/connect+proto", content: { size: long.length, text: latin1(long.subarray(0, 8192)) } },
      cut(8192, long.length),
    ],
    ["JSON that stops", { type: "application/json", content: { size: 100, text: '{"a":[1,2' } }, cut(9, 100)],
    ["protobuf that stops", { content: b64(message.subarray(0, 50), message.length) }, cut(50, message.length)],
    ["SSE that stops", { type: "text/event-stream", content: { size: 100, text: "data: a\n\ndata: b" } }, cut(16, 100)],
    ["HTML at a limit", { type: "text/html", content: { size: 9999, text: "<p>".repeat(2048) } }, cut(6144, 9999)],
    [
      "line breaks in base64 are no bytes",
      {
        type: "text/event-stream",
        content: {
          size: long.length,
          text: long.subarray(0, 8100).toString("base64").replace(/.{20}/g, "$&\r\n"),
          encoding: "base64",
        },
      },
      cut(8100, long.length),
    ],
  ];
  it.each(rows)("%s", (_, given, gaps) => {
    const got = respond(given);
    expect(got.gaps).toEqual(gaps);
    expect(got.codes).toEqual({ "har.body-cut": 1 });
  });

  const whole: [string, Case, Record<string, number>][] = [
    ["complete envelopes, whatever the size says", { type: "text/event-stream", content: b64(stream, 5000) }, {}],
    [
      "a stream the server broke off, size right",
      { type: "text/event-stream", content: b64(long.subarray(0, 5001), 5001) },
      {},
    ],
    ["complete JSON", { type: "application/json", content: { size: 999, text: '{"a":1}' } }, {}],
    ["complete SSE", { type: "text/event-stream", content: { size: 999, text: "data: a\r\n\r\n" } }, {}],
    ["complete protobuf", { content: b64(message, 999) }, {}],
    [
      "HTML: nothing shows it",
      { type: "text/html", content: { size: 99, text: "<p>" } },
      { "har.body-size-differs": 1 },
    ],
    [
      "size in UTF-8 bytes of windows-1252 text",
      {
        type: "text/event-stream",
        content: { size: Buffer.byteLength(windows1252(stream)), text: windows1252(stream) },
      },
      {},
    ],
    ["a size below the truth", { content: b64(message, 3) }, {}],
  ];
  it.each(whole)("not: %s", (_, given, codes) => {
    const got = respond(given);
    expect([got.gaps, got.codes]).toEqual([[], codes]);
  });

  it("a client's stream needs no end of stream", () => {
    const got = request(
      "application/connect+proto",
      { mimeType: "", text: latin1(envelope(0, field(1, Buffer.from("a")))) },
      500,
    );
    expect(got.gaps).toEqual([]);
  });
});

describe("bodies that are not there", () => {
  const lost = (length: number | null, why: string) => [["down", length, why]];
  const rows: [string, Case, unknown, Record<string, number>][] = [
    ["size says so", { content: { size: 12 } }, lost(12, "discarded-by-producer"), { "har.body-absent": 1 }],
    [
      "empty text, size says so",
      { content: { size: 12, text: "" } },
      lost(12, "discarded-by-producer"),
      { "har.body-absent": 1 },
    ],
    [
      "text null",
      { content: { size: 12, text: null } },
      lost(12, "discarded-by-producer"),
      { "har.body-absent": 1, "har.entry-invalid": 1 },
    ],
    [
      "content-length says so",
      { headers: [["Content-Length", "7"]], content: { size: -1 } },
      lost(7, "discarded-by-producer"),
      { "har.body-absent": 1 },
    ],
    ["nothing is known", { content: { size: -1 } }, lost(null, "not-captured"), { "har.body-absent": 1 }],
    ["size 0", { content: { size: 0 }, bodySize: 57 }, [], {}],
    ["size unknown, text empty", { content: { size: -1, text: "" } }, [], {}],
    ["204", { content: { size: -1 }, response: { status: 204 } }, [], {}],
    ["304", { content: { size: 500 }, response: { status: 304 } }, [], {}],
  ];
  it.each(rows)("response: %s", (_, given, gaps, codes) => {
    const got = respond(given);
    expect([got.gaps, got.codes, got.body.length]).toEqual([gaps, codes, 0]);
  });

  const posted = (length: number) => [["up", length, "discarded-by-producer"]];
  const requests: [string, object | undefined, number, object, unknown, Record<string, number>][] = [
    ["empty text and a size", { mimeType: "a/b", text: "" }, 56, {}, posted(56), { "har.body-empty": 1 }],
    ["no postData and a size", undefined, 56, {}, posted(56), { "har.body-absent": 1 }],
    [
      "discarded status",
      undefined,
      56,
      { _requestBodyStatus: "discarded:too-large" },
      posted(56),
      { "har.body-absent": 1 },
    ],
    ["empty text, no size", { mimeType: "a/b", text: "" }, -1, {}, [], {}],
    ["empty text, size 0", { mimeType: "a/b", text: "" }, 0, {}, [], {}],
    ["GET with an odd bodySize", undefined, 41, { method: "GET" }, [], {}],
    [
      "multipart parameters cannot be rebuilt",
      { mimeType: "multipart/form-data", params: [{ name: "a", value: "b" }] },
      90,
      {},
      posted(90),
      { "har.body-absent": 1 },
    ],
  ];
  it.each(requests)("request: %s", (_, postData, size, more, gaps, codes) => {
    const got = request((postData as { mimeType?: string } | undefined)?.mimeType ?? "a/b", postData, size, more);
    const { "har.entry-invalid": __, ...rest } = got.codes;
    expect([got.gaps, rest]).toEqual([gaps, codes]);
  });
});
