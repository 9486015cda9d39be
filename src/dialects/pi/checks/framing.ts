/** PW-01 to PW-03: the stream splits into frames. The pi page, section 2. */
import { family, frameName, hitOf, odd, sideName } from "./rule.js";

export const framingRules = family("Framing", [
  {
    id: "PW-01",
    severity: "error",
    sure: "high",
    statement: "Every declared length is at most 16,777,216 bytes, or the limit the user gives.",
    why: "The receiver closes the connection as soon as the header is complete, before any payload.",
    needs: "The direction from its start.",
    good: "00 00 00 15, then 21 bytes.",
    bad: "01 00 00 01: 16 MiB and one byte.",
    remedy: "Split the message, or look for a sender that lost its place in the stream.",
    *run(connection) {
      for (const oddity of odd(connection, "over-bound")) {
        const who = sideName(oddity.at);
        const statement = [
          `the ${who} declares a frame of ${oddity.declared} bytes, over the bound of ${oddity.bound}`,
        ];
        yield hitOf(connection, oddity, statement, frameName(oddity.at));
      }
    },
  },
  {
    id: "PW-02",
    severity: "error",
    sure: "high",
    statement: "Each direction ends on a frame boundary.",
    why: "The receiver records a local error for a cut frame; nothing on the wire says so.",
    needs: "The end of the direction.",
    good: "The last frame is whole when the client closes.",
    bad: "The client closes 17 bytes before the end of its last frame.",
    remedy: "Write whole frames before closing; a capture that stops early is not the sender's fault.",
    *run(connection) {
      for (const oddity of odd(connection, "cut")) {
        const { declared, have, end } = oddity;
        const left =
          declared === null ? "inside a header" : `${declared - have} bytes before the end of a frame of ${declared}`;
        const who =
          end === "capture-ended"
            ? `the capture of the ${sideName(oddity.at)}'s direction`
            : `the ${sideName(oddity.at)}`;
        const hit = hitOf(connection, oddity, [`${who} ends ${left}`], `${sideName(oddity.at)} end`);
        // A cut frame is what it is, whatever was lost before it in the other direction.
        yield {
          ...hit,
          damaged: false,
          ...(end === "capture-ended" ? { severity: "warning", evidence: "damaged" } : {}),
        };
      }
    },
  },
  {
    id: "PW-03",
    severity: "error",
    sure: "high",
    statement: "No frame has length 0.",
    why: "An empty payload is no CBOR item, so it always ends the connection.",
    needs: "The direction from its start.",
    good: "The smallest frame in use has a payload of 17 bytes or more.",
    bad: "00 00 00 00.",
    remedy: "Send nothing instead: the protocol has no keep-alive frame.",
    *run(connection) {
      for (const oddity of odd(connection, "empty-frame")) {
        yield hitOf(connection, oddity, [`the ${sideName(oddity.at)} sends a frame of length 0`], frameName(oddity.at));
      }
    },
  },
]);
