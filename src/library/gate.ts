/** `gate`: decides over the findings of an analysis as `cursor-wire check` does. */
import type { Baseline } from "../check/baseline.js";
import { type Gate, judge } from "../check/gate.js";
import { matchingRules } from "../check/levels.js";
import type { Severity } from "../core/code-table.js";
import type { Analysis } from "../model/report.js";

export interface GateSettings {
  /** Least severity that fails. Default "error". */
  readonly failOn?: Severity;
  /** Findings on damaged evidence count too. */
  readonly strict?: boolean;
  /** Rules that must be checkable. */
  readonly require?: readonly string[];
  /** A capture without a turn passes. */
  readonly allowEmpty?: boolean;
  /** Accepted findings, from `parseBaseline`. */
  readonly baseline?: Baseline;
}

/** Fails too where an input could not be read. Throws CursorWireError `usage.rule` for a required rule that does not exist. */
export function gate(analysis: Analysis, settings: GateSettings = {}): Gate {
  const judged = judge(analysis, {
    failOn: settings.failOn ?? "error",
    strict: settings.strict ?? false,
    require: [...new Set((settings.require ?? []).flatMap((id) => matchingRules(id, analysis.rules)))],
    allowEmpty: settings.allowEmpty ?? false,
    baseline: settings.baseline ?? null,
  });
  if (judged.failed || analysis.unreadable.length === 0) return judged;
  return { ...judged, failed: true, why: `failed: ${analysis.unreadable.map((row) => row.message).join("; ")}` };
}
