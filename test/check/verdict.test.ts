import { describe, expect, it } from "vitest";
import { catalogue, runChecks } from "../../src/check/index.js";
import { noLevels } from "../../src/check/levels.js";
import { fingerprint, Verdicts } from "../../src/check/verdict.js";
import { type Rule, report, type Verdict, type Violation } from "../../src/model/check.js";
import type { DialectResult } from "../../src/model/dialect.js";
import { analysis, asked, at, exchange, place, sampleRule, step, turn } from "../report/sample.js";

const other: Rule = { ...sampleRule, id: "cursor/S01", severity: "warning", remedy: null };
const rules = new Map([sampleRule, other].map((rule) => [rule.id, rule]));
const first = turn();
const second = turn({ index: 1, requestId: "r2" });

const violation = (over: Partial<Violation> = {}): Violation => ({
  rule: "cursor/K06",
  verdict: "violated",
  turn: first,
  statement: ["wrong"],
  places: [place(2, "response", 5, 9)],
  evidence: "exact",
  subject: "kv 3",
  ...over,
});

function judge(verdicts: readonly Verdict[], levels = noLevels) {
  const log = new Verdicts([first, second], rules, levels);
  report(verdicts, log);
  return log.result();
}

describe("verdicts", () => {
  it("merges the rule's severity and remedy, and the turn's ids", () => {
    const { findings } = judge([violation()]);
    expect(findings).toEqual([
      {
        rule: "cursor/K06",
        severity: "error",
        statement: ["wrong"],
        remedy: sampleRule.remedy,
        conversationId: first.conversationId,
        requestId: first.requestId,
        turn: first,
        places: [place(2, "response", 5, 9)],
        evidence: "exact",
        fingerprint: "cursor/K06 cursor turn 0: kv 3",
        detail: {},
      },
    ]);
  });

  it("what the violation says itself wins", () => {
    const [found] = judge([
      violation({ severity: "info", remedy: "do that", conversationId: null, detail: { id: 3 } }),
    ]).findings;
    expect(found).toMatchObject({
      severity: "info",
      remedy: "do that",
      conversationId: first.conversationId,
      detail: { id: 3 },
    });
  });

  it("a level set by the user wins over both", () => {
    const levels = new Map([["cursor/K06", "warning"]] as const);
    expect(judge([violation({ severity: "info" })], levels).findings[0]?.severity).toBe("warning");
    expect(new Verdicts([], rules, new Map([["cursor/K06", "off"]])).wanted("cursor/K06")).toBe(false);
  });

  it("sorts by turn, then catalogue, then place; what has no turn comes last", () => {
    const { findings } = judge([
      violation({ turn: null, subject: "a" }),
      violation({ turn: second, subject: "b" }),
      violation({ rule: "cursor/S01", subject: "c" }),
      violation({ places: [place(9)], subject: "d" }),
      violation({ places: [place(1)], subject: "e" }),
    ]);
    expect(findings.map((row) => row.fingerprint.split(": ")[1])).toEqual(["e", "d", "c", "b", "a"]);
  });

  it("collects what holds and what cannot be judged by turn", () => {
    const checked = judge([
      { rule: "cursor/K06", verdict: "holds", turn: first },
      { rule: "cursor/K06", verdict: "holds", turn: second },
      { rule: "cursor/S01", verdict: "holds", turn: null },
      { rule: "cursor/S01", verdict: "not-checkable", turn: second, why: "no times" },
      { rule: "cursor/S01", verdict: "not-checkable", turn: first, why: "no times" },
      { rule: "cursor/S01", verdict: "not-checkable", turn: null, why: "no downlink" },
    ]);
    expect([...checked.held]).toEqual([
      ["cursor/K06", [0, 1]],
      ["cursor/S01", [-1]],
    ]);
    expect(checked.notCheckable).toEqual([
      { rule: "cursor/S01", why: "no times", turns: [0, 1] },
      { rule: "cursor/S01", why: "no downlink", turns: [] },
    ]);
  });

  it("a fingerprint has no place, time or request id", () => {
    expect(fingerprint(violation({ places: [place(99)] }))).toBe(fingerprint(violation()));
    expect(fingerprint(violation({ turn: turn({ requestId: "x", conversationId: "y", start: at(9) }) }))).toBe(
      fingerprint(violation()),
    );
    expect(fingerprint(violation({ turn: second }))).not.toBe(fingerprint(violation()));
    expect(fingerprint({ rule: "pi/PW-12", turn: null, subject: "" })).toBe("pi/PW-12 pi");
  });
});

describe("generic rules", () => {
  const result = (over: Partial<DialectResult> = {}): DialectResult => ({ ...analysis([]).results[0]!, ...over });
  const run = (data: Parameters<typeof runChecks>) => runChecks(...data);

  it("a 5xx answer to an agent is told, a 4xx and another's 5xx are not", () => {
    const exchanges = [
      exchange(0, "/run?x=1", { status: 502 }),
      exchange(1, "/run", { status: 404 }),
      exchange(2, "/page", { status: 500, dialect: null }),
    ];
    const { findings } = run([[result()], [], { levels: noLevels }, { ...asked(exchanges), rules: catalogue([]) }]);
    expect(findings.map((row) => [row.rule, row.severity, row.statement.join("")])).toEqual([
      ["capture/server-error", "warning", "POST /run was answered with status 502"],
    ]);
  });

  it("counts long silences where times are exact", () => {
    const quiet = turn({
      durationMs: 66_000,
      steps: [step({ ms: 0, kind: "a" }), step({ ms: 65_000, kind: "b" }), step({ ms: 66_000, kind: "c" })],
    });
    const { findings } = run([
      [result()],
      [quiet],
      { levels: noLevels },
      { ...asked([exchange(0, "/run")]), rules: catalogue([]) },
    ]);
    expect(findings.map((row) => row.statement.join(""))).toEqual(["65 s without a message, between a and b"]);
    const off = { levels: new Map([["capture/silence", "off"]] as const) };
    expect(run([[result()], [quiet], off, { ...asked([]), rules: catalogue([]) }]).findings).toEqual([]);
  });

  it("a dialect that nobody spoke is not judged", () => {
    const silent = result({
      judge: (_wanted, sink) => sink.notCheckable("cursor/K06", null, "nothing"),
    });
    expect(run([[silent], [], { levels: noLevels }, { ...asked([]), rules: catalogue([]) }]).notCheckable).toEqual([]);
  });
});
