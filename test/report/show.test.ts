import { describe, expect, it } from "vitest";
import { Place } from "../../src/core/place.js";
import { hexLines, hiddenRanges } from "../../src/report/hex-dump.js";
import { overlaps, parsePlace } from "../../src/report/parse-place.js";

const bytes = (text: string) => new TextEncoder().encode(text);

describe("hex dump", () => {
  it("offset, hex, text", () => {
    expect([...hexLines(bytes("0123456789abcdef\u0001é"), { base: 0x1f0, perLine: 16, hidden: null })]).toEqual([
      "01f0  30 31 32 33 34 35 36 37  38 39 61 62 63 64 65 66  0123456789abcdef",
      "0200  01 c3 a9                                          ...",
    ]);
  });

  it("blanks what is hidden in both columns", () => {
    const body = bytes("key=topsecret;");
    const { hidden, unseen } = hiddenRanges(body, ["topsecret"]);
    expect(unseen).toBe(0);
    expect([...hexLines(body, { base: 0, perLine: 16, hidden })].join("\n")).toBe(
      "0000  6b 65 79 3d ·· ·· ·· ··  ·· ·· ·· ·· ·· 3b        key=·········;",
    );
  });

  it.each([
    ["utf-8", "a topsecret b"],
    ["hex", `a ${Buffer.from("topsecret").toString("hex")} b`],
    ["base64", `a ${Buffer.from("topsecret").toString("base64")} b`],
  ])("finds a secret as %s", (_, text) => {
    const { hidden, unseen } = hiddenRanges(bytes(text), ["topsecret"]);
    expect([unseen, hidden?.includes(1), hidden?.[0], hidden?.at(-1)]).toEqual([0, true, 0, 0]);
  });

  it("finds it as JSON text, and says where it finds nothing", () => {
    expect(hiddenRanges(bytes('{"a":"x\\"y\\n"}'), ['x"y\n']).unseen).toBe(0);
    expect(hiddenRanges(bytes("nothing"), ["topsecret"])).toEqual({ hidden: null, unseen: 1 });
  });
});

describe("places back from text", () => {
  const names = ["a/x.har", "b/x.har"];
  const paths = ["/caps/a/x.har", "/caps/b/x.har"];
  it.each([
    ["a/x.har#7", new Place(0, 6, 6)],
    ["b/x.har#7-9", new Place(1, 6, 8)],
    ["b/x.har#7/response", new Place(1, 6, 6, "response")],
    ["a/x.har#7/request@0..90", new Place(0, 6, 6, "request", 0, 90)],
    ["/caps/b/x.har#1@5..5", new Place(1, 0, 0, undefined, 5, 5)],
  ])("%s", (text, want) => {
    expect(parsePlace(text, names, paths)).toEqual(want);
  });

  it("a name with # in it, and a name left out where there is one input", () => {
    expect(parsePlace("odd#name.har#3", ["odd#name.har"], ["odd#name.har"])).toEqual(new Place(0, 2, 2));
    expect(parsePlace("#3", ["x.har"], ["caps/x.har"])).toEqual(new Place(0, 2, 2));
    expect(parsePlace("b/x.har#3", ["x.har"], ["/caps/b/x.har"])).toEqual(new Place(0, 2, 2));
    expect(() => parsePlace("#3", names, paths)).toThrow("names no input");
    expect(() => parsePlace("x.har#3", names, paths)).toThrow(expect.objectContaining({ code: "usage.place" }));
  });

  it.each([
    ["#7", "#7/request@0..9", true],
    ["#7/response", "#7/request@0..9", false],
    ["#5-8", "#7", true],
    ["#5-6", "#7", false],
    ["#7@5..6", "#7@0..5", false],
    ["#7@4..4", "#7@0..5", true],
    ["#7@5..5", "#7@0..5", false],
    ["#7@0..0", "#7@0..0", true],
  ])("%s and %s: %s", (wanted, found, want) => {
    const place = (text: string) => parsePlace(text, ["x"], ["x"]);
    expect(overlaps(place(wanted), place(found))).toBe(want);
  });
});
