/** How rules about stores are written: a rule's data, and a function over what a file or one of its sessions holds. */
import type { Severity } from "../core/code-table.js";
import type { Printable, Words } from "../core/printable.js";
import type { Finding, Rule } from "../model/check.js";
import type { StoreFile } from "../model/store.js";

export interface StoreHit {
  readonly statement: Words;
  /** Stable inside the session: "branch main", "entry 01a2…". */
  readonly subject: string;
  readonly severity?: Severity;
  readonly detail?: { readonly [key: string]: Printable };
}

/** Judges one subject of type T: a file or a session. */
export interface StoreRule<T> extends Rule {
  /** Why this subject cannot be judged; null where it can. */
  untestable(subject: T): string | null;
  run(subject: T): Iterable<StoreHit>;
}

type Sure = "high" | "mid" | "low";

export interface StoreRuleText<T> {
  /** "PS-12" */
  readonly id: string;
  readonly severity: Severity;
  readonly sure: Sure;
  readonly statement: string;
  readonly why: string;
  readonly needs?: string;
  readonly good: string;
  readonly bad: string;
  readonly remedy: string | null;
  readonly implies?: readonly string[];
  untestable?(subject: T): string | null;
  run(subject: T): Iterable<StoreHit>;
}

const sureness: Readonly<Record<Sure, string>> = {
  high: "enforced by the published backend or seen in its stores",
  mid: "the published backend never does otherwise",
  low: "inferred",
};

/** The rules of one family, in catalogue order. */
export function storeFamily<T>(name: string, texts: readonly StoreRuleText<T>[]): StoreRule<T>[] {
  return texts.map((text) => ({
    id: `pi/${text.id}`,
    family: name,
    class: "check",
    severity: text.severity,
    statement: text.statement,
    why: text.why,
    needs: text.needs ?? "A session store (the store command).",
    implies: (text.implies ?? []).map((id) => `pi/${id}`),
    source: `protocols/pi.md, section 14, ${text.id}: ${sureness[text.sure]}`,
    good: text.good,
    bad: text.bad,
    remedy: text.remedy,
    untestable: (subject) => text.untestable?.(subject) ?? null,
    run: (subject) => text.run(subject),
  }));
}

export type Levels = ReadonlyMap<string, Severity | "off">;

/** Findings kept per rule and session; one more says how many there are. */
const hitLimit = 50;

/** Collects findings and what could not be judged, for one file. */
export class StoreJudge {
  readonly findings: Finding[] = [];
  readonly notCheckable: StoreFile["notCheckable"][number][] = [];

  constructor(private readonly levels: Levels) {}

  judge<T>(rules: readonly StoreRule<T>[], subject: T, session: string | null): void {
    for (const rule of rules) {
      if (this.levels.get(rule.id) === "off") continue;
      const why = rule.untestable(subject);
      if (why !== null) this.notCheckable.push({ rule: rule.id, why, session });
      else this.run(rule, subject, session);
    }
  }

  private run<T>(rule: StoreRule<T>, subject: T, session: string | null): void {
    let count = 0;
    for (const hit of rule.run(subject)) if (++count <= hitLimit) this.findings.push(this.finding(rule, hit, session));
    if (count <= hitLimit) return;
    const statement = [`${count - hitLimit} more findings of this rule in this session`];
    this.findings.push(this.finding(rule, { statement, subject: "more" }, session));
  }

  private finding(rule: Rule, hit: StoreHit, session: string | null): Finding {
    const level = this.levels.get(rule.id);
    const where = session === null ? "" : ` session ${session}`;
    return {
      rule: rule.id,
      severity: level !== undefined && level !== "off" ? level : (hit.severity ?? rule.severity),
      statement: hit.statement,
      remedy: rule.remedy,
      conversationId: session,
      requestId: null,
      turn: null,
      places: [],
      evidence: "exact",
      fingerprint: `${rule.id} store${where}: ${hit.subject}`,
      detail: { ...(session === null ? {} : { session }), ...hit.detail },
    };
  }
}
