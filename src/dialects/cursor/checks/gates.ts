/** What whole families of rules need before any of them can be judged: why not, or undefined. Asked once per turn. */
import type { CursorTurn } from "../turn.js";
import { noDownlink } from "./rule.js";

export function noKv(turn: CursorTurn): string | undefined {
  return noDownlink(turn) ?? (turn.pairs.kv.length === 0 ? "this turn has no KV traffic" : undefined);
}

export function noExec(turn: CursorTurn): string | undefined {
  return noDownlink(turn) ?? (turn.pairs.exec.length === 0 ? "this turn executes nothing" : undefined);
}

export function noQueries(turn: CursorTurn): string | undefined {
  return noDownlink(turn) ?? (turn.pairs.queries.length === 0 ? "the server asks the user nothing" : undefined);
}

/** The run's own calls; those of a subagent inside a task live in a scope of their own. */
export function noTools(turn: CursorTurn): string | undefined {
  return noDownlink(turn) ?? (turn.pairs.tools.length === 0 ? "this turn has no tool call" : undefined);
}

export function noCheckpoints(turn: CursorTurn): string | undefined {
  return noDownlink(turn) ?? (turn.soundCheckpoints.length === 0 ? "this turn has no checkpoint" : undefined);
}

/** The stream ended with a clean EndStream and nobody canceled. */
export function notSuccessful(turn: CursorTurn): string | undefined {
  const why = noDownlink(turn);
  if (why !== undefined) return why;
  if (turn.run?.type === "prewarm") return "a prewarm runs nothing";
  if (turn.outcome !== "completed" && turn.outcome !== "dropped")
    return `the run did not end successfully (${turn.outcome})`;
  return turn.lost("down") ? "part of the downlink is lost" : undefined;
}
