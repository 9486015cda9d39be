/** Retries: another request id for the same run (protocols/cursor.md 1.7 item 10). */
import type { CursorTurn } from "./turn.js";

export interface Attempt {
  readonly attempt: number;
  /** Request id of the attempt before it. */
  readonly retryOf: string | null;
}

/** `turns` in order of start. Epochs of one request are the same attempt. */
export function attempts(turns: readonly CursorTurn[]): Map<CursorTurn, Attempt> {
  const runs = new Map<string, string[]>();
  const out = new Map<CursorTurn, Attempt>();
  for (const turn of turns) {
    const { runId, requestId } = turn;
    if (runId === null || requestId === null) {
      out.set(turn, { attempt: 0, retryOf: null });
      continue;
    }
    let requests = runs.get(runId);
    // The first attempt's request id is the run id, also where that attempt was not captured.
    if (requests === undefined) {
      requests = [runId];
      runs.set(runId, requests);
    }
    let at = requests.indexOf(requestId);
    if (at < 0) at = requests.push(requestId) - 1;
    out.set(turn, { attempt: at, retryOf: at === 0 ? null : requests[at - 1]! });
  }
  return out;
}
