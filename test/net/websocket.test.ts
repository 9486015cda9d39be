import { Duplex as Stream } from "node:stream";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Bytes, concat, fromHex, utf8, utf8Bytes } from "../../src/core/bytes.js";
import { http1Layer } from "../../src/net/http1.js";
import { unmask } from "../../src/net/websocket/unmask.js";
import {
  byteByByte,
  down,
  end,
  everyCut,
  type FrameView,
  fins,
  gap,
  run,
  type Step,
  uncut,
  up,
} from "./http-support.js";
import { clientMask, deflated, frame, handshake, masked } from "./websocket-frames.js";
import { PerMessageDeflate, Receiver, Sender } from "./ws-parts.js";

const make = (context: Parameters<typeof http1Layer>[0]) => http1Layer(context, false);
const plain = handshake();
const deflate = handshake("permessage-deflate");
const open: readonly Step[] = [up(plain.request), down(plain.response)];
const openDeflate: readonly Step[] = [up(deflate.request), down(deflate.response)];
const play = (steps: readonly Step[], options = {}) => run(make, steps, options);

const view = (dir: "up" | "down", opcode: number, text: string, more: Partial<FrameView> = {}): FrameView => ({
  dir,
  opcode,
  text,
  compressed: false,
  wireBytes: Buffer.byteLength(text),
  ...more,
});
const hello = fromHex("f248cdc9c90700");
/** Messages ended, then the connection. */
const doneBoth = ["up complete", "down complete"];
const done = ["up complete by client", "down complete by client"];

interface Row {
  readonly name: string;
  readonly steps: readonly Step[];
  readonly frames: readonly FrameView[];
  readonly codes?: readonly string[];
}

const rows: readonly Row[] = [
  {
    name: "RFC 6455 5.7 unmasked text, masked text",
    steps: [...open, down(fromHex("810548656c6c6f")), up(fromHex("818537fa213d7f9f4d5158")), ...fins],
    frames: [view("down", 1, "Hello"), view("up", 1, "Hello")],
  },
  {
    name: "RFC 6455 5.7 fragmented message",
    steps: [...open, down(fromHex("010348656c")), down(fromHex("80026c6f")), ...fins],
    frames: [view("down", 1, "Hello")],
  },
  {
    name: "RFC 6455 5.7 ping and masked pong",
    steps: [...open, down(fromHex("890548656c6c6f")), up(fromHex("8a8537fa213d7f9f4d5158")), ...fins],
    frames: [view("down", 9, "Hello"), view("up", 10, "Hello")],
  },
  {
    name: "RFC 6455 5.7 lengths of 256 and 65536 bytes",
    steps: [...open, down(frame(2, "x".repeat(256))), up(masked(2, "y".repeat(65_536))), ...fins].filter(
      (s) => s !== undefined,
    ),
    frames: [view("down", 2, "x".repeat(256)), view("up", 2, "y".repeat(65_536))],
  },
  {
    name: "RFC 6455 5.4 control frames between fragments, in one packet",
    steps: [
      ...open,
      up(
        concat([
          masked(1, "one ", { fin: false }),
          masked(9, "?"),
          masked(0, "two ", { fin: false }),
          masked(0, "three"),
        ]),
      ),
      down(concat([frame(2, "", { fin: false }), frame(10, "?"), frame(0, "abc")])),
      ...fins,
    ],
    frames: [view("up", 9, "?"), view("up", 1, "one two three"), view("down", 10, "?"), view("down", 2, "abc")],
  },
  {
    name: "RFC 6455 5.5.1 close with code and reason",
    steps: [
      ...open,
      up(masked(8, concat([new Uint8Array([3, 232]), utf8Bytes("bye")]))),
      down(frame(8, new Uint8Array([3, 232]))),
      ...fins,
    ],
    frames: [
      view("up", 8, utf8(concat([new Uint8Array([3, 232]), utf8Bytes("bye")])), { wireBytes: 5 }),
      view("down", 8, utf8(new Uint8Array([3, 232])), { wireBytes: 2 }),
    ],
  },
  {
    name: "bytes after a close frame are counted",
    steps: [...open, down(concat([frame(8, ""), frame(1, "late")])), ...fins],
    frames: [view("down", 8, "")],
    codes: ["websocket.after-close"],
  },
  {
    name: "RFC 7692 7.2.3.1 one compressed message, 7.2.3.2 another that refers to it",
    steps: [
      ...openDeflate,
      down(frame(1, hello, { rsv: 4 })),
      down(frame(1, fromHex("f200110000"), { rsv: 4 })),
      ...fins,
    ],
    frames: [
      view("down", 1, "Hello", { compressed: true, wireBytes: 7 }),
      view("down", 1, "Hello", { compressed: true, wireBytes: 5 }),
    ],
  },
  {
    name: "RFC 7692 7.2.3.1 compressed and fragmented",
    steps: [
      ...openDeflate,
      down(frame(1, fromHex("f248cd"), { rsv: 4, fin: false })),
      down(frame(0, fromHex("c9c90700"))),
      ...fins,
    ],
    frames: [view("down", 1, "Hello", { compressed: true, wireBytes: 7 })],
  },
  {
    name: "RFC 7692 7.2.3.3 stored block, 7.2.3.4 block with BFINAL, 7.2.3.5 two blocks",
    steps: [
      ...openDeflate,
      down(frame(1, fromHex("000500faff48656c6c6f00"), { rsv: 4 })),
      down(frame(1, fromHex("f348cdc9c9070000"), { rsv: 4 })),
      down(frame(1, fromHex("f248050000 00ffffcac9c90700".replace(" ", "")), { rsv: 4 })),
      ...fins,
    ],
    frames: [11, 8, 13].map((wireBytes) => view("down", 1, "Hello", { compressed: true, wireBytes })),
  },
  {
    name: "RFC 7692 6 uncompressed and empty messages among compressed ones",
    steps: [
      ...openDeflate,
      up(masked(1, "plain")),
      up(masked(1, hello, { rsv: 4 })),
      up(masked(1, new Uint8Array([0]), { rsv: 4 })),
      ...fins,
    ],
    frames: [
      view("up", 1, "plain"),
      view("up", 1, "Hello", { compressed: true, wireBytes: 7 }),
      view("up", 1, "", { compressed: true, wireBytes: 1 }),
    ],
  },
  {
    name: "RFC 6455 5.2 reserved bits without an extension",
    steps: [
      ...open,
      down(frame(1, "a", { rsv: 4 })),
      down(frame(1, "b", { rsv: 2 })),
      down(frame(9, "c", { rsv: 1 })),
      down(frame(1, "d")),
      ...fins,
    ],
    frames: [
      view("down", 1, "a", { compressed: true, fault: "no-codec" }),
      view("down", 1, "b", { fault: "no-codec" }),
      view("down", 9, "c"),
      view("down", 1, "d"),
    ],
    codes: ["websocket.unexpected-bits", "websocket.unexpected-bits", "websocket.unexpected-bits"],
  },
  {
    name: "RFC 6455 5.2 reserved opcodes are passed over",
    steps: [...open, down(frame(3, "x")), down(frame(11, "y")), down(frame(1, "z")), ...fins],
    frames: [view("down", 1, "z")],
    codes: ["websocket.bad-opcode", "websocket.bad-opcode"],
  },
  {
    name: "RFC 6455 5.1 wrong masking",
    steps: [...open, down(masked(1, "a")), up(frame(1, "b")), ...fins],
    frames: [view("down", 1, "a"), view("up", 1, "b")],
    codes: ["websocket.bad-mask", "websocket.bad-mask"],
  },
  {
    name: "RFC 6455 5.5 long and fragmented control frames",
    steps: [...open, down(frame(9, "x".repeat(126))), down(frame(9, "y", { fin: false })), ...fins],
    frames: [view("down", 9, "x".repeat(126)), view("down", 9, "y")],
    codes: ["websocket.bad-control", "websocket.bad-control"],
  },
  {
    name: "RFC 6455 5.4 a continuation of nothing, a message inside a message",
    steps: [...open, down(frame(0, "x")), down(frame(1, "lost", { fin: false })), down(frame(2, "kept")), ...fins],
    frames: [view("down", 2, "kept")],
    codes: ["websocket.bad-fragment", "websocket.bad-fragment"],
  },
  {
    name: "RFC 6455 5.2 a length in more bytes than needed",
    steps: [...open, down(frame(1, "abc", { width: 16 })), down(frame(1, "def", { width: 64 })), ...fins],
    frames: [view("down", 1, "abc"), view("down", 1, "def")],
    codes: ["websocket.bad-length", "websocket.bad-length"],
  },
  {
    name: "RFC 7692 7.2.2 what does not inflate",
    steps: [...openDeflate, down(frame(1, fromHex("ffffff"), { rsv: 4 })), down(frame(1, "next")), ...fins],
    frames: [
      view("down", 1, utf8(fromHex("ffffff")), { compressed: true, wireBytes: 3, fault: "bad-compression" }),
      view("down", 1, "next"),
    ],
    codes: ["websocket.bad-compression"],
  },
];

describe("WebSocket frames", () => {
  test.each(rows.map((row) => [row.name, row] as const))("%s", (_name, { steps, frames, codes = [] }) => {
    const { views, codes: got, protocols } = play(steps);
    expect(views).toHaveLength(1);
    expect(views[0]).toMatchObject({ request: "GET /ws", heads: ["101"], frames, ends: done, up: "", down: "" });
    expect(got).toEqual(codes);
    expect(protocols.at(-1)).toBe("websocket");
  });

  test.each(rows.filter(({ name }) => !name.includes("65536")).map((row) => [row.name, row] as const))(
    "every cut: %s",
    (_name, { steps }) => {
      const whole = play(steps);
      for (const cut of everyCut(steps)) {
        const { views, codes } = play(cut.steps);
        expect({ at: cut.name, views: uncut(views), codes }).toEqual({
          at: cut.name,
          views: uncut(whole.views),
          codes: whole.codes,
        });
      }
      expect(uncut(play(byteByByte(steps)).views)).toEqual(uncut(whole.views));
    },
  );

  test("handshake and frames in the same packets, the client's first", () => {
    const steps = [
      up(concat([utf8Bytes(plain.request), masked(1, "early")])),
      down(concat([utf8Bytes(plain.response), frame(1, "hi")])),
      ...fins,
    ];
    for (const cut of [{ steps }, ...everyCut(steps)])
      expect(play(cut.steps).views[0]!.frames.sort((a, b) => (a.dir < b.dir ? -1 : 1))).toEqual([
        view("down", 1, "hi"),
        view("up", 1, "early"),
      ]);
  });

  test("a message in one piece and without mask is a view of its packet", () => {
    const packet = frame(2, "payload");
    const { events } = play([...open, down(packet), ...fins]);
    const event = events.find((each) => each.kind === "frame");
    expect(event?.kind === "frame" && event.bytes.buffer === packet.buffer).toBe(true);
  });

  test("the mark of a message spans its packets, not those of what comes between", () => {
    const { events } = play([
      ...open,
      up(masked(1, "a", { fin: false })),
      down(frame(1, "x")),
      up(masked(9, "p")),
      up(masked(0, "b")),
      ...fins,
    ]);
    const marks = events.flatMap((event) =>
      event.kind === "frame" ? [[event.direction, event.opcode, event.mark.first, event.mark.last]] : [],
    );
    expect(marks).toEqual([
      ["down", 1, 3, 3],
      ["up", 9, 4, 4],
      ["up", 1, 2, 5],
    ]);
  });

  test("the direction stops at what cannot be a frame", () => {
    const { views, codes } = play([
      ...open,
      down(frame(1, "ok")),
      down(concat([fromHex("f3ff"), new Uint8Array(20)])),
      down(frame(1, "no")),
      up(masked(1, "yes")),
      ...fins,
    ]);
    expect(views).toMatchObject([{ frames: [view("down", 1, "ok"), view("up", 1, "yes")], gaps: ["down ? at 0"] }]);
    expect(codes).toEqual(["websocket.out-of-step"]);
  });
});

describe("the handshake", () => {
  test("refused: plain HTTP goes on", () => {
    const refused = "HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nno";
    const { views, protocols } = play([
      up(plain.request),
      down(refused),
      up("GET /b HTTP/1.1\r\n\r\n"),
      down(refused),
      ...fins,
    ]);
    expect(views).toMatchObject([
      { request: "GET /ws", heads: ["401"], down: "no", ends: doneBoth },
      { request: "GET /b", heads: ["401"] },
    ]);
    expect(protocols).not.toContain("websocket");
  });

  test("only the response was captured", () => {
    const { views, codes } = play([down(deflate.response), down(frame(1, hello, { rsv: 4 })), end("down"), end("up")]);
    expect(views).toMatchObject([
      { request: " ", heads: ["101"], frames: [view("down", 1, "Hello", { compressed: true, wireBytes: 7 })] },
    ]);
    expect(codes).toEqual(["http1.response-without-request"]);
  });

  test("only the client's side was captured: its frames say that the request was granted", () => {
    const { views, codes } = play([
      up(deflate.request),
      up(masked(1, hello, { rsv: 4 })),
      up(masked(8, "")),
      end("up"),
      end("down"),
    ]);
    expect(views).toMatchObject([
      {
        request: "GET /ws",
        heads: [],
        frames: [view("up", 1, "Hello", { compressed: true, wireBytes: 7 }), view("up", 8, "")],
      },
    ]);
    expect(codes).toEqual(["http.switch-unseen"]);
  });

  test("only the client's side was captured, and another request says that it was refused", () => {
    const { views } = play([up(plain.request), up(plain.request.replace("/ws", "/b")), end("up"), end("down")]);
    expect(views).toMatchObject([
      { request: "GET /ws", frames: [] },
      { request: "GET /b", frames: [] },
    ]);
  });

  test("another upgrade: its bytes are the body", () => {
    const { views, codes } = play([
      up("POST /attach HTTP/1.1\r\nUpgrade: tcp\r\nConnection: Upgrade\r\n\r\n"),
      down("HTTP/1.1 101 UPGRADED\r\nUpgrade: tcp\r\n\r\nout"),
      up("in"),
      ...fins,
    ]);
    expect(views).toMatchObject([{ request: "POST /attach", heads: ["101"], up: "in", down: "out", ends: done }]);
    expect(codes).toEqual(["http1.switched"]);
  });

  test("RFC 9110 9.3.6 CONNECT: the tunnel's bytes go to a fresh protocol switch", () => {
    const connect = "CONNECT x.test:443 HTTP/1.1\r\nHost: x.test:443\r\n\r\n";
    const steps = [
      up(connect),
      up("early"),
      down("HTTP/1.1 200 Established\r\nContent-Length: 5\r\n\r\nhello"),
      up(" late"),
      gap("down", 3),
      ...fins,
    ];
    for (const cut of [{ steps }, ...everyCut(steps)]) {
      const { views, inner } = play(cut.steps);
      expect(views).toMatchObject([
        { request: "CONNECT ", authority: "x.test:443", heads: ["200"], up: "", down: "", ends: doneBoth },
      ]);
      expect(inner).toMatchObject([
        { alpn: null, secure: false, log: ["gap down 3", "end up complete", "end down complete"] },
      ]);
      expect([utf8(inner[0]!.up), utf8(inner[0]!.down)]).toEqual(["early late", "hello"]);
    }
  });

  test("CONNECT refused: HTTP goes on", () => {
    const no = "HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\nno";
    const { views, inner } = play([
      up("CONNECT x:1 HTTP/1.1\r\n\r\n"),
      down(no),
      up("CONNECT x:1 HTTP/1.1\r\n\r\n"),
      down("HTTP/1.1 200 OK\r\n\r\n"),
      up("T"),
      ...fins,
    ]);
    expect(views).toMatchObject([
      { heads: ["407"], down: "no", ends: doneBoth },
      { heads: ["200"], ends: doneBoth },
    ]);
    expect(inner.map((each) => utf8(each.up))).toEqual(["T"]);
  });
});

describe("WebSocket gaps", () => {
  test("inside a frame of known length: the message is lost, the next one is read", () => {
    const wire = frame(1, "0123456789");
    const { views, codes } = play([
      ...open,
      down(wire.subarray(0, 5)),
      gap("down", 4),
      down(wire.subarray(9)),
      down(frame(1, "next")),
      ...fins,
    ]);
    expect(views).toMatchObject([{ frames: [view("down", 1, "next")], gaps: ["down 4 at 0"], ends: done }]);
    expect(codes).toEqual([]);
  });

  test("inside one fragment of several", () => {
    const wire = frame(0, "0123456789", { fin: false });
    const steps = [
      down(frame(1, "a", { fin: false })),
      down(wire.subarray(0, 5)),
      gap("down", 7),
      down(frame(0, "z")),
      down(frame(1, "next")),
    ];
    expect(play([...open, ...steps, ...fins]).views).toMatchObject([
      { frames: [view("down", 1, "next")], gaps: ["down 7 at 0"] },
    ]);
  });

  test("over a frame's border: the direction stops, the other one goes on", () => {
    const { views, codes } = play([
      ...open,
      down(frame(1, "a")),
      gap("down", 4),
      down(frame(1, "b")),
      gap("down", 4),
      up(masked(1, "c")),
      ...fins,
    ]);
    expect(views).toMatchObject([
      { frames: [view("down", 1, "a"), view("up", 1, "c")], gaps: ["down 4 at 0"], ends: done },
    ]);
    expect(codes).toEqual(["websocket.stopped"]);
  });

  test("a lost compressed message: later ones inflate only if they do not refer to it", () => {
    const wire = frame(1, hello, { rsv: 4 });
    const steps = [
      down(wire.subarray(0, 3)),
      gap("down", 6),
      down(frame(1, fromHex("f200110000"), { rsv: 4 })),
      down(frame(1, deflated("on its own"), { rsv: 4 })),
    ];
    const { views, codes } = play([...openDeflate, ...steps, ...fins]);
    expect(views[0]!.frames).toMatchObject([{ fault: "bad-compression", wireBytes: 5 }, { text: "on its own" }]);
    expect(codes).toEqual(["websocket.context-lost"]);
  });

  test("without context takeover nothing refers to a lost message", () => {
    const { request, response } = handshake("permessage-deflate; server_no_context_takeover");
    const wire = frame(1, hello, { rsv: 4 });
    const { views, codes } = play([
      up(request),
      down(response),
      down(wire.subarray(0, 3)),
      gap("down", 6),
      down(wire),
      ...fins,
    ]);
    expect(views[0]!.frames).toEqual([view("down", 1, "Hello", { compressed: true, wireBytes: 7 })]);
    expect(codes).toEqual([]);
  });

  test("the capture ends inside a message", () => {
    const { views, codes } = play([
      ...open,
      down(frame(1, "abcdef").subarray(0, 5)),
      end("up", "capture-ended"),
      end("down", "capture-ended"),
    ]);
    expect(views).toMatchObject([{ frames: [], ends: ["up capture-ended", "down capture-ended"] }]);
    expect(codes).toEqual(["websocket.cut"]);
  });

  test("the 101 lost in a gap: its direction stops, the client's frames are read", () => {
    const { views, codes } = play([
      up(plain.request),
      gap("down", 129),
      down(frame(1, "x")),
      up(masked(1, "y")),
      ...fins,
    ]);
    expect(views).toMatchObject([{ request: "GET /ws", heads: [], frames: [view("up", 1, "y")] }]);
    expect(codes).toContain("http.switch-unseen");
  });
});

describe("WebSocket limits", () => {
  test("a message over messageBytes keeps its place and its true length", () => {
    const steps = [
      down(frame(1, "x".repeat(50), { fin: false })),
      down(frame(0, "x".repeat(60))),
      down(frame(2, "y".repeat(101))),
      down(frame(1, "ok")),
    ];
    const { views, codes } = play([...open, ...steps, ...fins], { limits: { messageBytes: 100 } });
    expect(views[0]!.frames).toEqual([
      view("down", 1, "", { wireBytes: 110, fault: "over-limit" }),
      view("down", 2, "", { wireBytes: 101, fault: "over-limit" }),
      view("down", 1, "ok"),
    ]);
    expect(codes).toEqual(["websocket.too-long", "websocket.too-long"]);
  });

  test("a message of more fragments than allowed", () => {
    const pieces = Array.from({ length: 5 }, (_, i) => down(frame(i === 0 ? 1 : 0, "a", { fin: i === 4 })));
    const { views, codes } = play([...open, ...pieces, down(frame(1, "ok")), ...fins], { limits: { fragments: 4 } });
    expect(views[0]!.frames).toEqual([
      view("down", 1, "", { wireBytes: 5, fault: "over-limit" }),
      view("down", 1, "ok"),
    ]);
    expect(codes).toEqual(["websocket.too-long"]);
  });

  test.each([
    ["inflatedBytes", { inflatedBytes: 3_000_000 }],
    ["inflateRatio", { inflateRatio: 100 }],
  ])("%s: inflating stops soon after the limit", (_name, limits) => {
    const bomb = deflated(new Uint8Array(40_000_000));
    const { views, codes, events } = play(
      [...openDeflate, down(frame(2, bomb, { rsv: 4 })), down(frame(1, "ok")), ...fins],
      { limits },
    );
    expect(views[0]!.frames).toMatchObject([{ text: "", wireBytes: bomb.length, fault: "over-limit" }, { text: "ok" }]);
    expect(codes).toEqual(["websocket.too-long"]);
    expect(events).toHaveLength(6);
  });

  test("a header that promises 2^52 bytes costs nothing", () => {
    const head = fromHex("827f0010000000000000");
    const { views, codes } = play([...open, down(head), down(new Uint8Array(1000)), ...fins]);
    expect(views[0]!.frames).toEqual([]);
    expect(codes).toEqual(["websocket.too-long", "websocket.cut"]);
  });
});

describe("unmask", () => {
  test("every length and alignment", () => {
    for (let offset = 0; offset < 8; offset++) {
      for (let length = 0; length < 120; length++) {
        const bytes = new Uint8Array(offset + length + 3).map((_, i) => i * 7);
        const want = bytes.map((byte, i) =>
          i < offset || i >= offset + length ? byte : byte ^ clientMask[(i - offset) & 3]!,
        );
        unmask(bytes, offset, offset + length, new Uint8Array(clientMask));
        expect(bytes).toEqual(want);
      }
    }
  });
});

/** What ws's own Sender writes for these messages. */
async function sent(
  messages: readonly Bytes[],
  options: { client: boolean; takeover: boolean; bits: number; compress: boolean },
): Promise<Bytes> {
  const pieces: Bytes[] = [];
  const socket = new Stream({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      pieces.push(new Uint8Array(chunk));
      done();
    },
  });
  const name = options.client ? "client" : "server";
  const agreed = new PerMessageDeflate({ threshold: 0, isServer: !options.client });
  agreed.accept([
    {
      ...(options.takeover ? {} : { [`${name}_no_context_takeover`]: [true] }),
      [`${name}_max_window_bits`]: [String(options.bits)],
    },
  ]);
  const sender = new Sender(socket, options.compress ? { "permessage-deflate": agreed } : {});
  for (const message of messages)
    await new Promise<void>((resolve, reject) => {
      sender.send(
        message,
        { fin: true, binary: true, mask: options.client, compress: options.compress },
        (error?: Error | null) => (error ? reject(error) : resolve()),
      );
    });
  return concat(pieces);
}

describe("ws as second opinion", () => {
  const parameters = [true, false].flatMap((client) =>
    [true, false].flatMap((takeover) => [9, 12, 15].map((bits) => ({ client, takeover, bits }))),
  );
  const texts = Array.from({ length: 40 }, (_, i) =>
    utf8Bytes(JSON.stringify({ i, text: "the same words again and again ".repeat(i % 7), x: i * 7919 })),
  );
  const large = utf8Bytes(Array.from({ length: 30_000 }, (_, i) => `${(i * 2654435761) % 4096} `).join(""));

  test.each(parameters)("what its Sender compresses: %o", async ({ client, takeover, bits }) => {
    const messages = [...texts, large, new Uint8Array(0), ...texts];
    const wire = await sent(messages, { client, takeover, bits, compress: true });
    const side = client ? "client" : "server";
    const agreed = handshake(
      `permessage-deflate; ${takeover ? "" : `${side}_no_context_takeover; `}${side}_max_window_bits=${bits}`,
    );
    const steps = [up(agreed.request), down(agreed.response), client ? up(wire) : down(wire), ...fins];
    const { events, codes } = play(steps);
    const got = events.flatMap((event) => (event.kind === "frame" ? [utf8(event.bytes)] : []));
    expect(got).toEqual(messages.map(utf8));
    expect(codes).toEqual([]);
  });

  test("random frames give the messages ws's Receiver gives", async () => {
    const part = fc.record({
      opcode: fc.constantFrom(1, 2),
      payload: fc.string({ unit: "grapheme-ascii", maxLength: 400 }),
      cuts: fc.array(fc.nat(400), { maxLength: 3 }),
      ping: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(part, { maxLength: 8 }),
        fc.infiniteStream(fc.integer({ min: 1, max: 200 })),
        async (parts, sizes) => {
          const wire = concat([new Uint8Array(0), ...parts.flatMap(fragments)]);
          const theirs: string[] = [];
          const receiver = new Receiver({ isServer: true, allowSynchronousEvents: true });
          receiver.on("message", (data: Buffer, binary: boolean) =>
            theirs.push(`${binary ? 2 : 1} ${data.toString()}`),
          );
          receiver.on("ping", (data: Buffer) => theirs.push(`9 ${data.toString()}`));
          await new Promise<void>((resolve) => receiver.write(Buffer.from(wire), () => resolve()));
          const steps: Step[] = [];
          for (let at = 0; at < wire.length; ) {
            const size = sizes.next().value as number;
            steps.push(up(wire.slice(at, at + size)));
            at += size;
          }
          const { views } = play([...open, ...steps, ...fins]);
          expect(views[0]!.frames.map(({ opcode, text }) => `${opcode} ${text}`)).toEqual(theirs);
        },
      ),
      { numRuns: 50 },
    );
  });
});

function fragments(part: { opcode: number; payload: string; cuts: number[]; ping: boolean }): Bytes[] {
  const bytes = utf8Bytes(part.payload);
  const at = [0, ...part.cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];
  return at.slice(1).flatMap((to, i) => {
    const piece = masked(i === 0 ? part.opcode : 0, bytes.slice(at[i]!, to), { fin: i === at.length - 2 });
    return part.ping ? [piece, masked(9, `p${i}`)] : [piece];
  });
}

describe("WebSocket noise", () => {
  test("after any valid prefix the reader ends and throws nothing", () => {
    const valid = concat([frame(1, "a"), frame(1, hello, { rsv: 4 }), frame(2, "b", { fin: false })]);
    fc.assert(
      fc.property(fc.nat(valid.length), fc.uint8Array({ maxLength: 200 }), fc.boolean(), (keep, noise, gapFirst) => {
        const steps = [down(valid.slice(0, keep)), ...(gapFirst ? [gap("down", 3)] : []), down(noise), ...fins];
        const { views } = play([...openDeflate, ...steps]);
        expect(views[0]!.ends).toHaveLength(2);
      }),
    );
  });
});
