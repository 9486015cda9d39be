/** Recorded handshakes of OpenSSL: every suite and way of beginning; the same plaintext however the bytes are cut. */
import { describe, expect, it } from "vitest";
import { type Chunk, type Fixture, fixture, fixtureNames, Run } from "./helpers.js";

const clean = fixtureNames.map((name) => [name, fixture(name)] as const);

function expectAll(run: Run, expected: Fixture): void {
  expect(run.text("up")).toBe(expected.up);
  expect(run.text("down")).toBe(expected.down);
  const { version, cipher, sni, alpn } = expected.says;
  expect(run.info).toEqual({ version, cipher, sni, alpn, decrypted: true, why: null });
  expect(run.alpns).toEqual([alpn]);
  expect(run.gapsAndEnds.sort()).toEqual(["end down complete", "end up complete"]);
}

const allowed: Readonly<Record<string, readonly string[]>> = {
  "13-early-refused": ["tls.early-data-rejected"],
  "13-early-retry": ["tls.early-data-rejected"],
};

describe("recorded sessions", () => {
  it.each(clean)("%s", (name, recorded) => {
    const run = new Run(recorded.keylog).feed(recorded.chunks).end();
    expectAll(run, recorded);
    expect(run.codes).toEqual(allowed[name] ?? []);
  });

  it.each(clean)("%s, byte by byte", (_name, recorded) => {
    const run = new Run(recorded.keylog);
    for (const [direction, bytes] of recorded.chunks) {
      for (let at = 0; at < bytes.length; at += recorded.chunks.length > 20 || bytes.length > 5000 ? 977 : 1) {
        run.bytes(direction, bytes.subarray(at, at + (bytes.length > 5000 ? 977 : 1)));
      }
    }
    expectAll(run.end(), recorded);
  });

  it.each(clean)("%s, its secrets coming last", (_name, recorded) => {
    const run = new Run("").feed(recorded.chunks);
    expect(run.handed).toEqual([]);
    run.keys.add(Buffer.from(recorded.keylog));
    expectAll(run.end(), recorded);
  });

  it.each(clean)("%s, one line of its secrets after each chunk", (_name, recorded) => {
    const run = new Run("");
    const lines = recorded.keylog.split("\n");
    for (const [direction, bytes] of recorded.chunks) {
      run.bytes(direction, bytes);
      run.keys.add(Buffer.from(`${lines.shift() ?? ""}\n`));
    }
    run.keys.add(Buffer.from(lines.join("\n")));
    expectAll(run.end(), recorded);
  });

  // A reassembler that lost packets for a while hands the directions on in another order than they were sent in.
  it.each(clean)("%s, one direction after the other", (_name, recorded) => {
    for (const order of [
      ["up", "down"],
      ["down", "up"],
    ] as const) {
      const chunks = order.flatMap((wanted): readonly Chunk[] => recorded.chunks.filter(([from]) => from === wanted));
      const run = new Run(recorded.keylog).feed(chunks).end();
      expect(run.text("up")).toBe(recorded.up);
      expect(run.text("down")).toBe(recorded.down);
    }
  });
});

describe("every cut point", () => {
  it.each(["rfc8448-simple", "12-resumed-ticket", "13-early-data", "12-ecdhe-aes128-cbc256"])("%s", (name) => {
    const recorded = fixture(name);
    recorded.chunks.forEach(([direction, bytes], index) => {
      for (let cut = 1; cut < bytes.length; cut++) {
        const run = new Run(recorded.keylog).feed(recorded.chunks.slice(0, index));
        run.bytes(direction, bytes.subarray(0, cut)).bytes(direction, bytes.subarray(cut));
        run.feed(recorded.chunks.slice(index + 1)).end();
        expect(run.text("up")).toBe(recorded.up);
        expect(run.text("down")).toBe(recorded.down);
        expect(run.codes).toEqual([]);
      }
    });
  });
});
