/** `diagram --kind timeline`: each turn as a section, its phases as periods. */
import type { Turn } from "../../model/conversation.js";
import type { Analysis } from "../../model/report.js";
import { foldSteps, type Row } from "../fold.js";
import { many } from "../numbers.js";
import type { Report, View } from "../report.js";
import { shortKind } from "../timeline.js";
import { relativeTime } from "../times.js";
import { type Detail, type Drawing, ends, fitting } from "./budget.js";
import { diagramTitle, label, turnTitle } from "./label.js";

export const timelineDiagram: Report = {
  name: "timeline",
  help: "the phases of each turn",
  *render(analysis, view) {
    yield fitting((detail) => draw(analysis, view, detail));
  },
};

/** A period with more events than this is unreadable in the drawing. */
const eventsShown = 5;
/** Periods of the whole drawing: it has one column each, and a page is only so wide. */
const phasesShown = 30;
const phasesPerTurn = 5;

function draw(analysis: Analysis, view: View, detail: Detail): Drawing {
  const lines = ["timeline", `  title ${label(diagramTitle(analysis), 90, view)}`];
  let edges = 0;
  const most = Math.max(phasesPerTurn, Math.floor(phasesShown / Math.max(1, analysis.turns.length)));
  const section = (turn: Turn) => {
    const periods = periodLines(turn, most, view, detail);
    lines.push(`  section ${label(turnTitle(turn, analysis), 60, view)}`, ...periods);
    edges += periods.length;
  };
  const { head, left, tail } = ends(analysis.turns, detail.turns);
  for (const turn of head) section(turn);
  if (left > 0) lines.push(`  section ${label(`${many(left, "more turn")} left out`, 60, view)}`, "    … : …");
  for (const turn of tail) section(turn);
  if (analysis.turns.length === 0) lines.push("  section no turn", "    – : nothing to draw");
  return { lines, edges };
}

function periodLines(turn: Turn, most: number, view: View, detail: Detail): string[] {
  const phases = phasesOf(foldSteps(turn.steps, { all: false, kind: view.kind }));
  const { head, left, tail } = ends(phases, Math.min(detail.rows, most));
  const lines = head.map((phase) => periodLine(phase, turn, view, detail));
  if (left > 0) lines.push(`    … : ${label(`${many(left, "more phase")}`, 40, view)}`);
  lines.push(...tail.map((phase) => periodLine(phase, turn, view, detail)));
  if (turn.open.length > 0)
    lines.push(`    open : ${label(`${many(turn.open.length, "question")} unanswered`, 40, view)}`);
  return lines.length > 0 ? lines : [`    – : ${label(turn.outcome, 40, view)}`];
}

/** Neighbouring rows of one lane and direction. */
function phasesOf(rows: readonly Row[]): Row[][] {
  const phases: Row[][] = [];
  for (const row of rows) {
    const last = phases.at(-1)?.[0];
    const same =
      last !== undefined && last.first.lane === row.first.lane && last.first.direction === row.first.direction;
    if (same) phases.at(-1)!.push(row);
    else phases.push([row]);
  }
  return phases;
}

function periodLine(phase: readonly Row[], turn: Turn, view: View, detail: Detail): string {
  const first = phase[0]!.first;
  const time = relativeTime(first.when, turn);
  const arrow = first.direction === "up" ? "↑" : "↓";
  const counts = new Map<string, number>();
  for (const row of phase) {
    // Only at spaces does the drawing break its lines.
    const kind = shortKind(row.kind).replace(/_/g, " ");
    counts.set(kind, (counts.get(kind) ?? 0) + row.count);
  }
  const events = [...counts].map(([kind, n]) => (n > 1 ? `${kind} ×${n}` : kind));
  const shown = events.slice(0, eventsShown);
  if (events.length > shown.length) shown.push(`and ${events.length - shown.length} more`);
  const period = label(`${arrow} ${time === "" ? first.lane : `${time} s`}`, 40, view);
  return `    ${period} : ${shown.map((event) => label(event, detail.label, view)).join(" : ")}`;
}
