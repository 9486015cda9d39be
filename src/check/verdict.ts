/** Verdicts of the dialects in, findings with their rule's data merged in out; "holds" and "not checkable" are counted by turn. */
import type { Severity } from "../core/code-table.js";
import { comparePlaces } from "../core/place.js";
import type { Finding, NotCheckable, Rule, VerdictSink, Violation } from "../model/check.js";
import type { Turn } from "../model/conversation.js";
import type { Levels } from "./levels.js";

export interface Checked {
  /** By turn, then in catalogue order, then by place. */
  readonly findings: readonly Finding[];
  readonly notCheckable: readonly NotCheckable[];
  /** Rule id -> indices of the turns it holds in; -1: for the whole capture. */
  readonly held: ReadonlyMap<string, readonly number[]>;
}

interface Ranked {
  readonly finding: Finding;
  readonly turn: number;
  readonly rule: number;
}

/** Collects verdicts one by one; rules with level "off" must not be fed to it (see `wanted`). */
export class Verdicts implements VerdictSink {
  private readonly found: Ranked[] = [];
  /** Rule -> why -> turns. */
  private readonly unchecked = new Map<string, Map<string, number[]>>();
  private readonly held = new Map<string, number[]>();
  private readonly turnIndex: ReadonlyMap<Turn, number>;
  private readonly rank: ReadonlyMap<string, number>;
  private lastTurn: Turn | null = null;
  private lastIndex = -1;

  constructor(
    turns: readonly Turn[],
    private readonly rules: ReadonlyMap<string, Rule>,
    private readonly levels: Levels,
  ) {
    this.turnIndex = new Map(turns.map((turn, index) => [turn, index]));
    this.rank = new Map([...rules.keys()].map((id, index) => [id, index]));
  }

  readonly wanted = (id: string): boolean => this.levels.get(id) !== "off";

  holds(rule: string, turn: Turn | null): void {
    const index = this.indexOf(turn);
    const turns = this.held.get(rule);
    if (turns === undefined) this.held.set(rule, [index]);
    else turns.push(index);
  }

  notCheckable(rule: string, turn: Turn | null, why: string): void {
    const index = this.indexOf(turn);
    const turns = this.uncheckedTurns(rule, why);
    if (index >= 0 && turns[turns.length - 1] !== index) turns.push(index);
  }

  violated(violation: Violation): void {
    const turn = this.indexOf(violation.turn);
    this.found.push({
      finding: this.finding(violation),
      turn: turn < 0 ? Number.MAX_SAFE_INTEGER : turn,
      rule: this.rankOf(violation.rule),
    });
  }

  result(): Checked {
    this.found.sort((a, b) => a.turn - b.turn || a.rule - b.rule || compareFindings(a.finding, b.finding));
    const unchecked = [...this.unchecked]
      .sort(([a], [b]) => this.rankOf(a) - this.rankOf(b))
      .flatMap(([rule, reasons]) => [...reasons].map(([why, turns]) => ({ rule, why, turns })));
    return {
      findings: this.found.map((row) => row.finding),
      notCheckable: unchecked.map((row) => ({ ...row, turns: [...new Set(row.turns)].sort((a, b) => a - b) })),
      held: this.held,
    };
  }

  private uncheckedTurns(rule: string, why: string): number[] {
    let reasons = this.unchecked.get(rule);
    if (reasons === undefined) {
      reasons = new Map();
      this.unchecked.set(rule, reasons);
    }
    let turns = reasons.get(why);
    if (turns === undefined) {
      turns = [];
      reasons.set(why, turns);
    }
    return turns;
  }

  private finding(violation: Violation): Finding {
    const rule = this.rules.get(violation.rule);
    const { turn } = violation;
    return {
      rule: violation.rule,
      severity: this.severity(violation, rule),
      statement: violation.statement,
      remedy: violation.remedy ?? rule?.remedy ?? null,
      conversationId: violation.conversationId ?? turn?.conversationId ?? null,
      requestId: turn?.requestId ?? null,
      turn,
      places: violation.places,
      evidence: violation.evidence,
      fingerprint: fingerprint(violation),
      detail: violation.detail ?? {},
    };
  }

  private severity(violation: Violation, rule: Rule | undefined): Severity {
    const set = this.levels.get(violation.rule);
    if (set !== undefined && set !== "off") return set;
    return violation.severity ?? rule?.severity ?? "warning";
  }

  /** Verdicts come turn by turn: the last answer is mostly the next one. */
  private indexOf(turn: Turn | null): number {
    if (turn === null) return -1;
    if (turn !== this.lastTurn) {
      this.lastTurn = turn;
      this.lastIndex = this.turnIndex.get(turn) ?? -1;
    }
    return this.lastIndex;
  }

  private rankOf(rule: string): number {
    return this.rank.get(rule) ?? Number.MAX_SAFE_INTEGER;
  }
}

/** Rule plus a subject that a second recording of the same fault would have too: no place, time or random id. */
export function fingerprint(violation: Pick<Violation, "rule" | "turn" | "subject">): string {
  const dialect = violation.turn?.dialect ?? violation.rule.split("/")[0] ?? "";
  const turn = violation.turn === null ? "" : ` turn ${violation.turn.index}`;
  const subject = violation.subject === "" ? "" : `: ${violation.subject}`;
  return `${violation.rule} ${dialect}${turn}${subject}`;
}

function compareFindings(a: Finding, b: Finding): number {
  const [x, y] = [a.places[0], b.places[0]];
  if (x !== undefined && y !== undefined && x !== y) {
    const order = comparePlaces(x, y);
    if (order !== 0) return order;
  }
  return a.fingerprint < b.fingerprint ? -1 : a.fingerprint > b.fingerprint ? 1 : 0;
}
