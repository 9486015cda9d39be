/** PW-10 to PW-12: every payload is one strict CBOR item. The pi page, section 3. */
import type { CborFaultKind } from "../../../decode/cbor.js";
import type { Connection } from "../connection.js";
import { family, frameName, type Hit, hitOf, odd, sideName } from "./rule.js";

/** Faults that the limits make, not the grammar. */
const limitFaults: ReadonlySet<CborFaultKind> = new Set(["depth", "container"]);

function* faults(connection: Connection, limits: boolean): Generator<Hit> {
  for (const oddity of odd(connection, "bad-cbor")) {
    const { fault } = oddity;
    if (limitFaults.has(fault.kind) !== limits) continue;
    const start = (oddity.at.place.start ?? 0) + 4 + fault.offset;
    const statement = [
      `${frameName(oddity.at)}: ${fault.says}, at byte ${fault.offset} of the payload (byte ${start} of the ${sideName(oddity.at)}'s stream)`,
    ];
    const hit = hitOf(connection, oddity, statement, frameName(oddity.at));
    // The bytes of the frame itself are all there: nothing lost elsewhere can excuse them.
    yield { ...hit, damaged: false, detail: { fault: fault.kind, offset: fault.offset } };
  }
}

export const cborRules = family("CBOR", [
  {
    id: "PW-10",
    severity: "error",
    sure: "high",
    statement: "Every payload is exactly one CBOR item of the strict subset.",
    why: "Anything else is fatal for the connection: the receiver closes, a server after a hello_error.",
    needs: "A whole frame.",
    good: "A definite map with text keys, 64-bit floats only where a number is no integer.",
    bad: "A tag, an indefinite length, undefined, a half float, a duplicate key, or bytes after the item.",
    remedy: "Encode with definite lengths, text keys, safe integers and 64-bit floats; use no tags.",
    run: (connection) => faults(connection, false),
  },
  {
    id: "PW-11",
    severity: "info",
    sure: "high",
    statement: "Re-encoding the payload in shortest form, keys in their order, gives the same bytes.",
    why: "Receivers accept longer forms, so it only tells that the sender is not the published encoder.",
    needs: "A whole frame that decodes.",
    good: "5 as 05.",
    bad: "5 as 18 05, or 3 as a float.",
    remedy: null,
    *run(connection) {
      const forms = { integer: "an integer", length: "a length", float: "an integral number written as a float" };
      for (const oddity of odd(connection, "not-shortest")) {
        const { remark } = oddity;
        const statement = [
          `${frameName(oddity.at)}: ${forms[remark.what]} not in shortest form at byte ${remark.offset} of the payload`,
        ];
        yield { ...hitOf(connection, oddity, statement, frameName(oddity.at)), damaged: false };
      }
    },
  },
  {
    id: "PW-12",
    severity: "error",
    sure: "high",
    statement: "Nesting is at most 64 deep, and a container has at most 1,000,000 entries.",
    why: "Both are checked while reading and are fatal for the connection.",
    needs: "A whole frame.",
    good: "An argument that adds 61 containers around one scalar.",
    bad: "One container more.",
    remedy: "Flatten the value, or split a long list over several calls.",
    run: (connection) => faults(connection, true),
  },
]);
