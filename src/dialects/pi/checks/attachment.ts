/** PW-50 to PW-53: which session a connection is attached to. The pi page, section 7. */
import type { Connection } from "../connection.js";
import type { RequestFact } from "../facts.js";
import { family, frameName, type Hit, hitOf, isUnsure, lossOf, odd, owed } from "./rule.js";

function crossed(connection: Connection, request: RequestFact): Hit {
  const statement = [
    `${request.id} is for session ${request.target.sessionId}, whose attachment had just ended: the two crossed`,
  ];
  const shared = { draft: request.home, damaged: isUnsure(connection, request) };
  return { ...shared, statement, places: [request.at.place], subject: request.id, severity: "info" };
}

const routes: Readonly<Record<string, string>> = {
  past: "with an attachment that had ended",
  never: "with an attachment that was never published",
};

export const attachmentRules = family("Attachment", [
  {
    id: "PW-50",
    severity: "warning",
    sure: "high",
    statement: "A session target equals the last published attachment at that time.",
    why: 'Anything else is refused with "session_not_attached"; frames that crossed a change are normal.',
    needs: "Both directions from their start.",
    good: "attachment for session alpha, then requests with its ids.",
    bad: "A session request before any attachment.",
    remedy: "Attach first, and use the ids of the attachment frame.",
    *run(connection) {
      yield* owed(connection, "PW-50", (request) => {
        const how = routes[request.route] ?? "without an attachment";
        return [`${request.id} is for session ${request.target.sessionId} ${how}`];
      });
      for (const request of connection.requests.notable)
        if (request.route === "crossing") yield crossed(connection, request);
    },
  },
  {
    id: "PW-51",
    severity: "error",
    sure: "high",
    statement: "Attachment frames carry the server id of the hello.",
    why: "The client fails the connection otherwise.",
    needs: "The server hello.",
    good: "The same server id in hello and attachment.",
    bad: "Another server's id.",
    remedy: "Publish the server's own id.",
    untestable: (connection) => (connection.serverId === null ? "the capture shows no server hello" : null),
    *run(connection) {
      for (const oddity of odd(connection, "attachment-server")) {
        const statement = [
          `${frameName(oddity.at)} attaches to server ${oddity.serverId}; the hello said ${oddity.expected}`,
        ];
        yield { ...hitOf(connection, oddity, statement, frameName(oddity.at)), damaged: false };
      }
    },
  },
  {
    id: "PW-52",
    severity: "warning",
    sure: "mid",
    statement: "An attachment id never repeats on a connection.",
    why: "A fresh id is what fences off late frames of the attachment before.",
    needs: "The server direction from its start.",
    good: "A new random id for each attachment.",
    bad: "The first attachment's id again after a detach.",
    remedy: "Make a new id for each attachment.",
    *run(connection) {
      for (const oddity of odd(connection, "attachment-again")) {
        const statement = [`${frameName(oddity.at)} publishes attachment ${oddity.attachmentId} again`];
        yield { ...hitOf(connection, oddity, statement, frameName(oddity.at)), damaged: false };
      }
    },
  },
  {
    id: "PW-53",
    severity: "warning",
    sure: "mid",
    statement: "No null attachment comes without an attachment before it.",
    why: "Null is never sent twice in a row, nor before a first attachment.",
    needs: "The server direction from its start.",
    good: "attachment, then null.",
    bad: "null, then null.",
    remedy: "Publish null only when an attachment ends.",
    untestable: (connection) => (connection.down.whole ? null : lossOf(connection)),
    *run(connection) {
      for (const oddity of odd(connection, "detached-twice")) {
        yield hitOf(
          connection,
          oddity,
          [`${frameName(oddity.at)} detaches, and nothing is attached`],
          frameName(oddity.at),
        );
      }
    },
  },
]);
