/** The contract's PiConnection. */
import type { Printable } from "../../core/printable.js";
import { isExact, isKnown, millisBetween } from "../../core/time.js";
import { describe } from "./calls.js";
import type { Connection } from "./connection.js";
import type { RequestFact } from "./facts.js";
import type { Side } from "./side.js";
import { content } from "./value.js";

export function connectionJson(connection: Connection): Printable {
  const { up, down, attachments, subscriptions, exchange } = connection;
  return {
    client: sideJson(up),
    server: sideJson(down),
    handshake: connection.handshake,
    serverId: connection.serverId,
    requests: connection.requests.all.map(requestJson),
    subscriptions: subscriptions.all.map((subscription) => ({
      id: subscription.id,
      updates: subscription.updates,
      service: subscription.service,
      mode: subscription.mode,
      target: subscription.target === null ? null : subscription.target.sessionId === null ? "server" : "session",
      state: subscription.state,
      values: [...subscription.values()].map(({ state, sequence, whole }) => ({
        state,
        sequence,
        value: content(whole() ?? null),
      })),
    })),
    attachments: attachments.all.length,
    tail: { client: tailJson(up), server: tailJson(down) },
    sessions: [...new Set(attachments.all.flatMap((fact) => fact.target?.sessionId ?? []))],
    version: up.hellos[0]?.version ?? null,
    flow: exchange.flow.id,
    exchange: exchange.id,
    error: connection.refusal === null ? null : { code: connection.refusal.code, message: connection.refusal.message },
  };
}

function sideJson(side: Side): Printable {
  return { bytes: side.bytes, frames: Object.fromEntries(side.frames) };
}

function tailJson(side: Side): Printable {
  return side.tail === null ? null : { offset: side.tail.offset, bytes: side.tail.bytes, why: side.tail.why };
}

function requestJson(request: RequestFact): Printable {
  const { answer } = request;
  return {
    id: request.id,
    target: request.target.sessionId === null ? "server" : "session",
    service: request.service,
    member: request.member,
    cancelled: request.cancels.length > 0,
    answer: answer === null ? "none" : answer.error === null ? "ok" : "error",
    durationMs: durationOf(request),
    code: answer?.error?.code ?? null,
    what: describe(request),
    place: request.at.place,
  };
}

export function durationOf(request: RequestFact): number | null {
  const from = request.at.when;
  const to = request.answer?.at.when;
  if (to === undefined || !isKnown(from) || !isExact(from) || !isKnown(to) || !isExact(to)) return null;
  return millisBetween(from.latest, to.latest);
}
