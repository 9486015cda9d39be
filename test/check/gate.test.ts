import { describe, expect, it } from "vitest";
import { compareWithBaseline, parseBaseline, writeBaseline } from "../../src/check/baseline.js";
import { type GateFacts, type GateOptions, judge } from "../../src/check/gate.js";
import { finding, sampleRule, turn } from "../report/sample.js";

const error = finding({ fingerprint: "e" });
const warning = finding({ fingerprint: "w", severity: "warning", rule: "cursor/L02" });
const damaged = finding({ fingerprint: "d", evidence: "damaged" });

const facts = (over: Partial<GateFacts> = {}): GateFacts => ({
  turns: [turn()],
  findings: [],
  notCheckable: [],
  held: new Map(),
  rules: [sampleRule],
  ...over,
});
const options = (over: Partial<GateOptions> = {}): GateOptions => ({
  failOn: "error",
  strict: false,
  require: [],
  allowEmpty: false,
  baseline: null,
  ...over,
});

describe("gate", () => {
  it.each([
    ["nothing found", [], {}, false],
    ["a warning below --fail-on error", [warning], {}, false],
    ["a warning at --fail-on warning", [warning], { failOn: "warning" }, true],
    ["an error", [error], {}, true],
    ["damaged evidence", [damaged], {}, false],
    ["damaged evidence, --strict", [damaged], { strict: true }, true],
    ["an error in the baseline", [error], { baseline: new Map([["e", 1]]) }, false],
    ["one more than in the baseline", [error, error], { baseline: new Map([["e", 1]]) }, true],
  ] as const)("%s", (_, findings, over, failed) => {
    expect(judge(facts({ findings }), options(over)).failed).toBe(failed);
  });

  it("says why", () => {
    expect(judge(facts({ findings: [error] }), options()).why).toBe('failed: 1 finding at or above "error"');
    expect(judge(facts({ findings: [damaged] }), options()).why).toBe(
      'passed: nothing at or above "error", 1 on damaged evidence not counted (--strict counts them)',
    );
    expect(judge(facts({ findings: [error] }), options({ baseline: new Map([["e", 1]]) })).why).toBe(
      'passed: nothing at or above "error", 1 known from the baseline',
    );
  });

  it("a required rule that was not judged fails, and no baseline accepts that", () => {
    const missing = facts({ notCheckable: [{ rule: "cursor/K06", why: "no downlink", turns: [0] }] });
    const gate = judge(missing, options({ require: ["cursor/K06"], baseline: new Map([["cursor/K06 required", 5]]) }));
    expect(gate.failed).toBe(true);
    expect(gate.fresh.map((row) => row.statement.join(""))).toEqual([
      "cursor/K06 is required and could not be checked: no downlink",
    ]);
    expect(judge(facts({ held: new Map([["cursor/K06", [0]]]) }), options({ require: ["cursor/K06"] })).failed).toBe(
      false,
    );
    expect(judge(facts({ findings: [warning] }), options({ require: ["cursor/L02"] })).failed).toBe(false);
  });

  it("a capture that was not judged at all fails, unless it may be empty", () => {
    expect(judge(facts({ turns: [] }), options()).fresh.map((row) => row.rule)).toEqual(["capture/no-turn"]);
    expect(judge(facts({ turns: [] }), options()).failed).toBe(true);
    expect(judge(facts({ turns: [] }), options({ allowEmpty: true })).failed).toBe(false);
    expect(judge(facts({ turns: [], held: new Map([["pi/PW-12", [-1]]]) }), options()).failed).toBe(false);
    expect(judge(facts({ turns: [], held: new Map([["capture/server-error", [-1]]]) }), options()).failed).toBe(true);
  });
});

describe("baseline", () => {
  it("is written sorted and read back", () => {
    const text = writeBaseline([warning, error, error]);
    expect(JSON.parse(text)).toEqual({
      schema: "cursor-wire/baseline@1",
      findings: [
        { rule: "cursor/K06", fingerprint: "e", count: 2 },
        { rule: "cursor/L02", fingerprint: "w", count: 1 },
      ],
    });
    expect([...parseBaseline(text, "b.json")]).toEqual([
      ["e", 2],
      ["w", 1],
    ]);
  });

  it("names what no longer occurs", () => {
    const compared = compareWithBaseline(
      [error],
      new Map([
        ["e", 1],
        ["old", 2],
      ]),
    );
    expect(compared).toEqual({ fresh: [], known: [error], gone: ["old"] });
  });

  it.each([
    ["no json", "is no JSON"],
    ["{}", "does not say"],
    ['{"schema":"cursor-wire/baseline@1"}', "has no list"],
    ['{"schema":"cursor-wire/baseline@1","findings":[{"count":1}]}', "without fingerprint"],
    ['{"schema":"cursor-wire/baseline@1","findings":[{"fingerprint":"x","count":"1"}]}', "without fingerprint"],
  ])("refuses %s", (text, message) => {
    expect(() => parseBaseline(text, "b.json")).toThrow(message);
    expect(() => parseBaseline(text, "b.json")).toThrow(expect.objectContaining({ code: "usage.baseline" }));
  });
});
