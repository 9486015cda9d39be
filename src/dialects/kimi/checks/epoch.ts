/** K-EP: identity of a session's journal, and what follows when a cursor does not fit. */
import { numberAt, textAt } from "../json.js";
import type { KimiConnection, KimiFrame } from "../model.js";
import { cursorOf, namedSessions, resyncList } from "./connection.js";
import { connectionName, type Examination, family, isDamaged } from "./rule.js";

const rule = family("Epochs", "3.4, 3.7, 8");

interface Resync {
  readonly connection: KimiConnection;
  readonly frame: KimiFrame;
  readonly sessionId: string;
  readonly reason: string | null;
  /** The subscribe that caused it, by the session it names. */
  readonly cause: KimiFrame | null;
}

function resyncs(examination: Examination): readonly Resync[] {
  return examination.scope.state.connections.flatMap((connection) => {
    const asked = new Map<string, KimiFrame>();
    const found: Resync[] = [];
    for (const frame of connection.frames) {
      if (frame.direction === "up" && frame.class === "control")
        for (const id of namedSessions(frame)) asked.set(id, frame);
      const sessionId = frame.type === "resync_required" ? textAt(frame.payload, "session_id") : null;
      if (sessionId === null) continue;
      found.push({
        connection,
        frame,
        sessionId,
        reason: textAt(frame.payload, "reason"),
        cause: asked.get(sessionId) ?? null,
      });
    }
    return found;
  });
}

export const epochRules = [
  rule(
    {
      id: "K-EP-01",
      severity: "error",
      statement:
        "A session's epoch changes on a connection only after resync_required(epoch_changed); a subscribe with another epoch gets that frame.",
      why: "Seqs of two epochs have nothing to do with each other.",
      needs: "two events of a session on one connection, or a cursor with an epoch",
      sure: "held 2",
      good: "cursor of an old epoch, resync_required(epoch_changed), ack",
      bad: "events of epoch A, then of epoch B, nothing between them",
      remedy: "announce a new journal before its first event",
    },
    examineEpochs,
  ),
  rule(
    {
      id: "K-EP-02",
      severity: "warning",
      statement: "After resync_required the client fetches the session's snapshot before it subscribes again.",
      why: "Without the snapshot the missed part of the state is lost for good.",
      needs: "a resync_required, a later subscribe, and the REST calls between",
      sure: "client behaviour",
      good: "resync_required, GET snapshot, subscribe",
      bad: "resync_required, subscribe",
      remedy: "fetch the snapshot and subscribe with its as_of_seq and epoch",
    },
    (examination) => {
      const { state } = examination.scope;
      if (state.rest.length === 0) return;
      for (const { connection, frame, sessionId } of resyncs(examination)) {
        const again = nextSubscribe(examination, frame, sessionId);
        if (again === null) continue;
        const fetched = state.rest.some(
          (call) =>
            call.path.split("?")[0]!.endsWith(`/sessions/${sessionId}/snapshot`) &&
            call.exchange.opened.latest >= frame.when.earliest &&
            call.exchange.opened.earliest <= again.when.latest,
        );
        examination.examine(fetched, () => ({
          statement: [
            `${connectionName(connection)}: after resync_required the client subscribed again without fetching the snapshot`,
          ],
          places: [frame.place, again.place],
          subject: `${connectionName(connection)} resync ${frame.ordinal}`,
          conversationId: sessionId,
          damaged: isDamaged(connection),
        }));
      }
    },
  ),
  rule(
    {
      id: "K-EP-03",
      severity: "error",
      statement:
        "A session is in a subscribe ack's resync_required list exactly when a resync_required frame for it came before that ack.",
      why: "A client may read either; they must agree.",
      needs: "an answered subscribe",
      sure: "held 4; not so for unknown sessions in client_hello",
      good: "resync_required for S, ack with resync_required [S]",
      bad: "ack with resync_required [S] and no frame",
      remedy: null,
    },
    examineResyncLists,
  ),
  rule(
    {
      id: "K-EP-04",
      severity: "error",
      statement:
        "With reason buffer_overflow the server is more than max_event_buffer_size events ahead of the cursor.",
      why: "A client that is told to start over for nothing loses time and state.",
      needs: "a resync_required(buffer_overflow), its cursor and the server_hello",
      sure: "held 1",
      good: "current_seq 1500, cursor 10, buffer 1000",
      bad: "current_seq 40, cursor 10, buffer 1000",
      remedy: null,
    },
    (examination) => {
      for (const { connection, frame, sessionId, reason, cause } of resyncs(examination)) {
        const cursor = cause === null ? null : cursorOf(cause, sessionId);
        const current = numberAt(frame.payload, "current_seq");
        const buffer = connection.maxBuffer;
        if (reason !== "buffer_overflow" || cursor === null || current === null || buffer === null) continue;
        examination.examine(current - cursor.seq > buffer, () => ({
          statement: [
            `buffer_overflow at seq ${current} for cursor ${cursor.seq}: ${current - cursor.seq} events, the buffer holds ${buffer}`,
          ],
          places: [frame.place],
          subject: `${connectionName(connection)} resync ${frame.ordinal}`,
          conversationId: sessionId,
        }));
      }
    },
  ),
];

function nextSubscribe(examination: Examination, after: KimiFrame, sessionId: string): KimiFrame | null {
  let best: KimiFrame | null = null;
  for (const connection of examination.scope.state.connections) {
    for (const frame of connection.frames) {
      const subscribes = frame.type === "subscribe" || frame.type === "subscribe_v2" || frame.type === "client_hello";
      if (frame.direction !== "up" || !subscribes || frame.when.earliest <= after.when.latest) continue;
      if (namedSessions(frame).includes(sessionId) && (best === null || frame.when.earliest < best.when.earliest))
        best = frame;
    }
  }
  return best;
}

function examineEpochs(examination: Examination): void {
  for (const connection of examination.scope.state.connections) {
    const epochs = new Map<string, string>();
    const announced = new Set<string>();
    const presented = new Map<string, { readonly frame: KimiFrame; readonly epoch: string }>();
    for (const frame of connection.frames) {
      if (frame.type === "resync_required") {
        const id = textAt(frame.payload, "session_id") ?? "";
        announced.add(id);
        epochs.delete(id);
      }
      if (frame.direction === "up" && frame.class === "control") {
        for (const id of namedSessions(frame)) {
          const epoch = cursorOf(frame, id)?.epoch;
          announced.delete(id);
          if (epoch != null) presented.set(id, { frame, epoch });
          else presented.delete(id);
        }
      }
      if (frame.class === "ack") examinePresented(examination, connection, frame, presented, announced);
      if (frame.class !== "event" || frame.sessionId === null || frame.epoch === null) continue;
      const before = epochs.get(frame.sessionId);
      if (before !== undefined) {
        examination.examine(before === frame.epoch, () => ({
          statement: [`${connectionName(connection)}: the epoch changed without resync_required`],
          places: [frame.place],
          subject: `${connectionName(connection)} epoch at ${frame.ordinal}`,
          conversationId: frame.sessionId,
          damaged: isDamaged(connection),
        }));
      }
      epochs.set(frame.sessionId, frame.epoch);
    }
  }
}

function examinePresented(
  examination: Examination,
  connection: KimiConnection,
  ack: KimiFrame,
  presented: Map<string, { readonly frame: KimiFrame; readonly epoch: string }>,
  announced: ReadonlySet<string>,
): void {
  for (const [id, { frame, epoch }] of presented) {
    const answer = frame.id === ack.id ? cursorOf(ack, id) : null;
    if (answer === null || answer.epoch === null) continue;
    presented.delete(id);
    const actual = answer.epoch;
    examination.examine(actual === epoch || announced.has(id), () => ({
      statement: [
        `${connectionName(connection)}: the cursor's epoch is not the server's, and no resync_required(epoch_changed) said so`,
      ],
      places: [frame.place, ack.place],
      subject: `${connectionName(connection)} subscribe ${frame.ordinal}`,
      conversationId: id,
      damaged: isDamaged(connection),
    }));
  }
}

function examineResyncLists(examination: Examination): void {
  for (const connection of examination.scope.state.connections) {
    let announced = new Set<string>();
    let asked: KimiFrame | null = null;
    for (const frame of connection.frames) {
      if (frame.direction === "up" && frame.class === "control") asked = frame.type === "subscribe" ? frame : asked;
      if (frame.type === "resync_required") announced.add(textAt(frame.payload, "session_id") ?? "");
      if (frame.class !== "ack" || asked === null || frame.id !== asked.id) continue;
      const listed = new Set(resyncList(frame));
      const heard = announced;
      const differing = [...new Set([...listed, ...heard])].filter((id) => listed.has(id) !== heard.has(id));
      examination.examine(differing.length === 0, () => ({
        statement: [
          `${connectionName(connection)}: the ack lists ${listed.size} sessions to resync, ${heard.size} resync_required frames came before it`,
        ],
        places: [frame.place],
        subject: `${connectionName(connection)} ack ${frame.ordinal}`,
        damaged: isDamaged(connection),
      }));
      announced = new Set();
      asked = null;
    }
  }
}
