/** PW-30 to PW-36: hellos, refusals, and what may follow them. The pi page, section 5. */
import { isExact, isKnown } from "../../../core/time.js";
import type { Connection } from "../connection.js";
import { protocolVersion } from "../envelope.js";
import { clip } from "../shape.js";
import { family, frameName, type Hit, hitOf, lossOf, odd } from "./rule.js";

function noStart(connection: Connection): string | null {
  return connection.up.whole && connection.down.whole ? null : lossOf(connection);
}

function* firstFrame(connection: Connection, direction: "up" | "down", allowed: readonly string[]): Generator<Hit> {
  const first = connection.side(direction).first;
  // A refused frame is named by its own rule; whether it was meant as a hello nobody can say.
  if (first === null || first.type === "rejected" || allowed.includes(first.type)) return;
  const who = direction === "up" ? "client" : "server";
  yield {
    draft: connection.own,
    statement: [`the first ${who} frame is "${first.type}", not ${allowed.join(" or ")}`],
    places: [first.at.place],
    subject: `${who} frame 1`,
  };
}

export const handshakeRules = family("Handshake", [
  {
    id: "PW-30",
    severity: "error",
    sure: "high",
    statement: "The first client frame is a hello.",
    why: "The server answers any other first frame with hello_error and closes.",
    needs: "The client direction from its first byte.",
    good: "hello, then requests.",
    bad: "A request as the first frame.",
    remedy: "Send hello with version 8 before anything else.",
    untestable: (connection) => (connection.up.whole ? null : lossOf(connection)),
    run: (connection) => firstFrame(connection, "up", ["hello"]),
  },
  {
    id: "PW-31",
    severity: "error",
    sure: "high",
    statement: "The first server frame is hello or hello_error.",
    why: "The client reads nothing else before the handshake is over.",
    needs: "The server direction from its first byte.",
    good: "hello with the server's id.",
    bad: "A response as the first frame.",
    remedy: "Hold everything back until the server hello is written.",
    untestable: (connection) => (connection.down.whole ? null : lossOf(connection)),
    run: (connection) => firstFrame(connection, "down", ["hello", "hello_error"]),
  },
  {
    id: "PW-32",
    severity: "error",
    sure: "high",
    statement: "The client's version is 8; if not, the server's only frame is a hello_error with code \"version\".",
    why: "The test is exact equality; there is no negotiation.",
    needs: "The client hello.",
    good: "version 8.",
    bad: "version 7.",
    remedy: "Use a client and a server of the same protocol version.",
    *run(connection) {
      const hello = connection.up.hellos[0];
      if (hello === undefined || hello.version === protocolVersion) return;
      const statement = [`the client hello carries version ${hello.version}; the protocol is ${protocolVersion}`];
      yield { draft: connection.own, statement, places: [hello.at.place], subject: "client hello" };
      const { down, refusal } = connection;
      if (down.first === null || !down.whole) return;
      if (down.first.type === "hello_error" && refusal?.code === "version" && down.index === 1) return;
      const told = `the server does not answer version ${hello.version} with one hello_error of code "version"`;
      yield { draft: connection.own, statement: [told], places: [down.first.at.place], subject: "server answer" };
    },
  },
  {
    id: "PW-33",
    severity: "error",
    sure: "high",
    statement: "Each direction has at most one hello.",
    why: "A second client hello is refused with hello_error; a second server hello makes the client close.",
    needs: "The direction from its start.",
    good: "One hello each.",
    bad: "The server says hello again after a reconnect behind a proxy.",
    remedy: "Open a new connection for a new handshake.",
    *run(connection) {
      for (const side of [connection.up, connection.down]) {
        for (const hello of side.hellos.slice(1)) {
          const name = frameName(hello.at);
          yield {
            draft: connection.own,
            statement: [`${name} is a further hello`],
            places: [hello.at.place],
            subject: name,
          };
        }
      }
    },
  },
  {
    id: "PW-34",
    severity: "warning",
    sure: "mid",
    statement: "The server hello comes after the client hello.",
    why: "The client speaks first; only a server that gave up waiting speaks before it, with hello_error.",
    needs: "Both hellos, with times that can be trusted.",
    good: "client hello, 5 ms later server hello.",
    bad: "A server hello before any client byte.",
    remedy: "Wait for the client's hello.",
    untestable(connection) {
      const [up, down] = [connection.up.hellos[0], connection.down.hellos[0]];
      if (up === undefined || down === undefined) return "one of the hellos is not in the capture";
      if (!connection.ordered) return lossOf(connection);
      const timed = [up, down].every(({ at }) => isKnown(at.when) && isExact(at.when));
      return timed ? noStart(connection) : "the hellos have no exact times";
    },
    *run(connection) {
      const up = connection.up.hellos[0]!.at;
      const down = connection.down.hellos[0]!.at;
      if (down.when.earliest >= up.when.earliest) return;
      const statement = ["the server hello comes before the client hello"];
      yield { draft: connection.own, statement, places: [down.place, up.place], subject: "server hello" };
    },
  },
  {
    id: "PW-35",
    severity: "error",
    sure: "high",
    statement: "Nothing follows a hello_error from the server.",
    why: "It is the last frame of a connection; outstanding requests get no response.",
    needs: "The server direction from the hello_error on.",
    good: "hello_error, then the end.",
    bad: "hello_error, then a response.",
    remedy: "Close after hello_error.",
    *run(connection) {
      const [first, ...rest] = odd(connection, "after-fatal");
      if (first === undefined) return;
      const count = rest.length + 1;
      const statement = [
        `${count} server ${count === 1 ? "frame follows" : "frames follow"} a hello_error, first "${first.type}"`,
      ];
      yield { ...hitOf(connection, first, statement, frameName(first.at)), damaged: false };
    },
  },
  {
    id: "PW-36",
    severity: "info",
    sure: "high",
    statement: "A hello_error with another code than version reports a fatal fault of the client.",
    why: "It is the protocol's only error frame, and it comes after a good handshake too.",
    needs: "The hello_error, and the client frames before it.",
    good: "No hello_error.",
    bad: 'hello_error, code "invalid_request", after a frame with a tag in it.',
    remedy: "Look at the client frame it points to.",
    *run(connection) {
      for (const oddity of odd(connection, "fatal")) {
        const { error, last, at } = oddity;
        if (error.code === "version") continue;
        const cause =
          last === null ? "the client had sent no frame" : `the last client frame before it is frame ${last.index + 1}`;
        const reason = error.message === "" ? "" : ` (${clip(error.message, 500)})`;
        const statement = [`the server gives up with "${error.code}"${reason}; ${cause}`];
        const places = last === null ? [at.place] : [at.place, last.place];
        yield { draft: oddity.home, statement, places, subject: frameName(at) };
      }
    },
  },
]);
