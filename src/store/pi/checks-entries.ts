/** PS-10 to PS-22: entries, their parents and payloads, and the numbers all rows share. The pi page, section 13. */
import { type StoreHit, storeFamily } from "../rule.js";
import type { EntryRow, StoredSession } from "./data.js";
import { entryTypes } from "./schema.js";
import { numbered, structureOf } from "./structure.js";

const noEntries = (session: StoredSession) => (session.has.has("entries") ? null : "the table entries is missing");

function* payloadFaults(entry: EntryRow): Generator<StoreHit> {
  const { fault, extra } = entry.payload;
  const subject = `entry ${entry.id} payload`;
  if (fault !== null) yield { statement: [`the payload of ${entry.type} entry ${entry.id} ${fault}`], subject };
  if (extra.length === 0) return;
  const statement = [
    `the payload of ${entry.type} entry ${entry.id} has further fields: ${extra.slice(0, 5).join(", ")}`,
  ];
  yield { statement, subject: `${subject} fields`, severity: "warning" };
}

export const entryRules = storeFamily<StoredSession>("Store: entries", [
  {
    id: "PS-10",
    severity: "error",
    sure: "high",
    statement: "A parent_id that is not NULL exists in the same session.",
    why: "The branch of such an entry cannot be walked to its root.",
    good: "parent_id names an entry with a lower seq.",
    bad: "parent_id edited to an id that is not there: the trigger guards inserts only.",
    remedy: "Restore the parent, or the session from a copy.",
    untestable: noEntries,
    *run(session) {
      for (const entry of structureOf(session).orphans) {
        const statement = [`entry ${entry.id} (seq ${entry.seq}) has the parent ${entry.parent}, which does not exist`];
        yield { statement, subject: `entry ${entry.id}` };
      }
    },
  },
  {
    id: "PS-11",
    severity: "error",
    sure: "high",
    statement: "A parent's seq is lower than its child's.",
    why: "Entries are written after their parents, also within one commit.",
    good: "4, then 6.",
    bad: "A child at 5 with its parent at 9.",
    remedy: "Restore the session from a copy.",
    untestable: noEntries,
    *run(session) {
      for (const { entry, parent } of structureOf(session).misordered) {
        const statement = [`entry ${entry.id} has seq ${entry.seq}, its parent ${parent.id} has ${parent.seq}`];
        yield { statement, subject: `entry ${entry.id}` };
      }
    },
  },
  {
    id: "PS-12",
    severity: "error",
    sure: "high",
    statement: "No chain of parents leads back to its start.",
    why: "Walking such a branch never ends.",
    good: "Every chain ends at an entry without a parent.",
    bad: "Two entries that name each other.",
    remedy: "Restore the session from a copy.",
    implies: ["PS-11"],
    untestable: noEntries,
    *run(session) {
      for (const cycle of structureOf(session).cycles) {
        const shown =
          cycle.length > 4 ? `${cycle.slice(0, 4).join(", ")} and ${cycle.length - 4} more` : cycle.join(", ");
        yield {
          statement: [`${cycle.length} entries are each other's ancestors: ${shown}`],
          subject: `cycle ${cycle[0]}`,
        };
      }
    },
  },
  {
    id: "PS-13",
    severity: "error",
    sure: "high",
    statement: "type is one of four, and custom_type is set exactly for custom.",
    why: "The type decides how the payload is read.",
    good: "custom with custom_type demo.note.",
    bad: "message with a custom_type.",
    remedy: null,
    untestable: noEntries,
    *run(session) {
      for (const { id, type, customType } of session.entries) {
        const subject = `entry ${id}`;
        if (!entryTypes.has(type)) yield { statement: [`entry ${id} has the unknown type "${type}"`], subject };
        else if ((type === "custom") !== (customType !== null)) {
          const how = customType === null ? "has no custom_type" : `has the custom_type "${customType}"`;
          yield { statement: [`${type} entry ${id} ${how}`], subject };
        }
      }
    },
  },
  {
    id: "PS-14",
    severity: "error",
    sure: "high",
    statement: "The payload is JSON of the shape of its type; further fields are a warning.",
    why: "A payload that cannot be read takes its branch with it.",
    good: '{ "message": { "role": "user", … } }',
    bad: "Text that is no JSON.",
    remedy: null,
    untestable: noEntries,
    *run(session) {
      for (const entry of session.entries) yield* payloadFaults(entry);
    },
  },
  {
    id: "PS-20",
    severity: "error",
    sure: "high",
    statement: "seq is unique over entries, scalar values, list elements and usage rows.",
    why: "All four take their numbers from one counter.",
    good: "Each number once.",
    bad: "An entry and a usage row with seq 7.",
    remedy: "Look for two processes that wrote to the session at once.",
    *run(session) {
      const rows = numbered(session);
      for (let i = 1; i < rows.length; i++) {
        const [before, row] = [rows[i - 1]!, rows[i]!];
        if (row.seq === before.seq)
          yield { statement: [`${before.what} and ${row.what} both have seq ${row.seq}`], subject: `seq ${row.seq}` };
      }
    },
  },
  {
    id: "PS-21",
    severity: "error",
    sure: "high",
    statement: "Every seq is at least 1 and below next_seq.",
    why: "The next write would take a number that is already in use.",
    good: "next_seq 50, greatest seq 49.",
    bad: "next_seq 40, greatest seq 49.",
    remedy: "Set next_seq above every seq in use.",
    *run(session) {
      const { nextSeq } = session.row;
      const bad = numbered(session).filter(({ seq }) => !(seq >= 1 && seq < nextSeq));
      const last = bad[bad.length - 1];
      if (last === undefined) return;
      const others = bad.length === 1 ? "" : ` and ${bad.length - 1} other rows`;
      const seq = Number.isNaN(last.seq) ? "no integer" : last.seq;
      const statement = [
        `next_seq is ${Number.isNaN(nextSeq) ? "no integer" : nextSeq}, and ${last.what} has seq ${seq}${others}`,
      ];
      yield { statement, subject: "next_seq", detail: { rows: bad.length } };
    },
  },
  {
    id: "PS-22",
    severity: "info",
    sure: "high",
    statement: "Gaps in the numbers are reported, never judged.",
    why: "Overwritten and deleted values leave gaps, most of them old branch tips.",
    good: "No gap in a session that was only appended to.",
    bad: "Nothing: gaps are normal.",
    remedy: null,
    *run(session) {
      let expected = 1;
      let gaps = 0;
      const first: number[] = [];
      for (const { seq } of numbered(session)) {
        if (!(seq >= expected)) continue;
        gaps += seq - expected;
        for (let missing = expected; missing < seq && first.length < 5; missing++) first.push(missing);
        expected = seq + 1;
      }
      if (gaps === 0) return;
      const more = gaps > first.length ? ", …" : "";
      yield {
        statement: [`${gaps} numbers are not in use: ${first.join(", ")}${more}`],
        subject: "gaps",
        detail: { gaps },
      };
    },
  },
]);
