/** `check --format junit`: one test suite per turn, one test case per rule; what was not checkable is skipped. */
import { placeText } from "../../core/place.js";
import type { Finding, NotCheckable, Rule } from "../../model/check.js";
import type { Turn } from "../../model/conversation.js";
import type { Analysis } from "../../model/report.js";
import { xml } from "../escape.js";
import type { Gate } from "../gate.js";
import type { Report, View } from "../report.js";
import { plain } from "../words.js";
import { findingsByTurn } from "./group.js";

export const findingsJunit: Report = {
  name: "junit",
  help: "JUnit XML, one test case per rule and turn",
  *render(analysis, view) {
    const suites = suitesOf(analysis, view.gate);
    const total = { tests: 0, failures: 0, skipped: 0 };
    for (const suite of suites) addCounts(total, countsOf(suite, view.gate));
    yield '<?xml version="1.0" encoding="UTF-8"?>\n';
    yield `<testsuites name="cursor-wire check"${counters(total, false)}>\n`;
    for (const suite of suites) yield* suiteXml(suite, analysis, view);
    yield "</testsuites>\n";
  },
};

interface Suite {
  readonly name: string;
  readonly turn: Turn | null;
  readonly cases: readonly Case[];
}

interface Case {
  readonly rule: string;
  readonly findings: readonly Finding[];
  /** Why it was not checkable. */
  readonly skipped: string | null;
}

interface Counts {
  tests: number;
  failures: number;
  skipped: number;
}

function suitesOf(analysis: Analysis, gate: Gate | null): Suite[] {
  const byTurn = findingsByTurn(gate?.fresh ?? analysis.findings);
  const held = new Map<number, Set<string>>();
  const skipped = new Map<number, Map<string, string>>();
  for (const [rule, turns] of analysis.held) for (const turn of turns) at(held, turn, () => new Set()).add(rule);
  for (const row of analysis.notCheckable) addSkipped(row, skipped);
  const suites = analysis.turns.map((turn, index) =>
    suite(suiteName(turn, analysis), turn, byTurn.get(turn) ?? [], held.get(index), skipped.get(index), analysis.rules),
  );
  const outside = suite("outside turns", null, byTurn.get(null) ?? [], held.get(-1), skipped.get(-1), analysis.rules);
  return [...suites, outside].filter((item) => item.cases.length > 0);
}

function addSkipped(row: NotCheckable, skipped: Map<number, Map<string, string>>): void {
  for (const turn of row.turns.length > 0 ? row.turns : [-1]) at(skipped, turn, () => new Map()).set(row.rule, row.why);
}

function at<T>(map: Map<number, T>, key: number, make: () => T): T {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}

function suite(
  name: string,
  turn: Turn | null,
  findings: readonly Finding[],
  held: ReadonlySet<string> | undefined,
  skipped: ReadonlyMap<string, string> | undefined,
  rules: readonly Rule[],
): Suite {
  const byRule = new Map<string, Finding[]>();
  for (const finding of findings) {
    const row = byRule.get(finding.rule);
    if (row === undefined) byRule.set(finding.rule, [finding]);
    else row.push(finding);
  }
  const order = new Map(rules.map((rule, index) => [rule.id, index]));
  const ids = [...new Set([...byRule.keys(), ...(held ?? []), ...(skipped?.keys() ?? [])])];
  ids.sort((a, b) => (order.get(a) ?? order.size) - (order.get(b) ?? order.size) || (a < b ? -1 : a > b ? 1 : 0));
  const cases = ids.map((rule) => {
    const found = byRule.get(rule) ?? [];
    const why = found.length > 0 || held?.has(rule) ? null : (skipped?.get(rule) ?? null);
    return { rule, findings: found, skipped: why };
  });
  return { name, turn, cases };
}

function suiteName(turn: Turn, analysis: Analysis): string {
  const several = analysis.conversations.length > 1;
  return `${turn.dialect}${several ? ` ${turn.conversationId ?? "unknown conversation"}` : ""} turn ${turn.index + 1}`;
}

/** Without a gate every error fails its case; with one, what the gate counts. */
function fails(finding: Finding, gate: Gate | null): boolean {
  return gate === null ? finding.severity === "error" && finding.evidence === "exact" : gate.failing.includes(finding);
}

function countsOf(item: Suite, gate: Gate | null): Counts {
  return {
    tests: item.cases.length,
    failures: item.cases.filter((row) => row.findings.some((finding) => fails(finding, gate))).length,
    skipped: item.cases.filter((row) => row.skipped !== null).length,
  };
}

function addCounts(total: Counts, more: Counts): void {
  total.tests += more.tests;
  total.failures += more.failures;
  total.skipped += more.skipped;
}

function counters(counts: Counts, withSkipped: boolean): string {
  const skipped = withSkipped ? ` skipped="${counts.skipped}"` : "";
  return ` tests="${counts.tests}" failures="${counts.failures}" errors="0"${skipped} time="0"`;
}

function* suiteXml(item: Suite, analysis: Analysis, view: View): Generator<string> {
  const name = xml(view.redactor.scrub(item.name));
  yield `  <testsuite name="${name}"${counters(countsOf(item, view.gate), true)}>\n`;
  for (const row of item.cases) yield caseXml(row, item, analysis, view);
  yield "  </testsuite>\n";
}

function caseXml(row: Case, item: Suite, analysis: Analysis, view: View): string {
  const statement = analysis.rules.find((rule) => rule.id === row.rule)?.statement ?? "";
  const className = xml(view.redactor.scrub(item.name).replace(/\./g, "_"));
  const open = `    <testcase classname="${className}" name="${xml(`${row.rule} ${statement}`.trim())}" time="0"`;
  if (row.skipped !== null)
    return `${open}>\n      <skipped message="${xml(view.redactor.scrub(row.skipped))}"/>\n    </testcase>\n`;
  const failing = row.findings.filter((finding) => fails(finding, view.gate));
  const others = row.findings.filter((finding) => !fails(finding, view.gate));
  if (row.findings.length === 0) return `${open}/>\n`;
  const failure =
    failing.length === 0
      ? ""
      : `      <failure type="${xml(row.rule)}" message="${xml(statementOf(failing[0]!, view))}">${xml(body(failing, analysis, view))}</failure>\n`;
  const output = others.length === 0 ? "" : `      <system-out>${xml(body(others, analysis, view))}</system-out>\n`;
  return `${open}>\n${failure}${output}    </testcase>\n`;
}

function statementOf(finding: Finding, view: View): string {
  return plain(finding.statement, view.redactor);
}

function body(findings: readonly Finding[], analysis: Analysis, view: View): string {
  return findings
    .map((finding) => {
      const places = finding.places.map((place) => placeText(place, analysis.inputNames)).join(", ");
      const damaged = finding.evidence === "damaged" ? " (on damaged evidence)" : "";
      const where = places === "" ? "" : ` at ${places}`;
      const remedy = finding.remedy === null ? "" : ` - do: ${finding.remedy}`;
      return `${finding.severity}: ${statementOf(finding, view)}${damaged}${where}${remedy}`;
    })
    .join(" | ");
}
