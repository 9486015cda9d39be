/** The catalogue of this dialect, and how it is run: turn by turn, so that what a turn has worked out is used by all its rules. */
import type { Rule, Verdict } from "../../../model/check.js";
import type { CursorModel } from "../finish.js";
import { blobRules } from "./blobs.js";
import { blobFlowRules } from "./blobs-flow.js";
import { checkpointRules } from "./checkpoint-rules.js";
import { execRules } from "./exec-rules.js";
import { interactionRules } from "./interaction-rules.js";
import { lifecycleRules } from "./lifecycle-rules.js";
import { type CursorRule, verdictOf } from "./rule.js";
import { transcriptRules } from "./transcripts.js";
import { transportRules } from "./transport.js";
import { callRules } from "./transport-calls-rules.js";
import { uplinkRules } from "./uplink.js";
import { uplinkFlowRules } from "./uplink-flow-rules.js";

export const cursorChecks: readonly CursorRule[] = [
  ...transportRules,
  ...callRules,
  ...uplinkRules,
  ...uplinkFlowRules,
  ...blobRules,
  ...blobFlowRules,
  ...checkpointRules,
  ...lifecycleRules,
  ...execRules,
  ...interactionRules,
  ...transcriptRules,
];

export const cursorRules: readonly Rule[] = cursorChecks;

export function* cursorVerdicts(model: CursorModel, wanted: (ruleId: string) => boolean): Generator<Verdict> {
  const rules = cursorChecks.filter((rule) => wanted(rule.id));
  for (const turn of model.turns) {
    for (const rule of rules) {
      if (rule.turn === undefined) continue;
      let silent = true;
      for (const judgement of rule.turn(turn, model)) {
        silent = false;
        yield verdictOf(rule, turn, judgement);
      }
      if (silent) yield { rule: rule.id, verdict: "holds", turn };
    }
  }
  for (const rule of rules) {
    if (rule.session === undefined) continue;
    const judgements = [...rule.session(model)];
    for (const judgement of judgements) yield verdictOf(rule, null, judgement);
    if (judgements.length === 0) yield { rule: rule.id, verdict: "holds", turn: null };
  }
}
