import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { CursorWireError } from "../../src/core/errors.js";
import { defaultLimits } from "../../src/core/limits.js";
import { placeText } from "../../src/core/place.js";
import { looksLikeHar } from "../../src/har/reader.js";
import {
  bodyOf,
  codesOf,
  endsOf,
  entry,
  harText,
  memorySource,
  type ReadResult,
  readFile,
  readSource,
  readText,
} from "./read.js";

const fixtures = join(import.meta.dirname, "../../fixtures/har");
const folder = mkdtempSync(join(tmpdir(), "cursor-wire-har-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Everything a result says, comparable. */
function all(result: ReadResult) {
  const bodies = result.exchanges.map((read) => [
    read.exchange.request!.path,
    bodyOf(read, "up").toString("hex"),
    bodyOf(read, "down").toString("hex"),
    read.exchange.mark.first,
    endsOf(read),
  ]);
  return { bodies, producer: result.producer, codes: codesOf(result) };
}

/** The message of the CursorWireError that `action` throws; its code must be one of input.*. */
function refusal(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (!(error instanceof CursorWireError)) throw error;
    expect(error.code).toMatch(/^input\./);
    return error.message;
  }
  throw new Error("nothing was thrown");
}

describe("HAR reader: files cut anywhere", () => {
  const bytes = readFileSync(join(fixtures, "websocket.har"));
  const whole = readText(bytes);

  it("every prefix throws input.* or gives only whole entries, with the byte where it ends", () => {
    const counts = new Set<number>();
    for (let length = 0; length < bytes.length; length++) {
      const part = bytes.subarray(0, length);
      let result: ReadResult;
      try {
        result = readText(part);
      } catch (error) {
        expect(error).toBeInstanceOf(CursorWireError);
        expect((error as CursorWireError).code).toMatch(/^input\.(har-cut|not-har)$/);
        expect((error as Error).message).toMatch(length === 0 ? /is empty$/ : new RegExp(`at byte ${length}\\b`));
        continue;
      }
      counts.add(result.exchanges.length);
      expect(all(result).bodies).toEqual(all(whole).bodies.slice(0, result.exchanges.length));
      const cut = result.diagnostics.list().find((row) => row.code === "har.cut");
      expect(cut?.detail).toMatchObject({ byte: length, entries: result.exchanges.length });
    }
    expect([...counts]).toEqual([1, 2]);
  });

  it("says whether it ends inside a string", () => {
    const text = harText([entry(), entry()]);
    const where = (length: number) =>
      readText(text.slice(0, length))
        .diagnostics.list()
        .find((row) => row.code === "har.cut")?.detail.where;
    expect(where(text.lastIndexOf("h.example"))).toBe("inside a string");
    expect(where(text.lastIndexOf("h.example") - 9)).toBe("inside a value");
    expect(where(text.length - 2)).toBe("between two values");
  });

  it("blocks cut anywhere give the same", () => {
    for (let cut = 1; cut < bytes.length; cut += 7) {
      expect(all(readSource(memorySource(bytes, [cut])))).toEqual(all(whole));
    }
    expect(all(readSource(memorySource(bytes, [...bytes.keys()])))).toEqual(all(whole));
  });

  it("noise behind a valid front never throws but input.*", () => {
    fc.assert(
      fc.property(
        fc.nat(bytes.length),
        fc.uint8Array({ maxLength: 100 }),
        fc.nat(bytes.length),
        (length, junk, skip) => {
          const part = Buffer.concat([bytes.subarray(0, length), junk, bytes.subarray(skip)]);
          try {
            readText(part);
          } catch (error) {
            expect(error).toBeInstanceOf(CursorWireError);
          }
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe("HAR reader: what cannot be read", () => {
  const rows: [string, string, RegExp][] = [
    ["empty", "", /^standard input is empty$/],
    ["no JSON", "hello", /^standard input is no HAR: its 5 bytes hold no "log" object/],
    [
      "JSON without log",
      '{"entries":[]}',
      /is no HAR: its 14 bytes hold no "log" object .*; export the traffic as HAR/,
    ],
    ["log is no object", '{"log":[]}', /is no HAR/],
    ["cut in the first key", '{"lo', /ends at byte 4, before its first entry: the file was cut/],
    ["cut before entries", '{"log":{"version":"1.2",', /ends at byte 24, before its first whole entry/],
    [
      "cut in the first entry",
      '{"log":{"entries":[{"request":{"url":"x',
      /ends at byte 39, before its first whole entry/,
    ],
  ];
  it.each(rows)("%s", (_, text, message) => {
    expect(refusal(() => readText(text))).toMatch(message);
  });

  it("much text without a brace is given up early", () => {
    const big = Buffer.alloc(1_000_000, 0x20);
    expect(refusal(() => readSource(memorySource(big, [100_000, 200_000])))).toMatch(/is no HAR/);
  });

  it.each([
    ["entries missing", '{"log":{}}'],
    ["entries empty", '{"log":{"entries":[]}}'],
    ["cut after the empty entries", '{"log":{"entries":[]'],
  ])("a log without entries is read: %s", (_, text) => {
    const result = readText(text);
    expect(result.exchanges).toEqual([]);
    expect(codesOf(result)).toHaveProperty(["har.no-entries"], 1);
  });
});

describe("HAR reader: recognition by content", () => {
  const yes: [string, string | Buffer][] = [
    ["HAR", harText([])],
    ["white space in front", "\r\n\t {\n"],
    ["JSONP", 'onInputData({"log":'],
    ["assignment", 'var har = {"log":'],
    ["UTF-8 with BOM", "\ufeff{}"],
    ["UTF-16 little endian", Buffer.from('\ufeff{"log":{}}', "utf16le")],
    ["UTF-16 big endian without BOM", Buffer.from('{"log":{}}', "utf16le").swap16()],
    ["any JSON object", '{"a":1}'],
  ];
  it.each(yes)("%s", (_, head) => expect(looksLikeHar(Buffer.from(head as string))).toBe(true));

  const no: [string, string | Buffer][] = [
    ["empty", ""],
    ["text", "hello"],
    ["pcap", Buffer.from("d4c3b2a1020004000000000000000000", "hex")],
    ["binary with a brace", Buffer.from([1, 2, 0x7b, 0x22])],
    ["a program", "function f() { return 1 }"],
    ["a JSON array", "[1,2]"],
  ];
  it.each(no)("not %s", (_, head) => expect(looksLikeHar(Buffer.from(head as string))).toBe(false));
});

describe("HAR reader: several logs", () => {
  const log = (path: string, count: number) =>
    harText(Array.from({ length: count }, (_, i) => entry({ url: `http://h/${path}${i}` }))).slice(1, -1);
  const paths = (result: ReadResult) => result.exchanges.map((read) => read.exchange.request!.path);
  const filler = (bytes: number) => `"x":"${"f".repeat(bytes)}"`;
  const big = 9 * 1024 * 1024;

  const rows: [string, string, string[]][] = [
    ["the first is empty", `{${log("a", 0)},${log("b", 2)}}`, ["/b0", "/b1"]],
    ["the last is empty", `{${log("a", 2)},${log("b", 0)}}`, ["/a0", "/a1"]],
    ["both have entries", `{${log("a", 2)},${log("b", 1)}}`, ["/b0"]],
    ["three, the middle one is the last with entries", `{${log("a", 1)},${log("b", 1)},${log("c", 0)}}`, ["/b0"]],
    ["the last is no object", `{${log("a", 1)},"log":null}`, ["/a0"]],
  ];
  it.each(rows)("%s", (_, text, wanted) => {
    const result = readText(text);
    expect(paths(result)).toEqual(wanted);
    expect(result.exchanges.map((read) => read.exchange.mark.first)).toEqual(wanted.map((_, i) => i));
    expect(codesOf(result)).toEqual({ "har.duplicate-log": 1 });
  });

  it("in a file larger than what is held, found on disk", () => {
    const path = join(folder, "late.har");
    writeFileSync(path, `{${log("a", 1)},${filler(big)},${log("b", 1)}}`);
    expect(paths(readFile(path))).toEqual(["/b0"]);
    writeFileSync(path, Buffer.from(`\ufeff{${log("a", 1)},${filler(big / 2)},${log("b", 1)}}`, "utf16le"));
    expect(paths(readFile(path))).toEqual(["/b0"]);
  });

  it.each([
    ["gzip", gzipSync],
    ["zlib (mitmproxy's .zhar)", deflateSync],
  ])("in a large compressed file, unpacked twice: %s", (_, pack) => {
    const path = join(folder, "late.packed");
    writeFileSync(path, pack(Buffer.from(`{${log("a", 1)},${filler(big)},${log("b", 1)}}`)));
    expect(paths(readFile(path))).toEqual(["/b0"]);
  });

  it("another key of that name deep inside changes nothing", () => {
    const path = join(folder, "deep.har");
    const deep = harText([entry({ entry: { _x: { log: { entries: [1, 2] } } } }), entry()]);
    writeFileSync(path, `{${filler(big)},${deep.slice(1)}`);
    expect(codesOf(readFile(path))).toEqual({});
  });

  it("from a pipe that is larger than what is held both are read, and said so", () => {
    const bytes = Buffer.from(`{${log("a", 2)},${filler(big)},${log("b", 1)}}`);
    const result = readSource(memorySource(bytes, [1_000_000, 5_000_000, 8_500_000]));
    expect(paths(result)).toEqual(["/a0", "/a1", "/b0"]);
    expect(result.exchanges.map((read) => read.exchange.mark.first)).toEqual([0, 1, 2]);
    expect(codesOf(result)).toEqual({ "har.several-logs": 1, "har.duplicate-log": 1 });
  });
});

describe("HAR reader: places", () => {
  it("are entry numbers, junk elements counted", () => {
    const result = readText(
      harText([null, entry({ request: { postData: { mimeType: "application/proto", text: "\ufffd" } } })]),
    );
    const rows = result.diagnostics.list();
    expect(rows.map((row) => [row.code, row.places.map((place) => placeText(place, ["a.har"]))])).toEqual([
      ["har.not-an-entry", ["a.har#1"]],
      ["har.lossy-text", ["a.har#2/request"]],
    ]);
    expect(result.exchanges[0]!.exchange.mark).toMatchObject({ input: 0, first: 1, last: 1 });
  });
});

describe("HAR reader: hostile input", () => {
  it("many invalid entries", () => {
    const bad =
      '{"startedDateTime":5,"time":"x","request":{"headers":7,"url":[]},"response":{"status":"?","content":0}}';
    const result = readText(`{"log":{"entries":[${`${bad},`.repeat(19_999)}${bad}]}}`);
    expect(result.exchanges).toHaveLength(20_000);
    expect(codesOf(result)).toMatchObject({ "har.entry-invalid": 20_000, "har.no-start": 20_000 });
  });

  it("an entry with 1e5 bad headers is not checked, and read", () => {
    const result = readText(harText([entry({ requestHeaders: Array.from({ length: 100_000 }, () => [1, 2]) })]));
    expect(codesOf(result)).toEqual({ "har.entry-unchecked": 1, "har.header-dropped": 100_000 });
  });

  it("nesting of 1e5 in an entry, in an unknown key, and as an entry", () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    const one = JSON.stringify(entry()).slice(0, -1);
    const result = readText(`{"a":${deep},"log":{"b":${deep},"entries":[${one},"_deep":${deep}},${deep}]}}`);
    expect(result.exchanges).toHaveLength(1);
    expect(codesOf(result)).toEqual({ "har.not-an-entry": 1 });
  });

  it("numbers out of range", () => {
    const text = harText([entry()])
      .replace('"time":100', '"time":1e999')
      .replace('"wait":40', '"wait":-1e308')
      .replace('"status":200', '"status":1e999')
      .replaceAll('"bodySize":0', '"bodySize":99999999999999999999');
    const { exchanges } = readText(text);
    expect(exchanges[0]!.exchange.durationMs).toBeNull();
  });

  it("names of Object.prototype as keys and values change nothing", () => {
    const text = harText([entry({ requestHeaders: [{ name: "constructor", value: "x" }] })]).replace(
      '"cache":{}',
      '"__proto__":{"_error":"net::ERR_ABORTED"},"constructor":{"prototype":{"request":1}},"cache":{}',
    );
    const result = readText(text);
    expect(endsOf(result.exchanges[0]!)).toEqual(["up complete", "down complete"]);
    expect(({} as Record<string, unknown>)._error).toBeUndefined();
  });

  it("a body larger than its block stays bytes of the file", () => {
    const bytes = Buffer.alloc(3_000_000, 7);
    const content = {
      size: bytes.length,
      mimeType: "application/octet-stream",
      text: bytes.toString("base64"),
      encoding: "base64",
    };
    const text = Buffer.from(harText([entry({ response: { content } })]));
    const result = readSource(memorySource(text, [1_000_001, 2_000_003, 3_000_007]));
    expect(bodyOf(result.exchanges[0]!, "down").equals(bytes)).toBe(true);
  });

  it("limits leave an entry or a body out and say so", () => {
    const limits = { ...defaultLimits, harEntryBytes: 2000, harBodyBytes: 1000 };
    const large = entry({ entry: { _x: "x".repeat(3000) } });
    const body = entry({ response: { content: { size: 2000, mimeType: "text/plain", text: "t".repeat(2000) } } });
    const result = readSource(memorySource(Buffer.from(harText([large, body]))), limits);
    expect(codesOf(result)).toEqual({ "har.entry-too-large": 1, "har.body-too-large": 1 });
    expect(result.exchanges.map((read) => read.exchange.mark.first)).toEqual([1]);
  });

  it("bytes that are no UTF-8 are Latin-1", () => {
    const text = harText([
      entry({ request: { postData: { mimeType: "text/plain", text: `caf@${"-".repeat(200)}` } } }),
    ]);
    const bytes = Buffer.from(text);
    bytes[bytes.indexOf("@")] = 0xe9;
    const result = readText(bytes);
    expect(bodyOf(result.exchanges[0]!, "up").toString()).toBe(`caf\u00e9${"-".repeat(200)}`);
    expect(codesOf(result)).toEqual({ "har.entry-not-utf8": 1 });
  });
});
