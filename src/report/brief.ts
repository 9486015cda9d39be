/** `analyze --brief`: one line per turn; more turns than a screen holds are folded into ranges that still fit it. */
import { placeText } from "../core/place.js";
import type { Finding } from "../model/check.js";
import type { Turn } from "../model/conversation.js";
import type { Analysis } from "../model/report.js";
import { clip, clipMiddle, padEnd, padStart, widthOf } from "./columns.js";
import { terminal } from "./escape.js";
import { countBy, findingsByTurn, tally } from "./findings/group.js";
import { talkFacts } from "./header.js";
import { outcomePaint, turnLabel } from "./labels.js";
import { byteCount, count, duration, many } from "./numbers.js";
import type { Report, View } from "./report.js";
import { isTroubled } from "./turn-ranges.js";
import { findingsCell, startClock } from "./turn-table.js";

/** Lines that are not turns: head, tally, lacks. */
const otherLines = 6;

export const brief: Report = {
  name: "brief",
  help: "one line per turn",
  *render(analysis, view) {
    for (const line of lines(analysis, view)) yield `${line}\n`;
  },
};

function* lines(analysis: Analysis, view: View): Generator<string> {
  const names = analysis.inputs.map((input) => terminal(input.path)).join(" + ");
  yield clip(`${names}  ${talkFacts(analysis)}`, view.width);
  for (const { message } of analysis.unreadable) yield clip(terminal(view.redactor.scrub(message)), view.width);
  const byTurn = findingsByTurn(analysis.findings);
  const budget = Math.max(6, view.height - otherLines);
  const groups =
    view.all || analysis.turns.length <= budget
      ? analysis.turns.map((turn) => [turn])
      : foldTurns(analysis.turns, byTurn, budget);
  const rows = groups.map((group) => cells(group, byTurn, analysis, view));
  yield* table(rows, view);
  if (rows.length < analysis.turns.length)
    yield view.paint.dim(clip("folded: --all prints one line per turn", view.width));
  if (analysis.findings.length > 0)
    yield clip(`findings: ${tally(analysis.findings)}${firstError(analysis)}`, view.width);
  const lacks = analysis.diagnostics.filter((row) => row.severity !== "info");
  if (lacks.length > 0) yield view.paint.warn(clip(`lacks: ${lacks.map((row) => row.code).join(", ")}`, view.width));
}

function firstError(analysis: Analysis): string {
  const finding = analysis.findings.find((row) => row.severity === "error");
  if (finding === undefined) return "";
  const place = finding.places[0];
  const at = place === undefined ? "" : ` at ${terminal(placeText(place, analysis.inputNames))}`;
  return `; first error ${terminal(finding.rule)}${at}`;
}

interface Cells {
  readonly turns: readonly Turn[];
  readonly label: string;
  readonly start: string;
  readonly took: string;
  readonly outcome: string;
  readonly size: string;
  readonly rest: string;
}

function cells(
  group: readonly Turn[],
  byTurn: ReadonlyMap<Turn | null, readonly Finding[]>,
  analysis: Analysis,
  view: View,
): Cells {
  const first = group[0]!;
  const found = group.flatMap((turn) => byTurn.get(turn) ?? []);
  const messages = group.reduce((sum, turn) => sum + turn.messages, 0);
  const bytes = group.reduce((sum, turn) => sum + turn.upBytes + turn.downBytes, 0);
  const single = group.length === 1;
  return {
    turns: group,
    label: single ? turnLabel(first, analysis) : rangeLabel(group, analysis),
    start: startClock(first),
    took: tookText(group),
    outcome: single ? first.outcome : outcomes(group),
    size: `${many(messages, "message")}, ${byteCount(bytes)}`,
    rest: single ? restOf(first, found, view) : restOfRange(group, found),
  };
}

function restOf(turn: Turn, found: readonly Finding[], view: View): string {
  const parts = [
    findingsCell(found),
    turn.error === null ? "" : turn.error.code,
    turn.open.length > 0 ? `${turn.open.length} unanswered` : "",
    turn.prompt === null ? (turn.action ?? "") : `“${view.redactor.content(turn.prompt)}”`,
  ];
  return terminal(view.redactor.scrub(parts.filter((part) => part !== "").join(" · ")));
}

function restOfRange(group: readonly Turn[], found: readonly Finding[]): string {
  const { error, warning } = countBy(found);
  const open = group.reduce((sum, turn) => sum + turn.open.length, 0);
  const parts = [
    error > 0 ? many(error, "error") : "",
    warning > 0 ? many(warning, "warning") : "",
    open > 0 ? `${count(open)} unanswered` : "",
  ];
  return parts.filter((part) => part !== "").join(" · ");
}

function rangeLabel(group: readonly Turn[], analysis: Analysis): string {
  const first = group[0]!;
  const last = group.at(-1)!;
  if (new Set(group.map((turn) => turn.conversationId)).size === 1) {
    return `${turnLabel(first, analysis)}–${last.index + 1}`.replace("turn ", "turns ");
  }
  const conversations = new Set(group.map((turn) => turn.conversationId)).size;
  return `${many(group.length, "turn")} of ${many(conversations, "conversation")}`;
}

function outcomes(group: readonly Turn[]): string {
  const counts = new Map<string, number>();
  for (const turn of group) counts.set(turn.outcome, (counts.get(turn.outcome) ?? 0) + 1);
  return [...counts]
    .sort((a, b) => b[1] - a[1])
    .map(([outcome, n]) => `${count(n)} ${outcome}`)
    .join(", ");
}

function tookText(group: readonly Turn[]): string {
  const times = group.flatMap((turn) => (turn.durationMs === null ? [] : [turn.durationMs])).sort((a, b) => a - b);
  if (times.length === 0) return "";
  if (group.length === 1) return duration(times[0]!);
  return `${duration(times[0]!)} to ${duration(times.at(-1)!)}`;
}

function* table(rows: readonly Cells[], view: View): Generator<string> {
  const widest = (of: (row: Cells) => string, most: number) =>
    Math.min(most, Math.max(0, ...rows.map((row) => widthOf(of(row)))));
  const label = widest((row) => row.label, Math.floor(view.width / 3));
  const start = view.width >= 100 ? widest((row) => row.start, 12) : 0;
  const took = widest((row) => row.took, 26);
  const outcome = widest((row) => row.outcome, Math.floor(view.width / 3));
  const size = view.width >= 100 ? widest((row) => row.size, 34) : 0;
  for (const row of rows) {
    const shown = padEnd(clip(row.outcome, outcome), outcome);
    const first = row.turns.length === 1 ? outcomePaint(row.turns[0]!.outcome, shown, view) : shown;
    const parts = [padEnd(clipMiddle(row.label, label), label)];
    if (start > 0) parts.push(padEnd(row.start, start));
    if (took > 0) parts.push(padStart(clip(row.took, took), took));
    parts.push(first);
    if (size > 0) parts.push(padStart(clip(row.size, size), size));
    const used = label + outcome + [start, took, size].reduce((sum, cell) => sum + (cell > 0 ? cell + 2 : 0), 0) + 4;
    parts.push(clip(row.rest, Math.max(10, view.width - used)));
    yield parts.join("  ").trimEnd();
  }
}

/**
 * Neighbouring turns as at most `budget` groups. Turns that went wrong stand alone while there is room for them; the rest is cut
 * where those stand, and evenly where even that is too much.
 */
export function foldTurns(
  turns: readonly Turn[],
  byTurn: ReadonlyMap<Turn | null, readonly Finding[]>,
  budget: number,
): Turn[][] {
  const troubled = turns.filter((turn) => isTroubled(turn, byTurn.get(turn) ?? []));
  const alone = new Set(troubled.slice(0, Math.max(0, Math.floor((budget - 4) / 2))));
  const groups: Turn[][] = [];
  let open = false;
  for (const turn of turns) {
    if (alone.has(turn)) {
      groups.push([turn]);
      open = false;
    } else if (open) groups.at(-1)!.push(turn);
    else {
      groups.push([turn]);
      open = true;
    }
  }
  return splitLongest(groups, budget);
}

/** Spends what is left of the budget on the longest groups, so that a long capture still shows its course. */
function splitLongest(groups: Turn[][], budget: number): Turn[][] {
  const out = groups;
  while (out.length < budget) {
    let at = 0;
    for (let i = 1; i < out.length; i++) if (out[i]!.length > out[at]!.length) at = i;
    const group = out[at]!;
    if (group.length < 2) break;
    const half = Math.ceil(group.length / 2);
    out.splice(at, 1, group.slice(0, half), group.slice(half));
  }
  return out;
}
