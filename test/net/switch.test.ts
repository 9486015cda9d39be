import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { address, framed, ipv4, join, pcap, text, u16, udp } from "../../fixtures/net/make/packets.mjs";
import { onEthernet, packet, syn, synAck } from "../../fixtures/net/make/talk.mjs";
import { defaultLimits } from "../../src/core/limits.js";
import type { Duplex, LayerContext } from "../../src/net/duplex.js";
import { type Layers, layers as realLayers } from "../../src/net/flow/layers.js";
import { codesOf, readPackets, runNet } from "./run.js";

/** Layers that write down what they get, in pieces joined where nothing comes between: "http1 up GET …". */
function recorder() {
  const lines: string[] = [];
  const add = (line: string, more: string) => {
    const last = lines[lines.length - 1];
    if (last?.startsWith(line) && !/ gap \d+$/.test(last)) lines[lines.length - 1] = last + more;
    else lines.push(line + more);
  };
  const layer = (name: string): Duplex => ({
    bytes: (direction, bytes) => add(`${name} ${direction} `, Buffer.from(bytes).toString("latin1")),
    gap: (direction, length) => void lines.push(`${name} ${direction} gap ${length}`),
    end: (direction, reason, by) => void lines.push(`${name} ${direction} end ${reason} ${by}`),
  });
  const info = { version: "1.3", cipher: null, sni: null, alpn: null, decrypted: true, why: null };
  const table: Layers = {
    /** Hands "plain" text on as if it had decrypted it. */
    tls: (context: LayerContext, _, inner) => {
      let plain: Duplex | undefined;
      return {
        ...layer("tls"),
        bytes: (direction, bytes, mark) => {
          const [alpn, ...rest] = Buffer.from(bytes.subarray(6)).toString("latin1").split("|");
          plain ??= inner(alpn === "" ? null : alpn!);
          plain.bytes(direction, text(rest.join("|")), mark);
          lines.push(`tls inside ${context.flow.client}`);
        },
        info: () => info,
      };
    },
    http1: (_, secure) => layer(secure ? "https1" : "http1"),
    http2: (_, secure) => layer(secure ? "https2" : "http2"),
    raw: () => layer("raw"),
  };
  return { lines, table };
}

type Part = readonly ["c" | "s", string];

/** A whole connection with these pieces, one segment each. */
function talk(parts: readonly Part[], handshake = true): Uint8Array[] {
  const at = { c: 0, s: 0 };
  const packets = parts.map(([side, data]) => {
    const bytes = packet(side, at[side], text(data), { acked: at[side === "c" ? "s" : "c"] });
    at[side] += data.length;
    return bytes;
  });
  return handshake ? [syn(), synAck(), ...packets] : packets;
}

function lines(packets: readonly Uint8Array[]) {
  const record = recorder();
  const result = runNet(readPackets(pcap(onEthernet(packets))).packets, { layers: record.table });
  return { lines: record.lines.filter((line) => !/ end capture-ended null$/.test(line)), result };
}

const request = "GET / HTTP/1.1\r\n\r\n";
const response = "HTTP/1.1 200 OK\r\n\r\n";
const clientHello = (inside: string) => `\x16\x03\x01\x00\xc8\x01${inside}`;

describe("the protocol switch", () => {
  it.each([
    [
      "HTTP/1.1",
      [
        ["c", request],
        ["s", response],
      ],
      [`http1 up ${request}`, `http1 down ${response}`],
    ],
    ["HTTP/1.1, byte by byte", [...request].map((char) => ["c", char] as const), [`http1 up ${request}`]],
    [
      "HTTP/2 by prior knowledge",
      [["c", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]],
      ["http2 up PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ],
    ["TLS, ALPN h2", [["c", clientHello("h2|plain")]], ["https2 up plain", "tls inside 192.0.2.1:50000"]],
    ["TLS, ALPN http/1.1", [["c", clientHello("http/1.1|plain")]], ["https1 up plain", "tls inside 192.0.2.1:50000"]],
    [
      "TLS, no ALPN: what is inside tells",
      [["c", clientHello(`|${request}`)]],
      [`https1 up ${request}`, "tls inside 192.0.2.1:50000"],
    ],
    [
      "an unknown protocol",
      [
        ["c", "\0\0\0\x05hello"],
        ["s", "\0\0\0\x02hi"],
      ],
      ["raw up \0\0\0\x05hello", "raw down \0\0\0\x02hi"],
    ],
    [
      "an unknown protocol whose server speaks first",
      [
        ["s", "220 hello\r\n"],
        ["c", "EHLO x\r\n"],
      ],
      ["raw down 220 hello\r\n", "raw up EHLO x\r\n"],
    ],
    ["a beginning that fits until the capture ends", [["c", "GE"]], ["raw up GE"]],
    [
      "the server's answer comes first",
      [
        ["s", response],
        ["c", request],
      ],
      [`http1 down ${response}`, `http1 up ${request}`],
    ],
  ] as [string, Part[], string[]][])("%s", (_, parts, wanted) => {
    expect(lines(talk(parts)).lines).toEqual(wanted);
  });

  it("goes by what follows when the beginning is lost", () => {
    const whole = talk([
      ["c", "POST / HTTP/1.1\r\n\r\n"],
      ["c", request],
      ["s", response],
    ]);
    // Nobody acknowledged the lost bytes: the hole is given up at the end, after the answer.
    expect(lines(whole.filter((_, n) => n !== 2)).lines).toEqual([
      `http1 down ${response}`,
      "http1 up gap 19",
      `http1 up ${request}`,
    ]);
  });

  it("takes a connection joined midway for raw until something begins", () => {
    const joined = lines(
      talk(
        [
          ["s", "...rest of a body"],
          ["c", request],
          ["s", response],
        ],
        false,
      ),
    );
    expect(joined.lines).toEqual(["raw down ...rest of a body", `http1 up ${request}`, `http1 down ${response}`]);
    expect(codesOf(joined.result.notes)).toEqual(["net.joined-midway"]);
  });

  it("does not look again where the beginning was there", () => {
    expect(
      lines(
        talk([
          ["c", "\0\0\0\x05hello"],
          ["c", request],
        ]),
      ).lines,
    ).toEqual([`raw up \0\0\0\x05hello${request}`]);
  });
});

const socks = { greeting: "\x05\x01\0", password: "\x05\x01\x02", method: "\x05\0", asks: "\x05\x02" };
const reply4 = `\x05\0\0\x01${"\0".repeat(6)}`;
const reply6 = `\x05\0\0\x04${"\0".repeat(18)}`;
const toName = "\x05\x01\0\x03\x0bexample.org\x01\xbb";

describe("in front of the real bytes", () => {
  it.each([
    [
      "RFC 1928",
      [
        ["c", socks.greeting],
        ["s", socks.method],
        ["c", toName],
        ["s", reply4],
        ["c", request],
        ["s", response],
      ],
      [`http1 up ${request}`, `http1 down ${response}`],
    ],
    [
      "RFC 1928, IPv6, all at once",
      [
        ["c", socks.greeting],
        ["s", socks.method + reply6 + response],
        ["c", toName + request],
      ],
      [`http1 down ${response}`, `http1 up ${request}`],
    ],
    [
      "RFC 1929",
      [
        ["c", socks.password],
        ["s", socks.asks],
        ["c", "\x01\x02me\x02pw"],
        ["s", "\x01\0"],
        ["c", toName],
        ["s", reply4],
        ["c", request],
      ],
      [`http1 up ${request}`],
    ],
    [
      "SOCKS5, the server's side not captured",
      [
        ["c", socks.greeting],
        ["c", toName],
        ["c", request],
      ],
      [`http1 up ${request}`],
    ],
    [
      "SOCKS5 around TLS",
      [
        ["c", socks.greeting],
        ["s", socks.method],
        ["c", toName],
        ["c", clientHello("h2|plain")],
      ],
      ["https2 up plain", "tls inside 192.0.2.1:50000"],
    ],
    [
      "PROXY, version 1",
      [
        ["c", `PROXY TCP4 192.0.2.9 192.0.2.2 1 2\r\n${request}`],
        ["s", response],
      ],
      [`http1 up ${request}`, `http1 down ${response}`],
    ],
    [
      "PROXY, version 1, unknown",
      [
        ["c", "PROXY UNKNOWN\r\n"],
        ["c", request],
      ],
      [`http1 up ${request}`],
    ],
    [
      "PROXY, version 2",
      [["c", `\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c${"\x01".repeat(12)}${request}`]],
      [`http1 up ${request}`],
    ],
    ["two PROXY headers", [["c", `PROXY UNKNOWN\r\nPROXY UNKNOWN\r\n${request}`]], [`http1 up ${request}`]],
  ] as [string, Part[], string[]][])("%s", (_, parts, wanted) => {
    expect(lines(talk(parts)).lines).toEqual(wanted);
    // However the client's bytes are cut, the same comes out.
    const cut = parts.flatMap(([side, data]) => [...data].map((char) => [side, char] as const));
    if (!wanted.some((line) => line.startsWith("tls")))
      expect(lines(talk(cut)).lines.sort()).toEqual([...wanted].sort());
  });

  it("names an exchange that is not well formed, and keeps its bytes", () => {
    const broken = lines(
      talk([
        ["c", socks.greeting],
        ["s", socks.method],
        ["c", "\x07what is this"],
      ]),
    );
    expect(codesOf(broken.result.notes)).toEqual(["proxy.malformed"]);
    expect(broken.lines).toEqual(["raw up \x07what is this"]);
    const endless = lines(talk([["c", `PROXY TCP4 ${"x".repeat(200)}`]]));
    expect(codesOf(endless.result.notes)).toEqual(["proxy.malformed"]);
  });

  it("keeps bytes that end inside the exchange", () => {
    expect(
      lines(
        talk([
          ["c", socks.greeting],
          ["s", socks.method],
          ["c", "\x05\x01"],
        ]),
      ).lines,
    ).toEqual(["raw up \x05\x01"]);
  });

  it("stops at headers without end", () => {
    const many = lines(talk([["c", "PROXY UNKNOWN\r\n".repeat(40)]]));
    expect(codesOf(many.result.notes)).toEqual(["net.nested-too-deep"]);
    expect(many.lines[0]).toMatch(/^raw up (PROXY UNKNOWN\r\n)+$/);
  });
});

describe("QUIC", () => {
  const datagram = (from: number, to: number, first: number) =>
    framed(ipv4({ src: "192.0.2.1", dst: "198.51.100.1", protocol: 17 }, udp({ from, to }, [first, 0, 0, 0, 1, 8])));
  it("is named once for each flow on port 443", () => {
    const packets = [
      datagram(50_000, 443, 0xc3),
      datagram(50_000, 443, 0x43),
      datagram(50_001, 443, 0x40),
      datagram(443, 443, 0xc0),
    ];
    const { notes } = runNet(readPackets(pcap(packets.map((bytes) => ({ bytes })))).packets);
    expect(notes.map((note) => [note.code, note.detail!.flow])).toEqual([
      ["net.quic", "192.0.2.1:50000 -> 198.51.100.1:443"],
      ["net.quic", "192.0.2.1:50001 -> 198.51.100.1:443"],
      ["net.quic", "192.0.2.1:443 -> 198.51.100.1:443"],
    ]);
  });

  it("is not what has another port, or the first byte of DTLS", () => {
    const packets = [datagram(50_000, 853, 0xc3), datagram(50_000, 443, 0x16)];
    expect(runNet(readPackets(pcap(packets.map((bytes) => ({ bytes })))).packets).notes).toEqual([]);
  });
});

describe("hostile packets", () => {
  const seeds = [
    ...talk([
      ["c", request],
      ["s", response],
    ]),
    ipv4(
      { src: "192.0.2.1", dst: "192.0.2.2", protocol: 47 },
      join([0x20, 0, 8, 0], address("1.2.3.4"), talk([["c", "x"]])[2]!),
    ),
    join(
      [0x60, 0, 0, 0],
      u16(48),
      [0, 64],
      address("2001:db8::1"),
      address("2001:db8::2"),
      [6, 0, 5, 2, 0, 0, 1, 0],
      new Uint8Array(40),
    ),
  ];

  it("end and throw nothing, whatever the link type, the lengths and the bytes", () => {
    const linkType = fc.constantFrom(
      0,
      1,
      6,
      8,
      9,
      10,
      12,
      50,
      51,
      100,
      101,
      104,
      107,
      108,
      109,
      113,
      117,
      138,
      178,
      192,
      197,
      204,
      219,
      228,
      229,
      239,
      242,
      258,
      276,
    );
    const change = fc.tuple(fc.nat(200), fc.nat(255));
    const one = fc.record({
      seed: fc.nat(seeds.length - 1),
      changes: fc.array(change, { maxLength: 6 }),
      cut: fc.nat(200),
      type: fc.constantFrom(0x0800, 0x86dd, 0x8100, 0x8847, 0x8864, 0x88e7, 0x894f, 40, 1500),
      noise: fc.uint8Array({ maxLength: 40 }),
    });
    fc.assert(
      fc.property(linkType, fc.array(one, { minLength: 1, maxLength: 12 }), (link, list) => {
        const packets = list.map(({ seed, changes, cut, type, noise }) => {
          const bytes = join(link === 1 ? join(new Uint8Array(12), u16(type)) : noise, seeds[seed]!, noise);
          for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
          return { bytes: bytes.subarray(0, Math.max(0, bytes.length - cut)), original: bytes.length };
        });
        const result = runNet(readPackets(pcap(packets, { linkType: link })).packets, { layers: realLayers });
        expect(result.events.filter((event) => event.kind === "flow").length).toBe(result.flows.length);
      }),
      { numRuns: 300 },
    );
  });

  it("cannot hold more fragments than the limit", () => {
    const fragments = Array.from({ length: 2000 }, (_, n) =>
      framed(ipv4({ src: "192.0.2.1", dst: "192.0.2.2", id: n, offset: 8, more: true }, new Uint8Array(1000))),
    );
    const limits = { ...defaultLimits, fragmentBytes: 100_000 };
    const { notes } = runNet(readPackets(pcap(fragments.map((bytes) => ({ bytes })))).packets, { limits });
    expect(notes.filter((note) => note.code === "ip.fragment-limit").length).toBeGreaterThan(1800);
    expect(notes.filter((note) => note.code === "ip.fragments-incomplete").length).toBeLessThanOrEqual(100);
  });
});
