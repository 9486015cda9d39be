/** K-RPC: JSON-RPC 2.0 pairing. kimi.md 5. */
import type { RpcCall } from "../model.js";
import { type Examination, family } from "./rule.js";

const rule = family("JSON-RPC", "5, 8");

export const rpcRules = [
  rule(
    {
      id: "K-RPC-01",
      severity: "error",
      statement: "Each JSON-RPC request id of a direction has exactly one response, with result or error but not both.",
      why: "A request without response hangs its caller for good.",
      needs: "a JSON-RPC request",
      sure: "held 18",
      good: "request 3, result 3",
      bad: "request 3, result 3, error 3",
      remedy: "both sides number their requests independently: key by direction and id",
    },
    examineCalls,
  ),
];

function examineCalls(examination: Examination): void {
  const { calls, orphans } = examination.scope.state.rpc;
  const lastAnswered = new Map<string, number>();
  calls.forEach((call, index) => {
    if (call.answers.length > 0) for (const key of keysOf(call)) lastAnswered.set(key, index);
  });
  calls.forEach((call, index) => {
    // A request at the end of a log may still be running; one that later requests have overtaken is lost.
    const key = keysOf(call)[call.method === "session/prompt" ? 1 : 0]!;
    const overtaken = (lastAnswered.get(key) ?? -1) > index;
    if (call.answers.length === 0 && !overtaken) return;
    const both = call.answers.some((answer) => answer.kind === "both");
    examination.examine(call.answers.length === 1 && !both, () => ({
      statement: [
        `${call.from} request ${call.id} (${call.method}) has ${both ? "a response with result and error" : `${call.answers.length} responses`}`,
      ],
      places: [call.place, ...call.answers.map((answer) => answer.place)],
      subject: `${call.from} ${call.method} ${index}`,
    }));
  });
  orphans.forEach(({ id, message }, index) => {
    examination.examine(false, () => ({
      statement: [`a response to request ${id} that was never sent`],
      places: [message.place],
      subject: `orphan ${index}`,
    }));
  });
}

/** [any request of this asker, this method of this asker] */
function keysOf(call: RpcCall): readonly [string, string] {
  const asker = `${call.exchange.id} ${call.from}`;
  return [asker, `${asker} ${call.method}`];
}
