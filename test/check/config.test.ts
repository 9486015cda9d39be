import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { configKeys, emptyConfig, parseConfig } from "../../src/check/config.js";
import { matchingRules, parseRuleSetting, resolveLevels } from "../../src/check/levels.js";
import { sampleRule } from "../report/sample.js";

const rules = ["cursor/K06", "cursor/S01", "kimi/K-WS-01"].map((id) => ({ ...sampleRule, id }));

describe("configuration file", () => {
  it("reads every key", () => {
    const text = JSON.stringify({
      $schema: "x",
      rules: { "cursor/K06": "off", "kimi/*": "info" },
      failOn: "warning",
      strict: true,
      require: ["cursor/S01"],
      allowEmpty: true,
      baseline: "known.json",
      store: ["a.db"],
    });
    expect(parseConfig(text, "c.json")).toEqual({
      rules: [
        ["cursor/K06", "off"],
        ["kimi/*", "info"],
      ],
      failOn: "warning",
      strict: true,
      require: ["cursor/S01"],
      allowEmpty: true,
      baseline: "known.json",
      stores: ["a.db"],
    });
    expect(parseConfig("{}", "c.json")).toEqual(emptyConfig);
  });

  it.each([
    ["{", "is no JSON"],
    ["[]", "is no JSON object"],
    ['{"strct":true}', 'unknown key "strct"; the keys are $schema, rules'],
    ['{"__proto__":1}', 'unknown key "__proto__"'],
    ['{"constructor":1}', 'unknown key "constructor"'],
    ['{"rules":{"cursor/K06":"fatal"}}', '"rules" must be off, info, warning or error for "cursor/K06"'],
    ['{"rules":[]}', '"rules" must be an object'],
    ['{"failOn":"off"}', '"failOn" must be error, warning or info'],
    ['{"strict":"yes"}', '"strict" must be true or false'],
    ['{"require":"cursor/K06"}', '"require" must be a list'],
    ['{"baseline":5}', '"baseline" must be a path'],
    ['{"store":[5]}', '"store" must be a list of paths'],
  ])("refuses %s", (text, message) => {
    expect(() => parseConfig(text, "c.json")).toThrow(message);
    expect(() => parseConfig(text, "c.json")).toThrow(expect.objectContaining({ code: "usage.config" }));
  });

  it("the shipped schema has the same keys and allows no others", () => {
    const schema = JSON.parse(readFileSync(new URL("../../docs/config.schema.json", import.meta.url), "utf8"));
    expect(Object.keys(schema.properties).sort()).toEqual(Object.keys(configKeys).sort());
    expect(schema.additionalProperties).toBe(false);
  });
});

describe("levels", () => {
  it.each([
    ["cursor/K06=off", ["cursor/K06", "off"]],
    ["kimi/*=info", ["kimi/*", "info"]],
  ])("%s", (text, want) => {
    expect(parseRuleSetting(text)).toEqual(want);
  });

  it.each(["cursor/K06", "=off", "cursor/K06=fatal", ""])("refuses %j", (text) => {
    expect(() => parseRuleSetting(text)).toThrow(expect.objectContaining({ code: "usage.rule" }));
  });

  it("later settings win, patterns name several", () => {
    const levels = resolveLevels(
      [
        ["cursor/*", "off"],
        ["cursor/S01", "error"],
      ],
      rules,
    );
    expect([...levels]).toEqual([
      ["cursor/K06", "off"],
      ["cursor/S01", "error"],
    ]);
  });

  it("an unknown id is an error with a hint, never silence", () => {
    expect(() => matchingRules("kimi/K06", rules)).toThrow("did you mean cursor/K06?");
    expect(() => matchingRules("x/*", rules)).toThrow('no rule "x/*"');
  });
});
