/** Findings by turn, and counts of them. */
import type { Severity } from "../../core/code-table.js";
import type { Finding } from "../../model/check.js";
import type { Turn } from "../../model/conversation.js";
import { many } from "../numbers.js";

export function findingsByTurn(findings: readonly Finding[]): ReadonlyMap<Turn | null, readonly Finding[]> {
  const groups = new Map<Turn | null, Finding[]>();
  for (const finding of findings) {
    const group = groups.get(finding.turn);
    if (group === undefined) groups.set(finding.turn, [finding]);
    else group.push(finding);
  }
  return groups;
}

export function countBy(findings: readonly Finding[]): Readonly<Record<Severity, number>> {
  const counts = { error: 0, warning: 0, info: 0 };
  for (const finding of findings) counts[finding.severity]++;
  return counts;
}

/** "2 errors, 1 warning"; "nothing" where there is none. */
export function tally(findings: readonly Finding[]): string {
  const counts = countBy(findings);
  const parts = [
    counts.error > 0 ? many(counts.error, "error") : "",
    counts.warning > 0 ? many(counts.warning, "warning") : "",
    counts.info > 0 ? many(counts.info, "note") : "",
  ].filter((part) => part !== "");
  return parts.length === 0 ? "nothing" : parts.join(", ");
}
