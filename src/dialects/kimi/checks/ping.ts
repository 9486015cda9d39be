/** K-PING: the application's own heartbeat. kimi.md 3.8. */
import { isExact, isKnown, millisBetween } from "../../../core/time.js";
import { textAt } from "../json.js";
import type { KimiConnection, KimiFrame } from "../model.js";
import { connectionName, type Examination, family, isDamaged } from "./rule.js";

const rule = family("Heartbeat", "3.8, 8");

const nonceOf = (frame: KimiFrame): string => textAt(frame.payload, "nonce") ?? "";

export const pingRules = [
  rule(
    {
      id: "K-PING-01",
      severity: "warning",
      statement: "Every ping is answered by a pong with its nonce before the next ping.",
      why: "Two silent periods end the connection.",
      needs: "a ping followed by another one",
      sure: "held 3",
      good: "ping a, pong a, ping b",
      bad: "ping a, ping b",
      remedy: "answer pings from the read loop, not from a queue that can stall",
    },
    (examination) => {
      for (const connection of examination.scope.state.connections) {
        let open: KimiFrame | null = null;
        for (const frame of connection.frames) {
          if (frame.type === "pong" && open !== null && nonceOf(frame) === nonceOf(open)) {
            open = null;
            examination.checked++;
          }
          if (frame.type !== "ping") continue;
          const before = open;
          if (before !== null) {
            examination.examine(false, () => ({
              statement: [`${connectionName(connection)}: a ping was not answered before the next one`],
              places: [before.place, frame.place],
              subject: `${connectionName(connection)} ping ${before.ordinal}`,
              damaged: isDamaged(connection),
            }));
          }
          open = frame;
        }
      }
    },
  ),
  rule(
    {
      id: "K-PING-02",
      severity: "warning",
      statement: "After two heartbeat periods without any client frame the server closes with 1001.",
      why: "Dead connections keep sessions subscribed.",
      needs: "exact times and a client silent for two heartbeat periods",
      sure: "held 1",
      good: "silence of 20.0 s, close 1001",
      bad: "silence of 35 s, and events still flow",
      remedy: null,
    },
    examineSilence,
  ),
  rule(
    {
      id: "K-PING-03",
      severity: "error",
      statement: "A pong's nonce was pinged on this connection.",
      why: "A nonce from elsewhere means that connections are mixed up.",
      needs: "a pong on a connection whose beginning was captured",
      sure: "held 3",
      good: "ping a, pong a",
      bad: "pong z that nobody pinged",
      remedy: null,
    },
    (examination) => {
      for (const connection of examination.scope.state.connections) {
        if (!connection.opened) continue;
        const pinged = new Set<string>();
        for (const frame of connection.frames) {
          if (frame.type === "ping") pinged.add(nonceOf(frame));
          if (frame.type !== "pong") continue;
          examination.examine(pinged.has(nonceOf(frame)), () => ({
            statement: [`${connectionName(connection)}: a pong answers a nonce that was never pinged`],
            places: [frame.place],
            subject: `${connectionName(connection)} pong ${frame.ordinal}`,
            damaged: isDamaged(connection),
          }));
        }
      }
    },
  ),
];

/** One second of grace: the server's timer does not fire to the millisecond. */
const graceMs = 1000;

function examineSilence(examination: Examination): void {
  for (const connection of examination.scope.state.connections) {
    const { heartbeatMs } = connection;
    const exact = connection.frames.every((frame) => isExact(frame.when) && isKnown(frame.when));
    if (heartbeatMs === null || !exact || isDamaged(connection)) continue;
    examineConnectionSilence(examination, connection, heartbeatMs);
  }
}

function examineConnectionSilence(examination: Examination, connection: KimiConnection, heartbeatMs: number): void {
  let lastUp = connection.exchange.opened;
  for (const frame of connection.frames) {
    const silentMs = millisBetween(lastUp.latest, frame.when.earliest);
    if (silentMs > 2 * heartbeatMs + graceMs) {
      examination.examine(false, () => ({
        statement: [
          `${connectionName(connection)}: the connection is still open after ${silentMs} ms without a client frame, the limit is ${2 * heartbeatMs} ms`,
        ],
        places: [frame.place],
        subject: `${connectionName(connection)} silence`,
      }));
      return;
    }
    if (frame.direction === "up") lastUp = frame.when;
  }
  const { close } = connection;
  if (
    close === null ||
    close.by !== "down" ||
    millisBetween(lastUp.latest, close.when.earliest) < 2 * heartbeatMs - graceMs
  )
    return;
  examination.examine(close.code === 1001, () => ({
    statement: [`${connectionName(connection)}: closed with ${close.code} after two silent heartbeat periods`],
    places: connection.frames.slice(-1).map((frame) => frame.place),
    subject: `${connectionName(connection)} silence`,
  }));
}
