import { describe, expect, test } from "vitest";
import { concat, fromHex, utf8 } from "../../src/core/bytes.js";
import { http1Layer } from "../../src/net/http1.js";
import { http2Layer } from "../../src/net/http2.js";
import {
  data,
  frame,
  goaway,
  headers,
  ping,
  preface,
  pushPromise,
  requestFields,
  reset,
  settings,
  settingsAck,
  Talk,
  windowUpdate,
} from "./h2-frames.js";
import { byteByByte, down, end, everyCut, fins, gap, run, type Step, uncut, up, type View } from "./http-support.js";
import { deflated, masked, frame as wsFrame } from "./websocket-frames.js";

const make = (context: Parameters<typeof http2Layer>[0]) => http2Layer(context, { secure: false });
const play = (steps: readonly Step[], options = {}) => run(make, steps, options);
const done = ["up complete", "down complete"];

interface Row {
  readonly name: string;
  readonly steps: (talk: Talk) => readonly Step[];
  readonly want: readonly Partial<View>[];
  readonly codes?: readonly string[];
}

/** Behind the connection's start, in front of its end. */
const rows: readonly Row[] = [
  {
    name: "RFC 9113 8.8 one request, one response",
    steps: (t) => [
      up(t.ask(1, "/a")),
      up(data(1, "hello", { end: true })),
      down(t.answer(1, 200, { more: [["content-type", "text/x"]] })),
      down(data(1, "world", { end: true })),
    ],
    want: [
      {
        request: "POST /a",
        authority: "h.test",
        scheme: "http",
        version: "2",
        headers: [],
        heads: ["200"],
        responseHeaders: ["content-type: text/x"],
        up: "hello",
        down: "world",
        ends: done,
      },
    ],
  },
  {
    name: "RFC 9113 5 interleaved streams",
    steps: (t) => [
      up(concat([t.ask(1, "/a"), t.ask(3, "/b", { end: true }), data(1, "x"), t.ask(5, "/c", { end: true })])),
      down(
        concat([
          t.answer(3),
          data(3, "b1"),
          t.answer(1),
          data(1, "a1"),
          data(3, "b2", { end: true }),
          t.answer(5, 404, { end: true }),
        ]),
      ),
      up(data(1, "y", { end: true })),
      down(data(1, "a2", { end: true })),
    ],
    want: [
      { request: "POST /a", up: "xy", down: "a1a2", ends: done },
      { request: "POST /b", down: "b1b2", ends: done },
      { request: "POST /c", heads: ["404"], down: "", ends: done },
    ],
  },
  {
    name: "RFC 9113 6.10 CONTINUATION, 6.2 padding and priority, 6.1 padded DATA",
    steps: (t) => [
      up(t.ask(1, "/long", { cuts: [1, 3, 9], pad: 5, priority: true, end: true })),
      down(t.answer(1, 200, { pad: 0, more: [["x-a", "1"]], cuts: [2] })),
      down(concat([data(1, "one", { pad: 7 }), data(1, "", { pad: 0 }), data(1, "two", { pad: 255, end: true })])),
    ],
    want: [{ request: "POST /long", responseHeaders: ["x-a: 1"], down: "onetwo", ends: done }],
  },
  {
    name: "RFC 9113 8.1 informational heads and trailers both ways",
    steps: (t) => [
      up(concat([t.ask(1, "/"), data(1, "q"), headers(1, t.client.block([["x-up", "t"]]), { end: true })])),
      down(
        concat([
          t.answer(1, 103, { more: [["link", "</x>"]] }),
          t.answer(1),
          data(1, "r"),
          t.trailers(1, [
            ["grpc-status", "0"],
            ["x-down", "t"],
          ]),
        ]),
      ),
    ],
    want: [
      {
        heads: ["(103)", "200"],
        up: "q",
        down: "r",
        trailers: ["up x-up: t", "down grpc-status: 0", "down x-down: t"],
        ends: done,
      },
    ],
  },
  {
    name: "RFC 9113 6.4 RST_STREAM by the client ends both directions",
    steps: (t) => [
      up(t.ask(1, "/sse", { end: true })),
      down(concat([t.answer(1), data(1, "some")])),
      up(reset(1)),
      down(data(1, "ignored")),
    ],
    want: [{ down: "some", ends: ["up complete", "down reset by client"] }],
    codes: ["http2.after-end"],
  },
  {
    name: "RFC 9113 6.4 RST_STREAM by the server",
    steps: (t) => [up(t.ask(1, "/")), up(data(1, "part")), down(reset(1, 7))],
    want: [{ up: "part", heads: [], ends: ["down reset by server", "up reset by server"] }],
  },
  {
    name: "RFC 9113 8.4 PUSH_PROMISE",
    steps: (t) => [
      up(t.ask(1, "/page", { method: "GET", end: true })),
      down(
        concat([pushPromise(1, 2, t.server.block(requestFields("/style", "GET"))), t.answer(1, 200, { end: true })]),
      ),
      down(concat([t.answer(2), data(2, "css", { end: true })])),
    ],
    want: [
      { request: "GET /page", ends: done },
      { request: "GET /style", down: "css", ends: done },
    ],
  },
  {
    name: "RFC 9113 6.3, 6.5, 6.7, 6.8, 6.9, 5.5 frames that say nothing about exchanges",
    steps: (t) => [
      up(
        concat([
          ping,
          windowUpdate(0),
          t.ask(1, "/", { end: true }),
          windowUpdate(1),
          frame(2, 0, 1, fromHex("0000000010")),
        ]),
      ),
      down(
        concat([
          frame(0x0c, 0, 0, fromHex("0102")),
          t.answer(1),
          frame(0xbe, 0xff, 1, new Uint8Array(40)),
          data(1, "z", { end: true }),
          goaway(1, 0),
        ]),
      ),
    ],
    want: [{ down: "z", ends: done }],
  },
  {
    name: "RFC 9113 6.8 GOAWAY with an error",
    steps: (t) => [up(t.ask(1, "/", { end: true })), down(goaway(0, 11))],
    want: [{ ends: ["up complete", "down reset by client"] }],
    codes: ["http2.goaway"],
  },
  {
    name: "RFC 9113 6.5.2 header table and frame sizes as the other side allows them",
    steps: (t) => [
      down(settings({ 1: 8192, 5: 40_000 })),
      up(headers(1, concat([t.client.resize(8192), t.client.block(requestFields("/"))]), { end: false })),
      up(data(1, "x".repeat(30_000), { end: true })),
      down(t.answer(1, 204, { end: true })),
    ],
    want: [{ up: "x".repeat(30_000), ends: done }],
  },
  {
    name: "RFC 9113 6.5.2 sizes nobody allowed",
    steps: (t) => [
      up(headers(1, concat([t.client.resize(8192), t.client.block(requestFields("/"))]), { end: false })),
      up(data(1, "x".repeat(20_000), { end: true })),
      down(t.answer(1, 204, { end: true })),
    ],
    want: [{ up: "x".repeat(20_000), ends: done }],
    codes: ["hpack.table-size", "http2.bad-frame"],
  },
  {
    name: "RFC 9113 8.3 malformed heads are read as far as they go",
    steps: (t) => [
      up(
        headers(
          1,
          t.client.block([
            ["x", "1"],
            [":path", "/p"],
            [":path", "/q"],
            [":scheme", "http"],
          ]),
          { end: true },
        ),
      ),
      down(headers(1, t.server.block([["y", "2"]]), { end: true })),
    ],
    want: [{ request: " /p", headers: ["x: 1"], heads: ["0"], responseHeaders: ["y: 2"], ends: done }],
    codes: ["http2.bad-head", "http2.bad-head"],
  },
  {
    name: "RFC 9113 6 frames that break their rules are passed over",
    steps: (t) => [
      up(concat([frame(0, 0, 0, new Uint8Array(3)), t.ask(1, "/", { end: true })])),
      down(
        concat([
          frame(6, 0, 0, new Uint8Array(7)),
          t.answer(1),
          frame(0, 8, 1, new Uint8Array([9, 1])),
          data(1, "ok", { end: true }),
        ]),
      ),
    ],
    want: [{ down: "ok", ends: done }],
    codes: ["http2.bad-frame", "http2.bad-frame", "http2.bad-frame"],
  },
  {
    name: "RFC 9113 6.10 a header block that another frame interrupts",
    steps: (t) => {
      const ask = t.client.block(requestFields("/cut"));
      return [
        up(concat([frame(1, 1, 1, ask.slice(0, 5)), windowUpdate(0), frame(9, 4, 1, ask.slice(5))])),
        up(headers(3, new Uint8Array([0x83, 0x86, 0x84]), { end: true })),
        down(concat([t.answer(1, 200, { end: true }), t.answer(3, 200, { end: true })])),
      ];
    },
    want: [
      { request: " ", heads: ["200"], gaps: ["up ? at 0"] },
      { request: "POST /", ends: done },
    ],
    codes: ["http2.bad-frame", "http2.headers-lost", "http2.request-unseen", "http2.bad-frame"],
  },
  {
    name: "RFC 8441 WebSocket over HTTP/2",
    steps: (t) => [
      up(
        t.ask(1, "/ws", {
          method: "CONNECT",
          more: [
            [":protocol", "websocket"],
            ["sec-websocket-extensions", "permessage-deflate"],
          ],
        }),
      ),
      up(data(1, masked(1, "early"))),
      down(t.answer(1, 200, { more: [["sec-websocket-extensions", "permessage-deflate"]] })),
      down(data(1, concat([wsFrame(1, deflated("Hello"), { rsv: 4 }), wsFrame(8, "")]), { end: true })),
      up(data(1, masked(8, ""), { end: true })),
    ],
    want: [
      {
        request: "CONNECT /ws",
        protocol: "websocket",
        heads: ["200"],
        up: "",
        down: "",
        frames: [
          { dir: "up", opcode: 1, text: "early", compressed: false, wireBytes: 5 },
          { dir: "down", opcode: 1, text: "Hello", compressed: true, wireBytes: 7 },
          { dir: "down", opcode: 8, text: "", compressed: false, wireBytes: 0 },
          { dir: "up", opcode: 8, text: "", compressed: false, wireBytes: 0 },
        ],
        ends: ["down complete", "up complete"],
      },
    ],
  },
  {
    name: "RFC 8441 WebSocket refused: the bytes are bodies",
    steps: (t) => [
      up(t.ask(1, "/ws", { method: "CONNECT", more: [[":protocol", "websocket"]] })),
      up(data(1, "early", { end: true })),
      down(concat([t.answer(1, 403), data(1, "no", { end: true })])),
    ],
    want: [{ heads: ["403"], up: "early", down: "no", frames: [], ends: done }],
  },
];

const sent = ({ steps }: Row): Step[] => [...Talk.start(), ...steps(new Talk()), ...fins];

describe("HTTP/2", () => {
  test.each(rows.map((row) => [row.name, row] as const))("%s", (_name, row) => {
    const { views, codes, protocols } = play(sent(row));
    expect(views).toMatchObject(row.want);
    expect(codes).toEqual(row.codes ?? []);
    expect(protocols).toEqual(["http2"]);
  });

  const small = rows.filter((row) => sent(row).every((step) => !("bytes" in step) || step.bytes.length < 2000));
  test.each(small.map((row) => [row.name, row] as const))("every cut: %s", (_name, row) => {
    const whole = play(sent(row));
    for (const cut of everyCut(sent(row))) {
      const { views, codes } = play(cut.steps);
      expect({ at: cut.name, views: uncut(views), codes }).toEqual({
        at: cut.name,
        views: uncut(whole.views),
        codes: whole.codes,
      });
    }
    expect(uncut(play(byteByByte(sent(row))).views)).toEqual(uncut(whole.views));
  });

  test("times and packets of a head in several", () => {
    const t = new Talk();
    const ask = t.ask(1, "/", { cuts: [3], end: true });
    const { views } = play([...Talk.start(), up(ask.slice(0, 4)), up(ask.slice(4, 12)), up(ask.slice(12)), ...fins]);
    expect(views[0]).toMatchObject({ opened: 3, packets: [3, 5] });
  });

  test("DATA is handed on as it arrives, as views", () => {
    const t = new Talk();
    const body = data(1, "0123456789");
    const { events } = play([
      ...Talk.start(),
      up(t.ask(1, "/", { end: true })),
      down(t.answer(1)),
      down(body.subarray(0, 12)),
      down(body.subarray(12, 15)),
    ]);
    const pieces = events.flatMap((event) => (event.kind === "bytes" ? [event] : []));
    expect(pieces.map(({ bytes, mark }) => [utf8(bytes), mark.first])).toEqual([
      ["012", 5],
      ["345", 6],
    ]);
    expect(pieces.every(({ bytes }) => bytes.buffer === body.buffer)).toBe(true);
  });

  test("CONNECT: the tunnel's bytes go to a fresh protocol switch", () => {
    const t = new Talk();
    const connect = headers(
      1,
      t.client.block([
        [":method", "CONNECT"],
        [":authority", "x.test:443"],
      ]),
    );
    const steps = [
      up(connect),
      up(data(1, "early ")),
      down(concat([t.answer(1), data(1, "hello")])),
      up(data(1, "late", { end: true })),
    ];
    const { views, inner } = play([...Talk.start(), ...steps, ...fins]);
    expect(views).toMatchObject([
      { request: "CONNECT ", authority: "x.test:443", heads: ["200"], up: "", down: "", ends: done },
    ]);
    expect(inner).toMatchObject([{ alpn: null, secure: false, log: ["end up complete", "end down reset"] }]);
    expect([utf8(inner[0]!.up), utf8(inner[0]!.down)]).toEqual(["early late", "hello"]);
  });

  test("RFC 7540 3.2 h2c upgrade: the HTTP/1.1 request is stream 1", () => {
    const t = new Talk();
    const request =
      "GET /up HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAQAA\r\n\r\n";
    const steps = [
      up(request),
      down(
        concat([
          new TextEncoder().encode("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"),
          settings(),
        ]),
      ),
      up(concat([preface, settings(), t.ask(3, "/second", { end: true })])),
      down(headers(1, concat([t.server.resize(65_536), t.server.block([[":status", "200"]])]))),
      down(concat([data(1, "first", { end: true }), t.answer(3), data(3, "second", { end: true })])),
      ...fins,
    ];
    for (const cut of [{ steps }, ...everyCut(steps)]) {
      const { views, codes, protocols } = run((context) => http1Layer(context, false), cut.steps);
      expect(views).toMatchObject([
        { request: "GET /up", version: "1.1", heads: ["(101)", "200"], down: "first", ends: done },
        { request: "POST /second", version: "2", heads: ["200"], down: "second", ends: done },
      ]);
      expect(codes).toEqual([]);
      expect(protocols.at(-1)).toBe("http2");
    }
  });

  test("an unfinished stream at the end of the capture", () => {
    const t = new Talk();
    const ends = [end("up", "capture-ended"), end("down", "capture-ended")];
    const { views } = play([
      ...Talk.start(),
      up(t.ask(1, "/", { end: true })),
      down(concat([t.answer(1), data(1, "some")])),
      ...ends,
    ]);
    expect(views).toMatchObject([{ down: "some", ends: ["up complete", "down capture-ended"] }]);
  });
});

describe("HTTP/2 in the wrong order", () => {
  test("a response read before its request waits for it", () => {
    const t = new Talk();
    const ask = t.ask(1, "/a", { end: true });
    const { views, codes } = play([
      ...Talk.start(),
      down(t.answer(1)),
      down(data(1, "x", { end: true })),
      up(ask),
      ...fins,
    ]);
    expect(views).toMatchObject([{ request: "POST /a", down: "x", ends: ["down complete", "up complete"] }]);
    expect(codes).toEqual([]);
  });

  test("the server's side alone", () => {
    const t = new Talk();
    const answers = concat([t.answer(1), data(1, "x", { end: true }), t.answer(3), data(3, "y")]);
    const { views, codes } = play([down(settings()), down(answers), end("down"), end("up")]);
    expect(views).toMatchObject([
      { request: " ", heads: ["200"], down: "x", gaps: ["up ? at 0"] },
      { request: " ", heads: ["200"], down: "y" },
    ]);
    expect(codes).toEqual(["http2.request-unseen", "http2.request-unseen"]);
  });

  test("the client's side alone", () => {
    const t = new Talk();
    const { views, codes } = play([
      up(concat([preface, settings()])),
      up(t.ask(1, "/a", { end: true })),
      up(concat([t.ask(3, "/b"), data(3, "q", { end: true })])),
      ...fins,
    ]);
    expect(views).toMatchObject([
      { request: "POST /a", ends: ["up complete", "down reset by client"] },
      { request: "POST /b", up: "q" },
    ]);
    expect(codes).toEqual([]);
  });

  test("responses that wait are bounded", () => {
    const t = new Talk();
    const big = "z".repeat(3000);
    const { views } = play([down(settings()), down(t.answer(1)), down(data(1, big)), down(data(1, big))], {
      limits: { headBytes: 4096 },
    });
    expect(views).toMatchObject([{ request: " ", heads: ["200"], down: big + big }]);
  });
});

describe("HTTP/2 joined in the middle", () => {
  test("frames are read; what refers to the past is unknown, what does not is known", () => {
    const t = new Talk();
    t.ask(1, "/old", { more: [["x-token", "t"]] });
    t.answer(1, 200, { more: [["content-type", "a/b"]] });
    const { views, codes } = play(
      [
        up(
          t.ask(3, "/new", {
            end: true,
            more: [
              ["x-token", "t"],
              ["x-fresh", "f"],
            ],
          }),
        ),
        down(
          concat([
            data(1, "tail", { end: true }),
            t.answer(3, 200, { more: [["content-type", "a/b"]] }),
            data(3, "x", { end: true }),
          ]),
        ),
        up(t.ask(5, "/new", { end: true })),
        ...fins,
      ],
      { rolesBy: "port" },
    );
    expect(views).toMatchObject([
      {
        request: "POST /new",
        authority: "",
        headers: ["unknown: ", "unknown: ", "x-fresh: f"],
        responseHeaders: ["unknown: "],
        down: "x",
      },
      { request: " ", down: "tail", gaps: ["up ? at 0"] },
      { request: "POST /new", authority: "", headers: ["unknown: "] },
    ]);
    expect(codes).toEqual([
      "http2.joined-late",
      "hpack.unknown-entry",
      "hpack.unknown-entry",
      "http2.joined-late",
      "http2.request-unseen",
      "hpack.unknown-entry",
      "hpack.unknown-entry",
    ]);
  });

  test("inside a DATA frame: the next frame is found", () => {
    const t = new Talk();
    const tail = Buffer.from("the rest of some text ".repeat(20));
    const { views, codes } = play(
      [down(concat([tail, t.answer(7), data(7, "x", { end: true })])), up(t.ask(7, "/n", { end: true })), ...fins],
      { rolesBy: "port" },
    );
    expect(views).toMatchObject([{ request: "POST /n", heads: ["200"], down: "x" }]);
    expect(codes).toEqual(["http2.joined-late", "http2.skipped", "http2.joined-late"]);
  });
});

describe("HTTP/2 gaps", () => {
  const begin = (t: Talk, more = {}) => [
    ...Talk.start(),
    up(t.ask(1, "/sse", { end: true })),
    down(t.answer(1, 200, { more: [["content-type", "text/event-stream"]], ...more })),
  ];

  test("inside a DATA frame: exactly the missing bytes, and nothing else is lost", () => {
    const t = new Talk();
    const start = begin(t);
    const body = data(1, "0123456789");
    const steps = [
      down(body.subarray(0, 12)),
      gap("down", 5),
      down(body.subarray(17)),
      down(data(1, "!", { end: true })),
    ];
    const { views, codes } = play([...start, ...steps, ...fins]);
    expect(views).toMatchObject([{ down: "01289!", gaps: ["down 5 at 3"], ends: done }]);
    expect(codes).toEqual([]);
  });

  test.each([7, 10, 12])("from inside a DATA frame with padding, %i bytes", (length) => {
    const t = new Talk();
    const start = begin(t);
    const body = data(1, "0123456789", { pad: 5 });
    const steps = [
      down(body.subarray(0, 13)),
      gap("down", length),
      down(body.subarray(13 + length)),
      down(data(1, "!", { end: true })),
    ];
    const { views, codes } = play([...start, ...steps, ...fins]);
    expect(views).toMatchObject([
      { down: `012${"3456789".slice(length)}!`, gaps: [`down ${Math.min(length, 7)} at 3`], ends: done },
    ]);
    expect(codes).toEqual([]);
  });

  test("over frames: said on every stream that was active, then the next frame is found", () => {
    const t = new Talk();
    const start = begin(t);
    const steps = [
      up(t.ask(3, "/b", { end: true })),
      down(t.answer(3)),
      down(data(1, "one")),
      gap("down", 80),
      down("lost tail"),
      down(data(1, "two", { end: true })),
    ];
    const { views, codes } = play([...start, ...steps, down(data(3, "three", { end: true })), ...fins]);
    expect(views).toMatchObject([
      { down: "onetwo", gaps: ["down ? at 3"], ends: done },
      { down: "three", gaps: ["down ? at 0"], ends: done },
    ]);
    expect(codes).toEqual(["http2.frames-lost", "http2.skipped"]);
  });

  test("no header block can have been lost: the table stays", () => {
    const t = new Talk();
    const start = begin(t);
    const steps = [
      gap("up", 13),
      gap("down", 300),
      up(t.ask(3, "/sse", { end: true })),
      down(concat([t.answer(3, 200, { more: [["content-type", "text/event-stream"]] }), data(3, "x", { end: true })])),
    ];
    const { views, codes } = play([...start, ...steps, ...fins]);
    expect(views[1]).toMatchObject({
      request: "POST /sse",
      authority: "h.test",
      responseHeaders: ["content-type: text/event-stream"],
      down: "x",
    });
    expect(codes).toEqual(["http2.frames-lost", "http2.frames-lost"]);
  });

  test("a request's header block was lost: later references are unknown", () => {
    const t = new Talk();
    const start = begin(t);
    t.ask(3, "/lost", { end: true });
    const { views, codes } = play([...start, gap("up", 40), up(t.ask(5, "/sse", { end: true })), ...fins]);
    expect(views[1]).toMatchObject({ request: "POST ", headers: ["unknown: ", "unknown: "] });
    expect(codes).toEqual(["http2.frames-lost", "http2.headers-lost", "hpack.unknown-entry", "hpack.unknown-entry"]);
  });

  test("a response's header block was lost: later references are unknown", () => {
    const t = new Talk();
    const start = begin(t);
    const steps = [up(concat([t.ask(3, "/b", { end: true }), t.ask(5, "/c", { end: true })])), gap("down", 40)];
    t.answer(3, 200, { more: [["x-lost", "1"]] });
    const late = t.answer(5, 200, { more: [["content-type", "text/event-stream"]] });
    const { views, codes } = play([
      ...start,
      ...steps,
      down(concat([data(3, "b", { end: true }), late, data(5, "c", { end: true })])),
      ...fins,
    ]);
    expect(views).toMatchObject([
      { request: "POST /sse", gaps: ["down ? at 0"] },
      { request: "POST /b", heads: [], gaps: ["down ? at 0"], down: "b", ends: done },
      { request: "POST /c", heads: ["200"], responseHeaders: ["unknown: "], down: "c", ends: done },
    ]);
    expect(codes).toEqual(["http2.frames-lost", "http2.headers-lost", "hpack.unknown-entry"]);
  });

  test("inside a header block: its stream is known, its headers are not", () => {
    const t = new Talk();
    const start = begin(t);
    const ask = t.ask(3, "/cut", { end: true, more: [["x", "a long value in this header"]] });
    const steps = [
      up(ask.subarray(0, 20)),
      gap("up", 10),
      up(ask.subarray(30)),
      down(concat([t.answer(3), data(3, "x", { end: true })])),
    ];
    const { views, codes } = play([...start, ...steps, ...fins]);
    expect(views[1]).toMatchObject({
      request: " ",
      gaps: ["up ? at 0"],
      heads: ["200"],
      down: "x",
      ends: ["up complete", "down complete"],
    });
    expect(codes).toEqual(["http2.headers-lost", "http2.request-unseen"]);
  });

  test("DATA and a response of a request lost in a gap", () => {
    const t = new Talk();
    const start = begin(t);
    t.ask(3, "/lost");
    const steps = [
      gap("up", 60),
      up(data(3, "body", { end: true })),
      down(concat([t.answer(3), data(3, "x", { end: true })])),
    ];
    const { views, codes } = play([...start, ...steps, ...fins]);
    expect(views[1]).toMatchObject({ request: " ", up: "body", heads: ["200"], down: "x", ends: done });
    expect(codes).toEqual(["http2.frames-lost", "http2.request-unseen"]);
  });

  test("in a WebSocket over HTTP/2, inside a frame", () => {
    const t = new Talk();
    const message = data(1, concat([wsFrame(1, "0123456789"), wsFrame(1, "next")]));
    const steps = [
      ...Talk.start(),
      up(t.ask(1, "/ws", { method: "CONNECT", more: [[":protocol", "websocket"]] })),
      down(t.answer(1)),
      down(message.subarray(0, 14)),
      gap("down", 4),
      down(message.subarray(18)),
    ];
    expect(play([...steps, ...fins]).views).toMatchObject([{ frames: [{ text: "next" }], gaps: ["down 4 at 0"] }]);
  });

  test("before anything was read", () => {
    const t = new Talk();
    const { views, codes } = play([
      gap("up", 50),
      up(t.ask(1, "/a", { end: true })),
      gap("down"),
      down(t.answer(1, 200, { end: true })),
      ...fins,
    ]);
    expect(views).toMatchObject([{ request: "POST /a", heads: ["200"], ends: done }]);
    expect(codes).toEqual(["http2.joined-late", "http2.joined-late"]);
  });
});

describe("HTTP/2 limits and noise", () => {
  test("a header block over the limit is not read, the stream is", () => {
    const t = new Talk();
    const long = t.ask(1, "/", { end: true, more: [["x", "y".repeat(3000)]], cuts: [900, 1800, 2700] });
    const { views, codes } = play(
      [...Talk.start(), up(long), down(t.answer(1, 200, { end: true })), up(t.ask(3, "/b", { end: true })), ...fins],
      { limits: { headBytes: 1000 } },
    );
    expect(views).toMatchObject([{ request: " ", heads: ["200"] }, { request: "POST /b" }]);
    expect(codes).toEqual([
      "http2.headers-too-long",
      "http2.headers-lost",
      "http2.request-unseen",
      "hpack.unknown-entry",
    ]);
  });

  test("many streams that never end do not pile up", () => {
    const t = new Talk();
    const asks = Array.from({ length: 4200 }, (_, i) => up(t.ask(2 * i + 1, "/", { end: true })));
    const { views, codes } = play([...Talk.start(), ...asks, ...fins]);
    expect(views).toHaveLength(4200);
    expect(views[0]).toMatchObject({ gaps: ["down ? at 0"], ends: ["up complete", "down capture-ended"] });
    expect(codes).toEqual(new Array(104).fill("http.response-lost"));
  });

  test("bytes that are no HTTP/2 are counted, not read", () => {
    const { views, codes } = play([up("GET / HTTP/1.1\r\nHost: h\r\n\r\n".repeat(20)), down("x".repeat(400)), ...fins]);
    expect(views).toEqual([]);
    expect(codes).toEqual(["http2.joined-late", "http2.joined-late", "http2.skipped", "http2.skipped"]);
  });

  test("a direction that gets out of step is searched for the next frame", () => {
    const t = new Talk();
    const junk = fromHex("ffffff77ffffffffff").slice();
    const steps = [up(t.ask(1, "/", { end: true })), down(concat([t.answer(1), junk, data(1, "x", { end: true })]))];
    const { views, codes } = play([...Talk.start(), ...steps, ...fins]);
    expect(views).toMatchObject([{ down: "x", gaps: ["down ? at 0"], ends: done }]);
    expect(codes).toEqual(["http2.out-of-step", "http2.frames-lost", "http2.skipped"]);
  });

  test("settings acknowledgements and the preface alone", () => {
    expect(play([up(concat([preface, settings(), settingsAck])), down(settings()), ...fins])).toMatchObject({
      views: [],
      codes: [],
    });
  });
});
