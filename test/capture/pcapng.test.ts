import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  framed,
  join,
  pcapngBlock,
  pcapngInterface,
  pcapngObsoletePacket,
  pcapngPacket,
  pcapngSecrets,
  pcapngSection,
  pcapngSimplePacket,
  text,
} from "../../fixtures/net/make/packets.mjs";
import { wholeTalk } from "../../fixtures/net/make/talk.mjs";
import { CursorWireError } from "../../src/core/errors.js";
import { defaultLimits } from "../../src/core/limits.js";
import { readPackets } from "../net/run.js";

const frame = framed(wholeTalk()[3]!);
const micros = 1_700_000_000_123_456n;
const plain = pcapngPacket({ bytes: frame, ticks: micros });
const begin = (...more: Uint8Array[]) => join(pcapngSection(), pcapngInterface(), ...more);
const summary = (file: Uint8Array, options = {}) => {
  const { packets, notes } = readPackets(file, options);
  return {
    packets: packets.map((p) => [p.index, p.at, p.linkType, p.bytes.length, p.originalLength]),
    codes: notes.map((n) => n.code),
  };
};
const one = [0, micros * 1000n, 1, frame.length, frame.length];

describe("pcapng blocks", () => {
  // draft-ietf-opsawg-pcapng 4.1 to 4.7 and appendix A.
  const cases: [string, Uint8Array, unknown[][]][] = [
    ["4.3 enhanced packet", begin(plain), [one]],
    [
      "4.3 with options",
      begin(
        pcapngPacket({
          bytes: frame,
          ticks: micros,
          options: [
            [1, text("a comment")],
            [2, [1, 0, 0, 0]],
          ],
        }),
      ),
      [one],
    ],
    [
      "4.3 cut by the snapshot length",
      begin(pcapngPacket({ bytes: frame.slice(0, 33), ticks: micros, original: frame.length })),
      [[0, micros * 1000n, 1, 33, frame.length]],
    ],
    ["4.4 simple packet", begin(pcapngSimplePacket({ bytes: frame })), [[0, 0n, 1, frame.length, frame.length]]],
    [
      "4.4 simple packet, cut to the interface's snapshot length",
      join(
        pcapngSection(),
        pcapngInterface({ snapLength: 33 }),
        pcapngSimplePacket({ bytes: frame.slice(0, 33), original: frame.length }),
      ),
      [[0, 0n, 1, 33, frame.length]],
    ],
    ["A obsolete packet", begin(pcapngObsoletePacket({ bytes: frame, ticks: micros })), [one]],
    [
      "big-endian section",
      join(
        pcapngSection({ big: true }),
        pcapngInterface({ big: true }),
        pcapngPacket({ bytes: frame, ticks: micros, big: true }),
      ),
      [one],
    ],
    [
      "sections in both byte orders; interfaces begin anew",
      join(
        begin(plain),
        pcapngSection({ big: true }),
        pcapngInterface({ big: true, linkType: 101 }),
        pcapngPacket({ bytes: frame, ticks: micros, big: true }),
      ),
      [one, [1, micros * 1000n, 101, frame.length, frame.length]],
    ],
    [
      "several interfaces of different units",
      join(
        pcapngSection(),
        pcapngInterface(),
        pcapngInterface({ linkType: 113, options: [[9, [9]]] }),
        pcapngPacket({ bytes: frame, ticks: 1_700_000_000_123_456_789n, interfaceId: 1 }),
        plain,
      ),
      [
        [0, 1_700_000_000_123_456_789n, 113, frame.length, frame.length],
        [1, micros * 1000n, 1, frame.length, frame.length],
      ],
    ],
    [
      "unknown, name and statistics blocks are passed over",
      begin(...[4, 5, 0x77, 0x8000_0001].map((type) => pcapngBlock(type, new Uint8Array(21))), plain),
      [one],
    ],
    [
      "records that tshark numbers keep their numbers",
      begin(...[9, 0x204, 0xbad, 0x40000bad].map((type) => pcapngBlock(type, new Uint8Array(24))), plain),
      [[4, micros * 1000n, 1, frame.length, frame.length]],
    ],
    ["a length without its padding", begin(pcapngBlock(4, new Uint8Array(21), { declared: 33 }), plain), [one]],
  ];
  it.each(cases)("%s", (_, file, packets) => {
    expect(summary(file)).toEqual({ packets, codes: [] });
    for (const blockBytes of [1, 5, 13, 64]) expect(summary(file, { blockBytes })).toEqual({ packets, codes: [] });
  });

  // 4.2: if_tsresol and if_tsoffset.
  it.each([
    ["10^-3", [[9, [3]]], 1_700_000_000_123n, 1_700_000_000_123_000_000n],
    ["10^0", [[9, [0]]], 1_700_000_000n, 1_700_000_000_000_000_000n],
    ["10^-12", [[9, [12]]], 1_700_000_000_123n, 1_700_000_000n],
    ["10^-6, beyond 2^53 microseconds", [], 0x7fff_ffff_ffff_ffffn, 0x7fff_ffff_ffff_ffffn * 1000n],
    ["2^-1", [[9, [0x81]]], 3n, 1_500_000_000n],
    ["2^-20", [[9, [0x94]]], (1_700_000_000n << 20n) + (1n << 19n), 1_700_000_000_500_000_000n],
    ["2^-127", [[9, [0xff]]], 0xffff_ffff_ffff_ffffn, 0n],
    ["10^-127", [[9, [127]]], 0xffff_ffff_ffff_ffffn, 0n],
    ["offset of an hour", [[14, [0x10, 0x0e, 0, 0, 0, 0, 0, 0]]], micros, micros * 1000n + 3_600_000_000_000n],
    ["offset back a second", [[14, Array(8).fill(255)]], micros, micros * 1000n - 1_000_000_000n],
    [
      "both, behind other options",
      [
        [2, text("eth0")],
        [9, [9]],
        [12, text("Linux")],
        [14, [1, 0, 0, 0, 0, 0, 0, 0]],
      ],
      5n,
      1_000_000_005n,
    ],
    [
      "an option that claims more than there is ends the list",
      [
        [9, [9]],
        [2, text("name")],
      ],
      5n,
      5n,
    ],
  ] as const)("time resolution %s", (name, options, ticks, at) => {
    let described = pcapngInterface({ options });
    if (name.startsWith("an option")) described = Uint8Array.from(described, (byte, n) => (n === 26 ? 200 : byte));
    expect(readPackets(join(pcapngSection(), described, pcapngPacket({ bytes: frame, ticks }))).packets[0]!.at).toBe(
      at,
    );
  });

  it("hands TLS secrets to the key log, and no others", () => {
    const lines = text("CLIENT_RANDOM aa bb\n");
    const { secrets, notes } = readPackets(
      begin(pcapngSecrets(0x544c534b, lines), pcapngSecrets(0x57474b4c, lines), plain),
    );
    expect(secrets.map((each) => Buffer.from(each).toString())).toEqual(["CLIENT_RANDOM aa bb\n"]);
    expect(notes).toEqual([]);
    const short = pcapngBlock(10, join([0x4b, 0x53, 0x4c, 0x54], [255, 255, 255, 255], lines));
    expect(readPackets(begin(short)).secrets.map((each) => Buffer.from(each).toString())).toEqual([
      "CLIENT_RANDOM aa bb\n",
    ]);
  });
});

describe("pcapng, damaged", () => {
  it.each([
    [
      "an interface that nothing describes",
      begin(pcapngPacket({ bytes: frame, interfaceId: 9 }), plain),
      ["capture.bad-block"],
      1,
    ],
    [
      "more captured than the block holds",
      begin(pcapngPacket({ bytes: frame, captured: 9999 }), plain),
      ["capture.bad-block"],
      1,
    ],
    [
      "a packet block too short for its header",
      begin(pcapngBlock(6, new Uint8Array(8)), plain),
      ["capture.bad-block"],
      1,
    ],
    [
      "a simple packet before any interface",
      join(pcapngSection(), pcapngSimplePacket({ bytes: frame })),
      ["capture.bad-block"],
      0,
    ],
    [
      "an interface block without a body",
      begin(pcapngBlock(1, []), pcapngPacket({ bytes: frame, interfaceId: 1 })),
      [],
      1,
    ],
    [
      "two lengths, a block follows the first",
      begin(pcapngBlock(6, new Uint8Array(20), { trailing: 44 }), plain),
      ["capture.block-lengths-differ"],
      2,
    ],
    [
      "two lengths, none leads anywhere",
      begin(plain, pcapngBlock(6, new Uint8Array(20), { trailing: 44 }), text("no block at all")),
      ["capture.block-lengths-differ"],
      1,
    ],
    [
      "a length below the least",
      begin(plain, [6, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0, 0] as never, plain),
      ["capture.no-block"],
      1,
    ],
    [
      "a section without a byte order",
      begin(plain, pcapngBlock(0x0a0d0d0a, new Uint8Array(16))),
      ["capture.no-block"],
      1,
    ],
    [
      "a block that claims 4 GiB",
      begin(plain, pcapngBlock(6, new Uint8Array(20), { declared: 0xffff_fff0 }), plain),
      ["capture.cut"],
      1,
    ],
    [
      "an unknown block that claims 2 GiB",
      begin(plain, pcapngBlock(0x99, new Uint8Array(20), { declared: 0x7fff_fff0 })),
      ["capture.cut"],
      1,
    ],
  ] as const)("%s", (_, file, codes, count) => {
    const { packets, notes } = readPackets(file as Uint8Array);
    expect([packets.length, notes.map((note) => note.code)]).toEqual([count, codes]);
  });

  it("passes over a block that is longer than the limit, and stays in step", () => {
    const limits = { ...defaultLimits, recordBytes: 200 };
    const long = pcapngPacket({ bytes: new Uint8Array(500), ticks: micros });
    expect(summary(begin(long, plain), { limits, blockBytes: 50 })).toEqual({
      packets: [[1, micros * 1000n, 1, frame.length, frame.length]],
      codes: ["capture.block-too-long"],
    });
  });

  it("keeps a bounded number of interfaces", () => {
    const many = join(...Array.from({ length: 70_000 }, () => pcapngInterface()));
    const { packets, notes } = readPackets(join(pcapngSection(), many, plain));
    expect([packets.length, notes.length, notes[0]!.code]).toEqual([1, 70_000 - 65_536, "capture.too-many-interfaces"]);
  });

  it("gives every whole packet of a file cut anywhere, and one diagnostic", () => {
    const file = begin(plain, pcapngBlock(5, new Uint8Array(40)), plain, pcapngSimplePacket({ bytes: frame }));
    const whole: number[] = [];
    let at = 0;
    while (at < file.length) {
      at += new DataView(file.buffer, file.byteOffset).getUint32(at + 4, true);
      whole.push(at);
    }
    for (let cut = whole[0]!; cut < file.length; cut++) {
      const { packets, notes } = readPackets(file.slice(0, cut), { blockBytes: 64 });
      const blocks = whole.filter((end) => end <= cut).length;
      expect(packets.length).toBe([0, 0, 0, 1, 1, 2, 3][blocks]);
      expect(notes.map((note) => note.code)).toEqual(whole.includes(cut) ? [] : ["capture.cut"]);
    }
  });

  it("throws only where the first section header is not whole", () => {
    for (let cut = 4; cut < 28; cut++) expect(() => readPackets(begin(plain).slice(0, cut))).toThrow(CursorWireError);
    expect(() => readPackets(pcapngBlock(0x0a0d0d0a, new Uint8Array(16)))).toThrow(CursorWireError);
  });

  it("ends and throws nothing on noise and flipped bits", () => {
    const file = begin(plain, pcapngSecrets(0x544c534b, text("x")), plain, plain);
    fc.assert(
      fc.property(fc.nat(file.length - 29), fc.nat(7), fc.uint8Array({ maxLength: 200 }), (at, bit, noise) => {
        const flipped = Uint8Array.from(file);
        flipped[28 + at]! ^= 1 << bit;
        readPackets(join(flipped, noise), { blockBytes: 33 });
      }),
      { numRuns: 300 },
    );
  });
});
