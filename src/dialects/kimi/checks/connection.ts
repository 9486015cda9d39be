/** What several rules need of one connection: which acks answer what, and which sessions are subscribed at each frame. */
import { at, isObject, listAt, numberAt, textAt, textsAt } from "../json.js";
import type { KimiConnection, KimiFrame } from "../model.js";
import { frameTypes } from "../tables/frames.js";

/** Whether a 2.1.0 server answers this frame type with an ack. */
export function isAcked(type: string): boolean {
  return frameTypes.get(type)?.acked === true;
}

export interface Acked {
  readonly frame: KimiFrame;
  readonly acks: readonly KimiFrame[];
  /** A control frame sent later was answered. */
  readonly laterAck: boolean;
}

/** Every handled control frame with an id, and the acks with that id after it. Ids that repeat are paired in order. */
export function acksOf(connection: KimiConnection): readonly Acked[] {
  const rows: { frame: KimiFrame; acks: KimiFrame[]; laterAck: boolean }[] = [];
  const byId = new Map<string, (typeof rows)[number][]>();
  let lastAnswered = -1;
  for (const frame of connection.frames) {
    if (frame.direction === "up" && frame.id !== null && isAcked(frame.type)) {
      const row = { frame, acks: [], laterAck: false };
      rows.push(row);
      byId.set(frame.id, [...(byId.get(frame.id) ?? []), row]);
    } else if (frame.class === "ack" && frame.id !== null) {
      const same = byId.get(frame.id);
      const row = same?.find((candidate) => candidate.acks.length === 0) ?? same?.at(-1);
      if (row === undefined) continue;
      row.acks.push(frame);
      lastAnswered = Math.max(lastAnswered, row.frame.ordinal);
    }
  }
  for (const row of rows) row.laterAck = row.frame.ordinal < lastAnswered;
  return rows;
}

export interface Cursor {
  readonly seq: number;
  readonly epoch: string | null;
}

/** Cursor a frame's payload names for a session. */
export function cursorOf(frame: KimiFrame, sessionId: string): Cursor | null {
  const cursor = at(frame.payload, "cursors", sessionId);
  const seq = numberAt(cursor, "seq");
  return seq === null ? null : { seq, epoch: textAt(cursor, "epoch") };
}

/** Sessions a subscribe, hello or unsubscribe names. */
export function namedSessions(frame: KimiFrame): readonly string[] {
  const single = textAt(frame.payload, "session_id");
  return [
    ...textsAt(frame.payload, "session_ids"),
    ...textsAt(frame.payload, "subscriptions"),
    ...(single === null ? [] : [single]),
  ];
}

export interface Subscription {
  /** Sent, and not refused by now. */
  open: boolean;
  /** The ack accepted it. */
  accepted: boolean;
  /** agent_filter or a transcript grade: the connection no longer sees every durable event. */
  partial: boolean;
  /** Waiting for the ack of a subscribe that gave a cursor: what comes now is a replay. */
  replaying: Cursor | null;
}

export interface SubscriptionState {
  isOpen(sessionId: string): boolean;
  of(sessionId: string): Subscription | undefined;
}

const subscribing = new Set(["subscribe", "subscribe_v2", "client_hello"]);

/** Follows subscriptions frame by frame; `next` returns the state as this frame meets it. */
export function subscriptionTracker(): { next(frame: KimiFrame): SubscriptionState } {
  const sessions = new Map<string, Subscription>();
  const pending = new Map<string, KimiFrame>();
  const state: SubscriptionState = {
    isOpen: (id) => sessions.get(id)?.open === true,
    of: (id) => sessions.get(id),
  };
  return {
    next(frame) {
      if (frame.direction === "up" && frame.class === "control") {
        if (isAcked(frame.type)) pending.set(frame.id ?? "", frame);
        if (subscribing.has(frame.type)) for (const id of namedSessions(frame)) request(sessions, frame, id);
      } else if (frame.class === "ack") {
        const asked = pending.get(frame.id ?? "");
        pending.delete(frame.id ?? "");
        if (asked !== undefined) answer(sessions, asked, frame);
      }
      return state;
    },
  };
}

function request(sessions: Map<string, Subscription>, frame: KimiFrame, id: string): void {
  const known = sessions.get(id);
  const filtered = isObject(at(frame.payload, "agent_filter")) && at(frame.payload, "agent_filter", id) !== undefined;
  const graded = frame.type === "subscribe_v2";
  sessions.set(id, {
    open: true,
    accepted: known?.accepted ?? false,
    partial: (known?.partial ?? false) || filtered || graded,
    replaying: cursorOf(frame, id),
  });
}

function answer(sessions: Map<string, Subscription>, asked: KimiFrame, ack: KimiFrame): void {
  const accepted = new Set([...textsAt(ack.payload, "accepted"), ...textsAt(ack.payload, "accepted_subscriptions")]);
  for (const id of namedSessions(asked)) {
    const known = sessions.get(id);
    if (known === undefined) continue;
    if (asked.type === "unsubscribe") {
      known.open = false;
      known.accepted = false;
      known.replaying = null;
    } else if (subscribing.has(asked.type)) {
      known.replaying = null;
      if (accepted.has(id)) known.accepted = true;
      else if (!known.accepted) known.open = false;
    }
  }
}

/** Sessions an ack or a resync list names. */
export function resyncList(ack: KimiFrame): readonly string[] {
  return listAt(ack.payload, "resync_required").flatMap((item) => {
    const id = typeof item === "string" ? item : textAt(item, "session_id");
    return id === null ? [] : [id];
  });
}
