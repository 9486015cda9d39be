/** K-SEQ, K-EP, K-OFF: the durable line of a session, its epochs, and the offsets of deltas. */
import { isVolatileType } from "../frames.js";
import { numberAt, textAt } from "../json.js";
import type { KimiConnection, KimiFrame } from "../model.js";
import { eventTypes } from "../tables/events.js";
import { cursorOf, namedSessions, subscriptionTracker } from "./connection.js";
import { connectionName, type Examination, family, isDamaged } from "./rule.js";

const rule = family("Sequence", "3.4, 3.5, 8");

const subscribedNeed = "a subscribed session without agent_filter or transcript grade, and its events";

interface SequenceSight {
  readonly connection: KimiConnection;
  readonly frame: KimiFrame;
  readonly sessionId: string;
  /** Last durable seq the connection knows of; null before any. */
  readonly last: number | null;
  /** Every durable event must reach this connection. */
  readonly complete: boolean;
  /** A subscribe with a cursor waits for its ack. */
  readonly replaying: boolean;
  readonly wasAccepted: boolean;
}

/** Calls `each` for every session event with the durable position before it. */
function followSequence(examination: Examination, each: (sight: SequenceSight) => void): void {
  for (const connection of examination.scope.state.connections) {
    const tracker = subscriptionTracker();
    const last = new Map<string, { seq: number; epoch: string | null }>();
    const complete = new Set<string>();
    for (const frame of connection.frames) {
      const state = tracker.next(frame);
      if (frame.class === "control" && frame.direction === "up") {
        for (const id of namedSessions(frame)) {
          const cursor = cursorOf(frame, id);
          if (cursor === null) continue;
          last.set(id, cursor);
          if (state.of(id)?.partial === false) complete.add(id);
        }
      }
      if (frame.class === "ack") advance(frame, last, complete, state);
      if (frame.class !== "event" || frame.sessionId === null || frame.sessionId === "__global__" || frame.seq === null)
        continue;
      const id = frame.sessionId;
      const subscription = state.of(id);
      if (subscription?.partial !== false || !subscription.open) complete.delete(id);
      const known = last.get(id);
      const sameEpoch =
        known === undefined || known.epoch === null || frame.epoch === null || known.epoch === frame.epoch;
      each({
        connection,
        frame,
        sessionId: id,
        last: known !== undefined && sameEpoch ? known.seq : null,
        complete: complete.has(id),
        replaying: subscription?.replaying != null,
        wasAccepted: subscription?.accepted === true,
      });
      if (frame.volatile === true) continue;
      last.set(id, {
        seq: sameEpoch && known !== undefined ? Math.max(known.seq, frame.seq) : frame.seq,
        epoch: frame.epoch,
      });
    }
  }
}

/** The ack's cursor is the server's position: nothing below it is still to come. */
function advance(
  ack: KimiFrame,
  last: Map<string, { seq: number; epoch: string | null }>,
  complete: Set<string>,
  state: { of(id: string): { readonly partial: boolean; readonly open: boolean } | undefined },
): void {
  const cursors = ack.payload.cursors;
  if (typeof cursors !== "object" || cursors === null) return;
  for (const id of Object.keys(cursors)) {
    const cursor = cursorOf(ack, id);
    if (cursor === null) continue;
    const known = last.get(id);
    const sameEpoch = known === undefined || known.epoch === null || known.epoch === cursor.epoch;
    last.set(id, sameEpoch && known !== undefined && known.seq > cursor.seq && complete.has(id) ? known : cursor);
    const subscription = state.of(id);
    if (subscription?.partial === false && subscription.open) complete.add(id);
  }
}

function isDurable(frame: KimiFrame): boolean {
  return frame.volatile !== true && eventTypes.get(frame.type)?.durability !== "own";
}

export const sequenceRules = [
  rule(
    {
      id: "K-SEQ-01",
      severity: "error",
      statement:
        "On a subscribed connection without agent_filter or transcript grade the durable seq of a session and epoch rises by exactly 1, from the ack's cursor or the cursor presented.",
      why: "A hole means a lost event; a client that trusts its cursor never asks for it again.",
      needs: subscribedNeed,
      sure: "held 488",
      good: "ack cursor 4, then 5, 6, 7",
      bad: "ack cursor 4, then 5, 7",
      remedy: "look for a failed dispatch in the server's log; the client should resubscribe with its cursor",
    },
    (examination) =>
      followSequence(examination, ({ connection, frame, sessionId, last, complete }) => {
        if (!isDurable(frame) || !complete || last === null) return;
        examination.examine(frame.seq === last + 1, () => ({
          statement: [`${connectionName(connection)}: ${frame.type} has seq ${frame.seq}, the one before was ${last}`],
          places: [frame.place],
          subject: `${connectionName(connection)} seq ${frame.seq}`,
          conversationId: sessionId,
          damaged: isDamaged(connection),
        }));
      }),
  ),
  rule(
    {
      id: "K-SEQ-02",
      severity: "warning",
      statement:
        "Otherwise the durable seq strictly rises; it goes back only right after a subscribe with an older cursor.",
      why: "A client that takes a repeat for news applies it twice.",
      needs: "durable events on a connection that does not see all of them",
      sure: "source",
      good: "3, 6, 7 on a connection with a transcript grade",
      bad: "3, 6, 6",
      remedy: null,
    },
    (examination) =>
      followSequence(examination, ({ connection, frame, sessionId, last, complete, replaying }) => {
        if (!isDurable(frame) || complete || last === null || replaying) return;
        examination.examine((frame.seq ?? 0) > last, () => ({
          statement: [`${connectionName(connection)}: ${frame.type} has seq ${frame.seq} after ${last}`],
          places: [frame.place],
          subject: `${connectionName(connection)} seq ${frame.seq}`,
          conversationId: sessionId,
          damaged: isDamaged(connection),
        }));
      }),
  ),
  rule(
    {
      id: "K-SEQ-03",
      severity: "error",
      statement: "A volatile event repeats the last durable seq of its session.",
      why: "Clients order deltas between durable events by it.",
      needs: subscribedNeed,
      sure: "held 725",
      good: "durable 7, delta with seq 7",
      bad: "durable 7, delta with seq 9",
      remedy: null,
    },
    (examination) =>
      followSequence(examination, ({ connection, frame, sessionId, last, complete, replaying }) => {
        if (frame.volatile !== true || !complete || last === null || replaying) return;
        examination.examine(frame.seq === last, () => ({
          statement: [
            `${connectionName(connection)}: volatile ${frame.type} has seq ${frame.seq}, the last durable one was ${last}`,
          ],
          places: [frame.place],
          subject: `${connectionName(connection)} ${frame.type} at seq ${frame.seq}`,
          conversationId: sessionId,
          damaged: isDamaged(connection),
        }));
      }),
  ),
  rule(
    {
      id: "K-SEQ-04",
      severity: "error",
      statement:
        "The same session, epoch and seq is always the same durable event, on any connection and in any replay.",
      why: "A replay that differs rewrites history.",
      needs: "one durable event seen twice",
      sure: "source; held 60",
      good: "seq 5 is turn.started on both connections",
      bad: "seq 5 is turn.started first and prompt.completed in the replay",
      remedy: null,
    },
    (examination) => {
      const first = new Map<string, KimiFrame>();
      for (const connection of examination.scope.state.connections) {
        for (const frame of connection.frames) {
          if (frame.class !== "event" || !isDurable(frame) || frame.epoch === null || frame.seq === null) continue;
          const key = `${frame.sessionId} ${frame.epoch} ${frame.seq}`;
          const before = first.get(key);
          if (before === undefined) {
            first.set(key, frame);
            continue;
          }
          examination.examine(before.type === frame.type && before.digest === frame.digest, () => ({
            statement: [
              `seq ${frame.seq} was ${before.type} and is ${frame.type} here${before.type === frame.type ? " with another payload" : ""}`,
            ],
            places: [before.place, frame.place],
            subject: `seq ${frame.seq} of ${frame.type}`,
            conversationId: frame.sessionId,
            damaged: isDamaged(connection),
          }));
        }
      }
    },
  ),
  rule(
    {
      id: "K-SEQ-05",
      severity: "error",
      statement: "An event is marked volatile exactly when its type is a volatile one.",
      why: "The mark decides whether a client may count on a replay.",
      needs: "events of known types",
      sure: "held 1541",
      good: "assistant.delta with volatile: true",
      bad: "turn.ended with volatile: true",
      remedy: null,
    },
    (examination) => {
      for (const connection of examination.scope.state.connections) {
        for (const frame of connection.frames) {
          const expected = frame.class === "event" ? isVolatileType(frame.type) : null;
          if (expected === null) continue;
          examination.examine((frame.volatile === true) === expected, () => ({
            statement: [`${frame.type} is ${expected ? "not marked volatile" : "marked volatile"}`],
            places: [frame.place],
            subject: `${connectionName(connection)} ${frame.type} ${frame.ordinal}`,
            conversationId: frame.sessionId,
          }));
        }
      }
    },
  ),
  rule(
    {
      id: "K-SEQ-06",
      severity: "error",
      statement: "A replay holds no volatile event.",
      why: "Volatile events are not in the journal; in a replay they would be invented.",
      needs: "a subscribe with a cursor and its replay",
      sure: "source; true of every replay seen",
      good: "replayed 5, 6, 7, then the ack",
      bad: "an assistant.delta between the subscribe and its ack",
      remedy: null,
    },
    (examination) =>
      followSequence(examination, ({ connection, frame, sessionId, replaying, wasAccepted }) => {
        if (!replaying || wasAccepted) return;
        examination.examine(frame.volatile !== true, () => ({
          statement: [
            `${connectionName(connection)}: volatile ${frame.type} inside the replay of a session not subscribed before`,
          ],
          places: [frame.place],
          subject: `${connectionName(connection)} ${frame.type} ${frame.ordinal}`,
          conversationId: sessionId,
          damaged: isDamaged(connection),
        }));
      }),
  ),
  rule(
    {
      id: "K-OFF-01",
      severity: "warning",
      statement: "A delta's offset is the UTF-16 length of what its stream said earlier in this step.",
      why: "Lower is a duplicate, higher a gap: clients splice by it.",
      needs: "deltas of agent main with offsets, from the start of their step",
      sure: "held 305; missing offsets are legal while turns overlap",
      good: 'offset 0 "I ", offset 2 "will "',
      bad: 'offset 0 "I ", offset 5 "will "',
      remedy: null,
    },
    examineOffsets,
  ),
];

function examineOffsets(examination: Examination): void {
  for (const connection of examination.scope.state.connections) {
    const lengths = new Map<string, number>();
    for (const frame of connection.frames) {
      if (frame.class !== "event" || textAt(frame.payload, "agentId") !== "main") continue;
      const key = `${frame.sessionId} ${numberAt(frame.payload, "turnId")}`;
      if (frame.type === "turn.step.started")
        for (const stream of ["assistant.delta", "thinking.delta"]) lengths.set(`${key} ${stream}`, 0);
      if (frame.deltaLength === null || (frame.type !== "assistant.delta" && frame.type !== "thinking.delta")) continue;
      const at = `${key} ${frame.type}`;
      const known = lengths.get(at);
      if (frame.offset !== null && known !== undefined) {
        examination.examine(frame.offset === known, () => ({
          statement: [`${frame.type} has offset ${frame.offset}, ${known} UTF-16 units came before it in this step`],
          places: [frame.place],
          subject: `${connectionName(connection)} ${frame.type} ${frame.ordinal}`,
          conversationId: frame.sessionId,
          damaged: isDamaged(connection),
        }));
      }
      lengths.set(at, Math.max(known ?? 0, frame.offset ?? known ?? 0) + frame.deltaLength);
    }
  }
}
