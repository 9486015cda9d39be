/** `diagram --kind gantt`: turns, model output, tool waits, KV and checkpoints on a time axis that starts with the first turn. */
import { isExact, isKnown, minNanos, type Nanos, type When } from "../../core/time.js";
import type { Step, Turn } from "../../model/conversation.js";
import type { Analysis } from "../../model/report.js";
import { shortId } from "../fold.js";
import { many } from "../numbers.js";
import type { Report, View } from "../report.js";
import { shortKind } from "../timeline.js";
import { type Detail, type Drawing, ends, fitting } from "./budget.js";
import { diagramTitle, label, turnTitle } from "./label.js";

export const gantt: Report = {
  name: "gantt",
  help: "turns, model output, tool waits, KV and checkpoints in time",
  *render(analysis, view) {
    yield fitting((detail) => new Gantt(analysis, view, detail).draw());
  },
};

interface Bar {
  readonly name: string;
  readonly tag: "done" | "crit" | "active" | "milestone" | "";
  readonly from: Nanos;
  readonly to: Nanos;
}

/** Output pauses shorter than this do not split a bar. */
const joinNanos = 1_000_000_000n;

class Gantt {
  private readonly lines: string[] = [];
  private readonly origin: Nanos;
  private edges = 0;

  constructor(
    private readonly analysis: Analysis,
    private readonly view: View,
    private readonly detail: Detail,
  ) {
    const starts = analysis.turns.flatMap((turn) => (isKnown(turn.start) ? [turn.start.earliest] : []));
    this.origin = starts.reduce((least, start) => minNanos(least, start), starts[0] ?? 0n);
  }

  draw(): Drawing {
    const { turns } = this.analysis;
    this.lines.push("gantt", `  title ${label(this.titleText(), 90, this.view)}`);
    // Naive times that are read and shown in the same zone: the axis is time since the start, wherever it is drawn.
    this.lines.push("  dateFormat YYYY-MM-DD HH:mm:ss.SSS", `  axisFormat ${this.isLong() ? "%H:%M:%S" : "%M:%S"}`);
    const { head, left, tail } = ends(turns, this.detail.turns);
    for (const turn of head) this.turn(turn);
    if (left > 0) this.lines.push(`  section ${label(`${many(left, "more turn")} left out`, 60, this.view)}`);
    for (const turn of tail) this.turn(turn);
    if (turns.length === 0) this.lines.push("  section no turn", "    nothing :milestone, 2000-01-01 00:00:00.000, 0d");
    return { lines: this.lines, edges: this.edges };
  }

  private titleText(): string {
    const known = this.analysis.turns.every((turn) => isKnown(turn.start));
    return known
      ? diagramTitle(this.analysis)
      : `${diagramTitle(this.analysis)} (order only: the capture has no times)`;
  }

  private isLong(): boolean {
    const ends = this.analysis.turns.flatMap((turn) => (isKnown(turn.end) ? [turn.end.latest] : []));
    return ends.some((end) => end - this.origin > 3_500_000_000_000n);
  }

  private turn(turn: Turn): void {
    this.lines.push(`  section ${label(turnTitle(turn, this.analysis), 60, this.view)}`);
    const bars = turnBars(turn, this.order(turn));
    const { head, left, tail } = ends(bars, this.detail.rows);
    for (const bar of [...head, ...tail]) this.bar(bar);
    if (left > 0) this.bar({ ...bars[0]!, name: `${many(left, "more bar")} left out`, tag: "" });
  }

  /** Without times a turn stands at its ordinal second. */
  private order(turn: Turn): { from: Nanos; to: Nanos } {
    if (isKnown(turn.start)) {
      const end = isKnown(turn.end) ? turn.end.latest : turn.start.latest;
      return { from: turn.start.earliest, to: end };
    }
    const from = this.origin + BigInt(this.analysis.turns.indexOf(turn)) * joinNanos;
    return { from, to: from + joinNanos };
  }

  private bar(bar: Bar): void {
    this.edges++;
    const tag = bar.tag === "" ? "" : `${bar.tag}, `;
    const name = label(bar.name, this.detail.label, this.view);
    const to = bar.to > bar.from ? bar.to : bar.from + 1_000_000n;
    const end = bar.tag === "milestone" ? "0d" : this.stamp(to);
    this.lines.push(`    ${name} :${tag}${this.stamp(bar.from)}, ${end}`);
  }

  private stamp(at: Nanos): string {
    const ms = Math.max(0, Number((at - this.origin) / 1_000_000n));
    const date = new Date(Date.UTC(2000, 0, 1) + Math.min(ms, 300 * 86_400_000));
    return date.toISOString().slice(0, 23).replace("T", " ");
  }
}

function turnBars(turn: Turn, bounds: { from: Nanos; to: Nanos }): Bar[] {
  const tag = turn.outcome === "completed" ? "done" : "crit";
  const name = turn.action === null ? "turn" : turn.action;
  const bars: Bar[] = [{ name: `${name} ${turn.outcome}`, tag, ...bounds }];
  if (!isKnown(turn.start)) return bars;
  bars.push(...spans(turn.steps, "model", "active"), ...waits(turn), ...spans(turn.steps, "kv", ""));
  for (const step of turn.steps) {
    if (step.lane !== "state" || !isKnown(step.when)) continue;
    bars.push({
      name: shortKind(step.kind) + uncertain(step.when),
      tag: "milestone",
      from: step.when.latest,
      to: step.when.latest,
    });
  }
  return bars;
}

/** Steps of a lane joined to bars where they follow each other closely. */
function spans(steps: readonly Step[], lane: Step["lane"], tag: Bar["tag"]): Bar[] {
  const bars: { from: Nanos; to: Nanos; kinds: Map<string, number>; exact: boolean }[] = [];
  for (const step of steps) {
    if (step.lane !== lane || step.direction !== "down" || !isKnown(step.when)) continue;
    const last = bars.at(-1);
    const exact = isExact(step.when) && isExact(step.until);
    const joins = last !== undefined && (step.when.earliest - last.to < joinNanos || !exact);
    const bar = joins
      ? last
      : { from: step.when.earliest, to: step.when.latest, kinds: new Map<string, number>(), exact: true };
    if (!joins) bars.push(bar);
    if (step.until.latest > bar.to) bar.to = step.until.latest;
    bar.exact &&= exact;
    const kind = shortKind(step.kind);
    bar.kinds.set(kind, (bar.kinds.get(kind) ?? 0) + step.count);
  }
  return bars.map((bar) => ({
    name: kindsText(bar.kinds) + (bar.exact ? "" : " (interval)"),
    tag,
    from: bar.from,
    to: bar.to,
  }));
}

function kindsText(kinds: ReadonlyMap<string, number>): string {
  return [...kinds].map(([kind, n]) => (n > 1 ? `${kind} ×${n}` : kind)).join(", ");
}

/** One bar per question to a tool or person, from asking to the answer. */
function waits(turn: Turn): Bar[] {
  const answers = new Map<string, Step>();
  for (const step of turn.steps) {
    if (step.pair?.role === "answer") answers.set(`${step.pair.family}\n${step.pair.id}`, step);
  }
  return turn.steps.flatMap((step) => {
    if (step.pair?.role !== "ask" || step.lane === "kv" || !isKnown(step.when)) return [];
    const answer = answers.get(`${step.pair.family}\n${step.pair.id}`);
    const answered = answer !== undefined && isKnown(answer.when);
    const to = answered ? answer.when.latest : isKnown(turn.end) ? turn.end.latest : step.when.latest;
    const name = `${step.pair.family.replace(/_/g, " ")} ${shortId(step.pair.id)} ${shortKind(step.kind)}`;
    const note = answered ? uncertain(step.when) : " (unanswered)";
    return [{ name: name + note, tag: answered ? ("" as const) : ("crit" as const), from: step.when.earliest, to }];
  });
}

function uncertain(when: When): string {
  return isExact(when) ? "" : " (interval)";
}
