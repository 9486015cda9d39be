/** `check`: findings with an exit code for CI. */
import { type Gate, judge } from "../../check/gate.js";
import type { Analysis } from "../../model/report.js";
import { findingReports } from "../../report/findings/index.js";
import { reportNamed } from "../../report/index.js";
import { type Call, exitCodes } from "../call.js";
import { type CheckSettings, checkSettings } from "../check-settings.js";
import { runReport } from "../run-report.js";
import { explainRule, listRules } from "./rules.js";
import { saveBaseline } from "./save-baseline.js";

export async function run(call: Call): Promise<number> {
  const { options } = call;
  const settings = checkSettings(call);
  if (options.listRules) return listRules(call, settings.rules);
  if (options.explain !== undefined) return explainRule(call, settings.rules, options.explain);
  let gate: Gate | null = null;
  const code = await runReport(call, {
    wants: {
      hashes: options.format === "json" || options.format === "sarif",
      steps: true,
      checks: settings.checks,
      stores: settings.stores,
    },
    report: reportNamed(findingReports, options.format),
    showsDiagnostics: options.format === "text" || options.format === "json",
    prepare: (analysis, view) => {
      if (options.writeBaseline !== undefined) saveBaseline(call, options.writeBaseline, analysis.findings);
      gate = judged(analysis, settings, options.writeBaseline !== undefined);
      return { analysis, view: { ...view, gate } };
    },
  });
  if (code !== exitCodes.ok) return code;
  return (gate as Gate | null)?.failed ? exitCodes.findings : exitCodes.ok;
}

/** What a new baseline has just accepted does not fail the run that wrote it. */
function judged(analysis: Analysis, settings: CheckSettings, wrote: boolean): Gate {
  const fresh = new Map<string, number>();
  for (const { fingerprint } of analysis.findings) fresh.set(fingerprint, (fresh.get(fingerprint) ?? 0) + 1);
  return judge(analysis, { ...settings.gate, baseline: wrote ? fresh : settings.baseline });
}
