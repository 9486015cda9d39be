/** Lost, damaged and foreign bytes: what comes after is read where the cipher lets it, and nothing is made up. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Bytes, concat, latin1 } from "../../../src/core/bytes.js";
import type { Direction } from "../../../src/model/exchange.js";
import { type Chunk, fixture, Run, records, stream } from "./helpers.js";
import { Talk13 } from "./talk13.js";

/** One direction of a fixture fed with a hole in it; the other whole. */
function withHole(name: string, direction: Direction, from: number, to: number): { run: Run; whole: string } {
  const recorded = fixture(name);
  const run = new Run(recorded.keylog);
  let at = 0;
  for (const [side, bytes] of recorded.chunks) {
    if (side !== direction) {
      run.bytes(side, bytes);
      continue;
    }
    const start = Math.max(from - at, 0);
    const end = Math.min(to - at, bytes.length);
    if (start >= bytes.length || end <= 0) run.bytes(side, bytes);
    else {
      if (start > 0) run.bytes(side, bytes.subarray(0, start));
      run.gap(side, end - start);
      if (end < bytes.length) run.bytes(side, bytes.subarray(end));
    }
    at += bytes.length;
  }
  return { run: run.end(), whole: direction === "up" ? recorded.up : recorded.down };
}

/** What was handed on, in order, must be pieces of the truth in order. */
function isCutOf(run: Run, direction: Direction, whole: string): boolean {
  let at = 0;
  for (const item of run.handed.filter((handed) => handed.direction === direction)) {
    const found = whole.indexOf(item.text, at);
    if (found < 0) return false;
    at = found + item.text.length;
  }
  return true;
}

/** A long stream of records of mixed sizes after the handshake. */
function longTalk(suite: number): { talk: Talk13; start: Chunk[]; texts: string[]; parts: Bytes[] } {
  const talk = new Talk13(`long ${suite}`, { suite });
  const start: Chunk[] = [
    ["up", talk.clientHello()],
    ["down", concat([talk.serverHello(), talk.serverFlight()])],
    ["up", talk.clientFlight()],
  ];
  const texts = Array.from({ length: 60 }, (_, i) => `<${i}>${"x".repeat((i * 37) % 400)}`);
  return { talk, start, texts, parts: texts.map((text) => talk.text("down", text)) };
}

describe("a hole in a stream of TLS 1.3 records", () => {
  it.each([0x1301, 0x1302, 0x1303, 0x1304])("suite %i: goes on after it, and knows how much is missing", (suite) => {
    const { talk, start, texts, parts } = longTalk(suite);
    const wire = concat(parts);
    const whole = texts.join("");
    const first = parts[0]!.length + parts[1]!.length;
    for (let from = first; from < wire.length - 2500; from += 397) {
      for (const length of [1, 40, 700, 1448]) {
        const run = new Run(talk.keylog()).feed(start);
        run
          .bytes("down", wire.subarray(0, from))
          .gap("down", length)
          .bytes("down", wire.subarray(from + length))
          .end();
        expect(run.codes).toEqual(["tls.records-lost"]);
        const gap = /^gap down (\d+) tcp-gap$/.exec(run.gapsAndEnds[0]!);
        expect(run.text("down").length + Number(gap![1])).toBe(whole.length);
        expect(run.text("down").endsWith(texts.at(-1)!)).toBe(true);
        expect(isCutOf(run, "down", whole)).toBe(true);
      }
    }
  });

  it("of unknown length: goes on, the number of bytes stays unknown", () => {
    const { talk, start, parts, texts } = longTalk(0x1301);
    const run = new Run(talk.keylog()).feed(start).bytes("down", concat(parts.slice(0, 10)));
    run
      .gap("down", undefined)
      .bytes("down", concat(parts.slice(50)).subarray(9))
      .end();
    expect(run.gapsAndEnds[0]).toBe("gap down undefined tcp-gap");
    expect(run.text("down")).toBe([...texts.slice(0, 10), ...texts.slice(51)].join(""));
  });

  it("padded records do not tell how much was in them", () => {
    const { talk, start } = longTalk(0x1301);
    const parts = ["a", "b", "c"].map((text) => talk.text("up", text, 50));
    const run = new Run(talk.keylog()).feed(start).bytes("up", parts[0]!);
    run.gap("up", parts[1]!.length).bytes("up", parts[2]!).end();
    expect(run.events).toEqual([
      "bytes up",
      "gap up undefined tcp-gap",
      "bytes up",
      "end up complete",
      "end down complete",
    ]);
  });

  it("no record after it: the loss is told of at the end", () => {
    const { talk, start, parts } = longTalk(0x1301);
    const run = new Run(talk.keylog()).feed(start).bytes("down", parts[0]!).gap("down", 100).end();
    expect(run.gapsAndEnds).toEqual(["end up complete", "gap down undefined tcp-gap", "end down complete"]);
  });

  it("two holes, each in another record, and many", () => {
    const { talk, start, parts, texts } = longTalk(0x1303);
    const run = new Run(talk.keylog()).feed(start);
    parts.forEach((part, i) => {
      if (i % 3 === 2)
        run
          .bytes("down", part.subarray(0, 7))
          .gap("down", part.length - 9)
          .bytes("down", part.subarray(part.length - 2));
      else run.bytes("down", part);
    });
    expect(run.end().text("down")).toBe(texts.filter((_, i) => i % 3 !== 2).join(""));
  });

  it("a record header in the ciphertext after a hole is not taken for one", () => {
    const { talk, start, parts, texts } = longTalk(0x1301);
    const fake = concat([parts[1]!, Uint8Array.of(23, 3, 3, 0, 60), new Uint8Array(10)]);
    const run = new Run(talk.keylog()).feed(start).bytes("down", parts[0]!).gap("down", 5000);
    run.bytes("down", concat([fake.subarray(20), ...parts.slice(2)])).end();
    expect(run.text("down")).toBe([texts[0], ...texts.slice(2)].join(""));
  });
});

describe("every record lost in turn", () => {
  const names = [
    "13-aes128-gcm",
    "13-client-certificate",
    "13-key-update",
    "13-early-data",
    "12-ecdhe-aes128-gcm",
    "12-ecdhe-chacha20",
    "12-ecdhe-aes128-cbc256",
    "12-ecdhe-aes128-cbc-etm",
    "12-resumed-ticket",
    "12-renegotiated",
    "10-rsa-aes128-cbc",
    "10-ecdhe-aes256-cbc-etm",
    "12-rsa-null",
  ];
  it.each(names)("%s: only what was in it is missing", (name) => {
    for (const direction of ["up", "down"] as const) {
      const parts = records(stream(fixture(name).chunks, direction));
      let at = 0;
      parts.forEach((part, index) => {
        const { run, whole } = withHole(name, direction, at, at + part.length);
        at += part.length;
        expect(isCutOf(run, direction, whole)).toBe(true);
        // The hello is needed for everything; so is the hello after a retry or in a renegotiation.
        if (index === 0) {
          expect(run.info.decrypted).toBe(false);
          expect(run.info.why).not.toBe(null);
          expect(run.handed).toEqual([]);
        }
      });
    }
  });

  it.each([
    ["12-ecdhe-aes128-gcm", 429],
    ["12-ecdhe-chacha20", 421],
    ["12-ecdhe-aes128-cbc256", 469],
    ["12-ecdhe-aes128-cbc-etm", 457],
    ["12-rsa-aes256-ccm", 429],
    ["12-rsa-null", 437],
    ["11-rsa-aes128-cbc", 453],
    ["13-chacha20", 422],
    // An IV that is the end of the record before: the next record is unreadable too, which OpenSSL sends empty.
    ["10-rsa-aes128-cbc", 437],
    ["10-ecdhe-aes256-cbc-etm", 441],
  ])("%s: an answer lost in a record of %i bytes costs nothing else", (name, size) => {
    const recorded = fixture(name);
    const parts = records(stream(recorded.chunks, "down"));
    const lost = parts.findLastIndex((part) => part.length === size);
    const from = parts.slice(0, lost).reduce((sum, part) => sum + part.length, 0);
    const { run } = withHole(name, "down", from, from + size);
    expect(recorded.down.slice(0, 400) + run.text("down")).toBe(recorded.down);
    expect(run.codes).toEqual(["tls.records-lost"]);
  });
});

describe("every stretch of bytes lost", () => {
  it.each([
    "rfc8448-simple",
    "12-resumed-ticket",
    "12-ecdhe-aes128-cbc256",
    "10-ecdhe-aes256-cbc-etm",
    "13-early-data",
  ])("%s", (name) => {
    for (const direction of ["up", "down"] as const) {
      const length = stream(fixture(name).chunks, direction).length;
      for (let from = 0; from < length; from += 29) {
        for (const size of [1, 23, 300]) {
          const { run, whole } = withHole(name, direction, from, Math.min(from + size, length));
          expect(isCutOf(run, direction, whole)).toBe(true);
        }
      }
    }
  });
});

describe("damage", () => {
  it.each(["rfc8448-simple", "12-resumed-ticket", "12-ecdhe-aes128-cbc256", "12-rsa-null"])(
    "%s: no flipped bit is handed on",
    (name) => {
      const recorded = fixture(name);
      recorded.chunks.forEach(([direction, bytes], index) => {
        for (let at = 0; at < bytes.length; at += 5) {
          const flipped = bytes.slice();
          flipped[at]! ^= 1 << (at % 8);
          const chunks = recorded.chunks.map((chunk, i): Chunk => (i === index ? [direction, flipped] : chunk));
          const run = new Run(recorded.keylog).feed(chunks).end();
          for (const side of ["up", "down"] as const) {
            expect(isCutOf(run, side, side === "up" ? recorded.up : recorded.down)).toBe(true);
          }
        }
      });
    },
  );

  it("one damaged record is said to be, and costs only itself", () => {
    const { talk, start, parts, texts } = longTalk(0x1302);
    parts[3]![20]! ^= 1;
    const run = new Run(talk.keylog()).feed(start).bytes("down", concat(parts)).end();
    expect(run.codes).toEqual(["tls.damaged-record", "tls.records-lost"]);
    expect(run.gapsAndEnds[0]).toBe(`gap down ${texts[3]!.length} undecrypted`);
    expect(run.text("down")).toBe(texts.filter((_, i) => i !== 3).join(""));
  });

  it("a record that comes twice is no measure of what is lost", () => {
    const { talk, start, parts, texts } = longTalk(0x1302);
    const run = new Run(talk.keylog()).feed(start).bytes("down", concat([...parts.slice(0, 3), parts[2]!]));
    run
      .gap("down", parts[3]!.length)
      .bytes("down", concat(parts.slice(4)))
      .end();
    expect(run.text("down")).toBe(texts.filter((_, i) => i !== 3).join(""));
    expect(run.gapsAndEnds[0]).toBe("gap down undefined undecrypted");
    const twice = new Run(talk.keylog())
      .feed(start)
      .bytes("down", concat([parts[0]!, parts[0]!, ...parts.slice(1)]))
      .end();
    expect([twice.text("down"), twice.gapsAndEnds[0]]).toEqual([texts.join(""), "end up complete"]);
  });

  it("nothing but damage: the direction is given up", () => {
    const { talk, start, parts } = longTalk(0x1302);
    for (const part of parts.slice(5)) part[9]! ^= 1;
    const run = new Run(talk.keylog()).feed(start).bytes("down", concat(parts)).end();
    expect(run.codes).toEqual(["tls.damaged-record", "tls.lost-step"]);
    expect(run.info).toMatchObject({ decrypted: true, why: "server to client: no way back after lost bytes" });
    expect(run.gapsAndEnds).toEqual(["gap down undefined undecrypted", "end up complete", "end down complete"]);
  });
});

describe("noise", () => {
  const valid = ["rfc8448-simple", "12-ecdhe-aes128-cbc256", "13-early-retry"].map((name) => fixture(name));

  it("a valid beginning and anything after it: no throw, nothing made up", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...valid),
        fc.nat(8),
        fc.array(fc.tuple(fc.constantFrom<Direction>("up", "down"), fc.uint8Array({ maxLength: 200 }), fc.boolean())),
        (recorded, kept, junk) => {
          const run = new Run(recorded.keylog).feed(recorded.chunks.slice(0, kept));
          for (const [direction, bytes, hole] of junk) {
            if (hole) run.gap(direction, bytes.length === 0 ? undefined : bytes.length);
            else run.bytes(direction, bytes);
          }
          run.end();
          for (const side of ["up", "down"] as const) {
            expect(isCutOf(run, side, side === "up" ? recorded.up : recorded.down)).toBe(true);
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  it("records with any content in the clear", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(
            fc.constantFrom<Direction>("up", "down"),
            fc.integer({ min: 20, max: 24 }),
            fc.uint8Array({ maxLength: 80 }),
          ),
        ),
        (parts) => {
          const run = new Run(valid[0]!.keylog);
          for (const [direction, type, content] of parts) {
            run.bytes(direction, concat([Uint8Array.of(type, 3, 3, 0, content.length), content]));
          }
          expect(run.end().handed.map((item) => latin1(Buffer.from(item.text)))).toEqual([]);
        },
      ),
      { numRuns: 200 },
    );
  });
});
