/** `diagram --kind sequence`: who said what to whom over which channel. */
import type { Step, Turn } from "../../model/conversation.js";
import type { Analysis } from "../../model/report.js";
import { foldSteps, type Row } from "../fold.js";
import { many } from "../numbers.js";
import type { Report, View } from "../report.js";
import { saysOf, shortKind } from "../timeline.js";
import { relativeTime } from "../times.js";
import { type Detail, type Drawing, ends, fitting } from "./budget.js";
import { label, turnTitle } from "./label.js";

export const sequence: Report = {
  name: "sequence",
  help: "client, channels, server, KV and exec lanes",
  *render(analysis, view) {
    yield fitting((detail) => new Sequence(analysis, view, detail).draw());
  },
};

const laneNames: Readonly<Partial<Record<Step["lane"], string>>> = {
  kv: "KV store",
  exec: "Exec",
  interaction: "User",
};

class Sequence {
  private readonly body: string[] = [];
  private readonly lanes = new Map<Step["lane"], string>();
  private readonly channels = new Map<string, string>();
  private edges = 0;

  constructor(
    private readonly analysis: Analysis,
    private readonly view: View,
    private readonly detail: Detail,
  ) {}

  draw(): Drawing {
    const { turns } = this.analysis;
    const { head, left, tail } = ends(turns, this.detail.turns);
    for (const turn of head) this.turn(turn);
    if (left > 0) this.over(`${many(left, "more turn")}: --turn N or --last N draws them`);
    for (const turn of tail) this.turn(turn);
    if (turns.length === 0) this.over("no turn in this capture");
    return { lines: ["sequenceDiagram", ...this.participants(), ...this.body], edges: this.edges };
  }

  private participants(): string[] {
    const lines = ["  box Client", "    participant client as Client"];
    for (const [lane, id] of this.lanes) lines.push(`    participant ${id} as ${laneNames[lane]}`);
    lines.push("  end", "  box Server");
    for (const [channel, id] of this.channels) lines.push(`    participant ${id} as ${label(channel, 24, this.view)}`);
    lines.push("    participant server as Server", "  end");
    return lines;
  }

  private turn(turn: Turn): void {
    const prompt = turn.prompt === null ? "" : `: ${this.view.redactor.content(turn.prompt).replace(/\s+/g, " ")}`;
    this.over(`${turnTitle(turn, this.analysis)}${prompt}`);
    const groups = outputs(foldSteps(turn.steps, { all: false, kind: this.view.kind }));
    const { head, left, tail } = ends(groups, this.detail.rows);
    for (const group of head) this.group(group, turn);
    if (left > 0) this.over(`${many(left, "more row")} of turn ${turn.index + 1}`);
    for (const group of tail) this.group(group, turn);
    const error = turn.error === null ? "" : `: ${turn.error.code} ${turn.error.message}`;
    this.over(`${turn.outcome}${error}`);
  }

  private group(group: readonly Row[], turn: Turn): void {
    if (group.length === 1) this.row(group[0]!, turn);
    else {
      const first = group[0]!.first;
      const from = first.direction === "down" ? "server" : "client";
      const time = relativeTime(first.when, turn);
      const kinds = group.map((row) => `${shortKind(row.kind)}${row.count > 1 ? ` ×${row.count}` : ""}`).join(", ");
      const text = time === "" ? kinds : `${time} s · ${kinds}`;
      this.arrow(from, from === "server" ? "client" : this.channel(first.channel), "->>", this.label(text));
    }
  }

  private row(row: Row, turn: Turn): void {
    const { first } = row;
    const channel = this.channel(first.channel);
    const lane = laneNames[first.lane] === undefined ? null : this.lane(first.lane);
    const text = this.text(row, turn);
    if (lane !== null) {
      if (first.direction === "down") this.arrow(channel, lane, row.bad ? "-x" : "->>", text);
      else this.arrow(lane, channel, row.bad ? "--x" : "-->>", text);
      return;
    }
    // What opens and ends a run goes the whole way; the stream between is one hop, or the diagram would double.
    const whole = first.lane === "session";
    if (first.direction === "up") {
      this.arrow("client", channel, "->>", text);
      if (whole) this.arrow(channel, "server", "->>", this.label(shortKind(row.kind)));
    } else if (whole) {
      this.arrow("server", channel, "->>", this.label(shortKind(row.kind)));
      this.arrow(channel, "client", "->>", text);
    } else this.arrow(first.lane === "model" ? "server" : channel, "client", "->>", text);
  }

  private text(row: Row, turn: Turn): string {
    const times = row.count > 1 ? ` ×${row.count}` : "";
    const time = relativeTime(row.first.when, turn);
    const parts = [time === "" ? "" : `${time} s`, `${shortKind(row.kind)}${times}`, saysOf(row, this.view)];
    return this.label(parts.filter((part) => part !== "").join(" · "));
  }

  private label(text: string): string {
    return label(text, this.detail.label, this.view);
  }

  private arrow(from: string, to: string, arrow: string, text: string): void {
    this.edges++;
    this.body.push(`  ${from}${arrow}${to}: ${text}`);
  }

  private over(text: string): void {
    this.body.push(`  Note over client,server: ${this.label(text)}`);
  }

  private lane(lane: Step["lane"]): string {
    const known = this.lanes.get(lane);
    if (known !== undefined) return known;
    const id = `lane${this.lanes.size + 1}`;
    this.lanes.set(lane, id);
    return id;
  }

  /** A capture with very many channels (one per URL) keeps the first ones apart and draws the rest as one. */
  private channel(name: string): string {
    const known = this.channels.get(name);
    if (known !== undefined) return known;
    if (this.channels.size >= 12) return [...this.channels.values()].at(-1)!;
    const id = `channel${this.channels.size + 1}`;
    this.channels.set(this.channels.size === 11 ? "other" : name, id);
    return id;
  }
}

/** Runs of plain model output as one arrow: who reads a diagram wants to see the talk, not each delta. */
function outputs(rows: readonly Row[]): Row[][] {
  const groups: Row[][] = [];
  for (const row of rows) {
    const last = groups.at(-1)?.[0];
    const joins = last !== undefined && isOutput(last) && isOutput(row) && last.first.channel === row.first.channel;
    if (joins && last.first.direction === row.first.direction) groups.at(-1)!.push(row);
    else groups.push([row]);
  }
  return groups;
}

function isOutput(row: Row): boolean {
  return row.first.lane === "model" && row.first.pair === null && !row.bad;
}
