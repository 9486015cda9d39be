/** PW-60 to PW-62, PW-67, PW-68: who may be told what. The pi page, section 8. */
import { family, frameName, hitOf, odd, owed } from "./rule.js";

export const subscriptionRules = family("Subscriptions", [
  {
    id: "PW-60",
    severity: "warning",
    sure: "high",
    statement: "Each update names a subscription whose subscribe succeeded and whose unsubscribe was not answered yet.",
    why: "The client ignores updates for ids it does not know.",
    needs: "Both directions from their start.",
    good: "subscribe answered, then updates.",
    bad: "An update for an id nobody subscribed.",
    remedy: "Stop publishing when unsubscribe is answered; use the client's id.",
    *run(connection) {
      const words: Readonly<Record<string, string>> = {
        ended: "whose unsubscribe was answered",
        refused: "whose subscribe was refused",
      };
      for (const oddity of odd(connection, "stray-update")) {
        const why = words[oddity.why] ?? "which nobody subscribed";
        yield hitOf(
          connection,
          oddity,
          [`${frameName(oddity.at)} is an update for ${oddity.id}, ${why}`],
          `update ${oddity.id}`,
        );
      }
    },
  },
  {
    id: "PW-61",
    severity: "error",
    sure: "high",
    statement: "A subscription id is not used again while it is live.",
    why: "Ids are unique per connection, over server and session targets; a second use is refused.",
    needs: "Both directions from their start.",
    good: "service-1, service-2.",
    bad: "service-1 for the server and again for a session.",
    remedy: "Number subscriptions per connection.",
    run: (connection) =>
      owed(connection, "PW-61", (request) => {
        const id = request.control?.kind === "subscribe" ? request.control.subscriptionId : "an id";
        return [`${request.id} subscribes ${id}, which is in use`];
      }),
  },
  {
    id: "PW-62",
    severity: "warning",
    sure: "mid",
    statement: "The subscribe response precedes the subscription's first update.",
    why: "The server queues updates until then; the client tolerates the opposite.",
    needs: "Both directions from their start.",
    good: "subscribe, snapshot, updates.",
    bad: "An update before the snapshot it builds on.",
    remedy: "Queue updates until the response is written.",
    *run(connection) {
      for (const oddity of odd(connection, "early-update")) {
        const statement = [`${frameName(oddity.at)} is an update for ${oddity.id}, before its subscribe is answered`];
        yield hitOf(connection, oddity, statement, `update ${oddity.id}`);
      }
    },
  },
  {
    id: "PW-67",
    severity: "warning",
    sure: "high",
    statement: "Unsubscribe names a live subscription.",
    why: 'An unknown id is answered with "internal_error".',
    needs: "Both directions from their start.",
    good: "unsubscribe after a successful subscribe.",
    bad: "unsubscribe twice.",
    remedy: "Forget the id when unsubscribe is sent.",
    run: (connection) =>
      owed(connection, "PW-67", (request) => {
        const id = request.control?.kind === "unsubscribe" ? request.control.subscriptionId : "an id";
        return [`${request.id} unsubscribes ${id}, which is not subscribed`];
      }),
  },
  {
    id: "PW-68",
    severity: "error",
    sure: "high",
    statement: "A snapshot is of the service and mode subscribed; a singleton's has one instance, without address.",
    why: "The client builds its states on it.",
    needs: "The subscribe request and its response.",
    good: "subscribe demo.view, singleton: a snapshot of demo.view with one instance.",
    bad: "A snapshot of another service.",
    remedy: "Answer with the snapshot of what was asked.",
    *run(connection) {
      for (const oddity of odd(connection, "snapshot")) {
        yield hitOf(
          connection,
          oddity,
          [`the snapshot of ${oddity.id} in ${frameName(oddity.at)} ${oddity.says}`],
          `snapshot ${oddity.id}`,
        );
      }
    },
  },
]);
