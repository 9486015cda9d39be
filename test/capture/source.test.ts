import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join as joinPath } from "node:path";
import { deflateSync, gzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { join, pcap, text } from "../../fixtures/net/make/packets.mjs";
import { openSource, type SourceOptions } from "../../src/capture/source.js";
import type { Diagnostic } from "../../src/core/diagnostic.js";
import { defaultLimits } from "../../src/core/limits.js";

const folder = mkdtempSync(joinPath(tmpdir(), "cursor-wire-source-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, bytes: Uint8Array): string {
  const path = joinPath(folder, name);
  writeFileSync(path, bytes);
  return path;
}

function read(path: string, options: Partial<SourceOptions> = {}) {
  const notes: Diagnostic[] = [];
  const note = (diagnostic: Diagnostic) => void notes.push(diagnostic);
  const source = openSource(path, { input: 0, hash: true, limits: defaultLimits, note, ...options });
  const head = source.head();
  const blocks = [...source.blocks()];
  const out = {
    head,
    blocks,
    bytes: Buffer.concat(blocks),
    sha256: source.sha256(),
    source,
    codes: notes.map((n) => n.code),
  };
  source.close();
  return out;
}

/** 3 MB that compresses to about half, so that every format makes several blocks. */
const data = Buffer.alloc(3_000_000);
for (let at = 0, x = 1; at < data.length; at++) {
  x = (Math.imul(x, 1_103_515_245) + 12_345) & 0x7fffffff;
  data[at] = at % 3 === 0 ? x >> 16 : 0x41;
}
const zstd = new URL("../../fixtures/net/compressed/", import.meta.url);
const small = readFileSync(new URL("talk.pcap", zstd));

describe("plain files", () => {
  it("gives all bytes in blocks that are never reused, the head among them", () => {
    const { bytes, blocks, head, sha256, source } = read(file("plain", data));
    expect(bytes.equals(data)).toBe(true);
    expect(head.length).toBe(65_536);
    expect(Buffer.from(head).equals(data.subarray(0, 65_536))).toBe(true);
    expect(new Set(blocks.map((block) => block.buffer)).size).toBe(blocks.length);
    expect(sha256).toBe(createHash("sha256").update(data).digest("hex"));
    expect(source.rawBytes).toBe(data.length);
    expect(source.compression).toBeNull();
  });

  it("hashes what the pass left unread", () => {
    const source = openSource(file("unread", data), { input: 0, hash: true, limits: defaultLimits, note: () => {} });
    for (const _ of source.blocks()) break;
    expect(source.sha256()).toBe(createHash("sha256").update(data).digest("hex"));
    expect(source.rawBytes).toBe(data.length);
    source.close();
  });

  it("does not hash unasked", () => {
    expect(read(file("nohash", data), { hash: false }).sha256).toBeNull();
  });

  it("reads an empty file as nothing", () => {
    const { bytes, head, codes } = read(file("empty", new Uint8Array(0)));
    expect([bytes.length, head.length, codes]).toEqual([0, 0, []]);
  });

  it.each([
    ["input.not-found", () => joinPath(folder, "absent")],
    ["input.not-found", () => joinPath(file("a-file", data), "below")],
    ["input.directory", () => folder],
  ])("throws %s", (code, path) => {
    expect(() => read(path())).toThrow(expect.objectContaining({ code }));
  });
});

describe("compressed files, by content", () => {
  const gz = gzipSync(data);
  it.each([
    ["gzip", "gzip", gz, data],
    [
      "gzip, several members",
      "gzip",
      join(gzipSync(data.subarray(0, 1_000_000)), gzipSync(data.subarray(1_000_000))),
      data,
    ],
    [
      "gzip, a hundred tiny members",
      "gzip",
      join(...Array.from({ length: 100 }, () => gzipSync(Buffer.from("member")))),
      Buffer.from("member".repeat(100)),
    ],
    ["gzip of nothing", "gzip", gzipSync(Buffer.alloc(0)), Buffer.alloc(0)],
    ["gzip, stored", "gzip", gzipSync(data, { level: 0 }), data],
    ["gzip of much zero", "gzip", gzipSync(Buffer.alloc(40_000_000)), Buffer.alloc(40_000_000)],
    ["zlib", "zlib", deflateSync(data), data],
    ["zlib, level 0", "zlib", deflateSync(data, { level: 0 }), data],
    ["zlib, level 9", "zlib", deflateSync(data, { level: 9 }), data],
    ...(["talk.one.zst", "talk.frames.zst", "talk.skippable.zst", "talk.stream.zst", "talk.check.zst"] as const).map(
      (name) =>
        [
          name,
          "zstd",
          readFileSync(new URL(name, zstd)),
          name.includes("frames") ? Buffer.concat([small, small]) : small,
        ] as const,
    ),
  ] as const)("%s", (name, compression, packed, wanted) => {
    const { bytes, codes, source, sha256 } = read(file(name.replaceAll(/\W/g, "-"), packed));
    expect(source.compression).toBe(compression);
    expect(codes).toEqual([]);
    expect(bytes.equals(wanted)).toBe(true);
    expect(sha256).toBe(createHash("sha256").update(packed).digest("hex"));
  });

  it("keeps its blocks small, however much a piece expands", () => {
    const { blocks } = read(file("zeros.gz", gzipSync(Buffer.alloc(200_000_000))));
    expect(Math.max(...blocks.map((block) => block.length))).toBeLessThan(20_000_000);
  });

  const zst = readFileSync(new URL("talk.one.zst", zstd));
  it.each([
    ["gzip cut in the data", gz.subarray(0, 500_000), ["capture.compressed-cut"]],
    ["gzip cut in the trailer", gz.subarray(0, -3), ["capture.compressed-damaged"]],
    ["gzip cut in its header", gz.subarray(0, 6), ["capture.compressed-cut"]],
    ["gzip with zeros behind", join(gz, new Uint8Array(512)), ["capture.compressed-trailing"]],
    [
      "gzip damaged",
      join(gz.subarray(0, 300_000), text("damage".repeat(9)), gz.subarray(300_054)),
      ["capture.compressed-damaged"],
    ],
    ["zlib cut", deflateSync(data).subarray(0, 500_000), ["capture.compressed-cut"]],
    ["zstd cut", zst.subarray(0, -7), ["capture.compressed-cut"]],
    ["zstd with text behind", join(zst, text("and some more text behind it")), ["capture.compressed-trailing"]],
    [
      "zstd that asks for 2 GB",
      [0x28, 0xb5, 0x2f, 0xfd, 0, 0xa8, ...Array(20).fill(0)],
      ["capture.compressed-damaged"],
    ],
    [
      "zstd whose only block is too large",
      [0x28, 0xb5, 0x2f, 0xfd, 0, 0x58, 0xff, 0xff, 0xff, ...Array(20).fill(0)],
      ["capture.compressed-damaged"],
    ],
  ] as const)("%s: what there is, and one diagnostic", (name, packed, codes) => {
    const result = read(file(name.replaceAll(/\W/g, "-"), Uint8Array.from(packed)));
    expect(result.codes).toEqual(codes);
    // Damage may change bytes before it is noticed, but the front is sound.
    const wanted = name.startsWith("zstd") ? small : data;
    const sound = Math.min(result.bytes.length, name.includes("damaged") ? 200_000 : wanted.length);
    expect(result.bytes.subarray(0, sound).equals(wanted.subarray(0, sound))).toBe(true);
    if (name.includes("cut in the data") || name === "zlib cut") expect(result.bytes.length).toBeGreaterThan(500_000);
  });

  it.each(["x^2 + y^2", "x\x01 and text that goes on", "\x1f\x8b\x09 ", "xyzzy"])(
    "takes %j for no compression",
    (content) => {
      expect(read(file("text", text(content.repeat(50)))).source.compression).toBeNull();
    },
  );

  it("never throws on cuts and noise behind a magic number", () => {
    for (const [magic, packed] of [
      ["gz", gzipSync(small)],
      ["zl", deflateSync(small)],
      ["zst", zst],
    ] as const) {
      for (let cut = 4; cut < packed.length; cut += Math.max(1, packed.length >> 5)) {
        const noise = Uint8Array.from({ length: 64 }, (_, n) => (n * 37 + cut) & 0xff);
        expect(() => read(file(`noise.${magic}`, join(packed.subarray(0, cut), noise)))).not.toThrow();
      }
    }
  });
});

describe("standard input", () => {
  const script = `
    import { openSource } from ${JSON.stringify(new URL("../../src/capture/source.ts", import.meta.url).href)};
    import { defaultLimits } from ${JSON.stringify(new URL("../../src/core/limits.ts", import.meta.url).href)};
    const source = openSource("-", { input: 0, hash: false, limits: defaultLimits, note: () => {} });
    console.log("head", source.head().length);
    for (const block of source.blocks()) console.log("block", block.length);
  `;

  it("shows a capture as it comes: the head does not wait for more", async () => {
    const path = file("stdin.mts", text(script));
    const child = spawn(process.execPath, ["--import", "tsx", path], { stdio: ["pipe", "pipe", "inherit"] });
    const lines: string[] = [];
    let wake = () => {};
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      lines.push(...chunk.trimEnd().split("\n"));
      wake();
    });
    const until = async (count: number) => {
      while (lines.length < count) await new Promise<void>((resolve) => (wake = resolve));
    };
    child.stdin.write(pcap([]));
    await until(2);
    expect(lines).toEqual(["head 24", "block 24"]);
    child.stdin.write(new Uint8Array(100));
    await until(3);
    child.stdin.end();
    await new Promise((resolve) => child.on("close", resolve));
    expect(lines).toEqual(["head 24", "block 24", "block 100"]);
  });
});
