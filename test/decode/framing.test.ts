import { deflateSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Bytes, concat, utf8Bytes } from "../../src/core/bytes.js";
import { defaultLimits } from "../../src/core/limits.js";
import { bodyReader, looksEnveloped } from "../../src/decode/bodies.js";
import type { Exchange, FrameFault } from "../../src/model/exchange.js";
import type { Framing, SessionInput } from "../../src/model/message.js";
import { brief, bytesOf, cuts, envelope, exchangeOf, type Feed, feed, markAt, pi } from "./support.js";

const text = "abcdefgh".repeat(30);
const gz = gzipSync(text);

interface Row {
  readonly name: string;
  readonly framing: Framing;
  readonly body: Bytes;
  readonly headers?: Readonly<Record<string, string>>;
  readonly limits?: Feed["limits"];
  /** flags, body as latin1 (or its length), fault, start, end */
  readonly messages: readonly (readonly [
    flags: number,
    body: string | number,
    fault: string | null,
    start: number,
    end: number,
  ])[];
  readonly codes?: readonly string[];
}

const json = utf8Bytes('{"a":1}');
const rows: Row[] = [
  {
    name: "Connect: flags 0, 1, 2 in one stream",
    framing: "connect-envelope",
    headers: { "Connect-Content-Encoding": "gzip" },
    body: concat([envelope(0, "one"), envelope(1, gz), envelope(2, "{}")]),
    messages: [
      [0, "one", null, 0, 8],
      [1, text, null, 8, 13 + gz.length],
      [2, "{}", null, 13 + gz.length, 20 + gz.length],
    ],
  },
  {
    name: "Connect: flags 3, a compressed EndStream",
    framing: "connect-envelope",
    headers: { "connect-content-encoding": "deflate" },
    body: envelope(3, deflateSync("{}")),
    messages: [[3, "{}", null, 0, 5 + deflateSync("{}").length]],
  },
  {
    name: "Connect: reserved flag bits on an envelope stay an envelope",
    framing: "connect-envelope",
    body: concat([envelope(0x10, "x"), envelope(0, "y")]),
    messages: [
      [0x10, "x", null, 0, 6],
      [0, "y", null, 6, 12],
    ],
  },
  {
    name: "Connect: empty payloads",
    framing: "connect-envelope",
    headers: { "connect-content-encoding": "gzip" },
    body: concat([envelope(0, ""), envelope(1, ""), envelope(2, "")]),
    messages: [
      [0, "", null, 0, 5],
      [1, "", null, 5, 10],
      [2, "", null, 10, 15],
    ],
  },
  {
    name: "Connect: compressed flag without a codec",
    framing: "connect-envelope",
    body: envelope(1, "raw"),
    messages: [[1, "raw", "no-codec", 0, 8]],
    codes: ["decode.no-codec"],
  },
  {
    name: "Connect: a codec nobody knows",
    framing: "connect-envelope",
    headers: { "connect-content-encoding": "lzma" },
    body: envelope(1, "raw"),
    messages: [[1, "raw", "no-codec", 0, 8]],
    codes: ["decode.no-codec"],
  },
  {
    name: "Connect: a payload that does not decompress",
    framing: "connect-envelope",
    headers: { "connect-content-encoding": "gzip" },
    body: concat([envelope(1, "no gzip"), envelope(0, "next")]),
    messages: [
      [1, "", "bad-compression", 0, 12],
      [0, "next", null, 12, 21],
    ],
    codes: ["decode.bad-compression"],
  },
  {
    name: "Connect: over the limit, the next one is in step",
    framing: "connect-envelope",
    limits: { messageBytes: 10 },
    body: concat([envelope(0, "x".repeat(11)), envelope(0, "y".repeat(10))]),
    messages: [
      [0, "", "over-limit", 0, 16],
      [0, "y".repeat(10), null, 16, 31],
    ],
    codes: ["decode.message-too-long"],
  },
  {
    name: "Connect: the direction ends in a payload",
    framing: "connect-envelope",
    body: concat([envelope(0, "one"), envelope(0, "two").subarray(0, 6)]),
    messages: [
      [0, "one", null, 0, 8],
      [0, "t", "truncated", 8, 14],
    ],
    codes: ["decode.message-cut"],
  },
  {
    name: "Connect: the direction ends in a header",
    framing: "connect-envelope",
    body: concat([envelope(0, "one"), bytesOf("000000")]),
    messages: [
      [0, "one", null, 0, 8],
      [0, "", "truncated", 8, 11],
    ],
    codes: ["decode.message-cut"],
  },
  {
    name: "Connect: a bare message, read as an envelope 105,465,393 bytes long",
    framing: "connect-envelope",
    body: bytesOf("0a06494631323334 1801"),
    messages: [[-1, 10, "not-enveloped", 0, 10]],
    codes: ["decode.unary-under-streaming"],
  },
  {
    name: "Connect: a bare message that could be an envelope by its length",
    framing: "connect-envelope",
    body: bytesOf("0a03616263 1801"),
    messages: [[-1, 7, "not-enveloped", 0, 7]],
    codes: ["decode.unary-under-streaming"],
  },
  {
    name: "Connect: bare JSON",
    framing: "connect-envelope",
    body: json,
    messages: [[-1, '{"a":1}', "not-enveloped", 0, 7]],
    codes: ["decode.unary-under-streaming"],
  },
  {
    name: "gRPC: length-prefixed messages",
    framing: "grpc",
    headers: { "grpc-encoding": "gzip" },
    body: concat([envelope(0, "a"), envelope(1, gz)]),
    messages: [
      [0, "a", null, 0, 6],
      [1, text, null, 6, 11 + gz.length],
    ],
  },
  {
    name: "gRPC-Web: trailers in frames 0x80 and 0x81",
    framing: "grpc-web",
    headers: { "grpc-encoding": "gzip" },
    body: concat([envelope(0, "a"), envelope(0x80, "grpc-status:0\r\n"), envelope(0x81, gz)]),
    messages: [
      [0, "a", null, 0, 6],
      [0x80, "grpc-status:0\r\n", null, 6, 26],
      [0x81, text, null, 26, 31 + gz.length],
    ],
  },
  {
    name: "pi: frames (pi page, section 2)",
    framing: "length-prefix",
    body: concat([pi("one"), pi("two!")]),
    messages: [
      [-1, "one", null, 0, 7],
      [-1, "two!", null, 7, 15],
    ],
  },
  {
    name: "pi: length zero kills the direction",
    framing: "length-prefix",
    body: concat([pi("one"), pi(""), pi("two")]),
    messages: [
      [-1, "one", null, 0, 7],
      [-1, "", "over-limit", 7, 18],
    ],
    codes: ["decode.bad-length"],
  },
  {
    name: "pi: a length above 16 MiB kills the direction",
    framing: "length-prefix",
    body: concat([pi("one"), bytesOf("01000001"), pi("two")]),
    messages: [
      [-1, "one", null, 0, 7],
      [-1, "", "over-limit", 7, 18],
    ],
    codes: ["decode.bad-length"],
  },
  {
    name: "SSE: LF, CRLF and CR, comments, an end without an empty line",
    framing: "sse",
    body: utf8Bytes("\ufeffdata: 1\n\nevent: x\r\ndata: 2\r\n\r\n: ping\r\rdata: 3\n\n\n\ndata: 4\n"),
    messages: [
      [-1, 10, null, 0, 12],
      [-1, "event: x\r\ndata: 2", null, 12, 32],
      [-1, ": ping", null, 32, 41],
      [-1, "data: 3", null, 41, 50],
      [-1, "data: 4", "truncated", 52, 60],
    ],
  },
  {
    name: "SSE: over the limit",
    framing: "sse",
    limits: { messageBytes: 10 },
    body: utf8Bytes(`data: ${"x".repeat(20)}\n\ndata: 2\n\n`),
    messages: [
      [-1, "", "over-limit", 0, 28],
      [-1, "data: 2", null, 28, 37],
    ],
    codes: ["decode.message-too-long"],
  },
  {
    name: "JSON lines: LF and CRLF, empty lines, a last line without end",
    framing: "json-lines",
    body: utf8Bytes('{"a":1}\r\n\n{"b":2}\n3'),
    messages: [
      [-1, '{"a":1}', null, 0, 9],
      [-1, '{"b":2}', null, 10, 18],
      [-1, "3", null, 18, 19],
    ],
  },
  {
    name: "JSON lines: over the limit",
    framing: "json-lines",
    limits: { messageBytes: 5 },
    body: utf8Bytes("1234567\n12\n"),
    messages: [
      [-1, "", "over-limit", 0, 8],
      [-1, "12", null, 8, 11],
    ],
    codes: ["decode.message-too-long"],
  },
  {
    name: "whole body",
    framing: "whole-body",
    body: json,
    messages: [[-1, '{"a":1}', null, 0, 7]],
  },
  {
    name: "whole body: an envelope under a unary type",
    framing: "whole-body",
    headers: { "content-type": "application/proto" },
    body: envelope(0, bytesOf("0a0161")),
    messages: [[-1, 8, "enveloped", 0, 8]],
    codes: ["decode.envelope-under-unary"],
  },
  {
    name: "whole body: over the limit",
    framing: "whole-body",
    limits: { messageBytes: 3 },
    body: json,
    messages: [[-1, "", "over-limit", 0, 7]],
    codes: ["decode.message-too-long"],
  },
  {
    name: "no framing: only counted",
    framing: "none",
    body: json,
    messages: [],
  },
];

function shown(options: Feed): object[] {
  return feed(options).messages.map((message) => {
    const { flags, body, fault, start, end } = brief(message) as {
      flags: number;
      body: string;
      fault: string;
      start: number;
      end: number;
    };
    return [flags, body, fault, start, end];
  });
}

function expected(row: Row, bodies: readonly string[]): unknown[] {
  return row.messages.map(([flags, body, fault, start, end], i) => [
    flags,
    typeof body === "number" ? bodies[i] : body,
    fault,
    start,
    end,
  ]);
}

describe("framing, whole and at every cut", () => {
  it.each(rows)("$name", (row) => {
    const { framing, headers = {}, limits = {} } = row;
    const whole = feed({ framing, headers, limits, pieces: [row.body] });
    expect(whole.codes).toEqual(row.codes ?? []);
    expect(whole.summary.bytes).toBe(row.body.length);
    const bodies = whole.messages.map((message) => Buffer.from(message.body).toString("latin1"));
    for (const [i, message] of row.messages.entries()) {
      if (typeof message[1] === "number") expect(bodies[i]!.length).toBe(message[1]);
    }
    for (const pieces of cuts(row.body)) {
      expect(shown({ framing, headers, limits, pieces })).toEqual(expected(row, bodies));
    }
  });
});

describe("marks and places", () => {
  it("span the packets that carried a message", () => {
    const body = concat([envelope(0, "one"), envelope(0, "two")]);
    const { messages } = feed({
      framing: "connect-envelope",
      pieces: [body.subarray(0, 4), body.subarray(4, 10), body.subarray(10)],
    });
    expect(messages.map(({ mark, place }) => [mark.first, mark.last, place.first, place.last, place.side])).toEqual([
      [0, 1, 0, 1, "response"],
      [1, 2, 1, 2, "response"],
    ]);
    expect(messages[0]!.mark.when.latest).toBe(2_000_000n);
    expect(
      messages.map((message) => [message.ordinal, message.headerBytes, message.wireBytes, message.declared]),
    ).toEqual([
      [0, 5, 3, 3],
      [1, 5, 3, 3],
    ]);
  });

  it("keep declared and seen lengths apart", () => {
    const { messages } = feed({ framing: "connect-envelope", pieces: [bytesOf("00 00000064 6162")] });
    expect(messages[0]).toMatchObject({ declared: 100, wireBytes: 2, fault: "truncated" });
    const dead = feed({ framing: "length-prefix", pieces: [bytesOf("ffffffff 616263")] });
    expect(dead.messages[0]).toMatchObject({ declared: 0xffffffff, wireBytes: 3, headerBytes: 4, fault: "over-limit" });
  });

  it("never wait for what a length declares: 4 GiB declared, little held", () => {
    const before = process.memoryUsage().arrayBuffers;
    const { messages } = feed({ framing: "grpc", pieces: [bytesOf("00 ffffffff"), new Uint8Array(1000)] });
    expect(messages[0]).toMatchObject({ declared: 0xffffffff, wireBytes: 1000, fault: "over-limit" });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10_000_000);
  });
});

describe("gaps", () => {
  const stream = concat([envelope(0, "first"), envelope(0, "second!"), envelope(0, "third")]);

  it("of known size inside a payload cost that message only", () => {
    const fed = feed({
      framing: "connect-envelope",
      pieces: [stream.subarray(0, 17), stream.subarray(20)],
      gaps: new Map([[1, 3]]),
    });
    expect(fed.messages.map((message) => [Buffer.from(message.body).toString(), message.fault])).toEqual([
      ["first", null],
      ["se", "truncated"],
      ["third", null],
    ]);
    expect(fed.inputs.map((input) => input.kind)).toEqual(["message", "gap", "message", "message", "end"]);
  });

  it("that hide a header end the direction, and what follows is counted and named", () => {
    const fed = feed({
      framing: "connect-envelope",
      pieces: [stream.subarray(0, 8), stream.subarray(14)],
      gaps: new Map([[1, 6]]),
    });
    expect(fed.messages.map((message) => [Buffer.from(message.body).toString(), message.fault])).toEqual([
      ["fir", "truncated"],
    ]);
    expect(fed.codes).toEqual(["decode.message-cut", "decode.lost-step"]);
    expect(fed.summary.bytes).toBe(stream.length - 6);
  });

  it("of unknown size, too; one at the end loses no step", () => {
    expect(feed({ framing: "connect-envelope", pieces: [stream], gaps: new Map([[1, undefined]]) }).codes).toEqual([]);
    expect(
      feed({ framing: "connect-envelope", pieces: [stream, stream], gaps: new Map([[1, undefined]]) }).codes,
    ).toEqual(["decode.lost-step"]);
  });

  it("in lines and events cost one message; they go on behind the next separator", () => {
    const lines = feed({
      framing: "json-lines",
      pieces: [utf8Bytes("1\n2"), utf8Bytes("3\n4\n")],
      gaps: new Map([[1, 5]]),
    });
    expect(lines.messages.map((message) => [Buffer.from(message.body).toString(), message.fault])).toEqual([
      ["1", null],
      ["2", "truncated"],
      ["4", null],
    ]);
    const events = feed({
      framing: "sse",
      pieces: [utf8Bytes("data:1\n\ndata:2"), utf8Bytes("x\n\ndata:3\n\n")],
      gaps: new Map([[1, 5]]),
    });
    expect(events.messages.map((message) => [Buffer.from(message.body).toString(), message.fault])).toEqual([
      ["data:1", null],
      ["data:2", "truncated"],
      ["data:3", null],
    ]);
  });

  it("in a whole body keep what stood before them", () => {
    const fed = feed({ framing: "whole-body", pieces: [utf8Bytes("abc"), utf8Bytes("def")], gaps: new Map([[1, 3]]) });
    expect(fed.messages.map((message) => [Buffer.from(message.body).toString(), message.fault])).toEqual([
      ["abc", "truncated"],
    ]);
  });

  it("with empty pieces behind them", () => {
    for (const framing of ["json-lines", "sse", "connect-envelope", "length-prefix"] as const) {
      const fed = feed({ framing, pieces: [new Uint8Array(0), utf8Bytes("\n\n")], gaps: new Map([[0, undefined]]) });
      expect(fed.messages).toEqual([]);
    }
  });

  it("alone make no message", () => {
    for (const framing of ["whole-body", "connect-envelope", "sse", "json-lines"] as const) {
      expect(feed({ framing, pieces: [], gaps: new Map([[0, undefined]]) }).inputs.map((input) => input.kind)).toEqual([
        "gap",
        "end",
      ]);
    }
  });
});

describe("lossy text", () => {
  const stream = concat([envelope(0, "first"), envelope(1, bytesOf("1fefbfbd08")), envelope(0, "third")]);

  it("in envelopes: the clean prefix, then a gap", () => {
    for (const pieces of cuts(stream)) {
      const fed = feed({ framing: "connect-envelope", pieces, evidence: "lossy-utf8" });
      expect(fed.messages.map((message) => [Buffer.from(message.body).toString("latin1"), message.fault])).toEqual([
        ["first", null],
        ["\x1f", "lossy"],
      ]);
      expect(fed.inputs.map((input) => (input.kind === "gap" ? input.why : input.kind))).toEqual([
        "message",
        "message",
        "lossy-utf8",
        "end",
      ]);
      expect(fed.summary.bytes).toBe(stream.length);
    }
  });

  it("in a whole body: one message that says so", () => {
    const fed = feed({ framing: "whole-body", pieces: [bytesOf("0a03 efbf"), bytesOf("bd")], evidence: "lossy-utf8" });
    expect(fed.messages.map((message) => [message.body.length, message.fault, message.evidence])).toEqual([
      [5, "lossy", "lossy-utf8"],
    ]);
    expect(fed.codes).toEqual([]);
  });

  it("in lines: only the lines that hold it", () => {
    const fed = feed({ framing: "json-lines", pieces: [utf8Bytes('"a"\n"\ufffd"\n"b"\n')], evidence: "lossy-utf8" });
    expect(fed.messages.map((message) => message.fault)).toEqual([null, "lossy", null]);
  });

  it("that holds no U+FFFD is whole", () => {
    const fed = feed({ framing: "connect-envelope", pieces: [envelope(0, "a\u00ef")], evidence: "lossy-utf8" });
    expect(fed.messages.map((message) => message.fault)).toEqual([null]);
  });
});

describe("gRPC-Web text", () => {
  const frames = concat([envelope(0, "hello"), envelope(0x80, "grpc-status:0\r\n")]);
  const base64 = (bytes: Bytes): Bytes => utf8Bytes(Buffer.from(bytes).toString("base64"));

  it("in one group, and in groups padded where the sender flushed; offsets are the text's", () => {
    const texts = [base64(frames), concat([base64(frames.subarray(0, 10)), base64(frames.subarray(10))])];
    for (const body of texts) {
      for (const pieces of cuts(body)) {
        const { messages } = feed({ framing: "grpc-web-text", pieces });
        expect(messages.map((message) => [message.flags, Buffer.from(message.body).toString()])).toEqual([
          [0, "hello"],
          [0x80, "grpc-status:0\r\n"],
        ]);
        expect(messages.at(-1)!.place.end).toBe(body.length);
        expect(messages[0]!.place.end).toBe(body === texts[0] ? 13 : 16);
      }
    }
  });

  it("that is no base64 from some point on", () => {
    const fed = feed({
      framing: "grpc-web-text",
      pieces: [concat([base64(frames).subarray(0, 16), utf8Bytes("!!!!AAAA")])],
    });
    expect(fed.messages.map((message) => [Buffer.from(message.body).toString(), message.fault])).toEqual([
      ["hello", null],
      ["", "truncated"],
    ]);
    expect(fed.codes).toEqual(["decode.bad-base64", "decode.message-cut"]);
  });

  it("that ends inside a group", () => {
    const { messages } = feed({ framing: "grpc-web-text", pieces: [base64(frames).subarray(0, 10)] });
    expect(messages.map((message) => message.fault)).toEqual(["truncated"]);
  });
});

describe("WebSocket", () => {
  it("frames become messages, flags are the opcode, offsets count payloads", () => {
    const exchange = exchangeOf();
    const { messages, inputs } = feedFrames(exchange, [
      [1, "hi", undefined],
      [9, "", undefined],
      [2, "\x01", "bad-compression"],
    ]);
    expect(
      messages.map(({ flags, body, fault, codec, place }) => [
        flags,
        body.length,
        fault,
        codec,
        place.start,
        place.end,
      ]),
    ).toEqual([
      [1, 2, null, "permessage-deflate", 0, 2],
      [9, 0, null, "permessage-deflate", 2, 2],
      [2, 1, "bad-compression", "permessage-deflate", 2, 3],
    ]);
    expect(inputs.at(-1)!.kind).toBe("end");
  });
});

function feedFrames(exchange: Exchange, frames: readonly [number, string, FrameFault | undefined][]) {
  const inputs: SessionInput[] = [];
  const direction = "up" as const;
  const reader = bodyReader({
    exchange,
    direction,
    framing: "websocket",
    headers: [],
    limits: defaultLimits,
    note: () => {},
    hash: false,
    out: (input) => inputs.push(input),
  });
  for (const [i, [opcode, body, fault]] of frames.entries()) {
    const bytes = utf8Bytes(body);
    const plain = {
      kind: "frame",
      exchange,
      direction,
      opcode,
      bytes,
      compressed: true,
      wireBytes: 9,
      evidence: "exact",
      mark: markAt(i),
    } as const;
    reader.push(fault === undefined ? plain : { ...plain, fault });
  }
  reader.push({ kind: "end", exchange, direction, reason: "complete", by: null, mark: markAt(9) });
  const messages = inputs.flatMap((input) => (input.kind === "message" ? [input.message] : []));
  return { inputs, messages };
}

describe("looksEnveloped", () => {
  const cases: [row: string, prefix: Bytes, answer: boolean][] = [
    ["an envelope", envelope(0, "abc"), true],
    ["the beginning of a long one", envelope(1, new Uint8Array(5000)).subarray(0, 100), true],
    ["two", concat([envelope(0, "a"), envelope(2, "{}")]), true],
    ["a gRPC-Web trailer", envelope(0x80, "a:b"), true],
    ["a header alone", bytesOf("0000000004"), true],
    ["SSE", utf8Bytes("data: x\n\n"), false],
    ["SSE after a byte-order mark", utf8Bytes("\ufeffdata: x\n\n"), false],
    ["a bare message", bytesOf("0a0649463132"), false],
    ["an absurd length", bytesOf("00ffffffff"), false],
    ["rubbish behind the first", concat([envelope(0, "abc"), bytesOf("ff00000000")]), false],
    ["too short to say", bytesOf("00000000"), false],
    ["nothing", new Uint8Array(0), false],
  ];
  it.each(cases)("%s", (_, prefix, answer) => {
    expect(looksEnveloped(prefix)).toBe(answer);
  });
});

describe("noise", () => {
  const framings: Framing[] = [
    "connect-envelope",
    "grpc",
    "grpc-web",
    "grpc-web-text",
    "sse",
    "length-prefix",
    "json-lines",
    "whole-body",
    "none",
  ];

  it("ends, stays in order and inside the body, however it is cut", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...framings),
        fc.array(
          fc.oneof(fc.uint8Array({ maxLength: 30 }), fc.constant(envelope(0, "ok")), fc.constant(envelope(1, gz))),
          { maxLength: 8 },
        ),
        fc.option(fc.nat(8)),
        (framing, pieces, gap) => {
          const gaps = gap === null ? new Map<number, undefined>() : new Map([[gap, undefined]]);
          const fed = feed({
            framing,
            pieces,
            gaps,
            headers: { "connect-content-encoding": "gzip", "grpc-encoding": "gzip" },
          });
          const total = pieces.reduce((sum, piece) => sum + piece.length, 0);
          expect(fed.summary.bytes).toBe(total);
          expect(fed.inputs.at(-1)!.kind).toBe("end");
          let before = 0;
          for (const { place } of fed.messages) {
            expect(place.start).toBeGreaterThanOrEqual(before);
            expect(place.end).toBeGreaterThanOrEqual(place.start!);
            before = place.end!;
          }
          expect(before).toBeLessThanOrEqual(total);
        },
      ),
      { numRuns: 400 },
    );
  });

  it("gives the same messages whole and cut", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...framings),
        fc.uint8Array({ maxLength: 60 }),
        fc.array(fc.nat(60), { maxLength: 5 }),
        (framing, junk, at) => {
          const body = concat([framing === "length-prefix" ? pi("ok") : envelope(0, "ok"), junk]);
          const points = [0, ...at.filter((point) => point < body.length).sort((a, b) => a - b), body.length];
          const pieces = points.slice(1).map((point, i) => body.subarray(points[i]!, point));
          expect(shown({ framing, pieces })).toEqual(shown({ framing, pieces: [body] }));
        },
      ),
      { numRuns: 400 },
    );
  });
});
