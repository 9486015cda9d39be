/** Every rule there is: of the dialects, of session stores, and the generic ones. */
import { catalogue } from "../check/index.js";
import { dialects } from "../dialects/index.js";
import type { Rule } from "../model/check.js";
import { storeRules } from "../store/index.js";

export function allRules(): readonly Rule[] {
  const rules = [...dialects.flatMap((dialect): readonly Rule[] => dialect.rules), ...storeRules];
  const seen = new Set<string>();
  return catalogue(rules.filter((rule) => !seen.has(rule.id) && seen.add(rule.id)));
}
