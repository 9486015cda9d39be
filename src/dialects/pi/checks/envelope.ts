/** PW-20 and PW-21: the item is an envelope of its direction. The pi page, section 4. */
import { family, frameName, hitOf, odd, sideName } from "./rule.js";

export const envelopeRules = family("Envelope", [
  {
    id: "PW-20",
    severity: "error",
    sure: "high",
    statement: "The item is one of the envelopes of its direction, with exactly its fields and types.",
    why: "Envelopes refuse unknown and missing properties, and a refused one ends the connection.",
    needs: "A whole frame that decodes.",
    good: '{ "type": "hello", "version": 8 } from the client.',
    bad: 'A success response that also has "error"; two of the three fields of a session target.',
    remedy: "Send the fields of the table and no others; put extensions inside call, result or update.",
    *run(connection) {
      for (const oddity of odd(connection, "bad-envelope")) {
        const { fault } = oddity;
        const where = fault.path === "" ? "" : `${fault.path} `;
        const statement = [
          `${frameName(oddity.at)} is no envelope of the ${sideName(oddity.at)}: ${where}${fault.says}`,
        ];
        yield {
          ...hitOf(connection, oddity, statement, frameName(oddity.at)),
          damaged: false,
          detail: { path: fault.path },
        };
      }
    },
  },
  {
    id: "PW-21",
    severity: "error",
    sure: "high",
    statement: "No envelope holds a byte string.",
    why: "The CBOR layer decodes it and the envelope's JSON test then refuses the message.",
    needs: "A whole frame that decodes.",
    good: "Binary content as text, in base64.",
    bad: "A byte string among a call's arguments.",
    remedy: "Encode bytes as text.",
    *run(connection) {
      for (const oddity of odd(connection, "byte-string")) {
        const statement = [`${frameName(oddity.at)} holds a byte string at byte ${oddity.offset} of the payload`];
        yield { ...hitOf(connection, oddity, statement, frameName(oddity.at)), damaged: false };
      }
    },
  },
]);
