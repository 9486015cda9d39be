import { createRequire } from "node:module";
import fc from "fast-check";
import hpackJs from "hpack.js";
import { describe, expect, test } from "vitest";
import { type Bytes, concat, fromHex, utf8Bytes } from "../../src/core/bytes.js";
import { huffmanDecode, huffmanRoom } from "../../src/net/hpack/huffman.js";
import { HpackTable, staticCount } from "../../src/net/hpack/table.js";
import { HpackDecoder } from "../../src/net/hpack.js";
import { type Choice, type Field, HpackEncoder, huffmanCode, integer, text } from "./hpack-encoder.js";

const secondTable = (
  createRequire(import.meta.url)("hpack.js/lib/hpack/static-table.js").table as { name: string; value: string }[]
).map(({ name, value }) => ({ name, value }));
const limits = { headBytes: 262_144 };
const lines = (block: ReturnType<HpackDecoder["decode"]>) =>
  block.headers.map(({ name, value }) => `${name}: ${value}`);
const bytes = (hex: string) => fromHex(hex.replace(/\s/g, ""));

interface Story {
  readonly name: string;
  readonly size?: number;
  readonly blocks: readonly (readonly [hex: string, fields: readonly string[]])[];
}

const get = [":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com"];
const requests: readonly (readonly string[])[] = [
  get,
  [...get, "cache-control: no-cache"],
  [":method: GET", ":scheme: https", ":path: /index.html", ":authority: www.example.com", "custom-key: custom-value"],
];
const date = (seconds: number) => `date: Mon, 21 Oct 2013 20:13:${seconds} GMT`;
const home = "location: https://www.example.com";
const responses: readonly (readonly string[])[] = [
  [":status: 302", "cache-control: private", date(21), home],
  [":status: 307", "cache-control: private", date(21), home],
  [
    ":status: 200",
    "cache-control: private",
    date(22),
    home,
    "content-encoding: gzip",
    "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
  ],
];

const stories: readonly Story[] = [
  {
    name: "RFC 7541 C.2.1 literal with indexing",
    blocks: [["400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572", ["custom-key: custom-header"]]],
  },
  {
    name: "RFC 7541 C.2.2 literal without indexing",
    blocks: [["040c 2f73 616d 706c 652f 7061 7468", [":path: /sample/path"]]],
  },
  {
    name: "RFC 7541 C.2.3 never indexed",
    blocks: [["1008 7061 7373 776f 7264 0673 6563 7265 74", ["password: secret"]]],
  },
  { name: "RFC 7541 C.2.4 indexed", blocks: [["82", [":method: GET"]]] },
  {
    name: "RFC 7541 C.3 requests without Huffman",
    blocks: [
      ["8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", requests[0]!],
      ["8286 84be 5808 6e6f 2d63 6163 6865", requests[1]!],
      ["8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65", requests[2]!],
    ],
  },
  {
    name: "RFC 7541 C.4 requests with Huffman",
    blocks: [
      ["8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", requests[0]!],
      ["8286 84be 5886 a8eb 1064 9cbf", requests[1]!],
      ["8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf", requests[2]!],
    ],
  },
  {
    name: "RFC 7541 C.5 responses without Huffman, table of 256 bytes",
    size: 256,
    blocks: [
      [
        "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        responses[0]!,
      ],
      ["4803 3330 37c1 c0bf", responses[1]!],
      [
        "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
        responses[2]!,
      ],
    ],
  },
  {
    name: "RFC 7541 C.6 responses with Huffman, table of 256 bytes",
    size: 256,
    blocks: [
      [
        "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
        responses[0]!,
      ],
      ["4883 640e ffc1 c0bf", responses[1]!],
      [
        "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
        responses[2]!,
      ],
    ],
  },
];

/** A decoder whose table has this size, as a SETTINGS frame and the encoder's update make it. */
function decoderOf(size: number | undefined): HpackDecoder {
  const decoder = new HpackDecoder(limits);
  if (size !== undefined) decoder.decode(integer(0x20, 5, size));
  return decoder;
}

describe("RFC 7541 appendix C", () => {
  test.each(stories.map((story) => [story.name, story] as const))("%s", (_name, { size, blocks }) => {
    const decoder = decoderOf(size);
    for (const [hex, fields] of blocks) {
      const block = decoder.decode(bytes(hex));
      expect(lines(block)).toEqual(fields);
      expect(block.fault).toBeNull();
    }
  });
});

describe("Huffman", () => {
  const decode = (coded: Bytes): string | null => {
    const out = new Uint8Array(huffmanRoom(coded.length));
    const count = huffmanDecode(coded, 0, coded.length, out);
    return count < 0 ? null : Buffer.from(out.subarray(0, count)).toString("latin1");
  };

  test("every symbol, alone and behind others at every bit offset", () => {
    for (let symbol = 0; symbol < 256; symbol++) {
      for (let before = 0; before < 9; before++) {
        const plain = new Uint8Array([...new Array<number>(before).fill(0x30), symbol, 0x61]);
        expect(decode(huffmanCode(plain))).toBe(Buffer.from(plain).toString("latin1"));
      }
    }
  });

  test("any bytes come back", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (plain) => {
        expect(decode(huffmanCode(plain))).toBe(Buffer.from(plain).toString("latin1"));
      }),
    );
  });

  test.each([
    ["5.2 padding of 8 bits", "ff"],
    ["5.2 padding that is not all ones", "1e"],
    ["5.2 EOS inside", "fffffffc"],
    ["5.2 EOS inside, more behind", "1fffffffff00000000"],
    ["a long code cut off", "fffe"],
  ])("RFC 7541 %s is refused", (_name, hex) => {
    expect(decode(fromHex(hex))).toBeNull();
  });

  test("nothing is written beyond the room, whatever the input", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (coded) => {
        const count = huffmanDecode(coded, 0, coded.length, new Uint8Array(huffmanRoom(coded.length)));
        expect(count).toBeLessThanOrEqual(huffmanRoom(coded.length));
      }),
    );
  });
});

const fieldArb: fc.Arbitrary<Field> = fc.tuple(
  fc.constantFrom(":path", ":status", "content-type", "x-request-id", "cookie", "a", "x-long-name-that-nobody-indexed"),
  fc.oneof(
    fc.constantFrom("", "/", "200", "gzip"),
    fc.string({ maxLength: 40 }),
    fc.string({ unit: "binary-ascii", maxLength: 300 }),
  ),
);
const choiceArb: fc.Arbitrary<Choice> = fc.record({
  how: fc.constantFrom("index", "incremental", "plain", "never"),
  huffman: fc.boolean(),
  namedByIndex: fc.boolean(),
});

describe("random header lists", () => {
  const block = fc.record({
    fields: fc.array(fc.tuple(fieldArb, choiceArb), { maxLength: 12 }),
    resize: fc.option(fc.constantFrom(0, 64, 256, 4096), { freq: 4 }),
  });

  test("every representation, through our decoder and hpack.js", () => {
    fc.assert(
      fc.property(fc.array(block, { minLength: 1, maxLength: 8 }), (talk) => {
        const encoder = new HpackEncoder();
        const ours = new HpackDecoder(limits);
        const theirs = hpackJs.decompressor.create({ table: { maxSize: 4096 } });
        for (const { fields, resize } of talk) {
          const update = resize === null ? [] : [encoder.resize(resize)];
          const wire = concat([
            ...update,
            encoder.block(
              fields.map(([field]) => field),
              (i) => fields[i]![1],
            ),
          ]);
          const sent = fields.map(([[name, value]]) => `${name}: ${value}`);
          const got = ours.decode(wire);
          expect(got.fault).toBeNull();
          expect(lines(got)).toEqual(sent);
          theirs.write(Buffer.from(wire));
          theirs.execute();
          const second: string[] = [];
          for (let field = theirs.read(); field !== null; field = theirs.read())
            second.push(`${field.name}: ${field.value}`);
          expect(second).toEqual(sent);
        }
      }),
    );
  });

  // hpack.js looks values up in plain objects, so it fails on names of Object.prototype's members.
  const plain = (fields: readonly Field[]) => !fields.some((field) => field.some((part) => part in {}));

  test("what hpack.js compresses", () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fieldArb, { minLength: 1, maxLength: 12 }).filter(plain), { minLength: 1, maxLength: 8 }),
        (talk) => {
          const theirs = hpackJs.compressor.create({ table: { maxSize: 4096 } });
          const ours = new HpackDecoder(limits);
          for (const fields of talk) {
            theirs.write(fields.map(([name, value]) => ({ name, value })));
            const pieces: Buffer[] = [];
            for (let piece = theirs.read(); piece !== null; piece = theirs.read()) pieces.push(piece);
            expect(lines(ours.decode(new Uint8Array(Buffer.concat(pieces))))).toEqual(
              fields.map(([name, value]) => `${name}: ${value}`),
            );
          }
        },
      ),
    );
  });
});

describe("tables", () => {
  test("RFC 7541 appendix A", () => {
    expect(staticCount).toBe(61);
    const table = new HpackTable(65_536);
    expect([1, 8, 16, 61].map((index) => table.get(index))).toEqual([
      { name: ":authority", value: "" },
      { name: ":status", value: "200" },
      { name: "accept-encoding", value: "gzip, deflate" },
      { name: "www-authenticate", value: "" },
    ]);
    expect(Array.from({ length: staticCount }, (_, i) => table.get(i + 1))).toEqual(secondTable);
    expect(table.get(0)).toBeUndefined();
    expect(table.get(62)).toBeUndefined();
  });

  test("RFC 7541 4.4 an entry larger than the table empties it", () => {
    const encoder = new HpackEncoder();
    const decoder = new HpackDecoder(limits);
    decoder.decode(encoder.block([["a", "1"]]));
    decoder.decode(encoder.block([["big", "x".repeat(5000)]]));
    expect(decoder.decode(bytes("be"))).toMatchObject({ headers: [], fault: { what: "index", offset: 0 } });
  });

  test("RFC 7541 4.3 a size above what the other side allows is taken and reported", () => {
    const decoder = new HpackDecoder(limits);
    expect(decoder.decode(integer(0x20, 5, 10_000)).oversized).toEqual([10_000]);
    decoder.allowed = 65_536;
    expect(decoder.decode(integer(0x20, 5, 65_536)).oversized).toEqual([]);
  });

  test("a table that the encoder says is huge keeps what the limit allows and knows that it has less", () => {
    const encoder = new HpackEncoder();
    const decoder = new HpackDecoder({ headBytes: 1 });
    const value = "v".repeat(1000);
    decoder.decode(encoder.resize(10_000_000));
    for (let i = 0; i < 200; i++) decoder.decode(encoder.block([[`n${i}`, value]]));
    expect(lines(decoder.decode(integer(0x80, 7, 62)))).toEqual([`n199: ${value}`]);
    expect(decoder.decode(integer(0x80, 7, 62 + 199))).toMatchObject({ unknown: [261], fault: null });
  });
});

describe("a connection joined in the middle", () => {
  const old: readonly Field[] = [
    [":authority", "h"],
    ["x-old", "1"],
  ];

  test("references to what was not seen are unknown, the rest is read", () => {
    const encoder = new HpackEncoder();
    const decoder = new HpackDecoder(limits);
    encoder.block(old);
    decoder.lose();
    const wire = encoder.block([
      [":method", "POST"],
      [":authority", "h"],
      ["x-old", "2"],
      ["x-new", "3"],
    ]);
    const block = decoder.decode(wire);
    expect(lines(block)).toEqual([":method: POST", "unknown: ", "unknown: 2", "x-new: 3"]);
    expect(block).toMatchObject({ unknown: [63, 62], fault: null });
    expect(
      lines(
        decoder.decode(
          encoder.block([
            ["x-new", "3"],
            ["x-old", "2"],
          ]),
        ),
      ),
    ).toEqual(["x-new: 3", "unknown: 2"]);
  });

  test("it is whole again once the encoder empties its table", () => {
    const encoder = new HpackEncoder();
    const decoder = new HpackDecoder(limits);
    encoder.block(old);
    decoder.lose();
    decoder.decode(concat([encoder.resize(0), encoder.resize(4096), encoder.block([["a", "b"]])]));
    expect(decoder.complete).toBe(true);
    expect(decoder.decode(integer(0x80, 7, 63)).fault).toMatchObject({ what: "index" });
  });

  test("an encoder with a larger table than usual is followed as far as it was seen", () => {
    const encoder = new HpackEncoder();
    const decoder = new HpackDecoder(limits);
    encoder.resize(65_536);
    encoder.block(old);
    decoder.lose();
    const names = Array.from({ length: 300 }, (_, i): Field => [`name-${i}`, "x".repeat(100)]);
    decoder.decode(encoder.block(names));
    expect(lines(decoder.decode(encoder.block(names)))).toEqual(names.map(([name, value]) => `${name}: ${value}`));
  });
});

describe("malformed blocks", () => {
  test.each([
    ["6.1 index 0", "80", "index"],
    ["6.1 index beyond the tables", "be", "index"],
    ["6.2 name index beyond the tables", "7f00 0161", "index"],
    ["5.1 integer that does not end", "ff80808080", "truncated"],
    ["5.1 integer too large", "ffffffffffffff0f", "integer"],
    ["5.2 string longer than the block", "4005 6162", "truncated"],
    ["5.2 no string", "41", "truncated"],
    ["5.2 bad Huffman", "4181ff", "huffman"],
  ])("RFC 7541 %s: the headers before it are kept", (_name, hex, what) => {
    const decoder = new HpackDecoder(limits);
    const block = decoder.decode(concat([bytes("82"), bytes(hex), bytes("84")]));
    expect(lines(block).slice(0, 1)).toEqual([":method: GET"]);
    expect(block.fault).toMatchObject({ what, offset: 1 });
    expect(decoder.complete).toBe(false);
  });

  test("noise ends and gives no more headers than bytes", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 5 }), (blocks) => {
        const decoder = new HpackDecoder(limits);
        for (const block of blocks) expect(decoder.decode(block).headers.length).toBeLessThanOrEqual(block.length);
      }),
    );
  });

  test("a value that is not ASCII: UTF-8 where it is that, else one character per byte", () => {
    const decoder = new HpackDecoder(limits);
    const latin = concat([bytes("0001 61 02"), new Uint8Array([0xe9, 0x21])]);
    expect(lines(decoder.decode(concat([bytes("0001 61"), text("é", true), latin])))).toEqual(["a: é", "a: é!"]);
    expect(lines(decoder.decode(concat([bytes("0001 61 02"), utf8Bytes("é")])))).toEqual(["a: é"]);
  });
});
