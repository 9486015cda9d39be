/** `check` as text: by conversation and turn; then what could not be checked, what the capture lacks, and the verdict. */
import type { Finding } from "../../model/check.js";
import type { Turn } from "../../model/conversation.js";
import type { Analysis } from "../../model/report.js";
import { wrap } from "../columns.js";
import { terminal } from "../escape.js";
import { headerLines } from "../header.js";
import { turnLabel } from "../labels.js";
import { lackLines } from "../lacks.js";
import { count, many } from "../numbers.js";
import type { Report, View } from "../report.js";
import { findingsByTurn, tally } from "./group.js";
import { findingLines } from "./lines.js";

const uncheckedShown = 10;
const turnsShown = 30;

export const findingsText: Report = {
  name: "text",
  help: "grouped by conversation and turn",
  *render(analysis, view) {
    for (const line of lines(analysis, view)) yield `${line}\n`;
  },
};

function* lines(analysis: Analysis, view: View): Generator<string> {
  const findings = view.gate?.fresh ?? analysis.findings;
  yield* headerLines(analysis, view);
  yield "";
  yield* groups(findings, analysis, view);
  yield* uncheckedLines(analysis, view);
  yield* lackLines(analysis, view);
  const { gate } = view;
  const checked = `${many(analysis.held.size, "rule")} held, found ${tally(findings)}`;
  if (gate === null) {
    yield checked;
    return;
  }
  if (gate.gone.length > 0) yield `${many(gate.gone.length, "finding")} of the baseline did not occur: it can shrink`;
  yield `${(gate.failed ? view.paint.bad : view.paint.good)(gate.why)} (${checked})`;
}

function* groups(findings: readonly Finding[], analysis: Analysis, view: View): Generator<string> {
  const byTurn = findingsByTurn(findings);
  const turns = analysis.turns.filter((turn) => byTurn.has(turn));
  const shown = view.all ? turns : turns.slice(0, turnsShown);
  const outside = byTurn.get(null) ?? [];
  if (outside.length > 0) {
    yield view.paint.strong("Outside turns");
    yield* findingLines(outside, analysis.inputNames, view, "  ");
    yield "";
  }
  for (const turn of shown) {
    yield view.paint.strong(turnTitle(turn, analysis, view));
    yield* findingLines(byTurn.get(turn) ?? [], analysis.inputNames, view, "  ");
    yield "";
  }
  if (shown.length < turns.length) {
    const left = turns.slice(shown.length).reduce((sum, turn) => sum + (byTurn.get(turn)?.length ?? 0), 0);
    yield `… ${many(left, "finding")} in ${many(turns.length - shown.length, "more turn")} (--all shows them)`;
    yield "";
  }
}

function turnTitle(turn: Turn, analysis: Analysis, view: View): string {
  const request = turn.requestId === null ? "" : `  request ${turn.requestId}`;
  return terminal(view.redactor.scrub(`${turnLabel(turn, analysis)}  ${turn.outcome}${request}`));
}

function* uncheckedLines(analysis: Analysis, view: View): Generator<string> {
  const rows = analysis.notCheckable;
  if (rows.length === 0) return;
  const byWhy = new Map<string, Set<string>>();
  for (const row of rows) {
    const rules = byWhy.get(row.why) ?? new Set<string>();
    byWhy.set(row.why, rules.add(row.rule));
  }
  yield view.paint.strong("Not checkable here (neither passed nor failed)");
  const reasons = [...byWhy].sort((a, b) => b[1].size - a[1].size);
  for (const [why, rules] of view.all ? reasons : reasons.slice(0, uncheckedShown)) {
    const text = terminal(view.redactor.scrub(`${why}: ${[...rules].join(", ")}`));
    const [first, ...rest] = wrap(text, view.width - 4);
    yield `  ${first}`;
    for (const line of rest) yield `    ${line}`;
  }
  if (!view.all && reasons.length > uncheckedShown)
    yield `  … ${count(reasons.length - uncheckedShown)} more reasons (--all shows them)`;
  yield "";
}
