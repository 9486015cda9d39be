/** K-WS: hello, acks and subscriptions of one WebSocket connection. */
import type { KimiConnection, KimiFrame } from "../model.js";
import { errorCodes } from "../tables/error-codes.js";
import { eventTypes } from "../tables/events.js";
import { acksOf, isAcked, subscriptionTracker } from "./connection.js";
import { connectionName, type Examination, family, isDamaged } from "./rule.js";

const rule = family("WebSocket", "3.2, 3.3, 8");

const beginning = "the beginning of a WebSocket connection (its 101)";

function openedConnections(examination: Examination): readonly KimiConnection[] {
  return examination.scope.state.connections.filter((connection) => connection.opened);
}

export const socketRules = [
  rule(
    {
      id: "K-WS-01",
      severity: "error",
      statement: "The first server frame of a connection is server_hello, and there is exactly one.",
      why: "Clients read limits and the heartbeat from it before they subscribe.",
      needs: beginning,
      sure: "held 26",
      good: "101, then server_hello, then everything else",
      bad: "an event before server_hello, or a second server_hello",
      remedy: "send server_hello at once after the upgrade, once per connection",
    },
    (examination) => {
      for (const connection of openedConnections(examination)) {
        const received = connection.frames.filter((frame) => frame.direction === "down");
        const first = received[0];
        if (first === undefined) continue;
        const hellos = received.filter((frame) => frame.type === "server_hello");
        examination.examine(first.type === "server_hello" && hellos.length === 1, () => ({
          statement: [
            `${connectionName(connection)}: the first server frame is ${first.type}, server_hello came ${hellos.length} times`,
          ],
          places: [first.place, ...hellos.slice(1).map((frame) => frame.place)],
          subject: connectionName(connection),
          damaged: isDamaged(connection),
        }));
      }
    },
  ),
  rule(
    {
      id: "K-WS-02",
      severity: "error",
      statement: "server_hello names protocol_version 2.",
      why: "Nothing negotiates the version: another number means another protocol.",
      needs: "a server_hello",
      sure: "held 26",
      good: '"protocol_version": 2',
      bad: '"protocol_version": 3',
      remedy: "the reader goes on as version 2; check what changed",
    },
    (examination) => {
      for (const connection of examination.scope.state.connections) {
        const hello = connection.frames.find((frame) => frame.type === "server_hello");
        if (hello === undefined) continue;
        examination.examine(connection.protocolVersion === 2, () => ({
          statement: [`${connectionName(connection)}: protocol_version is ${connection.protocolVersion ?? "absent"}`],
          places: [hello.place],
          subject: connectionName(connection),
        }));
      }
    },
  ),
  rule(
    {
      id: "K-WS-03",
      severity: "error",
      statement:
        "Each client_hello, subscribe(_v2) and unsubscribe(_v2) with an id has exactly one ack with that id, later.",
      why: "A client that never gets the ack never knows its cursor.",
      needs: "an acknowledged control frame and what follows it",
      sure: "held 65",
      good: "subscribe c_2, ack c_2",
      bad: "subscribe c_2, then ack c_3 without any ack c_2",
      remedy: "answer every handled control frame once, in order",
    },
    (examination) => {
      for (const connection of examination.scope.state.connections) {
        for (const { frame, acks, laterAck } of acksOf(connection)) {
          const settled = laterAck || connection.close?.by === "down";
          if (acks.length === 0 && !settled) continue;
          examination.examine(acks.length === 1, () => ({
            statement: [
              `${connectionName(connection)}: ${frame.type} "${frame.id}" has ${acks.length === 0 ? "no ack" : `${acks.length} acks`}`,
            ],
            places: [frame.place, ...acks.map((ack) => ack.place)],
            subject: `${connectionName(connection)} ${frame.type} ${frame.ordinal}`,
            damaged: isDamaged(connection),
          }));
        }
      }
    },
  ),
  rule(
    {
      id: "K-WS-04",
      class: "permission",
      severity: "info",
      statement: "abort, terminal_*, watch_fs_* and unknown frame types get no ack on 2.1.0.",
      why: "The catalogue promises acks that the server never sends.",
      needs: "such a frame",
      sure: "seen 6, no ack ever",
      good: "abort without any ack",
      bad: "nothing: it is legal",
      remedy: null,
    },
    (examination) => {
      for (const connection of examination.scope.state.connections) {
        for (const frame of connection.frames) {
          if (frame.direction === "up" && frame.class === "control" && !isAcked(frame.type) && frame.type !== "pong")
            examination.checked++;
        }
      }
    },
  ),
  rule(
    {
      id: "K-WS-05",
      severity: "error",
      statement: "Every ack's id was sent before on this connection; an empty id answers a frame without one.",
      why: "An ack for another connection's frame moves the wrong cursor.",
      needs: beginning,
      sure: "held 90",
      good: 'ack "c_2" after subscribe "c_2"',
      bad: 'ack "c_9" that nobody sent',
      remedy: "copy the id of the frame that is answered",
    },
    (examination) => {
      for (const connection of openedConnections(examination)) {
        const sent = new Set<string>();
        for (const frame of connection.frames) {
          if (frame.direction === "up") sent.add(frame.id ?? "");
          else if (frame.class === "ack") {
            examination.examine(sent.has(frame.id ?? ""), () => ({
              statement: [`${connectionName(connection)}: ack "${frame.id ?? ""}" answers no frame sent before`],
              places: [frame.place],
              subject: `${connectionName(connection)} ack ${frame.ordinal}`,
              damaged: isDamaged(connection),
            }));
          }
        }
      }
    },
  ),
  rule(
    {
      id: "K-WS-06",
      severity: "error",
      statement: "Acks come in the order of their requests.",
      why: "The server handles the control frames of a connection strictly in order.",
      needs: "two acks on one connection",
      sure: "source; held on 34 connections",
      good: "c_1, c_2 answered as c_1, c_2",
      bad: "c_1, c_2 answered as c_2, c_1",
      remedy: null,
    },
    (examination) => {
      for (const connection of examination.scope.state.connections) {
        const sentAt = new Map<string, number>();
        let last: { at: number; frame: KimiFrame } | null = null;
        for (const frame of connection.frames) {
          if (frame.direction === "up" && frame.id !== null) sentAt.set(frame.id, frame.ordinal);
          const at = frame.class === "ack" && frame.id !== null ? sentAt.get(frame.id) : undefined;
          if (at === undefined) continue;
          const before = last;
          if (before !== null) {
            examination.examine(at >= before.at, () => ({
              statement: [
                `${connectionName(connection)}: ack "${frame.id}" comes after the ack of "${before.frame.id}", which was sent later`,
              ],
              places: [before.frame.place, frame.place],
              subject: `${connectionName(connection)} ack ${frame.ordinal}`,
              damaged: isDamaged(connection),
            }));
          }
          if (before === null || at >= before.at) last = { at, frame };
        }
      }
    },
  ),
  rule(
    {
      id: "K-WS-07",
      severity: "warning",
      statement: 'An ack has code 0 exactly when its msg is "success"; any other code is 1 or one of the table.',
      why: "Clients look at the code; a wrong pair hides a refusal.",
      needs: "an ack",
      sure: "held 90",
      good: 'code 0, msg "success"',
      bad: 'code 0, msg "ok"',
      remedy: null,
    },
    (examination) => {
      for (const connection of examination.scope.state.connections) {
        for (const frame of connection.frames) {
          if (frame.class !== "ack") continue;
          const known = frame.code === 0 || frame.code === 1 || (frame.code !== null && errorCodes.has(frame.code));
          examination.examine(known && (frame.code === 0) === (frame.msg === "success"), () => ({
            statement: [
              `${connectionName(connection)}: ack has code ${frame.code ?? "absent"} and msg "${frame.msg ?? ""}"`,
            ],
            places: [frame.place],
            subject: `${connectionName(connection)} ack ${frame.ordinal}`,
          }));
        }
      }
    },
  ),
  rule(
    {
      id: "K-WS-08",
      severity: "error",
      statement:
        "A session's event arrives only between the sending of a subscribe that names it and the ack of its unsubscribe; global types are exempt.",
      why: "Events of sessions nobody asked for leak other people's work.",
      needs: beginning,
      sure: "held 1179",
      good: "subscribe, event, unsubscribe, ack",
      bad: "an assistant.delta on a connection that never subscribed",
      remedy: "check the subscription before fanning events out",
    },
    (examination) => {
      for (const connection of openedConnections(examination)) {
        const subscribed = subscriptionTracker();
        for (const frame of connection.frames) {
          const state = subscribed.next(frame);
          const type = eventTypes.get(frame.type);
          if (frame.class !== "event" || frame.sessionId === null || frame.sessionId === "__global__") continue;
          if (type === undefined || type.global || frame.type === "agent.created" || frame.type === "agent.disposed")
            continue;
          examination.examine(state.isOpen(frame.sessionId), () => ({
            statement: [
              `${connectionName(connection)}: ${frame.type} of session ${frame.sessionId}, to which the connection is not subscribed`,
            ],
            places: [frame.place],
            subject: `${connectionName(connection)} ${frame.type} ${frame.ordinal}`,
            conversationId: frame.sessionId,
            damaged: isDamaged(connection),
          }));
        }
      }
    },
  ),
];
