/** PW-63 to PW-66: replicated state. The pi page, section 8. */
import { family, frameName, hitOf, odd } from "./rule.js";

export const stateRules = family("State", [
  {
    id: "PW-63",
    severity: "error",
    sure: "high",
    statement: "State sequences rise by exactly 1 from the last snapshot, per subscription, instance and member.",
    why: "A gap makes the consumer drop the value.",
    needs: "The server direction without holes since the snapshot.",
    good: "snapshot at 4, updates 5, 6, 7.",
    bad: "5, then 7.",
    remedy: "Publish every batch once, in order, to every subscriber.",
    *run(connection) {
      for (const oddity of odd(connection, "sequence")) {
        const statement = [
          `${oddity.state} goes to sequence ${oddity.got} where ${oddity.expected} is due, in ${frameName(oddity.at)}`,
        ];
        yield {
          ...hitOf(connection, oddity, statement, `${oddity.state} ${oddity.expected}`),
          detail: { expected: oddity.expected, got: oddity.got },
        };
      }
    },
  },
  {
    id: "PW-64",
    severity: "error",
    sure: "high",
    statement: "Operations obey the grammar, decode with the state's path dictionary and apply to its value.",
    why: "The client closes the connection on a batch it cannot decode, and stops following a value it cannot apply to.",
    needs: "The server direction without holes since the snapshot.",
    good: '["#", 0, ["tail"]], then ["a", 0, "more"].',
    bad: "A path id that was never defined.",
    remedy: "Keep one path dictionary per subscription, instance and state, and clear it with r.",
    *run(connection) {
      for (const oddity of odd(connection, "delta")) {
        const statement = [`${oddity.state} #${oddity.sequence} in ${frameName(oddity.at)}: ${oddity.says}`];
        yield hitOf(connection, oddity, statement, `${oddity.state} ${oddity.sequence}`);
      }
      for (const oddity of odd(connection, "empty-ops")) {
        const statement = [
          `${oddity.state} #${oddity.sequence} in ${frameName(oddity.at)} has no operation: a provider never publishes that`,
        ];
        yield { ...hitOf(connection, oddity, statement, `${oddity.state} ${oddity.sequence}`), severity: "info" };
      }
    },
  },
  {
    id: "PW-65",
    severity: "error",
    sure: "mid",
    statement: "The operations of a state in a snapshot are one r.",
    why: "A snapshot starts the value and its path dictionary anew.",
    needs: "The snapshot.",
    good: '[["r", { "n": 0 }]]',
    bad: '[["r", {}], ["s", ["n"], 0]]',
    remedy: "Send the whole value in a snapshot.",
    *run(connection) {
      for (const oddity of odd(connection, "snapshot-ops")) {
        const statement = [`the snapshot of ${oddity.state} in ${frameName(oddity.at)} is not one r: ${oddity.says}`];
        yield hitOf(connection, oddity, statement, `snapshot ${oddity.state}`);
      }
    },
  },
  {
    id: "PW-66",
    severity: "error",
    sure: "mid",
    statement:
      "Update kinds fit the mode; no state update comes while the provider is unavailable; closed and state name a live instance; a respawn has a higher generation.",
    why: "The client would change an instance that is not there.",
    needs: "The server direction without holes since the snapshot.",
    good: "spawned, state, closed, then spawned with generation 2.",
    bad: "spawned on a singleton service.",
    remedy: "Count generations per key, and say replaced before new states.",
    *run(connection) {
      for (const oddity of odd(connection, "update-kind")) {
        yield hitOf(
          connection,
          oddity,
          [`${frameName(oddity.at)}, an update of ${oddity.id}: ${oddity.says}`],
          `update ${oddity.id}`,
        );
      }
    },
  },
]);
