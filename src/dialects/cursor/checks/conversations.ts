/** Checkpoints against their neighbours: the run before, the request, the state before the turn (protocols/cursor.md 5, C). */

import { hex } from "../../../core/bytes.js";
import { isBlobId } from "../blob-graph.js";
import { bytesOf, sub, text } from "../fields.js";
import type { CursorModel } from "../finish.js";
import { count, plural } from "../format.js";
import { runRequestOf } from "../ledger.js";
import type { CursorTurn } from "../turn.js";
import { STATE, USER_MESSAGE } from "../types.js";
import { neighboursOf } from "./neighbours.js";
import type { Judgement } from "./rule.js";
import { agentTurn, commonPrefix, firstDifference, idsOf } from "./states.js";

/** The run before this one in the conversation, where both its states are whole. */
function olderRun(turn: CursorTurn, model: CursorModel): CursorTurn | { readonly why: string } {
  const older = neighboursOf(model).before.get(turn);
  if (older === undefined) return { why: "it is the first turn of its conversation in the capture" };
  if (older.checkpoints.length === 0) return { why: "the run before it has no checkpoint in the capture" };
  return older.lost("down") ? { why: "part of the run before it is lost" } : older;
}

export function* acrossRuns(turn: CursorTurn, model: CursorModel): Generator<Judgement> {
  const older = olderRun(turn, model);
  const first = turn.checkpoints[0];
  if ("why" in older || first === undefined) {
    yield { why: "why" in older ? older.why : "this turn has no checkpoint" };
    return;
  }
  const before = idsOf(older.state(older.checkpoints.at(-1)!), "turns");
  const now = idsOf(turn.state(first), "turns");
  const common = commonPrefix(before, now);
  // A retry or a queued message goes on with the last turn: it may be replaced.
  if (common >= before.length - (sameRun(older, turn) ? 1 : 0)) return;
  yield {
    says: [
      `the conversation branches: ${count(common)} of the ${plural(before.length, "turn")} before this run are still there`,
    ],
    places: [older.checkpoints.at(-1)!.place, first.place],
    subject: "turns",
    damaged: turn.lost("down"),
  };
}

function sameRun(older: CursorTurn, turn: CursorTurn): boolean {
  return older.requestId === turn.requestId || turn.retryOf !== null || older.outcome !== "completed";
}

export function* carriedOn(turn: CursorTurn, model: CursorModel): Generator<Judgement> {
  const older = olderRun(turn, model);
  const state = sub(runRequestOf(turn)?.message, "conversation_state");
  if ("why" in older || state === undefined) {
    yield { why: "why" in older ? older.why : "the run_request carries no state" };
    return;
  }
  const last = older.state(older.checkpoints.at(-1)!);
  const field = firstDifference(last, state);
  if (field === null) return;
  const earlier = older.checkpoints.findLastIndex(
    (checkpoint) => firstDifference(older.state(checkpoint), state) === null,
  );
  yield {
    says: [
      earlier >= 0
        ? `the run_request carries checkpoint ${earlier} of ${count(older.checkpoints.length)} of the run before it, not the last one`
        : `the state of the run_request differs from the last checkpoint before it, first in ${field}`,
    ],
    places: [
      older.checkpoints.at(-1)!.place,
      ...turn.uplink
        .filter(({ detail }) => detail.type === "run")
        .slice(0, 1)
        .map((item) => item.place),
    ],
    subject: "conversation_state",
    damaged: turn.lost("up"),
  };
}

/** The last turn of the last checkpoint, decoded; undefined where the capture does not hold it. */
export function lastAgentTurn(turn: CursorTurn) {
  const last = turn.checkpoints.at(-1);
  return last === undefined ? undefined : agentTurn(turn, idsOf(turn.state(last), "turns").at(-1));
}

export function* ownRequestId(turn: CursorTurn, model: CursorModel): Generator<Judgement> {
  const stored = text(lastAgentTurn(turn), "request_id");
  if (stored === "" || turn.requestId === null) {
    yield { why: "the last turn, or its request_id, is not in the capture" };
    return;
  }
  if (stored === turn.requestId || stored === turn.runId) return;
  const attempt = neighboursOf(model).byRequest.get(stored);
  if (attempt !== undefined && attempt.runId === turn.runId && turn.runId !== null) return;
  yield {
    says: ["the last turn of the final checkpoint names another request id than this run's"],
    places: [turn.checkpoints.at(-1)!.place],
    subject: "request_id",
  };
}

export function* stateBefore(turn: CursorTurn): Generator<Judgement> {
  const { graph } = turn.services.blobs;
  const agent = lastAgentTurn(turn);
  const userId = bytesOf(agent, "user_message");
  const user = userId === undefined ? undefined : graph.message(hex(userId), USER_MESSAGE);
  const stateId = bytesOf(user, "conversation_state_blob_id");
  const id = stateId === undefined ? "" : hex(stateId);
  const state = isBlobId(id) ? graph.message(id, STATE) : undefined;
  if (state === undefined) {
    yield { why: "the user message of the last turn, or its state before, is not in the capture" };
    return;
  }
  const now = idsOf(turn.state(turn.checkpoints.at(-1)!), "turns").slice(0, -1);
  const before = idsOf(state, "turns");
  if (before.length === now.length && commonPrefix(before, now) === now.length) return;
  yield {
    says: [
      `the state before the turn has ${plural(before.length, "turn")}, ${count(now.length)} lie in front of it in the checkpoint`,
    ],
    places: [turn.checkpoints.at(-1)!.place],
    subject: "conversation_state_blob_id",
  };
}

/** Blobs whose subtree was walked already: shared by all turns, so that a long conversation is walked once. */
const walked = new WeakMap<CursorModel, Set<string>>();

export function* acyclic(turn: CursorTurn, model: CursorModel): Generator<Judgement> {
  const last = turn.checkpoints.at(-1);
  if (last === undefined) {
    yield { why: "this turn has no checkpoint" };
    return;
  }
  let done = walked.get(model);
  if (done === undefined) {
    done = new Set();
    walked.set(model, done);
  }
  const cycle = findCycle(turn, done);
  if (cycle !== null)
    yield { says: [`the blob ${cycle.slice(0, 12)}… reaches itself`], places: [last.place], subject: "cycle" };
}

/** Depth first with a stack of its own; a node on the stack that is met again closes a cycle. */
function findCycle(turn: CursorTurn, done: Set<string>): string | null {
  const { graph } = turn.services.blobs;
  const open = new Set<string>();
  const stack = [{ id: "", nodes: graph.edges(STATE, turn.state(turn.checkpoints.at(-1)!)), next: 0 }];
  while (stack.length > 0) {
    const top = stack[stack.length - 1]!;
    const node = top.nodes[top.next++];
    if (node === undefined) {
      open.delete(top.id);
      done.add(top.id);
      stack.pop();
    } else if (open.has(node.id)) return node.id;
    else if (!done.has(node.id)) {
      open.add(node.id);
      stack.push({ id: node.id, nodes: graph.children(node.id, node.target), next: 0 });
    }
  }
  return null;
}
