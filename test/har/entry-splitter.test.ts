import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { defaultLimits } from "../../src/core/limits.js";
import { cutOf, type RawEntry } from "../../src/har/entry-capture.js";
import { EntrySplitter, type SplitEnd } from "../../src/har/entry-splitter.js";

interface Split {
  entries: unknown[];
  raw: { index: number; log: number; offset: number; end: number }[];
  fields: Record<string, unknown>;
  strays: number[];
  logs: boolean[];
  end: SplitEnd;
}

/** Puts the cut strings back where their placeholders stand. */
function restore(value: unknown, raw: RawEntry): unknown {
  if (typeof value === "string") {
    const cut = cutOf(value, raw.cuts);
    return cut === undefined ? value : [...cut.chunks()].join("");
  }
  if (Array.isArray(value)) return value.map((item) => restore(item, raw));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, restore(item, raw)]));
}

function split(bytes: Buffer, cuts: readonly number[] = [], limits = defaultLimits): Split {
  const out: Omit<Split, "end"> = { entries: [], raw: [], fields: {}, strays: [], logs: [] };
  const splitter = new EntrySplitter(
    {
      log: (_, isObject) => out.logs.push(isObject),
      entries: () => {},
      entry: (raw) => {
        out.raw.push({ index: raw.index, log: raw.log, offset: raw.offset, end: raw.end });
        out.entries.push(raw.text === undefined ? undefined : restore(JSON.parse(raw.text.toString()), raw));
      },
      field: (name, text) => {
        out.fields[name] = JSON.parse(Buffer.from(text).toString());
      },
      stray: (offset) => out.strays.push(offset),
    },
    { limits, capture: "all" },
  );
  let from = 0;
  for (const cut of [...cuts, bytes.length]) {
    splitter.push(new Uint8Array(bytes.subarray(from, cut)));
    from = cut;
  }
  return { ...out, end: splitter.end() };
}

const long = `a"b\\c\n${"x".repeat(300)}\u00e9\u2122\u{1f600}`;
const sample = {
  log: {
    version: "1.2",
    creator: { name: "rig", version: "1" },
    entries: [
      { request: { url: "http://h/", postData: { text: long } }, response: { content: { text: "short" } } },
      null,
      42,
      "text",
      [{ text: long }],
      { _webSocketMessages: [{ data: long }, { data: "d" }], other: long, url: "q".repeat(200) },
      { nested: { text: [long, { text: { text: long } }], data: { a: long } } },
    ],
    pages: [{ entries: [1] }],
  },
};

describe("entry splitter", () => {
  const text = Buffer.from(JSON.stringify(sample, null, 1));
  const whole = split(text);

  it("gives what JSON.parse gives, with positions", () => {
    expect(whole.entries).toEqual(sample.log.entries);
    expect(whole.fields).toEqual({ version: "1.2", creator: sample.log.creator });
    expect(whole.end).toMatchObject({ started: true, complete: true, length: text.length });
    for (const [i, { offset, end }] of whole.raw.entries()) {
      expect(JSON.parse(text.toString("utf8", offset, end))).toEqual(sample.log.entries[i]);
    }
  });

  it("at every cut point, in two blocks", () => {
    for (let cut = 0; cut <= text.length; cut++) expect(split(text, [cut])).toEqual(whole);
  });

  it("byte by byte", () => {
    expect(split(text, [...text.keys()].slice(1))).toEqual(whole);
  });

  it.each([1, 2, 3, 5, 7, 16, 31])("in blocks of %i bytes", (size) => {
    const cuts = Array.from({ length: Math.floor(text.length / size) }, (_, i) => (i + 1) * size).slice(0, -1);
    expect(split(text, cuts)).toEqual(whole);
  });

  it("every prefix gives only whole entries, and says where it stopped", () => {
    const ends = whole.raw.map(({ end }) => end);
    for (let length = 0; length < text.length; length++) {
      const part = split(text.subarray(0, length));
      // A number or word ends only with what follows it.
      const closes = (end: number) => '}]"'.includes(String.fromCharCode(text[end - 1]!));
      const complete = ends.filter((end) => end < length || (end === length && closes(end))).length;
      expect(part.entries).toEqual(sample.log.entries.slice(0, complete));
      expect(part.end.complete).toBe(false);
    }
  });

  it("property: equals JSON.parse on any entries, in any blocks", () => {
    const value = fc.jsonValue({ maxDepth: 4 });
    const strings = fc.oneof(fc.string({ unit: "binary", maxLength: 400 }), fc.constant(long));
    const entries = fc.array(fc.oneof(value, fc.record({ text: strings, data: strings, name: strings, more: value })), {
      maxLength: 6,
    });
    const spaces = fc.constantFrom(undefined, 1, "\t", "\r\n  ");
    fc.assert(
      fc.property(entries, spaces, fc.array(fc.nat(), { maxLength: 8 }), (list, space, points) => {
        const bytes = Buffer.from(JSON.stringify({ a: list, log: { x: list, entries: list, y: list } }, null, space));
        const cuts = points.map((point) => point % (bytes.length + 1)).sort((a, b) => a - b);
        const result = split(bytes, cuts);
        expect(result.entries).toEqual(JSON.parse(JSON.stringify(list)));
        expect(result.end.complete).toBe(true);
        expect(result.strays).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });

  it("noise: a valid front and anything behind it never throws", () => {
    fc.assert(
      fc.property(fc.nat(text.length), fc.uint8Array({ maxLength: 200 }), (length, junk) => {
        const bytes = Buffer.concat([text.subarray(0, length), junk]);
        const raw: number[] = [];
        const splitter = new EntrySplitter(
          { log() {}, entries() {}, entry: (entry) => raw.push(entry.end), field() {}, stray() {} },
          { limits: defaultLimits, capture: "all" },
        );
        splitter.push(bytes);
        expect(splitter.end().length).toBe(bytes.length);
        expect(raw.every((end) => end <= bytes.length)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  const shapes: [string, string, Partial<Pick<Split, "entries" | "logs" | "strays">>][] = [
    [
      "log not an object",
      '{"log":null,"log":[1],"log":{"entries":[{}]}}',
      { logs: [false, false, true], entries: [{}] },
    ],
    ["entries not an array", '{"log":{"entries":{"a":[1]}}}', { entries: [] }],
    ["two entries keys", '{"log":{"entries":[1],"entries":[2]}}', { entries: [1, 2] }],
    ["escaped keys", '{"l\\u006fg":{"\\u0065ntries":[{"t\\u0065xt":"v"}]}}', { entries: [{ text: "v" }] }],
    ["no commas", '{"log":{"entries":[{} {} 1 2]}}', { entries: [{}, {}, 1, 2] }],
    ["stray text is stepped over", '{x"log":{"entries":[{}}]}}', { entries: [{}], strays: [1, 22] }],
    [
      "a key longer than any we know",
      `{"${"log".repeat(200)}":{"entries":[1]},"log":{"entries":[2]}}`,
      { entries: [2] },
    ],
    ["scalars at every end", '{"log":{"entries":[true,"]}",-1.5e3\n]}}', { entries: [true, "]}", -1500] }],
  ];
  it.each(shapes)("%s", (_, json, wanted) => {
    expect(split(Buffer.from(json))).toMatchObject(wanted);
  });

  it("what stands in front and behind is measured", () => {
    const { before, after } = split(Buffer.from('  cb( {"log":{"entries":[]}} ); \n')).end;
    expect([before, after]).toEqual([
      { offset: 2, bytes: 3 },
      { offset: 29, bytes: 2 },
    ]);
  });

  it("an entry over the limit has no text but its size, and the next one is read", () => {
    const json = JSON.stringify({ log: { entries: [{ a: "x".repeat(500) }, { b: 1 }] } });
    const result = split(Buffer.from(json), [100, 200], { ...defaultLimits, harEntryBytes: 100 });
    expect(result.entries).toEqual([undefined, { b: 1 }]);
  });

  it("a body over its limit is counted and not kept", () => {
    const cuts: [number, number][] = [];
    const splitter = new EntrySplitter(
      {
        log() {},
        entries() {},
        entry: ({ cuts: [cut] }) => cuts.push([cut!.rawBytes, cut!.overLimit]),
        field() {},
        stray() {},
      },
      { limits: { ...defaultLimits, harBodyBytes: 1000 }, capture: "all" },
    );
    const json = Buffer.from(
      JSON.stringify({ log: { entries: [{ text: "y".repeat(1001) }, { text: "z".repeat(1000) }] } }),
    );
    for (let at = 0; at < json.length; at += 300) splitter.push(json.subarray(at, at + 300));
    expect(cuts).toEqual([
      [0, 1001],
      [1000, 0],
    ]);
  });

  it("a huge string under a key that carries no body is dropped, whole or in blocks", () => {
    const json = Buffer.from(JSON.stringify({ log: { entries: [{ junk: "j".repeat(1_100_000), b: 1 }] } }));
    for (const cuts of [[], [500_000]]) {
      const dropped: unknown[] = [];
      const texts: string[] = [];
      const splitter = new EntrySplitter(
        {
          log() {},
          entries() {},
          entry: (entry) => {
            dropped.push(...entry.dropped);
            texts.push(entry.text!.toString());
          },
          field() {},
          stray() {},
        },
        { limits: defaultLimits, capture: "all" },
      );
      for (const [from, to] of [
        [0, cuts[0] ?? json.length],
        [cuts[0] ?? json.length, json.length],
      ] as const) {
        splitter.push(json.subarray(from, to));
      }
      expect(dropped).toEqual([{ key: "junk", bytes: 1_100_000 }]);
      expect(texts).toEqual(['{"junk":"","b":1}']);
    }
  });
});
