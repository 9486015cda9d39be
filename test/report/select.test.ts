import { describe, expect, it } from "vitest";
import { kindFilter, selectTurns } from "../../src/report/select.js";
import { analysis, turn } from "./sample.js";

const turns = [
  turn({ conversationId: "alpha-1", requestId: "req-1a", index: 0 }),
  turn({ conversationId: "alpha-1", requestId: "req-1b", index: 1 }),
  turn({ conversationId: "alpha-2", requestId: "req-2a", index: 0 }),
];
const whole = analysis(turns, {
  notCheckable: [{ rule: "cursor/T14", why: "no times", turns: [0, 2] }],
  held: new Map([["cursor/K01", [-1, 1, 2]]]),
});
const requests = (selection: Parameters<typeof selectTurns>[1]) =>
  selectTurns(whole, selection).turns.map((item) => item.requestId);

describe("selection", () => {
  it.each([
    [{}, ["req-1a", "req-1b", "req-2a"]],
    [{ conversation: "alpha-2" }, ["req-2a"]],
    [{ request: "req-1b" }, ["req-1b"]],
    [{ turn: 1 }, ["req-1a", "req-2a"]],
    [{ turn: 2 }, ["req-1b"]],
    [{ last: 2 }, ["req-1b", "req-2a"]],
    [{ conversation: "alpha-1", last: 1 }, ["req-1b"]],
  ])("%j", (selection, want) => {
    expect(requests(selection)).toEqual(want);
  });

  it.each([
    [{ conversation: "alpha" }, /ambiguous: it matches alpha-1, alpha-2/],
    [{ request: "req-1" }, /ambiguous: it matches req-1a, req-1b/],
    [{ request: "nope" }, /no request begins with "nope": the capture has req-1a/],
    [{ turn: 9 }, /no turn 9: the last turn is 2/],
  ])("%j is a usage error that lists what there is", (selection, message) => {
    expect(() => requests(selection)).toThrow(message);
    expect(() => requests(selection)).toThrow(expect.objectContaining({ code: "usage.selection" }));
  });

  it("renumbers what refers to turns", () => {
    const cut = selectTurns(whole, { conversation: "alpha-2" });
    expect(cut.notCheckable).toEqual([{ rule: "cursor/T14", why: "no times", turns: [0] }]);
    expect(cut.held.get("cursor/K01")).toEqual([0]);
    expect(cut.findings).toEqual([]);
    expect(selectTurns(whole, { request: "req-1a" }).blobs?.rows.map((row) => row.referrers)).toEqual([
      ["turns[0].checkpoints[0].turns[0]"],
      ["turns[0].checkpoints[0].rootPromptMessages[0]"],
    ]);
    expect(cut.blobs?.rows).toEqual([]);
  });
});

describe("kind globs", () => {
  it.each([
    [undefined, "anything", true],
    ["kv_*", "kv_server_message.set_blob_args", true],
    ["kv_*", "interaction_update.text_delta", false],
    ["*.text_delta,kv_*", "interaction_update.text_delta", true],
    ["text_delta", "interaction_update.text_delta", true],
    ["tex?_delta", "interaction_update.text_delta", true],
    ["a.b", "axb", false],
    ["(", "(", true],
  ])("%s matches %s: %s", (glob, kind, want) => {
    expect(kindFilter(glob)(kind)).toBe(want);
  });
});
