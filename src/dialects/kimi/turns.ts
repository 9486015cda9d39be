/**
 * Session events -> turns, over all connections. A durable event counts once per (session, epoch, seq): replays and second connections
 * repeat it. Volatile ones are never replayed; of several live connections only the session's first one is listened to.
 */
import type { Note } from "../../core/diagnostic.js";
import type { GapReason } from "../../model/exchange.js";
import { at, type JsonObject, numberAt, textAt } from "./json.js";
import { isFolded, laneOf, saysOf } from "./says.js";
import { applyTranscript } from "./transcript.js";
import { TurnBuilder, type TurnEvent } from "./turn-builder.js";
import { addUsage, applyAsk, applyTool, pairOf, type SessionEventIn } from "./turn-events.js";

interface AgentState {
  readonly turns: Map<string, TurnBuilder>;
  current: TurnBuilder | null;
  /** The turn that ended last: what trails behind it is still its own. */
  ended: TurnBuilder | null;
  /** Events between turns wait for the next one. */
  prelude: TurnEvent[];
  model: string | null;
  parent: { readonly requestId: string | null; readonly toolCallId: string | null } | null;
}

interface SessionState {
  readonly agents: Map<string, AgentState>;
  readonly seen: Set<string>;
  listening: number | null;
}

const preludeLimit = 32;

/** Between two turns these belong to the one to come; whatever is before them trails behind the one that ended. */
const opensTurn = new Set([
  "prompt.submitted",
  "prompt.queued",
  "session.meta.updated",
  "turn.started",
  "agent.created",
]);

export class TurnTracker {
  private readonly sessions = new Map<string, SessionState>();
  private readonly all: TurnBuilder[] = [];
  private readonly closed = new Set<number>();
  private readonly prompts = new Map<string, { readonly text: string | null; readonly model: string | null }>();

  constructor(
    private readonly note: Note,
    private readonly onStep: (turn: TurnBuilder) => void,
  ) {}

  turns(): readonly TurnBuilder[] {
    return this.all;
  }

  connectionEnded(connection: number): void {
    this.closed.add(connection);
  }

  /** A prompt accepted over REST: its text and model, by prompt id. */
  promptAccepted(promptId: string, text: string | null, model: string | null): void {
    this.prompts.set(promptId, { text, model });
    for (const turn of this.all) if (turn.promptId === promptId) this.applyPrompt(turn);
  }

  /** Bytes of this connection are missing: every turn that was running may have lost events. */
  lost(connection: number, why: GapReason): void {
    for (const session of this.sessions.values()) {
      if (session.listening !== null && session.listening !== connection) continue;
      for (const agent of session.agents.values()) agent.current?.lose({ direction: "down", why });
    }
  }

  push(event: SessionEventIn): void {
    if (event.sessionId === "__global__") return;
    const session = this.session(event.sessionId);
    if (this.isRepeat(session, event)) return;
    const agentId = textAt(event.payload, "agentId") ?? textAt(event.payload, "agent_id") ?? "main";
    const agent = this.agent(session, agentId);
    if (event.type === "transcript.ops" || event.type === "transcript.reset") {
      applyTranscript(event, {
        turn: (turnId) => this.turn(event, agent, agentId, turnId),
        known: (turnId) => agent.turns.get(turnId),
        current: () => agent.current,
      });
      this.record(event, agent, agent.current);
      return;
    }
    this.apply(event, session, agent, agentId);
  }

  private isRepeat(session: SessionState, event: SessionEventIn): boolean {
    if (event.isVolatile) {
      if (session.listening === null || this.closed.has(session.listening)) session.listening = event.connection;
      return session.listening !== event.connection;
    }
    if (event.seq === null) return false;
    const key = `${event.epoch ?? ""} ${event.seq}`;
    if (session.seen.has(key)) return true;
    session.seen.add(key);
    return false;
  }

  private apply(event: SessionEventIn, session: SessionState, agent: AgentState, agentId: string): void {
    const { type, payload } = event;
    if (type === "agent.status.updated") agent.model = textAt(payload, "model") ?? agent.model;
    if (type === "subagent.spawned") this.spawn(session, agentId, agent, payload);
    const turnId = numberAt(payload, "turnId") ?? numberAt(payload, "turn_id") ?? numberAt(payload, "phase", "turnId");
    const turn = turnId === null ? agent.current : this.turn(event, agent, agentId, String(turnId));
    if (turn !== null) this.applyToTurn(event, turn, agent);
    this.record(event, agent, turn);
    if (type === "turn.ended" && turn !== null) {
      agent.ended = turn;
      if (agent.current === turn) agent.current = null;
    }
  }

  private spawn(session: SessionState, agentId: string, parent: AgentState, payload: JsonObject): void {
    const child = textAt(payload, "subagentId");
    if (child === null) return;
    const state = this.agent(session, child);
    const parentId = textAt(payload, "parentAgentId") ?? agentId;
    const parentTurn = this.agent(session, parentId).current ?? parent.current;
    state.parent = { requestId: parentTurn?.requestId ?? null, toolCallId: textAt(payload, "parentToolCallId") };
    // The child's first turn starts before the parent says that it spawned it.
    if (state.current !== null) adopt(state.current, state);
  }

  private turn(event: SessionEventIn, agent: AgentState, agentId: string, turnId: string): TurnBuilder {
    const known = agent.turns.get(turnId);
    if (known !== undefined) return known;
    const made = new TurnBuilder(event.sessionId, agentId, turnId, event);
    agent.turns.set(turnId, made);
    agent.current = made;
    made.model = agent.model;
    adopt(made, agent);
    this.all.push(made);
    const starts = event.type === "turn.started" || event.type.startsWith("transcript.");
    if (!starts && event.type !== "turn.step.interrupted" && event.type !== "agent.status.updated") {
      made.lose({ direction: "down", why: "not-captured" });
      this.note({
        code: "kimi.turn-start-unseen",
        place: event.place,
        detail: { turn: made.requestId, first: event.type },
      });
    }
    for (const waiting of agent.prelude) made.add(waiting);
    agent.prelude = [];
    return made;
  }

  private record(event: SessionEventIn, agent: AgentState, turn: TurnBuilder | null): void {
    const made: TurnEvent = {
      type: event.type,
      when: event.when,
      place: event.place,
      bytes: event.bytes,
      direction: "down",
      channel: "ws",
      lane: laneOf(event.type),
      says: saysOf(event.type, event.payload),
      chars: (
        textAt(event.payload, "delta") ??
        textAt(event.payload, "argumentsPart") ??
        textAt(event.payload, "update", "text") ??
        ""
      ).length,
      fold: isFolded(event.type),
      pair: turn === null ? null : pairOf(event, turn),
    };
    if (turn === null) {
      if (opensTurn.has(event.type)) agent.ended = null;
      if (agent.ended !== null) agent.ended.add(made);
      else if (agent.prelude.length < preludeLimit) agent.prelude.push(made);
      return;
    }
    turn.add(made);
    this.onStep(turn);
  }

  private applyToTurn(event: SessionEventIn, turn: TurnBuilder, agent: AgentState): void {
    const { type, payload } = event;
    switch (type) {
      case "turn.started":
        turn.startSeen = true;
        turn.start = event.when;
        turn.place = event.place;
        turn.promptId = textAt(payload, "promptId");
        turn.prompt = textAt(payload, "prompt");
        turn.action = textAt(payload, "origin", "kind");
        agent.current = turn;
        this.applyPrompt(turn);
        return;
      case "turn.ended":
        turn.endSeen = true;
        turn.end = event.when;
        turn.reason = textAt(payload, "reason");
        turn.reportedMs = numberAt(payload, "durationMs");
        if (at(payload, "error") !== undefined && at(payload, "error") !== null) {
          turn.error = {
            code: textAt(payload, "error", "code") ?? "unknown",
            message: textAt(payload, "error", "message") ?? "",
          };
        }
        return;
      case "turn.step.started":
        turn.nextStep();
        turn.stepsOpen.set(numberAt(payload, "step") ?? -1, event.place);
        return;
      case "turn.step.completed":
      case "turn.step.interrupted":
        turn.stepsOpen.delete(numberAt(payload, "step") ?? -1);
        addUsage(turn, at(payload, "usage"));
        return;
      case "assistant.delta":
      case "thinking.delta":
        this.delta(event, turn);
        return;
      default:
        applyTool(event, turn);
        applyAsk(event, turn);
    }
  }

  private applyPrompt(turn: TurnBuilder): void {
    const accepted = turn.promptId === null ? undefined : this.prompts.get(turn.promptId);
    if (accepted === undefined) return;
    turn.prompt ??= accepted.text;
    turn.model = accepted.model ?? turn.model;
  }

  private delta(event: SessionEventIn, turn: TurnBuilder): void {
    const stream = event.type === "assistant.delta" ? "text" : "thinking";
    const fit = turn.delta(stream, textAt(event.payload, "delta") ?? "", event.offset);
    if (fit !== "gap") return;
    turn.lose({ direction: "down", why: "not-captured" });
    this.note({
      code: "kimi.delta-gap",
      place: event.place,
      detail: { turn: turn.requestId, offset: event.offset ?? 0 },
    });
  }

  private session(id: string): SessionState {
    let state = this.sessions.get(id);
    if (state === undefined) {
      state = { agents: new Map(), seen: new Set(), listening: null };
      this.sessions.set(id, state);
    }
    return state;
  }

  private agent(session: SessionState, id: string): AgentState {
    let state = session.agents.get(id);
    if (state === undefined) {
      state = { turns: new Map(), current: null, ended: null, prelude: [], model: null, parent: null };
      session.agents.set(id, state);
    }
    return state;
  }
}

function adopt(turn: TurnBuilder, agent: AgentState): void {
  if (agent.parent === null) return;
  turn.parentRequestId = agent.parent.requestId;
  turn.parentToolCallId = agent.parent.toolCallId;
}
