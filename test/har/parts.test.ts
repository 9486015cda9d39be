import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { countInFile, isPlainFile, siblingReader } from "../../src/capture/sibling.js";
import { isoTime } from "../../src/core/time.js";
import { Base64Reader, isStrictBase64 } from "../../src/har/base64.js";
import { closingQuote, type ScanEnd } from "../../src/har/bytes-scan.js";
import { bytePerCharacter, utf8OfText } from "../../src/har/characters.js";
import { startTime } from "../../src/har/dates.js";
import { headerList, httpVersion, requestHead, responseHead, splitUrl } from "../../src/har/heads.js";
import { JsonText, safeEnd, unescapeJson } from "../../src/har/json-text.js";
import { mendJson } from "../../src/har/mend.js";
import { bodyKind, envelopeShape, looksLikeProto } from "../../src/har/shapes.js";
import { entryTimes } from "../../src/har/times.js";
import { messageTime } from "../../src/har/websocket.js";

describe("startedDateTime", () => {
  const rows: [string, unknown, string | undefined, boolean?][] = [
    ["HAR 1.2", "2026-11-30T21:04:41.228Z", "2026-11-30T21:04:41.228Z"],
    ["microseconds", "2026-11-30T20:57:45.630128+00:00", "2026-11-30T20:57:45.630128Z"],
    ["nanoseconds, zone without colon", "2026-12-01T02:27:45.630128123+0530", "2026-11-30T20:57:45.630128123Z"],
    ["more decimals than we keep", "2026-11-30T00:00:00.1234567891234Z", "2026-11-30T00:00:00.123456789Z"],
    ["west", "2026-11-30T12:57:45-08:00", "2026-11-30T20:57:45Z"],
    ["hours only", "2026-11-30T23:00:00+02", "2026-11-30T21:00:00Z"],
    ["no zone: UTC", "2026-11-30T21:00:00", "2026-11-30T21:00:00Z", true],
    ["space for T, no seconds", "2026-11-30 21:00 UTC", "2026-11-30T21:00:00Z"],
    ["comma", "2026-11-30T21:00:00,5Z", "2026-11-30T21:00:00.500Z"],
    ["date only", "2026-11-30", "2026-11-30T00:00:00Z", true],
    ["RFC 2822", "Mon, 30 Nov 2026 20:57:45 GMT", "2026-11-30T20:57:45Z"],
    ["JavaScript's toString", "Mon Nov 30 2026 21:57:45 GMT+0100 (CET)", "2026-11-30T20:57:45Z"],
    ["RFC 2822 without zone", "30 Nov 2026 20:57:45", "2026-11-30T20:57:45Z", true],
    ["milliseconds", 1796072265630, "2026-11-30T20:57:45.630Z"],
    ["seconds", 1796072265.63, "2026-11-30T20:57:45.630Z"],
    ["empty", "", undefined],
    ["month 13", "2026-13-30T21:00:00.000Z", undefined],
    ["hour 25", "2026-11-30T25:00:00.000Z", undefined],
    ["words", "yesterday", undefined],
    ["digits only", "20261130", undefined],
    ["null", null, undefined],
    ["NaN", Number.NaN, undefined],
    ["-1", -1, undefined],
    ["0", 0, undefined],
    ["too long", `2026-11-30T21:00:00.${"0".repeat(100)}Z`, undefined],
  ];
  it.each(rows)("%s", (_, value, wanted, zoneless = false) => {
    const got = startTime(value);
    expect(got === undefined ? undefined : [isoTime(got.at), got.zoneless]).toEqual(
      wanted === undefined ? undefined : [wanted, zoneless],
    );
  });

  it("property: the short way and the long way agree", () => {
    fc.assert(
      fc.property(fc.date({ min: new Date(0), max: new Date("2199-01-01"), noInvalidDate: true }), (date) => {
        const text = date.toISOString();
        expect(startTime(text)?.at).toBe(startTime(` ${text}`)?.at);
        expect(startTime(text)?.at).toBe(BigInt(date.getTime()) * 1_000_000n);
      }),
    );
  });
});

describe("when the parts of an entry happened", () => {
  const start = BigInt(Date.UTC(2026, 10, 30)) * 1_000_000n;
  const ms = (at: bigint) => Number(at - start) / 1e6;
  const times = (time: unknown, timings: unknown, date: unknown = "2026-11-30T00:00:00.000Z") => {
    const got = entryTimes({ startedDateTime: date, time, timings });
    const span = ({ earliest, latest }: { earliest: bigint; latest: bigint }) =>
      latest === 0n ? null : [ms(earliest), ms(latest)];
    return { up: span(got.up), head: span(got.head), down: span(got.down), end: span(got.end), ms: got.durationMs };
  };
  const rows: [string, unknown, unknown, unknown][] = [
    [
      "phases that add up",
      100.5,
      { blocked: 1.5, dns: -1, send: 0.5, wait: 40.25, receive: 58.25 },
      { up: [0, 42.25], head: [42.25, 42.25], down: [42.25, 100.5], end: [100.5, 100.5], ms: 100.5 },
    ],
    [
      "whole milliseconds are rounded: one each way",
      100,
      { send: 1, wait: 40, receive: 59 },
      { up: [0, 42], head: [39, 42], down: [39, 100], end: [100, 100], ms: 100 },
    ],
    [
      "phases that contradict the duration say nothing",
      54.8,
      { send: 0, wait: 61.4, receive: -6.6 },
      { up: [0, 54.8], head: [0, 54.8], down: [0, 54.8], end: [54.8, 54.8], ms: 54.8 },
    ],
    ["no phases (Firefox)", 7, {}, { up: [0, 7], head: [0, 7], down: [0, 7], end: [7, 7], ms: 7 }],
    ["no timings", 7, undefined, { up: [0, 7], head: [0, 7], down: [0, 7], end: [7, 7], ms: 7 }],
    [
      "duration -1",
      -1,
      { send: -1, wait: -1, receive: -1 },
      { up: [0, 0], head: null, down: null, end: null, ms: null },
    ],
    ["duration NaN", Number.NaN, {}, { up: [0, 0], head: null, down: null, end: null, ms: null }],
    ["duration beyond belief", 1e15, {}, { up: [0, 0], head: null, down: null, end: null, ms: null }],
    ["duration as text", "250", {}, { up: [0, 250], head: [0, 250], down: [0, 250], end: [250, 250], ms: 250 }],
    ["zero", 0, { send: 0, wait: 0, receive: 0 }, { up: [0, 0], head: [0, 0], down: [0, 0], end: [0, 0], ms: 0 }],
  ];
  it.each(rows)("%s", (_, time, timings, wanted) => {
    expect(times(time, timings)).toEqual(wanted);
  });

  it("without a start nothing has a time, the duration stays", () => {
    expect(times(20, { send: 0, wait: 2, receive: 18 }, "")).toEqual({
      up: null,
      head: null,
      down: null,
      end: null,
      ms: 20,
    });
  });

  it.each([
    ["seconds (Chromium)", 1796072266.123456, "2026-11-30T20:57:46.123456Z"],
    ["milliseconds (Playwright)", 1796072266123.456, "2026-11-30T20:57:46.123456Z"],
    ["microseconds", 1796072266123456, "2026-11-30T20:57:46.123456Z"],
    ["text", "1796072266.5", "2026-11-30T20:57:46.500Z"],
    ["a date", "2026-11-30T20:57:46.5Z", "2026-11-30T20:57:46.500Z"],
    ["relative", 12.5, undefined],
    ["null", null, undefined],
  ])("WebSocket time: %s", (_, value, wanted) => {
    const when = messageTime(value);
    expect(when && isoTime(when.latest)).toBe(wanted);
  });
});

describe("heads", () => {
  const dropped: string[] = [];
  const note = (part: string) => dropped.push(part);

  it.each([
    [
      "objects",
      [
        { name: "A", value: "1" },
        { name: "a", value: "2" },
      ],
      [
        ["A", "1"],
        ["a", "2"],
      ],
    ],
    [
      "pairs",
      [
        ["A", "1"],
        ["B", 2],
      ],
      [
        ["A", "1"],
        ["B", "2"],
      ],
    ],
    [
      "a map with lists",
      { A: "1", B: ["2", "3"] },
      [
        ["A", "1"],
        ["B", "2"],
        ["B", "3"],
      ],
    ],
    [
      "nulls among them",
      [null, { name: "A" }, { value: "x" }, { name: "", value: "x" }, { name: "B", value: true }, 5],
      [["B", "true"]],
    ],
    ["nothing", null, []],
    ["text", "A: 1", []],
    [
      "prototype names",
      [
        { name: "__proto__", value: "x" },
        { name: "constructor", value: "y" },
      ],
      [
        ["__proto__", "x"],
        ["constructor", "y"],
      ],
    ],
  ])("headers as %s", (_, value, wanted) => {
    expect(headerList(value, note).headers.map((header) => [header.name, header.value])).toEqual(wanted);
  });

  it("pseudo-headers become what they stand for", () => {
    const headers = [
      [":method", "CONNECT"],
      [":authority", "a.example"],
      [":path", "/p?q"],
      [":scheme", "https"],
      [":protocol", "websocket"],
      ["x", "1"],
    ];
    const { head } = requestHead({ method: "GET", url: "http://b.example/other", httpVersion: "junk", headers }, note);
    expect(head).toEqual({
      method: "CONNECT",
      authority: "a.example",
      path: "/p?q",
      scheme: "https",
      protocol: "websocket",
      version: "2",
      headers: [{ name: "x", value: "1" }],
    });
  });

  it("the Host header goes before the URL", () => {
    const { head } = requestHead({ url: "http://127.0.0.1:1/p", headers: [{ name: "HOST", value: "h:2" }] }, note);
    expect(head).toMatchObject({ authority: "h:2", path: "/p", method: "" });
  });

  it.each([
    ["status as text", { status: "404" }, 404],
    ["pseudo-header", { headers: [[":status", "204"]] }, 204],
    ["0 with headers", { status: 0, headers: [["a", "b"]] }, 0],
    ["0", { status: 0, headers: [] }, undefined],
    ["-1", { status: -1 }, undefined],
    ["NaN", { status: Number.NaN }, undefined],
    ["none", undefined, undefined],
  ])("response: %s", (_, value, status) => {
    expect(responseHead(value, note)?.head.status).toBe(status);
  });

  it.each([
    ["HTTP/1.1", "1.1"],
    ["http/1.0", "1.0"],
    ["HTTP/1", "1.1"],
    ["http/2.0", "2"],
    ["HTTP/2", "2"],
    ["h2", "2"],
    ["h2c", "2"],
    ["2", "2"],
    ["h3", "3"],
    ["h3-29", "3"],
    ["HTTP/3.0", "3"],
    ["http/2+quic/46", "3"],
    ["", null],
    ["unknown", null],
    ["data", null],
  ])("version %s", (text, wanted) => expect(httpVersion(text)).toBe(wanted));

  it.each([
    ["https://u:p@h.example:8443/a/b?c=d#e", "https", "h.example:8443", "/a/b?c=d"],
    ["http://h", "http", "h", "/"],
    ["http://h?x", "http", "h", "/?x"],
    ["wss://[::1]:9/ws", "wss", "[::1]:9", "/ws"],
    ["http://h/%2e%2E//x y", "http", "h", "/%2e%2E//x y"],
    ["/only/path#f", "", "", "/only/path"],
    ["data:text/plain,x", "", "", "data:text/plain,x"],
    ["://x", "", "", "://x"],
  ])("URL %s", (url, scheme, authority, path) => expect(splitUrl(url)).toEqual({ scheme, authority, path }));
});

describe("strings in bytes", () => {
  it("property: the closing quote is where JSON has it, in any two pieces", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), fc.nat(), (text, at) => {
        const bytes = Buffer.from(`${JSON.stringify(text).slice(1)},"tail"`);
        const wanted = Buffer.byteLength(JSON.stringify(text)) - 2;
        const end: ScanEnd = { escaped: false };
        expect(closingQuote(bytes, 0, end)).toBe(wanted);
        const cut = at % (wanted + 1);
        expect(closingQuote(bytes.subarray(0, cut), 0, end)).toBe(-1);
        const rest = bytes.subarray(cut);
        expect(closingQuote(rest, end.escaped ? 1 : 0, end) + cut).toBe(wanted);
      }),
      { numRuns: 300 },
    );
  });

  it("runs of backslashes and quotes are walked once", () => {
    const bytes = Buffer.from(`${'\\"'.repeat(100_000)}${"\\\\".repeat(100_000)}"`);
    expect(closingQuote(bytes, 0, { escaped: false })).toBe(bytes.length - 1);
  });

  it("property: chunks join to the text, cut anywhere", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", maxLength: 60 }),
        fc.array(fc.nat(), { maxLength: 5 }),
        (text, points) => {
          const json = Buffer.from(JSON.stringify(text).slice(1, -1));
          const cuts = points.map((point) => point % (json.length + 1)).sort((a, b) => a - b);
          const pieces = [...cuts, json.length].map((cut, i) => json.subarray(cuts[i - 1] ?? 0, cut));
          expect([...JsonText.cut(pieces.filter((piece) => piece.length > 0)).chunks()].join("")).toBe(text);
        },
      ),
      { numRuns: 500 },
    );
  });

  it.each([
    ["abc", 3],
    ["ab\\", 2],
    ["ab\\\\", 4],
    ["ab\\u12", 2],
    ["ab\\u1234", 8],
    ["a\\ud83d", 1],
    ["a\\ud83d\\ude0", 7],
    ["a\\ude00", 7],
    ["\\\\\\", 2],
    ["a\u00e9", 3],
    ["", 0],
  ])("a safe end of %j", (text, wanted) => expect(safeEnd(Buffer.from(text))).toBe(wanted));

  it("a safe end inside UTF-8 sequences", () => {
    const bytes = Buffer.from("a\u00e9\u2122\u{1f600}");
    expect([...bytes.keys()].map((length) => safeEnd(bytes.subarray(0, length)))).toEqual([
      0, 1, 1, 3, 3, 3, 6, 6, 6, 6,
    ]);
  });

  it("unescapes what is not quite JSON", () => {
    expect(unescapeJson(Buffer.from("a\\x\tb\\n\\u0041\\\\"))).toBe("a\\x\tb\nA\\");
  });
});

describe("characters to bytes", () => {
  const all = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
  const asCut = (text: string) => JsonText.cut([Buffer.from(JSON.stringify(text).slice(1, -1))]);

  it.each([
    ["parsed", JsonText.of],
    ["cut", asCut],
  ] as const)("every byte, %s", (_, make) => {
    const read = bytePerCharacter(make(all.toString("latin1")))!;
    expect([Buffer.concat(read.pieces).equals(all), read.windows1252, read.ascii]).toEqual([true, false, false]);
    expect(bytePerCharacter(make("\u20ac\u0081\u0178"))).toMatchObject({ windows1252: true });
    for (const other of ["\u20ac\u0080", "\u0100", "\ufffd", "\u{1f600}", "\ud800"]) {
      expect(bytePerCharacter(make(other))).toBeUndefined();
    }
  });

  it("property: parsed and cut texts give the same", () => {
    const unit = fc.oneof(
      fc.constantFrom("\u20ac", "\u0081", "\u0099", "\\", '"', "/", "\n"),
      fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
    );
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 20 }), (text) => {
        const read = (from: JsonText) => {
          const got = bytePerCharacter(from);
          return got && { ...got, pieces: Buffer.concat(got.pieces).toString("hex") };
        };
        if (text !== "") expect(read(asCut(text))).toEqual(read(JsonText.of(text)));
        const utf8 = utf8OfText(asCut(text));
        expect(Buffer.concat(utf8.pieces).equals(Buffer.from(text))).toBe(true);
        expect(utf8.units).toBe(text.length);
      }),
      { numRuns: 300 },
    );
  });

  it("property: long runs of ASCII between escapes and other characters, which are copied", () => {
    const run = fc
      .constantFrom(0, 1, 500, 1023, 1024, 1025, 2047, 2048, 2049, 5000)
      .map((length) => "0a".repeat(length / 2));
    const odd = fc.constantFrom("\n", '"', "\\", "\u00e9", "\u00ff", "\u0080", "x", "");
    fc.assert(
      fc.property(fc.array(fc.tuple(odd, run), { maxLength: 12 }), (list) => {
        const text = list.flat().join("");
        fc.pre(text !== "");
        const read = bytePerCharacter(asCut(text))!;
        expect(Buffer.concat(read.pieces).equals(Buffer.from(text, "latin1"))).toBe(true);
      }),
      { numRuns: 100 },
    );
  });

  it("property: dense texts, which a table reads, cut anywhere", () => {
    const high = fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 600, maxLength: 900 });
    const style = fc.constantFrom("latin1", "windows-1252", "upper", "\\u20ac");
    fc.assert(
      fc.property(high, style, fc.nat(), (codes, kind, at) => {
        // Without the C1 controls, which no windows-1252 text holds.
        const bytes = Buffer.from(
          kind === "latin1" || kind === "upper" ? codes : codes.map((code) => (code & 0x60 ? code : code | 0x20)),
        );
        const text =
          kind === "windows-1252" ? `${bytes.toString("latin1")}\u20ac\u2122\u0153` : bytes.toString("latin1");
        const wanted = kind === "windows-1252" ? Buffer.concat([bytes, Buffer.from([0x80, 0x99, 0x9c])]) : bytes;
        let json = JSON.stringify(text).slice(1, -1);
        if (kind === "upper")
          json = json.replace(/\\u00[0-9a-f]{2}/g, (found) => `\\u00${found.slice(4).toUpperCase()}`);
        if (kind === "\\u20ac") json = `\\u20AC\\/${json}`;
        const extra = kind === "\\u20ac" ? Buffer.from([0x80, 0x2f]) : Buffer.alloc(0);
        const raw = Buffer.from(json);
        const cut = at % raw.length;
        const pieces = [raw.subarray(0, cut), raw.subarray(cut)].filter((piece) => piece.length > 0);
        const read = bytePerCharacter(JsonText.cut(pieces))!;
        expect(Buffer.concat(read.pieces).equals(Buffer.concat([extra, wanted]))).toBe(true);
        expect(read.windows1252).toBe(kind === "windows-1252" || kind === "\\u20ac");
        expect(read.ascii).toBe(false);
        expect(bytePerCharacter(JsonText.cut([Buffer.concat([raw, Buffer.from("\u0100")])]))).toBeUndefined();
      }),
      { numRuns: 100 },
    );
  });

  it("PEP 383 surrogates come back as bytes", () => {
    const utf8 = utf8OfText(JsonText.of("a\udc80\udcff\u{1f600}"));
    expect(Buffer.concat(utf8.pieces)).toEqual(
      Buffer.concat([Buffer.from([0x61, 0x80, 0xff]), Buffer.from("\u{1f600}")]),
    );
    expect(utf8.escapedBytes).toBe(true);
  });
});

describe("base64 in pieces", () => {
  const read = (text: string, cuts: readonly number[] = []) => {
    const reader = new Base64Reader();
    let from = 0;
    for (const cut of [...cuts, text.length]) {
      reader.push(text.slice(from, cut));
      from = cut;
    }
    const { pieces, fault } = reader.end();
    return { bytes: Buffer.concat(pieces).toString("hex"), fault };
  };

  it("property: any bytes, any alphabet, any breaks, cut anywhere", () => {
    const points = fc.array(fc.nat(), { maxLength: 4 });
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), fc.boolean(), fc.boolean(), points, (bytes, url, breaks, cuts) => {
        const plain = Buffer.from(bytes).toString(url ? "base64url" : "base64");
        const text = breaks ? plain.replace(/.{7}/g, "$&\r\n") : plain;
        const sorted = cuts.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b);
        expect(read(text, sorted)).toEqual({ bytes: Buffer.from(bytes).toString("hex"), fault: undefined });
      }),
      { numRuns: 500 },
    );
  });

  it("large texts as bytes, cut anywhere, with and without faults", () => {
    const bytes = Buffer.from(Array.from({ length: 150_001 }, (_, i) => (i * 7919) >> 3));
    const plain = bytes.toString("base64");
    const rows: [string, number, unknown][] = [
      [plain, bytes.length, undefined],
      [plain.replace(/=+$/, ""), bytes.length, undefined],
      [bytes.toString("base64url"), bytes.length, undefined],
      [`${plain}${plain}`, bytes.length * 2, undefined],
      [plain.replace(/.{76}/g, "$&\r\n"), bytes.length, undefined],
      [`${plain.slice(0, 100_000)}*${plain.slice(100_001)}`, 75_000, { character: 100_000, what: "character U+002A" }],
    ];
    for (const [text, length, fault] of rows) {
      const raw = Buffer.from(text);
      for (const cut of [0, 1, 2, 3, 65_536, 65_537, 100_000, raw.length - 1, raw.length]) {
        const reader = new Base64Reader();
        reader.pushBytes(raw.subarray(0, cut));
        reader.pushBytes(raw.subarray(cut));
        const got = reader.end();
        const out = Buffer.concat(got.pieces);
        expect([out.length, got.fault]).toEqual([length, fault]);
        const wanted = length > bytes.length ? Buffer.concat([bytes, bytes]) : bytes.subarray(0, length);
        expect(out.equals(wanted)).toBe(true);
      }
    }
  });

  it.each([
    ["parts with padding between", "YQ==Yg==", "6162", undefined],
    ["a stranger", "YWJj*YWJj", "616263", { character: 4, what: "character U+002A" }],
    ["one character too many", "YWJjZ", "616263", { character: 4, what: "one character too many" }],
    ["nothing", "", "", undefined],
    ["only padding", "==", "", undefined],
    ["a line break in the last quantum", "YWJjYW\nI", "6162636162", undefined],
  ])("%s", (_, text, bytes, fault) => {
    for (let cut = 0; cut <= text.length; cut++) expect(read(text, [cut])).toEqual({ bytes, fault });
  });

  it.each([
    ["YWI=", true],
    ["YWJj", true],
    ["YWJ=", false],
    ["YW==", false],
    ["YQ==", true],
    ["YWI", false],
    ["YW-_", false],
    ["", false],
    ["Y=I=", false],
  ])("%j is strict: %s", (text, wanted) => expect(isStrictBase64([Buffer.from(text)])).toBe(wanted));
});

describe("shapes", () => {
  it.each([
    ["application/connect+proto", "envelope"],
    ["application/grpc-web+proto; charset=x", "envelope"],
    ["application/grpc", "envelope"],
    ["application/grpc-web-text", "text"],
    ["text/event-stream", "event-stream"],
    ["application/proto", "proto"],
    ["application/x-protobuf", "proto"],
    ["application/vnd.google.protobuf", "proto"],
    ["application/x.y+proto", "proto"],
    ["application/json", "json"],
    ["application/ld+json;x=y", "json"],
    ["text/html", "text"],
    ["application/x-www-form-urlencoded", "text"],
    ["application/javascript", "text"],
    ["image/svg+xml", "text"],
    ["image/png", "binary"],
    ["application/octet-stream", "binary"],
    ["", "unknown"],
    ["x-unknown", "unknown"],
  ])("%s is %s", (type, kind) => expect(bodyKind(type)).toBe(kind));

  const head = (flags: number, length: number) => Buffer.from([flags, 0, 0, length >> 8, length & 255]);
  const two = Buffer.concat([head(0, 3), Buffer.from("abc"), head(2, 2), Buffer.from("{}")]);
  it("envelopes, cut anywhere and in any pieces", () => {
    expect(envelopeShape([two])).toEqual({ shape: "whole", count: 2, closed: true });
    for (let cut = 1; cut < two.length; cut++) {
      expect(envelopeShape([two.subarray(0, cut), two.subarray(cut)])).toEqual({
        shape: "whole",
        count: 2,
        closed: true,
      });
      const front = envelopeShape([two.subarray(0, cut)]);
      expect(front.shape).toBe(cut === 8 ? "whole" : cut < 5 ? "no" : "partial");
    }
  });
  it.each([
    ["a bare message", Buffer.from("0a06494631323334", "hex")],
    ["unknown flags", head(4, 0)],
    ["text", Buffer.from("data: x")],
    ["nothing", Buffer.alloc(0)],
  ])("no envelope: %s", (_, bytes) => expect(envelopeShape([bytes]).shape).toBe("no"));

  it.each([
    ["0a0361626310ff01", true],
    ["", true],
    ["0d01020304", true],
    ["090102030405060708", true],
    ["0a03616263", true],
    ["0a04616263", false],
    ["00", false],
    ["0b", false],
    ["08ffffffffffffffffff01", true],
    ["08ffffffffffffffffffff01", false],
    ["080", false],
  ])("protobuf %s: %s", (hex, wanted) =>
    expect(looksLikeProto(Buffer.from(hex.length % 2 ? "08" : hex, "hex"))).toBe(wanted),
  );
});

describe("almost JSON", () => {
  it.each([
    ['{"a":NaN,"b":[Infinity,-Infinity,undefined]}', { a: null, b: [null, null, null] }],
    ['{"a":[1,2,],"b":{"c":1,},}', { a: [1, 2], b: { c: 1 } }],
    ['{"a":"x\ty\n"}', { a: "x\ty\n" }],
    ['{"a":"\\x41\\\'"}', { a: "\\x41\\'" }],
    ['{"NaN":"NaN, undefined,}","b":NaN}', { NaN: "NaN, undefined,}", b: null }],
  ])("%s", (text, wanted) => {
    const { text: better, what } = mendJson(text);
    expect(JSON.parse(better)).toEqual(wanted);
    expect(what.length).toBeGreaterThan(0);
  });

  it("leaves JSON as it is", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        expect(mendJson(text)).toEqual({ text, what: [] });
      }),
    );
  });
});

describe("files beside the HAR", () => {
  const folder = mkdtempSync(join(tmpdir(), "cursor-wire-sibling-"));
  const inside = join(folder, "har");
  mkdirSync(join(inside, "sub"), { recursive: true });
  mkdirSync(join(folder, "har2"));
  const body = Buffer.from("body");
  const sha1 = createHash("sha1").update(body).digest("hex");
  writeFileSync(join(inside, "talk.har"), "{}");
  writeFileSync(join(inside, `${sha1}.dat`), body);
  writeFileSync(join(inside, `${"0".repeat(40)}.dat`), body);
  writeFileSync(join(inside, "sub", "b.dat"), body);
  writeFileSync(join(inside, "empty.dat"), "");
  writeFileSync(join(folder, "har2", "secret"), body);
  symlinkSync(join(folder, "har2", "secret"), join(inside, "link-out"));
  symlinkSync("sub/b.dat", join(inside, "link-in"));
  symlinkSync(folder, join(inside, "up"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const reader = siblingReader(join(inside, "talk.har"), 1000);
  it.each([`${sha1}.dat`, "sub/b.dat", "link-in", "./sub/../sub/b.dat"])("reads %s", (name) => {
    const got = reader.read(name);
    expect(got.ok && Buffer.from(got.bytes).toString()).toBe("body");
  });
  it("reads an empty one", () => expect(reader.read("empty.dat")).toMatchObject({ ok: true }));

  it.each([
    ["../har2/secret", /outside/],
    ["link-out", /outside/],
    ["up/har2/secret", /outside/],
    ["..", /outside/],
    ["../gone", /outside/],
    [join(folder, "har2", "secret"), /no path inside/],
    ["C:\\x", /no path inside/],
    ["\\\\server\\x", /no path inside/],
    ["a\0b", /no path inside/],
    ["", /no path inside/],
    ["gone.dat", /not there/],
    ["sub", /no regular file/],
    [`${"0".repeat(40)}.dat`, /SHA-1/],
    [".", /outside/],
  ])("refuses %j", (name, why) => {
    expect(reader.read(name)).toMatchObject({ ok: false, why: expect.stringMatching(why) });
  });
  it("refuses what is over the limit, a SHA-1 given apart, and standard input", () => {
    expect(siblingReader(join(inside, "talk.har"), 3).read("sub/b.dat")).toMatchObject({
      ok: false,
      why: expect.stringMatching(/limit/),
    });
    expect(reader.read("sub/b.dat", sha1)).toMatchObject({ ok: true });
    expect(reader.read("sub/b.dat", "1".repeat(40))).toMatchObject({ ok: false });
    expect(siblingReader("-", 1000).read("sub/b.dat")).toMatchObject({ ok: false });
  });

  it("counts across blocks of a file", () => {
    const path = join(folder, "count.bin");
    const MiB = 1024 * 1024;
    for (let shift = -8; shift <= 8; shift++) {
      const bytes = Buffer.alloc(2 * MiB + 100, 0x20);
      bytes.write('"log" log" "lo', 5);
      bytes.write('"log"', MiB + shift);
      writeFileSync(path, bytes);
      expect(countInFile(path, Buffer.from('"'), Buffer.from('log"'), 9)).toBe(2);
    }
    expect(countInFile(path, Buffer.from('"'), Buffer.from('log"'), 1)).toBe(1);
    expect(countInFile(join(folder, "gone"), Buffer.from('"'), Buffer.from('log"'), 1)).toBe(0);
    expect([isPlainFile(path), isPlainFile("-"), isPlainFile(folder), isPlainFile(join(folder, "gone"))]).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });
});
