import { readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Bytes, concat, utf8Bytes } from "../../src/core/bytes.js";
import { defaultLimits } from "../../src/core/limits.js";
import { type Codec, codecOf, inflate } from "../../src/decode/compression.js";
import { inflaterFor } from "../../src/decode/inflate-stream.js";
import { bytesOf } from "./support.js";

const limits = defaultLimits;
/** Sizes on both sides of the switch between the two gzip libraries. */
const small = utf8Bytes("small ".repeat(20));
const large = utf8Bytes(Array.from({ length: 20_000 }, (_, i) => `${i} ${(i * 7919) % 1000}\n`).join(""));

function zstdFixture(name: string): Bytes {
  return new Uint8Array(readFileSync(join(import.meta.dirname, "../../fixtures/decode/zstd", name)));
}

const encoders: [row: string, codec: Codec, encode: (bytes: Bytes) => Bytes][] = [
  ["gzip (RFC 1952)", "gzip", gzipSync],
  ["deflate with zlib header (RFC 1950)", "deflate", deflateSync],
  ["deflate without (RFC 1951)", "deflate", deflateRawSync],
  ["br (RFC 7932)", "br", (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } })],
];

describe.each(encoders)("%s", (_, codec, encode) => {
  it.each([
    ["nothing", new Uint8Array(0)],
    ["one byte", Uint8Array.of(7)],
    ["small", small],
    ["large", large],
  ])("undoes %s", (_name, bytes) => {
    const out = inflate(codec, encode(bytes), limits);
    expect(out.fault).toBeNull();
    expect(Buffer.compare(out.bytes, bytes)).toBe(0);
  });

  it.each([
    ["small", small],
    ["large", large],
  ])("says truncated for %s, and keeps what came before (br: nothing)", (_name, bytes) => {
    const whole = encode(bytes);
    const out = inflate(codec, whole.subarray(0, whole.length - Math.min(20, whole.length >> 1)), limits);
    expect(out.fault).toBe("truncated");
    if (codec === "br") expect(out.bytes.length).toBe(0);
    else {
      expect(out.bytes.length).toBeGreaterThan(0);
      expect(Buffer.compare(out.bytes, bytes.subarray(0, out.bytes.length))).toBe(0);
    }
  });

  it("stops a bomb", () => {
    const bomb = encode(new Uint8Array(30_000_000));
    expect(inflate(codec, bomb, { ...limits, inflatedBytes: 20_000_000 })).toEqual({
      bytes: new Uint8Array(0),
      fault: "over-limit",
    });
    expect(inflate(codec, bomb, { ...limits, inflateRatio: 100 }).fault).toBe("over-limit");
    expect(inflate(codec, encode(new Uint8Array(900_000)), { ...limits, inflateRatio: 2 }).fault).toBeNull();
  });

  it("ends on noise", () => {
    const good = encode(small);
    fc.assert(
      fc.property(fc.nat(good.length), fc.uint8Array({ maxLength: 40 }), (keep, junk) => {
        const out = inflate(codec, concat([good.subarray(0, keep), junk]), { ...limits, inflatedBytes: 1_000_000 });
        expect(out.bytes.length).toBeLessThanOrEqual(1_048_576);
      }),
      { numRuns: 100 },
    );
  });
});

describe("gzip", () => {
  it("of several members", () => {
    for (const bytes of [small, large]) {
      const out = inflate("gzip", concat([gzipSync(bytes), gzipSync(bytes)]), limits);
      expect([out.fault, out.bytes.length]).toEqual([null, 2 * bytes.length]);
    }
  });

  it("with name, comment and extra field", () => {
    // FLG = FEXTRA | FNAME | FCOMMENT
    const body = gzipSync(small).subarray(10);
    const named = concat([bytesOf("1f8b081c0000000000ff 0200 6162 6e00 6300"), body]);
    expect(inflate("gzip", named, limits)).toMatchObject({ fault: null });
    expect(inflate("gzip", named, limits).bytes.length).toBe(small.length);
  });

  it.each([
    ["checksum", 8],
    ["size", 4],
  ])("with a wrong %s: the bytes, and the fault", (_, back) => {
    const damaged = new Uint8Array(gzipSync(small));
    damaged[damaged.length - back] = damaged[damaged.length - back]! ^ 1;
    const out = inflate("gzip", damaged, limits);
    expect(out.fault).toBe("bad-compression");
    expect(Buffer.compare(out.bytes, small)).toBe(0);
  });

  it("allocates nothing by its size field", () => {
    const liar = new Uint8Array(gzipSync(small));
    liar.set([0xff, 0xff, 0xff, 0x7f], liar.length - 4);
    const before = process.memoryUsage().arrayBuffers;
    expect(inflate("gzip", liar, limits).fault).toBe("bad-compression");
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(50_000_000);
  });

  it("that is none", () => {
    expect(inflate("gzip", utf8Bytes("hello, world"), limits)).toEqual({
      bytes: new Uint8Array(0),
      fault: "bad-compression",
    });
  });
});

describe("deflate", () => {
  it("with a wrong checksum", () => {
    const damaged = new Uint8Array(deflateSync(small));
    damaged[damaged.length - 1] = damaged[damaged.length - 1]! ^ 1;
    expect(inflate("deflate", damaged, limits).fault).toBe("bad-compression");
  });
});

describe("zstd (RFC 8878)", () => {
  const text = utf8Bytes(Array.from({ length: 3000 }, (_, i) => `line ${i}\n`).join(""));

  it.each(["sized.zst", "streamed.zst", "two-frames.zst", "skippable.zst", "no-checksum.zst"])("undoes %s", (name) => {
    const out = inflate("zstd", zstdFixture(name), limits);
    expect(out.fault).toBeNull();
    const times = name === "two-frames.zst" ? 2 : 1;
    expect(Buffer.compare(out.bytes, concat(Array.from({ length: times }, () => text)))).toBe(0);
  });

  it("cut off", () => {
    for (const name of ["sized.zst", "streamed.zst"]) {
      const whole = zstdFixture(name);
      for (let size = 0; size < whole.length; size += 97) {
        const out = inflate("zstd", whole.subarray(0, size), limits);
        expect(out.fault).toBe("truncated");
        expect(Buffer.compare(out.bytes, text.subarray(0, out.bytes.length))).toBe(0);
      }
    }
  });

  it.each([
    ["a frame that declares 2 GB", "28b52ffd a0 00000080 010000"],
    ["a frame that asks for a window of 2 GB", "28b52ffd 00 a8 010000"],
    ["a window of a terabyte", "28b52ffd 00 ff 010000"],
    ["2^64 - 1 bytes", "28b52ffd e0 ffffffffffffffff 010000"],
  ])("refuses %s before anything is allocated", (_, wire) => {
    const before = process.memoryUsage().arrayBuffers;
    expect(inflate("zstd", bytesOf(wire), limits)).toEqual({ bytes: new Uint8Array(0), fault: "over-limit" });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1_000_000);
  });

  it("stops a bomb of run-length blocks that declares nothing", () => {
    // 200 blocks of 4 bytes, 128 KiB each
    const block = bytesOf("020010 00");
    const blocks = Array.from({ length: 200 }, () => block);
    const bomb = concat([bytesOf("28b52ffd 00 38"), ...blocks, bytesOf("030010 00")]);
    expect(inflate("zstd", bomb, { ...limits, inflatedBytes: 4_000_000 }).fault).toBe("over-limit");
    expect(inflate("zstd", bomb, limits).fault).toBe("over-limit");
    expect(inflate("zstd", bomb, { ...limits, inflateRatio: 1_000_000 })).toMatchObject({ fault: null });
  });

  it("ends on noise", () => {
    const good = zstdFixture("sized.zst");
    fc.assert(
      fc.property(fc.nat(good.length - 1), fc.uint8Array({ minLength: 1, maxLength: 10 }), (at, junk) => {
        const bytes = concat([good.subarray(0, at), junk, good.subarray(at + junk.length)]);
        expect(inflate("zstd", bytes, { ...limits, inflatedBytes: 2_000_000 }).bytes.length).toBeLessThanOrEqual(
          2_000_000,
        );
      }),
      { numRuns: 100 },
    );
  });
});

describe("piece by piece", () => {
  it.each(encoders.filter(([, codec]) => codec !== "br"))("%s, at every cut", (_, codec, encode) => {
    const wire = encode(small);
    for (let cut = 0; cut <= wire.length; cut++) {
      const pieces: Bytes[] = [];
      const inflater = inflaterFor(codec as "gzip" | "deflate", limits, (piece) => pieces.push(piece));
      inflater.push(wire.subarray(0, cut));
      inflater.push(wire.subarray(cut));
      inflater.end();
      expect(inflater.fault).toBeNull();
      expect(Buffer.compare(concat(pieces), small)).toBe(0);
    }
  });

  it("gives what an unfinished stream has", () => {
    const pieces: Bytes[] = [];
    const wire = gzipSync(large);
    const inflater = inflaterFor("gzip", limits, (piece) => pieces.push(piece));
    for (let at = 0; at < wire.length / 2; at += 1000) inflater.push(wire.subarray(at, at + 1000));
    const early = concat(pieces).length;
    expect(early).toBeGreaterThan(large.length / 4);
    inflater.end();
    expect(inflater.fault).toBe("truncated");
    expect(Buffer.compare(concat(pieces), large.subarray(0, concat(pieces).length))).toBe(0);
  });

  it("stops a bomb at once", () => {
    let out = 0;
    const inflater = inflaterFor("gzip", { ...limits, inflatedBytes: 100_000 }, (piece) => {
      out += piece.length;
    });
    inflater.push(gzipSync(new Uint8Array(100_000_000)));
    expect(inflater.fault).toBe("over-limit");
    expect(out).toBeLessThanOrEqual(1_048_576);
  });
});

describe("codecOf", () => {
  it.each([
    ["gzip", "gzip"],
    [" X-GZip ", "gzip"],
    ["deflate", "deflate"],
    ["br", "br"],
    ["zstd", "zstd"],
    ["identity", undefined],
    ["snappy", undefined],
    ["__proto__", undefined],
  ])("%s", (token, codec) => {
    expect(codecOf(token)).toBe(codec);
  });
});
