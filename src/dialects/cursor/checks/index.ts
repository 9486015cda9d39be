/** The catalogue of this dialect, and how it is run: turn by turn, so that what a turn has worked out is used by all its rules. */
import type { Rule, VerdictSink } from "../../../model/check.js";
import type { CursorModel } from "../finish.js";
import type { CursorTurn } from "../turn.js";
import { blobRules } from "./blobs.js";
import { blobFlowRules } from "./blobs-flow.js";
import { checkpointRules } from "./checkpoint-rules.js";
import { execRules } from "./exec-rules.js";
import { interactionRules } from "./interaction-rules.js";
import { lifecycleRules } from "./lifecycle-rules.js";
import { type CursorRule, isViolated, type Judgement, violation } from "./rule.js";
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

export function judgeCursor(model: CursorModel, wanted: (ruleId: string) => boolean, sink: VerdictSink): void {
  const rules = cursorChecks.filter((rule) => wanted(rule.id));
  const ofTurns = rules.flatMap(({ id, gate, turn }) => (turn === undefined ? [] : [{ id, gate, judge: turn }]));
  const closed = new Map<CursorRule["gate"], string | undefined>();
  for (const turn of model.turns) {
    closed.clear();
    for (const { id, gate, judge } of ofTurns) {
      if (gate !== undefined && !closed.has(gate)) closed.set(gate, gate(turn));
      const why = gate === undefined ? undefined : closed.get(gate);
      if (why === undefined) report(id, turn, judge(turn, model), sink);
      else sink.notCheckable(id, turn, why);
    }
  }
  for (const { id, session } of rules) if (session !== undefined) report(id, null, session(model), sink);
}

/** Saying nothing means that the rule holds. */
function report(id: string, turn: CursorTurn | null, judgements: Iterable<Judgement>, sink: VerdictSink): void {
  let silent = true;
  for (const judgement of judgements) {
    silent = false;
    if (isViolated(judgement)) sink.violated(violation(id, turn, judgement));
    else sink.notCheckable(id, turn, judgement.why);
  }
  if (silent) sink.holds(id, turn);
}
