/**
 * Turns of pi. A connection is one turn: handshake, what was asked of the server itself, its subscriptions, the end. Each attachment
 * is one more: everything addressed to that session while it lasted. A conversation is a session, over all connections that were
 * attached to it; a connection's own turn is a conversation of its own ("connection-1").
 */
import { Place } from "../../core/place.js";
import type { Printable, Words } from "../../core/printable.js";
import { isExact, isKnown, isoTime, millisBetween, unknownWhen, type When } from "../../core/time.js";
import type { Conversation, Loss, OpenItem, Outcome, Turn, TurnError } from "../../model/conversation.js";
import type { GapReason } from "../../model/exchange.js";
import { describe } from "./calls.js";
import type { Connection } from "./connection.js";
import type { RequestFact } from "./facts.js";
import { durationOf } from "./json.js";
import type { TurnDraft } from "./turn-draft.js";
import { brief } from "./value.js";

export interface Built {
  readonly conversations: readonly Conversation[];
  readonly turns: readonly Turn[];
  readonly turnOf: (draft: TurnDraft) => Turn | null;
}

interface Row {
  readonly connection: Connection;
  readonly draft: TurnDraft;
}

/** `connections`: in order of their first packet. */
export function buildTurns(connections: readonly Connection[]): Built {
  const rows: Row[] = connections.flatMap((connection) =>
    connection.drafts.filter((draft) => draft.messages > 0).map((draft) => ({ connection, draft })),
  );
  const order = new Map(rows.map((row, i) => [row, i]));
  rows.sort((a, b) => compareStart(a.draft.start, b.draft.start) || order.get(a)! - order.get(b)!);
  const groups = new Map<string, Turn[]>();
  const byDraft = new Map<TurnDraft, Turn>();
  const turns: Turn[] = [];
  for (const row of rows) {
    const key =
      row.draft.sessionId === null ? `connection ${row.connection.ordinal}` : `session ${row.draft.sessionId}`;
    const group = groups.get(key) ?? [];
    groups.set(key, group);
    const turn = new TurnView(row.connection, row.draft, group.length).build();
    group.push(turn);
    turns.push(turn);
    byDraft.set(row.draft, turn);
  }
  const conversations = [...groups.values()].map((group) => ({
    dialect: "pi",
    id: group[0]!.conversationId,
    turns: group,
  }));
  return { conversations, turns, turnOf: (draft) => byDraft.get(draft) ?? null };
}

function compareStart(a: When | null, b: When | null): number {
  if (a === null || b === null || !isKnown(a) || !isKnown(b)) return 0;
  return a.earliest < b.earliest ? -1 : a.earliest > b.earliest ? 1 : 0;
}

class TurnView {
  constructor(
    private readonly connection: Connection,
    private readonly draft: TurnDraft,
    private readonly index: number,
  ) {}

  private get requests(): readonly RequestFact[] {
    return this.draft.requests;
  }

  build(): Turn {
    const { draft, connection } = this;
    const start = draft.start ?? unknownWhen;
    const end = draft.end ?? unknownWhen;
    const { outcome, error } = this.outcome();
    const timed = isKnown(start) && isExact(start) && isKnown(end) && isExact(end);
    const turn: Omit<Turn, "json"> = {
      dialect: "pi",
      conversationId: draft.conversationId,
      requestId: draft.requestId,
      index: this.index,
      action: draft.sessionId === null ? "connection" : "attachment",
      model: null,
      prompt: null,
      text: "",
      thinking: "",
      start,
      end,
      durationMs: timed ? millisBetween(start.earliest, end.latest) : null,
      outcome,
      error,
      transport: connection.exchange.kind === "http" ? "pi over WebSocket" : "pi",
      http: connection.exchange.request?.version ?? null,
      client: connection.exchange.flow.client === "" ? null : connection.exchange.flow.client,
      messages: draft.messages,
      upBytes: draft.bytes.up,
      downBytes: draft.bytes.down,
      steps: draft.steps,
      open: this.open(),
      usage: null,
      loss: this.loss(),
      recovered: [],
      parentRequestId: null,
      retryOf: null,
      attempt: 0,
      facts: this.facts(),
      place:
        draft.place ??
        new Place(connection.exchange.mark.input, connection.exchange.mark.first, connection.exchange.mark.last),
    };
    return { ...turn, json: () => this.json(turn) };
  }

  private outcome(): { readonly outcome: Outcome; readonly error: TurnError | null } {
    const { connection, draft } = this;
    const { up, down, refusal } = connection;
    if (draft.closedBy !== null) return { outcome: "completed", error: null };
    if (refusal !== null) return { outcome: "failed", error: { code: refusal.code, message: refusal.message } };
    const reason = (word: string) => [up, down].some((side) => side.end?.reason === word);
    if (up.lost !== null || down.lost !== null) return { outcome: "unknown", error: null };
    if (reason("reset")) return { outcome: "canceled", error: null };
    if (up.dead !== null || down.dead !== null) {
      const dead = up.dead ?? down.dead ?? "";
      const outcome = [up, down].some((side) => side.frames.has("rejected")) ? "failed" : "truncated";
      return { outcome, error: { code: outcome === "failed" ? "frame_refused" : "stream_cut", message: dead } };
    }
    if (up.end === null || down.end === null || reason("capture-ended")) return { outcome: "unknown", error: null };
    if (connection.handshake === "none") return { outcome: "dropped", error: null };
    return { outcome: this.requests.some((request) => request.answer === null) ? "dropped" : "completed", error: null };
  }

  private open(): OpenItem[] {
    if (!this.connection.down.whole) return [];
    return this.requests
      .filter((request) => request.answer === null)
      .map((request) => ({ family: "rpc", id: request.id, what: describe(request), place: request.at.place }));
  }

  private loss(): Loss[] {
    const { up, down } = this.connection;
    const losses: Loss[] = [];
    if (up.lost !== null) losses.push({ direction: "up", why: up.lost as GapReason });
    if (down.lost !== null) losses.push({ direction: "down", why: down.lost as GapReason });
    return losses;
  }

  private facts(): Words[] {
    const { connection, draft } = this;
    const facts: Words[] = [];
    if (draft === connection.own) {
      const version = connection.up.hellos[0]?.version;
      const server = connection.serverId === null ? "" : `, server ${connection.serverId}`;
      facts.push([`handshake ${connection.handshake}${version === undefined ? "" : `, version ${version}`}${server}`]);
    } else {
      const how = { detached: "detached", switched: "left for another session" };
      facts.push([`on ${connection.own.requestId}`]);
      facts.push([draft.closedBy === null ? "attached until the connection's end" : how[draft.closedBy]]);
    }
    if (this.requests.length > 0) facts.push([requestsText(this.requests)]);
    facts.push(...this.subscriptionFacts());
    return facts;
  }

  private subscriptionFacts(): Words[] {
    return this.draft.subscriptions.flatMap((subscription) => {
      const head = `${subscription.id}: ${subscription.updates} ${subscription.updates === 1 ? "update" : "updates"} of ${subscription.service ?? "nothing subscribed"}`;
      const states = [...subscription.values()].slice(0, 4);
      return [
        [head],
        ...states.map(({ state, sequence, value }): Words => {
          if (value === undefined) return [`${state} #${sequence}, its value not known`];
          return [`${state} ended as #${sequence} `, ...brief(value, 90)];
        }),
      ];
    });
  }

  private json(turn: Omit<Turn, "json">): { readonly [key: string]: Printable } {
    const { draft } = this;
    return {
      dialect: turn.dialect,
      conversationId: turn.conversationId,
      requestId: turn.requestId,
      index: turn.index,
      attempt: turn.attempt,
      retryOf: turn.retryOf,
      parentRequestId: turn.parentRequestId,
      transport: turn.transport,
      http: turn.http,
      start: timeJson(turn.start),
      end: timeJson(turn.end),
      durationMs: turn.durationMs,
      outcome: turn.outcome,
      error: turn.error === null ? null : { code: turn.error.code, message: turn.error.message },
      action: turn.action,
      down: Object.fromEntries(draft.kinds.down),
      up: Object.fromEntries(draft.kinds.up),
      calls: this.requests.map((request) => ({
        id: request.id,
        what: describe(request),
        answer: request.answer === null ? "none" : (request.answer.error?.code ?? "ok"),
        durationMs: durationOf(request),
      })),
      open: turn.open.map((item) => ({ family: item.family, id: item.id, what: item.what, place: item.place })),
      loss: turn.loss.map((loss) => ({ direction: loss.direction, why: loss.why })),
      recovered: [],
    };
  }
}

function requestsText(requests: readonly RequestFact[]): string {
  const ok = requests.filter((request) => request.answer?.error === null).length;
  const none = requests.filter((request) => request.answer === null).length;
  const failed = requests.length - ok - none;
  const parts = [`${ok} ok`];
  if (failed > 0) parts.push(`${failed} refused or failed`);
  if (none > 0) parts.push(`${none} unanswered`);
  return `${requests.length} ${requests.length === 1 ? "call" : "calls"}: ${parts.join(", ")}`;
}

function timeJson(when: When): Printable {
  return isKnown(when) ? { at: isoTime(when.earliest), exact: isExact(when) } : { at: null, exact: false };
}
