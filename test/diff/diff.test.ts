import { describe, expect, it } from "vitest";
import { alignTurns } from "../../src/diff/align.js";
import { factDiffs } from "../../src/diff/facts.js";
import { diffTalks } from "../../src/diff/index.js";
import type { Talk, TalkMessage } from "../../src/diff/talk.js";
import { diffText } from "../../src/report/diff.js";
import { analysis, hostile, place, render, turn, view } from "../report/sample.js";

/** "↓text" or "↑run:field,field" in order of the talk; one exchange per channel unless `spread`. */
function talk(words: string, over: Parameters<typeof turn>[0] = {}, spread = false): Talk {
  const messages = words.split(" ").map((word, ordinal): TalkMessage => {
    const [kind, fields = ""] = word.slice(1).split(":");
    const direction = word[0] === "↑" ? "up" : "down";
    return {
      direction,
      kind: kind!,
      fields: new Set(fields.split(",").filter(Boolean)),
      place: place(ordinal),
      channel: direction,
      exchange: spread ? ordinal : 0,
      ordinal,
    };
  });
  return { turn: turn(over), messages };
}

const first = (a: Talk, b: Talk) => diffTalks([[a]], [[b]]).turns[0]?.first;

describe("first divergence", () => {
  it.each([
    ["the same", "↑run ↓text ↓end", "↑run ↓text ↓end", null],
    ["more of the same kind", "↑run ↓text ↓text ↓end", "↑run ↓text ↓end", null],
    ["another number of alternations", "↓text ↓token ↓text ↓token ↓end", "↓text ↓token ↓end", null],
    ["missing", "↑run ↓text ↓checkpoint ↓end", "↑run ↓text ↓end", "missing checkpoint"],
    ["missing at the end", "↓text ↓end", "↓text", "missing end"],
    ["extra", "↓text ↓end", "↓text ↓exec ↓end", "extra exec"],
    ["order", "↓checkpoint ↓turn_ended ↓end", "↓turn_ended ↓checkpoint ↓end", "order checkpoint"],
    ["another kind", "↓text ↓a", "↓text ↓b", "kind a"],
    ["fields", "↓text:a,b ↓end", "↓text:a,c ↓end", "fields text"],
  ])("%s", (_, a, b, want) => {
    const found = first(talk(a), talk(b)) ?? null;
    expect(found === null ? null : `${found.what} ${(found.a ?? found.b)?.kind}`).toBe(want);
  });

  it("one more of a run is found where the facts count it, and only there", () => {
    const kv = (count: number) => ({ json: () => ({ kv: Array.from({ length: count }, (_, id) => ({ id })) }) });
    expect(first(talk("↓set ↓set ↓end", kv(2)), talk("↓set ↓end", kv(1)))).toMatchObject({
      what: "missing",
      a: { kind: "set" },
    });
    expect(first(talk("↓text ↓set ↓end", kv(1)), talk("↓text ↓set ↓set ↓end", kv(2)))).toMatchObject({
      what: "extra",
      b: { kind: "set", place: place(2) },
    });
    expect(first(talk("↓text_delta ↓end", kv(1)), talk("↓text_delta ↓text_delta ↓end", kv(2)))).toBeNull();
  });

  it("tells the fields of each side", () => {
    expect(first(talk("↓text:a,b"), talk("↓text:a,c"))).toMatchObject({ onlyA: ["b"], onlyB: ["c"] });
  });

  it("order means nothing where each message has an exchange of its own", () => {
    expect(first(talk("↑run ↑ack ↑beat", {}, true), talk("↑beat ↑run ↑ack", {}, true))).toBeNull();
    expect(first(talk("↑run ↑ack", {}, true), talk("↑run", {}, true))).toMatchObject({ what: "missing" });
  });
});

describe("facts", () => {
  it("ids, times, sizes, texts and places are no difference", () => {
    const a = {
      requestId: "6a1b0000-0000-4000-8000-000000000001",
      durationMs: 5,
      text: "x",
      outcome: "completed",
      kv: [{ id: 1, blobId: "ab".repeat(32), bytes: 5, answer: "ok" }],
      place: place(1),
    };
    const b = {
      ...a,
      requestId: "6a1b0000-0000-4000-8000-000000000002",
      durationMs: 9,
      text: "y",
      kv: [{ id: 4, blobId: "cd".repeat(32), bytes: 9, answer: "ok" }],
      place: place(9),
    };
    expect(factDiffs(a, b)).toEqual([]);
  });

  it.each([
    [{ outcome: "completed" }, { outcome: "failed" }, [{ path: "outcome", a: "completed", b: "failed" }]],
    [{ kv: [1, 2] }, { kv: [1] }, [{ path: "kv.length", a: "2", b: "1" }]],
    [{ usage: null }, { usage: { inputTokens: 1 } }, [{ path: "usage", a: "absent", b: "an object" }]],
    [{ kv: [{ answer: "ok" }] }, { kv: [{ answer: "none" }] }, [{ path: "kv[0].answer", a: "ok", b: "none" }]],
  ])("%j and %j", (a, b, want) => {
    expect(factDiffs(a, b)).toEqual(want);
  });
});

describe("alignment", () => {
  const named = (...prompts: string[]) =>
    prompts.map((prompt, index) => talk("↓x", { prompt, index, requestId: `${prompt}-${Math.abs(index)}` }));
  const pairs = (a: Talk[], b: Talk[]) =>
    alignTurns(a, b).map(([x, y]) => `${x?.turn?.prompt ?? "-"}${y?.turn?.prompt ?? "-"}`);

  it.each([
    [
      ["a", "b", "c"],
      ["a", "b", "c"],
      ["aa", "bb", "cc"],
    ],
    [
      ["a", "b", "c"],
      ["a", "c"],
      ["aa", "b-", "cc"],
    ],
    [
      ["a", "c"],
      ["a", "b", "c"],
      ["aa", "-b", "cc"],
    ],
    [["a"], ["x", "y"], ["ax", "-y"]],
    [[], ["x"], ["-x"]],
  ])("%j with %j", (a, b, want) => {
    expect(pairs(named(...a), named(...b))).toEqual(want);
  });
});

describe("text", () => {
  it("has no control character of the wire", () => {
    const a = talk("↓text ↓end", { conversationId: hostile });
    const b = { ...talk("↓text"), messages: [{ ...talk("↓text").messages[0]!, kind: hostile }] };
    const sides = { a: analysis([a.turn!]), b: analysis([b.turn!]) };
    const text = render(diffText(diffTalks([[a]], [[b]]), sides, view()));
    expect(text).toContain("first divergence");
    expect(text.replace(/\n/g, "")).not.toMatch(/[\p{Cc}\u202e\ud800]/u);
  });
});
