import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { describe, expect, it } from "vitest";
import { validateXML, type XMLInput } from "xmllint-wasm";
import type { Finding } from "../../src/model/check.js";
import type { Analysis } from "../../src/model/report.js";
import { findingReports } from "../../src/report/findings/index.js";
import { uriOf } from "../../src/report/findings/sarif.js";
import type { Gate } from "../../src/report/gate.js";
import { analysis, finding, hostile, render, sampleRule, turn, view } from "./sample.js";

const fixture = (name: string) => readFileSync(new URL(`../../fixtures/report/${name}`, import.meta.url), "utf8");

const first = turn();
const second = turn({ index: 1, requestId: "6a1b0000-0000-4000-8000-000000000002", outcome: "failed" });
const rich = analysis([first, second], {
  findings: [
    finding({ turn: first, requestId: first.requestId }),
    finding({
      turn: first,
      rule: "cursor/L02",
      severity: "warning",
      fingerprint: "cursor/L02 a",
      statement: ["a warning ", hostile],
    }),
    finding({
      turn: second,
      rule: "cursor/S01",
      severity: "error",
      evidence: "damaged",
      fingerprint: "cursor/S01 b",
      remedy: null,
    }),
    finding({
      turn: null,
      rule: "capture/silence",
      severity: "info",
      fingerprint: "capture/silence c",
      places: [],
      detail: { text: hostile },
    }),
  ],
  rules: [
    sampleRule,
    { ...sampleRule, id: "cursor/S01", statement: hostile },
    { ...sampleRule, id: "cursor/P01", class: "permission" },
  ],
  inputs: [{ path: `dir with space/${hostile}.har`, format: "har", bytes: 5, sha256: null, producer: null }],
  inputNames: ["a.har"],
  notCheckable: [
    { rule: "cursor/T14", why: hostile, turns: [0, 1] },
    { rule: "cursor/T15", why: "nothing there", turns: [] },
  ],
  held: new Map([
    ["cursor/K01", [0, 1]],
    ["cursor/K02", [-1]],
  ]),
});
const empty = analysis([], { findings: [], notCheckable: [], held: new Map() });

const gate = (findings: readonly Finding[], over: Partial<Gate> = {}): Gate => ({
  failed: true,
  why: 'failed: 1 finding at or above "error"',
  fresh: findings,
  known: [],
  gone: [],
  failing: findings.filter((row) => row.severity === "error" && row.evidence === "exact"),
  ...over,
});

const report = (name: string, data: Analysis, over = {}) => {
  const found = findingReports.find((row) => row.name === name)!;
  return render(found.render(data, view({ gate: gate(data.findings), ...over })));
};

describe("JUnit", () => {
  const validate = async (text: string) => {
    const xml: XMLInput = { fileName: "report.xml", contents: text };
    const result = await validateXML({
      xml: [xml],
      schema: [{ fileName: "junit.xsd", contents: fixture("junit.xsd") }],
    });
    return result.errors.map((error) => error.message);
  };

  it.each([
    ["rich", rich],
    ["empty", empty],
  ] as const)("%s is valid against the XSD", async (_, data) => {
    expect(await validate(report("junit", data))).toEqual([]);
  });

  it("the XSD does refuse what is no JUnit", async () => {
    expect(await validate(report("junit", rich).replace(/ tests="\d+"/, ' tests="many"'))).not.toEqual([]);
  });

  it("one case per rule and turn: passed, failed, skipped, noted", () => {
    const text = report("junit", rich);
    expect(text).toContain('<testsuite name="cursor turn 1" tests="4" failures="1" errors="0" skipped="1"');
    expect(text).toContain('<testsuite name="cursor turn 2" tests="3" failures="0" errors="0" skipped="1"');
    expect(text).toContain('<testsuite name="outside turns" tests="3" failures="0" errors="0" skipped="1"');
    expect(text).toMatch(/<failure type="cursor\/K06" message="kv 3: [^"]*">error: kv 3/);
    expect(text).toMatch(/name="cursor\/L02"[^>]*>\s*<system-out>warning: a warning/);
    expect(text).toMatch(/name="cursor\/K01"[^>]*\/>/);
  });
});

describe("SARIF", () => {
  const har = createRequire(createRequire(import.meta.url).resolve("har-validator"));
  const Ajv = har("ajv") as new (
    options: object,
  ) => {
    addMetaSchema(schema: object): void;
    compile(schema: object): ((data: unknown) => boolean) & { errors?: unknown };
  };
  const ajv = new Ajv({ schemaId: "id", meta: false, unknownFormats: "ignore", logger: false });
  ajv.addMetaSchema(har("ajv/lib/refs/json-schema-draft-04.json") as object);
  const validate = ajv.compile(JSON.parse(fixture("sarif-2.1.0-rtm.5.json")) as object);

  it.each([
    ["rich", rich, {}],
    ["empty", empty, {}],
    ["with a baseline", rich, { gate: gate(rich.findings.slice(1), { known: rich.findings.slice(0, 1) }) }],
  ] as const)("%s is valid against the schema of 2.1.0", (_, data, over) => {
    const log = JSON.parse(report("sarif", data, over));
    validate(log);
    expect(validate.errors ?? []).toEqual([]);
  });

  it("the schema does refuse what is no SARIF", () => {
    const log = JSON.parse(report("sarif", rich));
    log.runs[0].results[0].level = "fatal";
    expect(validate(log)).toBe(false);
  });

  it("places are locations, rules have help, fingerprints are stable", () => {
    const log = JSON.parse(report("sarif", rich));
    const [result] = log.runs[0].results;
    expect(result).toMatchObject({
      ruleId: "cursor/K06",
      ruleIndex: 0,
      level: "error",
      partialFingerprints: { "cursorWire/v1": "cursor/K06 cursor turn 0: kv 3" },
      locations: [{ logicalLocations: [{ fullyQualifiedName: "a.har#3/response@300..1500" }] }],
    });
    expect(log.runs[0].tool.driver.rules.map((rule: { id: string }) => rule.id)).toEqual(["cursor/K06", "cursor/S01"]);
    expect(log.runs[0].tool.driver.rules[0].help.text).toContain("Do: Hash the bytes");
    const log2 = JSON.parse(
      report("sarif", rich, { gate: gate(rich.findings.slice(1), { known: rich.findings.slice(0, 1) }) }),
    );
    expect(log2.runs[0].results.map((row: { baselineState: string }) => row.baselineState)).toEqual([
      "new",
      "new",
      "new",
      "unchanged",
    ]);
  });

  it.each([
    ["a b.har", "a%20b.har"],
    ["/tmp/x#1.har", "file:///tmp/x%231.har"],
    ["C:\\caps\\a.har", "C%3A/caps/a.har"],
    ["-", "-"],
  ])("path %s as %s", (path, uri) => {
    expect(uriOf(path)).toBe(uri);
  });
});

describe("GitHub", () => {
  it("one command per line, one annotation per finding, and the verdict", () => {
    const lines = report("github", rich).trimEnd().split("\n");
    expect(lines).toHaveLength(5);
    for (const line of lines) expect(line).toMatch(/^::(error|warning|notice) title=[^:,]*::/);
    expect(lines[0]).toMatch(/^::error title=cursor\/K06::kv 3: .* at a\.har#3\/response@300\.\.1500\. Hash the bytes/);
    expect(lines[4]).toBe('::error title=cursor-wire::failed: 1 finding at or above "error"');
  });
});

describe("text and JSON", () => {
  it("text groups by turn and ends with the verdict", () => {
    const text = report("text", rich);
    expect(text).toMatch(/Outside turns\n {2}info {4}capture\/silence/);
    expect(text).toMatch(
      /turn 2 {2}failed {2}request 6a1b0000-\S+\n {2}error {3}cursor\/S01 .*\(on damaged evidence\)/s,
    );
    expect(text).toContain("Not checkable here (neither passed nor failed)");
    expect(text.trimEnd()).toMatch(
      /failed: 1 finding at or above "error" \(2 rules held, found 2 errors, 1 warning, 1 note\)$/,
    );
    for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(120);
  });

  it("JSON lists findings, what was not checkable, and what held", () => {
    const data = JSON.parse(report("json", rich));
    expect(Object.keys(data)).toEqual([
      "schema",
      "tool",
      "inputs",
      "passed",
      "why",
      "turns",
      "findings",
      "baselined",
      "gone",
      "notCheckable",
      "held",
      "diagnostics",
    ]);
    expect(data).toMatchObject({
      schema: "cursor-wire/check@1",
      passed: false,
      held: { "cursor/K01": 2, "cursor/K02": 1 },
    });
    expect(data.findings[0]).toEqual({
      rule: "cursor/K06",
      severity: "error",
      statement: "kv 3: the id says 3f2a…, the 1,234 bytes hash to 9bc1…",
      remedy: sampleRule.remedy,
      conversationId: null,
      requestId: first.requestId,
      places: ["a.har#3/response@300..1500"],
      evidence: "exact",
      fingerprint: "cursor/K06 cursor turn 0: kv 3",
      detail: { id: 3 },
    });
    expect(data.notCheckable).toEqual([
      { rule: "cursor/T14", why: JSON.parse(JSON.stringify(hostile)), turns: [0, 1] },
      { rule: "cursor/T15", why: "nothing there", turns: [] },
    ]);
  });

  it("many findings of one rule are counted, not listed", () => {
    const lots = Array.from({ length: 50 }, (_, i) => finding({ turn: first, fingerprint: `f${i}` }));
    const text = report("text", analysis([first], { findings: lots }));
    expect(text.match(/cursor\/K06 {2}kv 3/g)).toHaveLength(3);
    expect(text).toContain("… and 47 more of cursor/K06 (--all shows them)");
    expect(text.match(/do: Hash/g)).toHaveLength(1);
  });
});
