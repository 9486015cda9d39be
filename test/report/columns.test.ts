import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { clip, clipMiddle, padEnd, padStart, widthOf, wrap } from "../../src/report/columns.js";
import { byteCount, count, duration, many } from "../../src/report/numbers.js";

describe("columns", () => {
  it.each([
    ["short", 10, "short"],
    ["exactly ten", 11, "exactly ten"],
    ["much too long", 6, "much …"],
    ["漢字漢字", 5, "漢字…"],
    ["🙂🙂🙂", 4, "🙂…"],
    ["any", 0, ""],
  ])("clip(%j, %i)", (text, width, want) => {
    expect(clip(text, width)).toBe(want);
  });

  it("keeps both ends where it cuts in the middle", () => {
    expect(clipMiddle("conversation_checkpoint_update", 20)).toBe("convers…point_update");
    expect(clipMiddle("short", 20)).toBe("short");
  });

  it("never exceeds the width", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 80 }), fc.integer({ min: 1, max: 60 }), (text, width) => {
        expect(widthOf(clip(text, width))).toBeLessThanOrEqual(Math.max(width, 1));
        expect(widthOf(clipMiddle(text, width))).toBeLessThanOrEqual(Math.max(width, 1));
      }),
      { numRuns: 300 },
    );
  });

  it("wraps at spaces, and cuts only what has none", () => {
    expect(wrap("one two three four", 9)).toEqual(["one two", "three", "four"]);
    expect(wrap("abcdefghijklmnop", 8)).toEqual(["abcdefgh", "ijklmnop"]);
    expect(wrap("", 10)).toEqual([""]);
  });

  it("pads by cells", () => {
    expect(padEnd("漢", 4)).toBe("漢  ");
    expect(padStart("12", 4)).toBe("  12");
  });
});

describe("numbers", () => {
  it.each([
    [0, "0 ms"],
    [12, "12 ms"],
    [999.6, "1000 ms"],
    [3294, "3.294 s"],
    [59_999, "59.999 s"],
    [124_000, "2 min 04 s"],
    [3_600_000, "1 h 00 min"],
    [-5, "-5 ms"],
  ])("duration %d", (ms, want) => {
    expect(duration(ms)).toBe(want);
  });

  it("separates thousands and counts nouns", () => {
    expect([count(1), count(1234), count(1234567), byteCount(29974)]).toEqual(["1", "1,234", "1,234,567", "29,974 B"]);
    expect([many(1, "turn"), many(2, "turn"), many(0, "entry", "entries")]).toEqual(["1 turn", "2 turns", "0 entries"]);
  });
});
