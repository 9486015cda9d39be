/** The catalogue of kimi's rules, family by family, and how they run. kimi.md 8. */
import type { Rule, Verdict } from "../../../model/check.js";
import type { Turn } from "../../../model/conversation.js";
import type { KimiState } from "../session.js";
import type { TurnBuilder } from "../turn-builder.js";
import { epochRules } from "./epoch.js";
import { pingRules } from "./ping.js";
import { restRules } from "./rest.js";
import { rpcRules } from "./rpc.js";
import type { KimiRule } from "./rule.js";
import { sequenceRules } from "./sequence.js";
import { socketRules } from "./socket.js";
import { turnRules } from "./turns.js";

const all: readonly KimiRule[] = [
  ...socketRules,
  ...sequenceRules,
  ...epochRules,
  ...turnRules,
  ...restRules,
  ...pingRules,
  ...rpcRules,
];

export const kimiRules: readonly Rule[] = all;

export function* kimiVerdicts(
  state: KimiState,
  turns: ReadonlyMap<TurnBuilder, Turn>,
  wanted: (ruleId: string) => boolean,
): Iterable<Verdict> {
  for (const rule of all) if (wanted(rule.id)) yield* rule.run({ state, turns });
}
