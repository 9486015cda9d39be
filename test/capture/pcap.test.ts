import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { framed, join, pcap, text } from "../../fixtures/net/make/packets.mjs";
import { wholeTalk } from "../../fixtures/net/make/talk.mjs";
import { CursorWireError } from "../../src/core/errors.js";
import { defaultLimits } from "../../src/core/limits.js";
import { readPackets } from "../net/run.js";

const records = wholeTalk().map((bytes, n) => ({ bytes: framed(bytes), at: [1_700_000_000, n] as const }));
const rows = (file: Uint8Array, options = {}) =>
  readPackets(file, options).packets.map((packet) => ({ ...packet, bytes: [...packet.bytes] }));
const codes = (file: Uint8Array, options = {}) => readPackets(file, options).notes.map((note) => note.code);

describe("classic pcap", () => {
  // pcap-savefile(5); the modified headers as Kuznetzov's, Nokia's and an old Linux patch wrote them.
  it.each([
    ["microseconds, little-endian", {}, 1000n],
    ["microseconds, big-endian", { big: true }, 1000n],
    ["nanoseconds, little-endian", { magic: 0xa1b23c4d }, 1n],
    ["nanoseconds, big-endian", { magic: 0xa1b23c4d, big: true }, 1n],
    ["Kuznetzov's longer records", { magic: 0xa1b2cd34, extra: 8 }, 1000n],
    ["Kuznetzov's longer records, big-endian", { magic: 0xa1b2cd34, extra: 8, big: true }, 1000n],
    ["still longer records under the same magic", { magic: 0xa1b2cd34, extra: 12 }, 1000n],
    ["Nokia's records under the usual magic", { extra: 4 }, 1000n],
    ["Ixia's longer file header", { magic: 0x1c0001ac, header: [0, 16, 0, 0] }, 1000n],
    ["snapshot length 0", { snapLength: 0 }, 1000n],
    ["AIX: nanoseconds and interface types", { version: [2, 2], linkType: 6 }, 1n],
  ] as const)("%s", (_, options, unit) => {
    const { packets, notes } = readPackets(pcap(records, options));
    expect(notes).toEqual([]);
    expect(packets.map((packet) => packet.at)).toEqual(
      records.map((_, n) => 1_700_000_000_000_000_000n + BigInt(n) * unit),
    );
    expect(packets.map((packet) => Buffer.from(packet.bytes).toString("hex"))).toEqual(
      records.map(({ bytes }) => Buffer.from(bytes).toString("hex")),
    );
    expect(packets.map((packet) => [packet.index, packet.input, packet.linkType])).toEqual(
      records.map((_, n) => [n, 0, 1]),
    );
  });

  it("gives file offsets of records", () => {
    const offsets = readPackets(pcap(records)).packets.map((packet) => packet.fileOffset);
    let at = 24;
    for (const [n, { bytes }] of records.entries()) {
      expect(offsets[n]).toBe(at);
      at += 16 + bytes.length;
    }
  });

  it("reads lengths in either order from versions before 2.4", () => {
    const bytes = framed(wholeTalk()[3]!);
    const cut = { bytes: bytes.slice(0, 40), captured: bytes.length, original: 40 };
    for (const version of [
      [2, 2],
      [2, 3],
      [543, 0],
    ] as const) {
      const { packets } = readPackets(pcap([cut], { version }));
      expect(packets.map((packet) => [packet.bytes.length, packet.originalLength])).toEqual([[40, bytes.length]]);
    }
    const [packet] = readPackets(
      pcap([{ bytes: bytes.slice(0, 40), original: bytes.length }], { version: [2, 3] }),
    ).packets;
    expect([packet!.bytes.length, packet!.originalLength]).toEqual([40, bytes.length]);
  });

  it("ignores the frame check sequence bits of the link type", () => {
    expect(readPackets(pcap(records, { linkType: 0x5400_0001 })).packets[0]!.linkType).toBe(1);
  });

  it("never says that fewer bytes were sent than captured", () => {
    expect(readPackets(pcap([{ bytes: text("four"), original: 2 }])).packets[0]!.originalLength).toBe(4);
  });

  it("is the same whatever the blocks", () => {
    const file = pcap(records);
    for (const blockBytes of [1, 2, 3, 7, 16, 100, 511]) expect(rows(file, { blockBytes })).toEqual(rows(file));
  });

  it("gives every whole packet of a file cut anywhere, and one diagnostic", () => {
    const file = pcap(records);
    const ends = readPackets(file).packets.map((packet) => packet.fileOffset + 16 + packet.bytes.length);
    for (let cut = 24; cut < file.length; cut++) {
      const { packets, notes } = readPackets(file.slice(0, cut), { blockBytes: 64 });
      expect(packets.length).toBe(ends.filter((end) => end <= cut).length);
      expect(notes.map((note) => note.code)).toEqual(cut === 24 || ends.includes(cut) ? [] : ["capture.cut"]);
    }
  });

  it("throws only where the file's own header is not whole", () => {
    for (let cut = 4; cut < 24; cut++) expect(() => readPackets(pcap(records).slice(0, cut))).toThrow(CursorWireError);
  });

  it("stops at a length that cannot be, without asking for it", () => {
    const claims = (captured: number) => pcap([...records, { bytes: text("?"), captured }, ...records]);
    for (const captured of [262_145, 0x7fff_ffff, 0xffff_ffff]) {
      const { packets, notes } = readPackets(claims(captured));
      expect(packets.length).toBe(records.length);
      expect(notes).toEqual([
        expect.objectContaining({
          code: "capture.record-too-long",
          detail: expect.objectContaining({ length: captured }),
        }),
      ]);
    }
  });

  it("takes longer records where the header announces them, up to the limit", () => {
    const long = { bytes: new Uint8Array(300_000) };
    expect(codes(pcap([long], { snapLength: 400_000 }))).toEqual([]);
    expect(codes(pcap([long]))).toEqual(["capture.record-too-long"]);
    const limits = { ...defaultLimits, recordBytes: 299_999 };
    expect(codes(pcap([long], { snapLength: 400_000 }), { limits })).toEqual(["capture.record-too-long"]);
  });

  it("ends and throws nothing on noise", () => {
    fc.assert(
      fc.property(
        fc.nat(4),
        fc.uint8Array({ maxLength: 400 }),
        fc.integer({ min: 1, max: 64 }),
        (whole, noise, blockBytes) => {
          const { packets } = readPackets(join(pcap(records.slice(0, whole)), noise), { blockBytes });
          expect(packets.length).toBeGreaterThanOrEqual(noise.length === 0 ? whole : 0);
        },
      ),
      { numRuns: 200 },
    );
  });
});
