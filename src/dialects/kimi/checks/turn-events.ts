/** What the rules on turns look at: durable events once each, whole turns, steps and approvals. */
import type { Turn } from "../../../model/conversation.js";
import { numberAt, textAt } from "../json.js";
import type { KimiFrame } from "../model.js";
import type { TurnBuilder } from "../turn-builder.js";
import type { Examination } from "./rule.js";

/** Durable events once each, in order, of all connections: replays and second connections repeat them. */
export function durableEvents(examination: Examination): readonly KimiFrame[] {
  const seen = new Set<string>();
  const events: KimiFrame[] = [];
  for (const connection of examination.scope.state.connections) {
    for (const frame of connection.frames) {
      if (frame.class !== "event" || frame.volatile === true) continue;
      const key = `${frame.sessionId} ${frame.epoch} ${frame.seq}`;
      if (frame.epoch !== null && seen.has(key)) continue;
      seen.add(key);
      events.push(frame);
    }
  }
  return events;
}

export const agentOf = (frame: KimiFrame): string => `${frame.sessionId} ${textAt(frame.payload, "agentId") ?? "main"}`;
export const turnKey = (frame: KimiFrame): string => `${agentOf(frame)} ${numberAt(frame.payload, "turnId")}`;

export function* wholeTurns(
  examination: Examination,
): Iterable<{ readonly builder: TurnBuilder; readonly turn: Turn }> {
  for (const [builder, turn] of examination.scope.turns)
    if (builder.startSeen && builder.loss.length === 0 && builder.agentId !== "acp") yield { builder, turn };
}

/** The agent's life before this turn is in the capture, so a start that is not there was not sent. */
export function coveredAgents(examination: Examination): ReadonlySet<string> {
  const covered = new Set<string>();
  for (const frame of durableEvents(examination)) {
    if (frame.type === "agent.created" || frame.type === "turn.started") covered.add(agentOf(frame));
    if (frame.type === "event.session.created") covered.add(`${frame.sessionId} main`);
  }
  return covered;
}

export function examineSteps(examination: Examination): void {
  const wanted = new Map<string, Turn>();
  for (const { builder, turn } of wholeTurns(examination))
    wanted.set(`${builder.sessionId} ${builder.agentId} ${builder.turnId}`, turn);
  const open = new Map<string, number>();
  const last = new Map<string, number>();
  for (const frame of durableEvents(examination)) {
    const key = turnKey(frame);
    const turn = wanted.get(key);
    const step = numberAt(frame.payload, "step");
    if (turn === undefined) continue;
    const fault = (statement: string) => () => ({
      statement: [statement],
      places: [frame.place],
      subject: `step ${step ?? open.get(key) ?? 0}`,
      turn,
    });
    if (frame.type === "turn.step.started" && step !== null) {
      const before = last.get(key) ?? 0;
      examination.examine(
        step === before + 1 && !open.has(key),
        fault(`step ${step} starts after step ${before}${open.has(key) ? ", which is still open" : ""}`),
      );
      last.set(key, step);
      open.set(key, step);
    } else if (frame.type === "turn.step.completed" || frame.type === "turn.step.interrupted") {
      const early = frame.type === "turn.step.interrupted" && step === 1 && !last.has(key);
      examination.examine(early || open.get(key) === step, fault(`step ${step} ends without having started`));
      open.delete(key);
    } else if (frame.type === "turn.ended") {
      examination.examine(!open.has(key), fault(`step ${open.get(key)} is still open at turn.ended`));
    }
  }
}

export function sameArguments(parts: string, args: string): boolean {
  try {
    return canonicalText(JSON.parse(parts)) === canonicalText(JSON.parse(args));
  } catch {
    return false;
  }
}

function canonicalText(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

export function examineApprovals(examination: Examination): void {
  const requested = new Set<string>();
  const resolved = new Map<string, number>();
  const anyRequest = durableEvents(examination).some((frame) => frame.type.endsWith(".requested"));
  for (const frame of durableEvents(examination)) {
    const id = textAt(frame.payload, "approval_id") ?? textAt(frame.payload, "question_id");
    if (id === null || !/^event\.(approval|question)\./.test(frame.type)) continue;
    if (frame.type.endsWith(".requested")) {
      requested.add(id);
      continue;
    }
    const count = (resolved.get(id) ?? 0) + 1;
    resolved.set(id, count);
    if (!requested.has(id) && !anyRequest) continue;
    examination.examine(requested.has(id) && count === 1, () => ({
      statement: [requested.has(id) ? `${id} is resolved ${count} times` : `${id} is resolved and was never requested`],
      places: [frame.place],
      subject: `${frame.type} ${resolved.size}`,
      conversationId: frame.sessionId,
    }));
  }
}
