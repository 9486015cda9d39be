/** The catalogue of kimi's rules, family by family, and how they run. kimi.md 8. */
import type { Rule, Verdict } from "../../../model/check.js";
import type { Turn } from "../../../model/conversation.js";
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

const all: readonly KimiRule[] = [];

export const kimiRules: readonly Rule[] = all;

export function* kimiVerdicts(
  state: KimiState,
  turns: ReadonlyMap<TurnBuilder, Turn>,
  wanted: (ruleId: string) => boolean,
): Iterable<Verdict> {
  for (const rule of all) if (wanted(rule.id)) yield* rule.run({ state, turns });
}
