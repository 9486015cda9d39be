/** Runs the rules of every dialect and the generic ones over an analysis. */
import { type Rule, report } from "../model/check.js";
import type { Turn } from "../model/conversation.js";
import type { DialectResult } from "../model/dialect.js";
import type { Analysis } from "../model/report.js";
import { captureRules, captureVerdicts } from "./capture-rules.js";
import { type Levels, noLevels } from "./levels.js";
import { type Checked, Verdicts } from "./verdict.js";

export interface CheckOptions {
  readonly levels: Levels;
}

export const defaultCheckOptions: CheckOptions = Object.freeze({ levels: noLevels });

/** What the generic rules look at, and the catalogue of the dialects. */
export type CheckFacts = Pick<Analysis, "claimed" | "eachExchange" | "rules">;

/** The whole catalogue: the generic rules behind those of the dialects. */
export function catalogue(dialectRules: readonly Rule[]): readonly Rule[] {
  return [...dialectRules, ...captureRules];
}

export function runChecks(
  results: readonly DialectResult[],
  turns: readonly Turn[],
  options: CheckOptions,
  facts: CheckFacts,
): Checked {
  const rules = new Map(facts.rules.map((rule) => [rule.id, rule]));
  const verdicts = new Verdicts(turns, rules, options.levels);
  // A dialect that nobody spoke has nothing to say about what is missing.
  for (const result of results) if (facts.claimed.has(result.dialect)) result.judge(verdicts.wanted, verdicts);
  report(captureVerdicts(facts.eachExchange, turns, verdicts.wanted), verdicts);
  return verdicts.result();
}
