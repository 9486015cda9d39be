/** What the session learnt -> conversations, the contract's `kimi` object, and the rules' verdicts. */

import { by } from "../../core/order.js";
import type { Printable, Words } from "../../core/printable.js";
import { isKnown } from "../../core/time.js";
import { report } from "../../model/check.js";
import type { Conversation, Turn } from "../../model/conversation.js";
import type { DialectResult } from "../../model/dialect.js";
import { kimiVerdicts } from "./checks/index.js";
import type { KimiConnection, RestCall, RpcCall } from "./model.js";
import type { KimiState } from "./session.js";
import { errorCodes } from "./tables/error-codes.js";
import { turnOf } from "./turn.js";
import type { TurnBuilder } from "./turn-builder.js";

export function kimiResult(state: KimiState): DialectResult {
  const { conversations, turns, byBuilder } = conversationsOf(state);
  const seen = state.connections.length > 0 || state.rest.length > 0 || state.rpc.calls.length > 0;
  return {
    dialect: "kimi",
    conversations,
    turns,
    blobs: null,
    extra: seen
      ? {
          kimi: {
            connections: state.connections.map(connectionJson),
            rest: state.rest.map(restJson),
            rpc: state.rpc.calls.map(rpcJson),
          },
        }
      : {},
    notes: notesOf(state),
    givenBack: state.givenBack,
    judge: (wanted, sink) => report(kimiVerdicts(state, byBuilder, wanted), sink),
  };
}

function conversationsOf(state: KimiState) {
  const start = (builder: TurnBuilder) => (isKnown(builder.start) ? builder.start.earliest : null);
  const bySession = new Map<string | null, TurnBuilder[]>();
  for (const builder of [...state.turns].sort(by(start, (builder) => builder.place.first))) {
    const list = bySession.get(builder.sessionId);
    if (list === undefined) bySession.set(builder.sessionId, [builder]);
    else list.push(builder);
  }
  const byBuilder = new Map<TurnBuilder, Turn>();
  const conversations: Conversation[] = [];
  for (const [id, builders] of bySession) {
    const turns = builders.map((builder, index) => {
      const turn = turnOf(builder, index, state.clients.get(id ?? "") ?? null);
      byBuilder.set(builder, turn);
      return turn;
    });
    conversations.push({ dialect: "kimi", id, turns });
  }
  const turns = [...byBuilder.keys()]
    .sort(by(start, (builder) => builder.place.first))
    .map((builder) => byBuilder.get(builder)!);
  return { conversations, turns, byBuilder };
}

function connectionJson(connection: KimiConnection): Printable {
  const counts = (direction: "up" | "down") => {
    const out = new Map<string, number>();
    for (const frame of connection.frames)
      if (frame.direction === direction) out.set(frame.type, (out.get(frame.type) ?? 0) + 1);
    return Object.fromEntries([...out].sort(([a], [b]) => (a < b ? -1 : 1)));
  };
  const { close } = connection;
  return {
    frames: { sent: counts("up"), received: counts("down") },
    protocolVersion: connection.protocolVersion,
    sessions: [...connection.sessions],
    close: close === null ? null : { code: close.code, reason: close.reason },
    compression: connection.compression,
  };
}

function restJson(call: RestCall): Printable {
  const reason = call.code === null ? undefined : errorCodes.get(call.code)?.reason;
  return {
    method: call.method,
    path: call.path,
    status: call.status,
    code: call.isEnvelope ? call.code : null,
    reason: reason === undefined || reason === "" ? null : reason,
    requestId: call.requestId,
  };
}

function rpcJson(call: RpcCall): Printable {
  const first = call.answers[0];
  return {
    id: call.id,
    from: call.from,
    method: call.method,
    answer: first === undefined ? "none" : first.kind === "error" ? "error" : "result",
  };
}

/** Lines about what has no turn: calls and connections. */
function notesOf(state: KimiState): readonly Words[] {
  const notes: Words[] = [];
  const failed = state.rest.filter((call) => call.code !== null && call.code !== 0);
  if (state.rest.length > 0)
    notes.push([`${state.rest.length} REST calls, ${failed.length} answered with an error code`]);
  for (const connection of state.connections) {
    const closed = connection.close === null ? "" : `, closed with ${connection.close.code}`;
    notes.push([
      `WebSocket ${connection.index + 1}: ${connection.frames.length} frames, ${connection.sessions.size} sessions${closed}`,
    ]);
  }
  const open = state.rpc.calls.filter((call) => call.answers.length === 0).length;
  if (state.rpc.calls.length > 0) notes.push([`${state.rpc.calls.length} JSON-RPC requests, ${open} unanswered`]);
  return notes;
}
