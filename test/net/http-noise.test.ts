/** Hostile and broken input for all HTTP layers: nothing throws, every exchange ends, nothing comes from nowhere. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Bytes, concat, utf8Bytes } from "../../src/core/bytes.js";
import type { NeckEvent } from "../../src/model/exchange.js";
import type { Duplex, LayerContext } from "../../src/net/duplex.js";
import { http1Layer } from "../../src/net/http1.js";
import { http2Layer } from "../../src/net/http2.js";
import { data, Talk } from "./h2-frames.js";
import { down, end, gap, run, type Step, uncut, up, views } from "./http-support.js";
import { deflated, frame, handshake, masked } from "./websocket-frames.js";

const http1 = (context: LayerContext): Duplex => http1Layer(context, false);
const http2 = (context: LayerContext): Duplex => http2Layer(context, { secure: false });

const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5;x\r\nworld\r\n0\r\nT: 1\r\n\r\n";
const agreed = handshake("permessage-deflate");
const t = new Talk();

const talks: readonly { readonly name: string; readonly make: typeof http1; readonly steps: readonly Step[] }[] = [
  {
    name: "HTTP/1.1",
    make: http1,
    steps: [
      up("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\nhello world"),
      down(chunked),
      up("GET /b HTTP/1.1\r\nHost: h\r\n\r\nGET /c HTTP/1.1\r\nHost: h\r\n\r\n"),
      down(`HTTP/1.1 100 Continue\r\n\r\n${chunked}`),
      down("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlast"),
    ],
  },
  {
    name: "WebSocket",
    make: http1,
    steps: [
      up(agreed.request),
      down(agreed.response),
      up(masked(1, deflated("compressed words"), { rsv: 4 })),
      down(concat([frame(1, "frag", { fin: false }), frame(9, "p"), frame(0, "ment")])),
      up(masked(8, "")),
      down(frame(8, "")),
    ],
  },
  {
    name: "HTTP/2",
    make: http2,
    steps: [
      ...Talk.start(),
      up(concat([t.ask(1, "/a", { cuts: [4] }), data(1, "hello", { pad: 3, end: true })])),
      down(concat([t.answer(1, 200, { more: [["content-type", "x/y"]] }), data(1, "world")])),
      up(t.ask(3, "/b", { end: true })),
      down(concat([data(1, "!", { end: true }), t.answer(3), data(3, "more")])),
      down(t.trailers(3, [["grpc-status", "0"]])),
    ],
  },
];

const both = (by: "complete" | "reset" | "capture-ended" = "complete"): Step[] => [end("up", by), end("down", by)];

/** Every exchange opens once and both of its directions end once; views() fails on anything after an end. */
function sound(events: readonly NeckEvent[]): void {
  for (const view of views(events)) {
    expect(view.ends.filter((text) => text.startsWith("up"))).toHaveLength(1);
    expect(view.ends.filter((text) => text.startsWith("down"))).toHaveLength(1);
  }
}

const bytesOf = (steps: readonly Step[]): Bytes[] => steps.flatMap((step) => ("bytes" in step ? [step.bytes] : []));

describe.each(talks)("$name", ({ make, steps }) => {
  test("every bit of every packet flipped", () => {
    steps.forEach((step, packet) => {
      if (!("bytes" in step)) return;
      for (let bit = 0; bit < step.bytes.length * 8; bit += 5) {
        const bytes = step.bytes.slice();
        bytes[bit >> 3] = bytes[bit >> 3]! ^ (1 << (bit & 7));
        const { events } = run(make, [
          ...steps.slice(0, packet),
          { dir: step.dir, bytes },
          ...steps.slice(packet + 1),
          ...both(),
        ]);
        sound(events);
      }
    });
  });

  test("every stretch of bytes missing, with its length and without: nothing is invented and what changes is told", () => {
    const whole = run(make, [...steps, ...both()]).views;
    const requests = new Set(whole.map(({ request }) => request));
    steps.forEach((step, packet) => {
      if (!("bytes" in step)) return;
      const size = step.bytes.length;
      for (const length of [1, 9, 23, size]) {
        for (let from = 0; from + length <= size; from++) {
          for (const said of [length, undefined]) {
            const cut = [
              { dir: step.dir, bytes: step.bytes.subarray(0, from) },
              gap(step.dir, said),
              { dir: step.dir, bytes: step.bytes.subarray(from + length) },
            ];
            const made = run(make, [...steps.slice(0, packet), ...cut, ...steps.slice(packet + 1), ...both()]);
            const { events, views: got, codes } = made;
            sound(events);
            for (const { request } of got) if (!/^\S* $/.test(request)) expect(requests).toContain(request);
            const same = JSON.stringify(uncut(got)) === JSON.stringify(uncut(whole));
            const told = same || codes.length > 0 || got.some(({ gaps }) => gaps.length > 0);
            expect([packet, from, length, said, told]).toEqual([packet, from, length, said, true]);
          }
        }
      }
    });
  });

  test("any prefix, noise, gaps and ends in any order", () => {
    const wires = bytesOf(steps);
    const step = fc.oneof(
      fc.record({
        dir: fc.constantFrom("up" as const, "down" as const),
        bytes: fc.oneof(fc.uint8Array({ maxLength: 80 }), fc.constantFrom(...wires)),
      }),
      fc.record({
        dir: fc.constantFrom("up" as const, "down" as const),
        gap: fc.option(fc.nat(100), { nil: undefined }),
      }),
    );
    fc.assert(
      fc.property(
        fc.nat(steps.length),
        fc.array(step, { maxLength: 12 }),
        fc.constantFrom("complete", "reset", "capture-ended"),
        fc.constantFrom("syn", "port"),
        (keep, noise, how, rolesBy) => {
          const { events } = run(make, [...steps.slice(0, keep), ...noise, ...both(how)], { rolesBy });
          sound(events);
        },
      ),
      { numRuns: 300 },
    );
  });

  test("with limits of almost nothing", () => {
    for (const size of [0, 1, 10, 40]) {
      const limits = { headBytes: size, messageBytes: size, fragments: size, inflatedBytes: size, inflateRatio: 1 };
      sound(run(make, [...steps, ...both()], { limits }).events);
    }
  });

  test("after the end nothing comes", () => {
    const { events } = run(make, [...steps, ...both(), ...steps, gap("down", 3), ...both("reset")]);
    expect(events).toHaveLength(run(make, [...steps, ...both()]).events.length);
  });
});

describe("cost", () => {
  const many = 200_000;

  test("a head in one-byte pieces up to the limit", () => {
    const { codes } = run(http1, [
      up("GET / HTTP/1.1\r\nX: "),
      ...Array.from({ length: 300_000 }, () => up("y")),
      ...both(),
    ]);
    expect(codes).toEqual(["http1.head-too-long"]);
  });

  test("a chunk of one byte many times in one packet", () => {
    const { events } = run(http1, [
      up("GET / HTTP/1.1\r\n\r\n"),
      down(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${"1\r\nx\r\n".repeat(many)}`),
      ...both(),
    ]);
    expect(events).toHaveLength(many + 4);
  });

  test("a frame of one byte many times, and fragments without end", () => {
    const fragments = concat([
      frame(1, "a", { fin: false }),
      ...Array.from({ length: many }, () => frame(0, "b", { fin: false })),
    ]);
    const { codes } = run(http1, [
      up(agreed.request),
      down(agreed.response),
      down(fragments),
      ...both("capture-ended"),
    ]);
    expect(codes).toEqual(["websocket.too-long", "websocket.cut"]);
  });

  test("out of step over many bytes that look like the beginning of something", () => {
    const tease = utf8Bytes("HTTP/1.1 20\nGET / HTTP/1.\r\n5\r\n".repeat(20_000));
    const steps = [
      up("GET / HTTP/1.1\r\n\r\n"),
      down("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe"),
      gap("down"),
      down(tease),
      gap("up"),
      up(tease),
    ];
    sound(run(http1, [...steps, ...both()]).events);
    const zeros = new Uint8Array(1_000_000);
    sound(
      run(http2, [...Talk.start(), gap("down"), down(zeros), gap("up"), up(concat([zeros, tease])), ...both()]).events,
    );
  });

  test("streams opened and reset without end", () => {
    const talk = new Talk();
    const asks = Array.from({ length: 5000 }, (_, i) =>
      concat([
        talk.ask(2 * i + 1, "/", { end: true }),
        utf8Bytes("\0\0\x04\x03\0"),
        new Uint8Array([0, 0, (2 * i + 1) >> 8, (2 * i + 1) & 255, 0, 0, 0, 8]),
      ]),
    );
    const { views: got, codes } = run(http2, [...Talk.start(), ...asks.map(up), ...both()]);
    expect(got).toHaveLength(5000);
    expect(codes).toEqual([]);
  });
});
