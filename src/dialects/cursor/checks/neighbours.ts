/** Which turn comes before which, and which turn a request id names. */
import type { CursorModel } from "../finish.js";
import type { CursorTurn } from "../turn.js";

/** Turns by request id, and each turn's predecessor in its conversation: built once, so that no rule is quadratic. */
export interface Neighbours {
  readonly byRequest: ReadonlyMap<string, CursorTurn>;
  readonly before: ReadonlyMap<CursorTurn, CursorTurn>;
}

const neighbours = new WeakMap<CursorModel, Neighbours>();

export function neighboursOf(model: CursorModel): Neighbours {
  const known = neighbours.get(model);
  if (known !== undefined) return known;
  const byRequest = new Map<string, CursorTurn>();
  const before = new Map<CursorTurn, CursorTurn>();
  const last = new Map<string, CursorTurn>();
  for (const turn of model.turns) {
    if (turn.requestId !== null && !byRequest.has(turn.requestId)) byRequest.set(turn.requestId, turn);
    if (turn.conversationId === null) continue;
    const older = last.get(turn.conversationId);
    if (older !== undefined) before.set(turn, older);
    last.set(turn.conversationId, turn);
  }
  const made = { byRequest, before };
  neighbours.set(model, made);
  return made;
}
