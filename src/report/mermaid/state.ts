/** `diagram --kind state`: the path of the run through its state machine; where a dialect has none, through its phases. */
import type { Turn } from "../../model/conversation.js";
import type { Analysis } from "../../model/report.js";
import type { Report, View } from "../report.js";
import { shortKind } from "../timeline.js";
import { type Detail, type Drawing, fitting } from "./budget.js";
import { label } from "./label.js";

export const state: Report = {
  name: "state",
  help: "the run's path through the state machine",
  *render(analysis, view) {
    yield fitting((detail) => new States(analysis, view, detail).draw());
  },
};

interface Transition {
  readonly from: string;
  readonly to: string;
  /** Trigger -> times. */
  readonly triggers: Map<string, number>;
  readonly order: number[];
}

const start = "[*]";
/** Triggers named on one transition before the rest is counted. */
const triggersShown = 3;

class States {
  private readonly ids = new Map<string, string>();
  private readonly transitions = new Map<string, Transition>();
  private moves = 0;

  constructor(
    private readonly analysis: Analysis,
    private readonly view: View,
    private readonly detail: Detail,
  ) {}

  draw(): Drawing {
    for (const turn of this.analysis.turns) this.walk(turn);
    const rows = [...this.transitions.values()];
    // States come from the wire in no dialect, but a bound costs nothing.
    const shown = rows.slice(0, this.detail.rows);
    for (const row of shown) this.name(row.from, row.to);
    const lines = ["stateDiagram-v2", "  direction LR"];
    for (const [name, id] of this.ids) lines.push(`  state "${label(name, 40, this.view)}" as ${id}`);
    for (const row of shown) lines.push(`  ${this.id(row.from)} --> ${this.id(row.to)} : ${this.text(row)}`);
    if (rows.length === 0) lines.push('  state "no turn in this capture" as none');
    return { lines, edges: shown.length };
  }

  private walk(turn: Turn): void {
    const machine = turn.steps.some((step) => step.state !== null);
    let at = start;
    for (const step of turn.steps) {
      const to = machine ? step.state : `${step.lane}`;
      if (to === null || to === at) continue;
      this.move(at, to, `${step.direction === "up" ? "↑" : "↓"} ${shortKind(step.kind)}`);
      at = to;
    }
    if (at !== turn.outcome) this.move(at, turn.outcome, turn.error === null ? "ends" : turn.error.code);
    this.move(turn.outcome, start, "");
  }

  private move(from: string, to: string, trigger: string): void {
    // The final state of Mermaid is the same sign as the first one.
    const key = `${from}\n${to}\n${to === start}`;
    const row = this.transitions.get(key) ?? { from, to, triggers: new Map<string, number>(), order: [] };
    this.transitions.set(key, row);
    row.triggers.set(trigger, (row.triggers.get(trigger) ?? 0) + 1);
    this.moves++;
    if (row.order.length < 4) row.order.push(this.moves);
  }

  private name(...states: readonly string[]): void {
    for (const name of states) if (name !== start && !this.ids.has(name)) this.ids.set(name, `s${this.ids.size + 1}`);
  }

  /** One turn: the numbers of the moves; several: how often. */
  private text(row: Transition): string {
    const total = [...row.triggers.values()].reduce((sum, n) => sum + n, 0);
    const single = this.analysis.turns.length === 1;
    const more = total > row.order.length ? "…" : "";
    const which = single ? `${row.order.join(",")}${more}` : `×${total}`;
    const names = [...row.triggers.keys()].filter((name) => name !== "");
    const shown = names.slice(0, triggersShown).join(", ");
    const left = names.length > triggersShown ? ` and ${names.length - triggersShown} more` : "";
    return label(`${which} ${shown}${left}`.trim(), this.detail.label, this.view);
  }

  private id(name: string): string {
    return name === start ? start : this.ids.get(name)!;
  }
}
