/** Two captures in, the first divergence of each turn and a summary of what else differs out. Conversations and turns are aligned first. */
import type { CaptureDiff, TurnDiff } from "../model/diff.js";
import { alignConversations, alignTurns } from "./align.js";
import { factDiffs } from "./facts.js";
import { firstDivergence, firstSurplus, kindsMissing } from "./sequence.js";
import type { Talk } from "./talk.js";

export function diffTalks(a: readonly (readonly Talk[])[], b: readonly (readonly Talk[])[]): CaptureDiff {
  const turns = alignConversations(a, b).flatMap(([one, other]) =>
    alignTurns(one ?? [], other ?? []).map(([x, y]) => turnDiff(x, y)),
  );
  return { same: turns.every((turn) => turn.same), turns };
}

function turnDiff(a: Talk | null, b: Talk | null): TurnDiff {
  const sides = { a: a?.turn ?? null, b: b?.turn ?? null };
  if (a === null || b === null) return { ...sides, same: false, first: null, missing: [], extra: [], facts: [] };
  const missing = kindsMissing(a.messages, b.messages);
  const extra = kindsMissing(b.messages, a.messages);
  const facts = a.turn === null || b.turn === null ? [] : factDiffs(a.turn.json(), b.turn.json());
  const counted = facts.some((fact) => fact.path.endsWith(".length"));
  const parted = firstDivergence(a.messages, b.messages) ?? (counted ? firstSurplus(a.messages, b.messages) : null);
  const first = parted?.divergence ?? null;
  const same = first === null && missing.length + extra.length + facts.length === 0;
  return { ...sides, same, first, missing, extra, facts };
}
