/** Which turns of a long capture are shown one by one, and which are folded into a range. */
import type { Finding } from "../model/check.js";
import type { Turn } from "../model/conversation.js";

export interface TurnRange {
  readonly folded: boolean;
  readonly turns: readonly Turn[];
}

/**
 * At most `limit` turns worth a row: the first ones, the last ones, and between them those that went wrong. null: all of them fit.
 */
export function tellingTurns(
  turns: readonly Turn[],
  byTurn: ReadonlyMap<Turn | null, readonly Finding[]>,
  limit: number,
): ReadonlySet<Turn> | null {
  if (turns.length <= limit) return null;
  const edge = Math.max(1, Math.floor(limit / 4));
  const keep = new Set<Turn>([...turns.slice(0, edge), ...turns.slice(-edge)]);
  for (const turn of turns) {
    if (keep.size >= limit - edge) break;
    if (isTroubled(turn, byTurn.get(turn) ?? [])) keep.add(turn);
  }
  return keep;
}

export function isTroubled(turn: Turn, found: readonly Finding[]): boolean {
  return turn.outcome !== "completed" || found.some((finding) => finding.severity === "error");
}

export function turnRanges(turns: readonly Turn[], keep: ReadonlySet<Turn> | null): readonly TurnRange[] {
  const ranges: { folded: boolean; turns: Turn[] }[] = [];
  for (const turn of turns) {
    const folded = keep !== null && !keep.has(turn);
    const last = ranges.at(-1);
    if (last !== undefined && last.folded === folded) last.turns.push(turn);
    else ranges.push({ folded, turns: [turn] });
  }
  return ranges;
}
