/** Decides whether `check` fails: level, evidence, baseline, required rules, emptiness. The exit code follows from it. */
import type { Severity } from "../core/code-table.js";
import type { Finding, NotCheckable, Rule } from "../model/check.js";
import type { Turn } from "../model/conversation.js";
import { type Baseline, type Compared, compareWithBaseline } from "./baseline.js";
import { noTurnRule } from "./capture-rules.js";
import { severityRank } from "./levels.js";

export interface GateOptions {
  readonly failOn: Severity;
  /** Findings on damaged evidence count too. */
  readonly strict: boolean;
  /** Rules that must be checkable. */
  readonly require: readonly string[];
  readonly allowEmpty: boolean;
  readonly baseline: Baseline | null;
}

export interface GateFacts {
  readonly turns: readonly Turn[];
  readonly findings: readonly Finding[];
  readonly notCheckable: readonly NotCheckable[];
  readonly held: ReadonlyMap<string, readonly number[]>;
  readonly rules: readonly Rule[];
}

export interface Gate extends Compared {
  readonly failed: boolean;
  /** Those among `fresh` that make it fail. */
  readonly failing: readonly Finding[];
  /** One sentence why it passed or failed. */
  readonly why: string;
}

export function judge(facts: GateFacts, options: GateOptions): Gate {
  const all = [...facts.findings, ...required(facts, options.require), ...emptiness(facts, options.allowEmpty)];
  const compared =
    options.baseline === null
      ? { fresh: all, known: [], gone: [] }
      : keepRequired(compareWithBaseline(all, options.baseline));
  const failing = compared.fresh.filter(
    (finding) =>
      severityRank(finding.severity) >= severityRank(options.failOn) &&
      (options.strict || finding.evidence === "exact"),
  );
  return { ...compared, failing, failed: failing.length > 0, why: sentence(compared, failing, options) };
}

/** What the gate itself demands cannot be accepted by a baseline. */
function keepRequired(compared: Compared): Compared {
  const own = (finding: Finding) => finding.detail.gate === true;
  return {
    fresh: [...compared.fresh, ...compared.known.filter(own)],
    known: compared.known.filter((finding) => !own(finding)),
    gone: compared.gone,
  };
}

function required(facts: GateFacts, ids: readonly string[]): Finding[] {
  const violated = new Set(facts.findings.map((finding) => finding.rule));
  return ids
    .filter((id) => !violated.has(id) && !facts.held.has(id))
    .map((id) => {
      const why = facts.notCheckable.find((row) => row.rule === id)?.why ?? "the capture holds nothing it applies to";
      const rule = facts.rules.find((row) => row.id === id);
      return gateFinding(
        id,
        `${id} is required and could not be checked: ${why}`,
        rule === undefined ? null : `The rule needs: ${rule.needs}`,
        "required",
      );
    });
}

function emptiness(facts: GateFacts, allowEmpty: boolean): Finding[] {
  // pi connections and REST calls are no turns; a rule that judged them has looked at something.
  const judged = [...facts.held.keys()].some((id) => !id.startsWith("capture/")) || facts.findings.length > 0;
  if (allowEmpty || facts.turns.length > 0 || judged) return [];
  return [gateFinding(noTurnRule.id, "the capture holds no turn: nothing was checked", noTurnRule.remedy, "empty")];
}

function gateFinding(rule: string, statement: string, remedy: string | null, subject: string): Finding {
  return {
    rule,
    severity: "error",
    statement: [statement],
    remedy,
    conversationId: null,
    requestId: null,
    turn: null,
    places: [],
    evidence: "exact",
    fingerprint: `${rule} ${subject}`,
    detail: { gate: true },
  };
}

function sentence(compared: Compared, failing: readonly Finding[], options: GateOptions): string {
  const known = compared.known.length > 0 ? `, ${compared.known.length} known from the baseline` : "";
  if (failing.length > 0) {
    const noun = failing.length === 1 ? "finding" : "findings";
    return `failed: ${failing.length} ${noun} at or above "${options.failOn}"${known}`;
  }
  const spared = options.strict ? 0 : damagedAtLevel(compared.fresh, options.failOn);
  const damaged = spared > 0 ? `, ${spared} on damaged evidence not counted (--strict counts them)` : "";
  return `passed: nothing at or above "${options.failOn}"${known}${damaged}`;
}

function damagedAtLevel(findings: readonly Finding[], failOn: Severity): number {
  return findings.filter((row) => row.evidence === "damaged" && severityRank(row.severity) >= severityRank(failOn))
    .length;
}
