/** How a kimi rule is written: data, and a function that examines the session and names the faults. */
import type { Place } from "../../../core/place.js";
import type { Words } from "../../../core/printable.js";
import type { Rule, Verdict } from "../../../model/check.js";
import type { Turn } from "../../../model/conversation.js";
import type { KimiConnection } from "../model.js";
import type { KimiState } from "../session.js";
import type { TurnBuilder } from "../turn-builder.js";

/** What every rule of this dialect is given. */
export interface KimiScope {
  readonly state: KimiState;
  readonly turns: ReadonlyMap<TurnBuilder, Turn>;
}

export interface KimiRule extends Rule {
  run(scope: KimiScope): Iterable<Verdict>;
}

export interface Fault {
  readonly statement: Words;
  readonly places: readonly Place[];
  /** Stable inside the capture: no place, time or random id. */
  readonly subject: string;
  readonly damaged?: boolean;
  readonly turn?: Turn | null;
  readonly conversationId?: string | null;
}

/** Collects what one rule examined. */
export class Examination {
  checked = 0;
  readonly faults: Fault[] = [];

  constructor(readonly scope: KimiScope) {}

  /** One thing was examined and is as it should be, unless `fault` says otherwise. */
  examine(ok: boolean, fault: () => Fault): void {
    this.checked++;
    if (!ok) this.faults.push(fault());
  }
}

type RuleData = Omit<Rule, "family" | "implies" | "class" | "source"> & {
  readonly class?: Rule["class"];
  readonly implies?: readonly string[];
  readonly sure: string;
};

/** A family names itself once; each row is data and its examination. */
export function family(name: string, section: string) {
  return (data: RuleData, examine: (examination: Examination) => void): KimiRule => {
    const { sure, ...rest } = data;
    return {
      ...rest,
      id: `kimi/${data.id}`,
      family: name,
      class: data.class ?? "check",
      implies: data.implies ?? [],
      source: `kimi.md ${section}; ${sure}`,
      run: (scope) => verdictsOf(`kimi/${data.id}`, data.needs, scope, examine),
    };
  };
}

function* verdictsOf(
  rule: string,
  needs: string,
  scope: KimiScope,
  examine: (examination: Examination) => void,
): Iterable<Verdict> {
  const examination = new Examination(scope);
  examine(examination);
  for (const fault of examination.faults) {
    yield {
      rule,
      verdict: "violated",
      turn: fault.turn ?? null,
      statement: fault.statement,
      places: fault.places,
      evidence: fault.damaged === true ? "damaged" : "exact",
      subject: fault.subject,
      ...(fault.conversationId === undefined ? {} : { conversationId: fault.conversationId }),
    };
  }
  if (examination.faults.length > 0) return;
  if (examination.checked > 0) yield { rule, verdict: "holds", turn: null };
  else yield { rule, verdict: "not-checkable", turn: null, why: `the capture does not hold ${needs}` };
}

/** Bytes of this connection are missing: a fault on it rests on damaged evidence. */
export function isDamaged(connection: KimiConnection): boolean {
  return connection.gaps.length > 0;
}

/** "ws 2" for the second connection: stable in fingerprints. */
export function connectionName(connection: KimiConnection): string {
  return `ws ${connection.index + 1}`;
}
