/** The catalogue as a Markdown page (docs/rules.md): one table per family, then every rule with its why, its example and its remedy. */
import type { Rule } from "../model/check.js";
import { markdown } from "./escape.js";

/** Yields lines without newline. */
export function* rulesDoc(rules: readonly Rule[]): Iterable<string> {
  yield "# Rules";
  yield "";
  yield "This page is generated from the catalogue (`npm run docs`); a test keeps it current. `cursor-wire check --explain RULE` prints one rule.";
  yield "";
  yield "A *check* can be violated, a *permission* says that something odd is legal and stays silent, a *count* only reports a number. Where the";
  yield "capture does not hold what a rule needs, the verdict is *not checkable*: neither a pass nor a finding.";
  yield "";
  yield "*Source* names the section of the protocol notes that a rule was written from; the notes are no part of this repository.";
  for (const [family, members] of byFamily(rules)) {
    yield "";
    yield `## ${family}`;
    yield "";
    yield "| rule | class | severity | what must hold |";
    yield "|---|---|---|---|";
    for (const rule of members)
      yield `| [${rule.id}](#${anchor(rule)}) | ${rule.class} | ${rule.severity} | ${markdown(rule.statement)} |`;
    for (const rule of members) yield* section(rule);
  }
}

function* section(rule: Rule): Iterable<string> {
  yield "";
  yield `### ${rule.id}`;
  yield "";
  yield markdown(rule.statement);
  yield "";
  yield `- Why: ${markdown(rule.why)}`;
  yield `- Needs: ${markdown(rule.needs)}`;
  yield `- Good: ${markdown(rule.good)}`;
  yield `- Bad: ${markdown(rule.bad)}`;
  if (rule.remedy !== null) yield `- Remedy: ${markdown(rule.remedy)}`;
  if (rule.implies.length > 0) yield `- Its findings come with: ${rule.implies.join(", ")}`;
  yield `- Source: ${markdown(rule.source)}`;
}

function byFamily(rules: readonly Rule[]): ReadonlyMap<string, readonly Rule[]> {
  const families = new Map<string, Rule[]>();
  for (const rule of rules) {
    const name = `${rule.id.split("/")[0]}: ${rule.family}`;
    const members = families.get(name);
    if (members === undefined) families.set(name, [rule]);
    else members.push(rule);
  }
  return families;
}

/** GitHub's anchor of the rule's heading. */
function anchor(rule: Rule): string {
  return rule.id.toLowerCase().replace(/[^\w-]/g, "");
}
