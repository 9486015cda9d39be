/** PS-30 to PS-32, PS-50, PS-51: the usage ledger and the session's figures. The pi page, section 13. */
import { storeFamily } from "../rule.js";
import type { StoredSession, UsageRow } from "./data.js";
import { compareUsage, sumUsage, type UsageFigures } from "./usage.js";

const noLedger = (session: StoredSession) =>
  session.has.has("usage_ledger") ? null : "the table usage_ledger is missing";
const noEntries = (session: StoredSession) => (session.has.has("entries") ? null : "the table entries is missing");

function broken(rows: readonly UsageRow[]): UsageRow | undefined {
  return rows.find((row) => "fault" in row.usage);
}

export const ledgerRules = storeFamily<StoredSession>("Store: usage", [
  {
    id: "PS-30",
    severity: "error",
    sure: "high",
    statement: "No id is both an entry's and a usage row's.",
    why: "Entries and usage rows share one namespace of ids.",
    good: "Different ids.",
    bad: "A usage row with the id of the entry it belongs to.",
    remedy: null,
    untestable: (session) => noLedger(session) ?? noEntries(session),
    *run(session) {
      for (const row of session.usage) {
        if (session.byId.has(row.id))
          yield { statement: [`${row.id} is an entry and a usage row`], subject: `id ${row.id}` };
      }
    },
  },
  {
    id: "PS-31",
    severity: "warning",
    sure: "mid",
    statement: "A usage row's entry_id, when set, is an entry with a lower seq.",
    why: "The figures belong to the message that was written just before them.",
    good: "Entry at 6, its usage at 7.",
    bad: "entry_id names nothing in the session.",
    remedy: null,
    untestable: (session) => noLedger(session) ?? noEntries(session),
    *run(session) {
      for (const row of session.usage) {
        if (row.entryId === null) continue;
        const entry = session.byId.get(row.entryId);
        const subject = `usage ${row.id}`;
        if (entry === undefined)
          yield { statement: [`usage ${row.id} is of entry ${row.entryId}, which does not exist`], subject };
        else if (!(entry.seq < row.seq)) {
          const statement = [`usage ${row.id} has seq ${row.seq}, its entry ${entry.id} has ${entry.seq}`];
          yield { statement, subject };
        }
      }
    },
  },
  {
    id: "PS-32",
    severity: "error",
    sure: "high",
    statement: "Usage is JSON with its numbers, and adjustment is 0 or 1.",
    why: "The session's totals are summed from these figures.",
    good: '{ "input": 10, …, "cost": { … } }',
    bad: "No totalTokens.",
    remedy: null,
    untestable: noLedger,
    *run(session) {
      for (const row of session.usage) {
        if ("fault" in row.usage)
          yield { statement: [`usage ${row.id} ${row.usage.fault}`], subject: `usage ${row.id}` };
        if (row.adjustment === 0 || row.adjustment === 1) continue;
        const statement = [`usage ${row.id} has the adjustment ${String(row.adjustment)}`];
        yield { statement, subject: `usage ${row.id} adjustment` };
      }
    },
  },
  {
    id: "PS-50",
    severity: "error",
    sure: "high",
    statement: "message_count is the number of message entries.",
    why: "Session lists show it without reading the entries.",
    good: "13 messages, message_count 13.",
    bad: "13 messages, message_count 14.",
    remedy: "Count again and store the number.",
    untestable: noEntries,
    *run(session) {
      const count = session.entries.filter((entry) => entry.type === "message").length;
      if (Number(session.row.messageCount) === count) return;
      const statement = [
        `message_count is ${String(session.row.messageCount)}, and there are ${count} message entries`,
      ];
      yield { statement, subject: "message_count" };
    },
  },
  {
    id: "PS-51",
    severity: "error",
    sure: "high",
    statement: "usage_payload is the sum of the ledger, row by row in the order of seq, in double precision.",
    why: "Costs are added as doubles, so only the same order gives the same sum.",
    good: "All figures equal to the recount.",
    bad: "output one higher than the rows give.",
    remedy: "Sum the ledger again and store the result.",
    untestable(session) {
      const row = broken(session.usage);
      return noLedger(session) ?? (row === undefined ? null : `usage ${row.id} cannot be read`);
    },
    *run(session) {
      const { usage } = session.row;
      if ("fault" in usage) {
        yield { statement: [`usage_payload ${usage.fault}`], subject: "usage_payload" };
        return;
      }
      const due = sumUsage(session.usage.map((row) => row.usage as UsageFigures));
      const differences = compareUsage(usage.figures, due);
      if (differences.length === 0) return;
      yield {
        statement: [`usage_payload is not the sum of the ledger: ${differences.join("; ")}`],
        subject: "usage_payload",
      };
    },
  },
]);
