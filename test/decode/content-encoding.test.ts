import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { type Bytes, concat, utf8Bytes } from "../../src/core/bytes.js";
import { bytesOf, cuts, envelope, type Feed, feed, markAt } from "./support.js";

const json = utf8Bytes(`{"text":"${"abc ".repeat(60)}"}`);
const zstd = new Uint8Array(readFileSync(join(import.meta.dirname, "../../fixtures/decode/zstd/sized.zst")));

function bodyOf(options: Partial<Feed> & Pick<Feed, "pieces" | "headers">) {
  const fed = feed({ framing: "whole-body", ...options });
  return { ...fed, body: fed.messages[0]?.body ?? new Uint8Array(0), fault: fed.messages[0]?.fault };
}

describe("Content-Encoding (RFC 9110, 8.4)", () => {
  const rows: [row: string, coding: string, wire: Bytes][] = [
    ["gzip", "gzip", gzipSync(json)],
    ["x-gzip, upper case", "X-GZIP", gzipSync(json)],
    ["deflate with zlib header", "deflate", deflateSync(json)],
    ["deflate without", "deflate", deflateRawSync(json)],
    ["br", "br", brotliCompressSync(json)],
    ["two codings, undone from the last", "gzip, br", brotliCompressSync(gzipSync(json))],
    ["identity among them", "identity, gzip", gzipSync(json)],
    ["identity alone", "identity", json],
    ["none", "", json],
  ];
  it.each(rows)("%s, at every cut", (_, coding, wire) => {
    for (const pieces of cuts(wire)) {
      const { body, fault, codes, summary } = bodyOf({ pieces, headers: { "Content-Encoding": coding } });
      expect([fault, codes]).toEqual([null, []]);
      expect(Buffer.compare(body, json)).toBe(0);
      expect(summary).toEqual({ bytes: json.length, sha256: createHash("sha256").update(json).digest("hex") });
    }
  });

  it("zstd", () => {
    const { body, fault } = bodyOf({
      pieces: [zstd.subarray(0, 100), zstd.subarray(100)],
      headers: { "content-encoding": "zstd" },
    });
    expect(fault).toBeNull();
    expect(Buffer.from(body).toString()).toMatch(/^line 0\n[\s\S]*line 2999\n$/);
  });

  it.each([
    ["gzip", "gzip"],
    ["deflate", "deflate"],
    ["br", "br"],
    ["zstd", "zstd"],
  ])("a head that says %s over a plain body", (_, coding) => {
    const { body, fault, codes } = bodyOf({ pieces: [json], headers: { "content-encoding": coding } });
    expect([fault, codes]).toEqual([null, ["decode.not-encoded"]]);
    expect(body).toEqual(json);
  });

  it("already undone by the recorder", () => {
    const wire = gzipSync(json);
    const { body, codes } = bodyOf({ pieces: [wire], headers: { "content-encoding": "gzip" }, contentDecoded: true });
    expect(codes).toEqual([]);
    expect(body.length).toBe(wire.length);
  });

  it("one that nobody knows", () => {
    const { body, fault, codes } = bodyOf({ pieces: [json], headers: { "content-encoding": "lzma" } });
    expect([fault, codes]).toEqual(["no-codec", ["decode.unknown-coding"]]);
    expect(body).toEqual(json);
  });

  it.each([
    ["gzip", gzipSync(json)],
    ["deflate", deflateSync(json)],
  ])("%s, cut off: what is there, and truncated", (coding, wire) => {
    const { body, fault, codes } = bodyOf({
      pieces: [wire.subarray(0, wire.length - 12)],
      headers: { "content-encoding": coding },
    });
    expect(fault).toBe("truncated");
    expect(codes).toContain("decode.bad-content-coding");
    expect(body.length).toBeGreaterThan(5);
    expect(body).toEqual(json.subarray(0, body.length));
  });

  it("gzip, damaged inside", () => {
    const wire = new Uint8Array(gzipSync(json));
    wire.fill(0xff, 15, 25);
    const { fault, codes, messages } = bodyOf({ pieces: [wire], headers: { "content-encoding": "gzip" } });
    expect(messages.map((message) => message.wireBytes)).toEqual([wire.length]);
    expect(fault).toBe("bad-compression");
    expect(codes).toContain("decode.bad-content-coding");
  });

  it("a bomb", () => {
    const wire = gzipSync(new Uint8Array(3_000_000));
    const { fault, body } = bodyOf({
      pieces: [wire],
      headers: { "content-encoding": "gzip" },
      limits: { inflatedBytes: 1_500_000 },
    });
    expect(fault).toBe("over-limit");
    expect(body.length).toBe(0);
  });

  it("a large body, kept for one call up to a point and then piece by piece", () => {
    const noise = Buffer.from(Array.from({ length: 600_000 }, (_, i) => (i * 2654435761) >>> 13).join(""));
    const wire = gzipSync(noise);
    expect(wire.length).toBeGreaterThan(1_200_000);
    const pieces = Array.from({ length: Math.ceil(wire.length / 50_000) }, (_, i) =>
      wire.subarray(i * 50_000, (i + 1) * 50_000),
    );
    const { body, fault } = bodyOf({ pieces, headers: { "content-encoding": "gzip" } });
    expect(fault).toBeNull();
    expect(Buffer.compare(body, noise)).toBe(0);
  });

  it("a gap ends what can be decoded", () => {
    const wire = gzipSync(json);
    const fed = feed({
      framing: "whole-body",
      pieces: [wire.subarray(0, 60), wire.subarray(70)],
      gaps: new Map([[1, 10]]),
      headers: { "content-encoding": "gzip" },
    });
    expect(fed.inputs.map((input) => input.kind)).toEqual(["message", "gap", "end"]);
    expect(fed.messages[0]!.fault).toBe("truncated");
  });
});

describe("Content-Encoding over a stream", () => {
  const lines = Array.from({ length: 200 }, (_, i) => `data: ${i} ${(i * 7919) % 1000}\n\n`).join("");

  it("hands messages on while they arrive, with the packets they came in", () => {
    const wire = gzipSync(lines);
    const pieces = Array.from({ length: Math.ceil(wire.length / 100) }, (_, i) =>
      wire.subarray(i * 100, (i + 1) * 100),
    );
    const fed = feed({ framing: "sse", pieces, headers: { "content-encoding": "gzip" } });
    expect(fed.messages.length).toBe(200);
    expect(fed.messages[0]!.mark.last).toBeLessThan(4);
    expect(fed.messages.at(-1)!.mark.last).toBeGreaterThanOrEqual(pieces.length - 2);
    for (const [i, message] of fed.messages.entries()) {
      if (i > 0) expect(message.mark.first).toBeGreaterThanOrEqual(fed.messages[i - 1]!.mark.first);
    }
  });

  it("takes a sender of tiny pieces", () => {
    const pieces = Array.from(gzipSync(lines), (byte) => Uint8Array.of(byte));
    expect(pieces.length).toBeGreaterThan(600);
    const fed = feed({ framing: "sse", pieces, headers: { "content-encoding": "gzip" } });
    expect(fed.messages.map((message) => Buffer.from(message.body).toString())).toEqual(lines.trim().split("\n\n"));
    expect(fed.codes).toEqual([]);
  });

  it("envelopes inside br come at the end", () => {
    const wire = brotliCompressSync(concat([envelope(0, "a"), envelope(2, "{}")]));
    const fed = feed({
      framing: "connect-envelope",
      pieces: [wire.subarray(0, 4), wire.subarray(4)],
      headers: { "content-encoding": "br" },
    });
    expect(fed.messages.map((message) => Buffer.from(message.body).toString())).toEqual(["a", "{}"]);
    expect(fed.messages[0]!.mark).toEqual({ ...markAt(1), first: 0 });
  });

  it("a lossy text of a compressed body is no error of compression", () => {
    const fed = feed({
      framing: "connect-envelope",
      pieces: [bytesOf("1fefbfbd08")],
      evidence: "lossy-utf8",
      headers: { "content-encoding": "gzip" },
    });
    expect(fed.codes).toEqual([]);
    expect(fed.inputs.map((input) => (input.kind === "gap" ? input.why : input.kind))).toEqual(["lossy-utf8", "end"]);
  });
});
