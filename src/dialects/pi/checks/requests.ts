/** PW-40 to PW-47: requests, responses, cancels. The pi page, section 6. */
import type { Severity } from "../../../core/code-table.js";
import { describe } from "../calls.js";
import type { Connection } from "../connection.js";
import type { RequestFact } from "../facts.js";
import { family, frameName, type Hit, hitOf, isUnsure, odd, owed } from "./rule.js";

/** Why a request that was never answered is nobody's fault, or null where the connection still lived. */
function endedFirst(connection: Connection): string | null {
  const { up, down } = connection;
  if (connection.fatalAt !== null) return "the server gave up first";
  if (down.dead !== null) return "the server's direction became unreadable first";
  if (up.dead !== null) return "the client's direction became unreadable first";
  const over = [up.end, down.end].some((end) => end !== null && end.reason !== "capture-ended");
  return over ? "the connection ended first" : null;
}

function* unanswered(connection: Connection): Generator<Hit> {
  const why = endedFirst(connection);
  for (const request of connection.requests.unanswered()) {
    yield {
      draft: request.home,
      statement: [
        `${request.id} (${describe(request)}) has no response: ${why ?? "the capture shows no end of the connection"}`,
      ],
      places: [request.at.place],
      subject: request.id,
      severity: "info",
      damaged: why === null || isUnsure(connection, request),
    };
  }
}

export const requestRules = family("Requests", [
  {
    id: "PW-40",
    severity: "error",
    sure: "high",
    statement: "Each response names a live request of the connection.",
    why: "A response without a request is fatal for the client.",
    needs: "Both directions from their start.",
    good: "request-1, then its response.",
    bad: "A response to request-99, which nobody sent.",
    remedy: "Answer each request once, on the connection it came from.",
    *run(connection) {
      for (const oddity of odd(connection, "stray-response")) {
        const why = oddity.answered === null ? "which was never asked" : "which was answered before";
        yield hitOf(connection, oddity, [`${frameName(oddity.at)} answers ${oddity.id}, ${why}`], oddity.id);
      }
    },
  },
  {
    id: "PW-41",
    severity: "error",
    sure: "high",
    statement: "Each request has exactly one response.",
    why: "The client waits for it, and a second one is fatal for the client.",
    needs: "Both directions from their start to their end.",
    good: "Every id answered once, in any order.",
    bad: "Two responses to one request.",
    remedy: "For unanswered ones see which side closed, and what it sent last.",
    *run(connection) {
      yield* unanswered(connection);
      for (const oddity of odd(connection, "stray-response")) {
        if (oddity.answered === null) continue;
        const hit = hitOf(
          connection,
          oddity,
          [`${oddity.id} has a further response in ${frameName(oddity.at)}`],
          `${oddity.id} again`,
        );
        yield { ...hit, places: [oddity.answered.at.place, oddity.at.place] };
      }
    },
  },
  {
    id: "PW-42",
    severity: "error",
    sure: "high",
    statement: "A request id is not used again while its request is live.",
    why: "The second request alone is refused, under the same id and before the first one's answer.",
    needs: "Both directions from their start.",
    good: "request-1, request-2, request-3.",
    bad: "request-1 again before its response.",
    remedy: "Number requests per connection.",
    run: (connection) => owed(connection, "PW-42", (request) => [`${request.id} is used again while it is live`]),
  },
  {
    id: "PW-43",
    severity: "warning",
    sure: "high",
    statement: "A cancel names a live request and repeats its target.",
    why: "Otherwise it is ignored in silence. One that crosses the response is normal.",
    needs: "Both directions from their start.",
    good: "cancel with the request's id and target.",
    bad: "cancel with a server target for a session request.",
    remedy: "Send the target of the request.",
    *run(connection) {
      const words = {
        target: "but not its target",
        answered: "which was already answered",
        unknown: "which was never asked",
      };
      for (const oddity of odd(connection, "stray-cancel")) {
        const hit = hitOf(
          connection,
          oddity,
          [`${frameName(oddity.at)} cancels ${oddity.id}, ${words[oddity.why]}`],
          `cancel ${oddity.id}`,
        );
        const severity: Severity = oddity.crossing ? "info" : "warning";
        yield { ...hit, severity };
      }
    },
  },
  {
    id: "PW-44",
    severity: "warning",
    sure: "mid",
    statement: 'The code "cancelled" is given only for a request that was cancelled.',
    why: "The server makes this code from the cancel signal alone.",
    needs: "The client direction from its start.",
    good: 'cancel, then a failure with "cancelled".',
    bad: '"cancelled" for a request nobody cancelled.',
    remedy: "Use another code for a call that ended for another reason.",
    *run(connection) {
      for (const request of connection.requests.all) {
        if (request.answer?.error?.code !== "cancelled" || request.cancels.length > 0) continue;
        const places = [request.at.place, request.answer.at.place];
        const statement = [`${request.id} is answered "cancelled", and the client never cancelled it`];
        yield { draft: request.home, statement, places, subject: request.id, damaged: isUnsure(connection, request) };
      }
    },
  },
  {
    id: "PW-46",
    severity: "warning",
    sure: "high",
    statement: "A request's target names the server of the hello.",
    why: 'Any other server id is refused with "wrong_server".',
    needs: "The server hello.",
    good: "The server id of the hello.",
    bad: "The id of a server that ran here yesterday.",
    remedy: "Take the server id from the hello of this connection.",
    untestable: (connection) => (connection.serverId === null ? "the capture shows no server hello" : null),
    run: (connection) =>
      owed(connection, "PW-46", (request) => [
        `${request.id} is for server ${request.target.serverId}, not ${request.wrongServer}`,
      ]),
  },
  {
    id: "PW-47",
    severity: "info",
    sure: "mid",
    statement: "A request id is not used again after its response.",
    why: "The server allows it; the published client never does it.",
    needs: "Both directions from their start.",
    good: "Ids that only count up.",
    bad: "request-1 twice, one after the other.",
    remedy: null,
    *run(connection) {
      for (const request of connection.requests.notable) {
        if (request.reused) yield reuse(connection, request);
      }
    },
  },
]);

function reuse(connection: Connection, request: RequestFact): Hit {
  const statement = [`${request.id} is used again after its response`];
  return {
    draft: request.home,
    statement,
    places: [request.at.place],
    subject: request.id,
    damaged: isUnsure(connection, request),
  };
}
