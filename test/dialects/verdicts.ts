/** The verdicts of a session as a list. */
import type { Verdict } from "../../src/model/check.js";
import type { DialectResult } from "../../src/model/dialect.js";

export function judged(result: DialectResult): Verdict[] {
  const list: Verdict[] = [];
  result.judge(() => true, {
    holds: (rule, turn) => list.push({ rule, verdict: "holds", turn }),
    notCheckable: (rule, turn, why) => list.push({ rule, verdict: "not-checkable", turn, why }),
    violated: (violation) => list.push(violation),
  });
  return list;
}
