/** PS-60 to PS-70: named branches, lanes, operations, labels and references. The pi page, section 13. */
import { type StoreHit, storeFamily } from "../rule.js";
import type { ScalarRow, StoredSession } from "./data.js";
import { knownNamespaces } from "./schema.js";

const noScalars = (session: StoredSession) =>
  session.has.has("scalar_values") ? null : "the table scalar_values is missing";
const noEntries = (session: StoredSession) => (session.has.has("entries") ? null : "the table entries is missing");
const noneOf = (session: StoredSession) => noScalars(session) ?? noEntries(session);

function inNamespace(session: StoredSession, namespace: string): ReadonlyMap<string, ScalarRow> {
  return new Map(session.scalars.filter((row) => row.namespace === namespace).map((row) => [row.key, row]));
}

function record(value: unknown): { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as { [key: string]: unknown })
    : {};
}

function* tipFaults(session: StoredSession): Generator<StoreHit> {
  for (const [name, row] of inNamespace(session, "pi.branch.tip")) {
    const { value } = row;
    if (value === null || (typeof value === "string" && session.byId.has(value))) continue;
    const what =
      typeof value === "string" ? `${value}, which is no entry` : "a value that is neither an entry id nor null";
    yield { statement: [`branch ${name} points to ${what}`], subject: `branch ${name}`, detail: { key: name } };
  }
}

function* laneFaults(session: StoredSession): Generator<StoreHit> {
  const parts = ["pi.branch.tip", "pi.lane.config", "pi.lane.state"].map((namespace) =>
    inNamespace(session, namespace),
  );
  const names = new Set(parts.flatMap((part) => [...part.keys()]));
  for (const name of [...names].sort()) {
    const [tip, config, state] = parts.map((part) => part.has(name));
    if (tip && config === state) continue;
    const there = [tip && "tip", config && "lane config", state && "lane state"].filter(Boolean).join(" and ");
    yield { statement: [`branch ${name} has only ${there}`], subject: `branch ${name}` };
  }
}

function* operationFaults(session: StoredSession): Generator<StoreHit> {
  const meta = inNamespace(session, "pi.op.meta");
  const state = inNamespace(session, "pi.op.state");
  for (const [name, row] of inNamespace(session, "pi.lane.state")) {
    const { currentOperationId: id } = record(row.value);
    if (typeof id !== "string") continue;
    const subject = `lane ${name}`;
    const missing = [meta.has(id) ? null : "pi.op.meta", state.has(id) ? null : "pi.op.state"].filter(
      (part) => part !== null,
    );
    if (missing.length > 0)
      yield { statement: [`lane ${name} runs operation ${id}, which has no ${missing.join(" and no ")}`], subject };
    const { operationId, lane } = record(meta.get(id)?.value);
    if (typeof operationId === "string" && operationId !== id) {
      yield { statement: [`pi.op.meta of ${id} says operation ${operationId}`], subject: `${subject} operation` };
    }
    if (typeof lane === "string" && lane !== name) {
      yield {
        statement: [`lane ${name} runs operation ${id}, whose meta says lane ${lane}`],
        subject: `${subject} name`,
      };
    }
  }
}

function* inboxFaults(session: StoredSession): Generator<StoreHit> {
  const pending = inNamespace(session, "pi.pending.entry");
  for (const [name, row] of inNamespace(session, "pi.lane.state")) {
    const { inbox } = record(row.value);
    if (!Array.isArray(inbox)) continue;
    for (const item of inbox) {
      const { entryId } = record(item);
      if (typeof entryId !== "string" || pending.has(entryId)) continue;
      const statement = [`the inbox of lane ${name} names ${entryId}, which has no pi.pending.entry`];
      yield { statement, subject: `lane ${name} inbox ${entryId}` };
    }
  }
}

export const valueRules = storeFamily<StoredSession>("Store: branches and values", [
  {
    id: "PS-60",
    severity: "error",
    sure: "high",
    statement: "Each named branch's tip is null or an entry of the session.",
    why: "A branch that points to nothing cannot be opened.",
    good: "Any entry, not only a leaf; null for a branch without entries.",
    bad: "An id that does not exist.",
    remedy: "Point the branch to an entry, or delete it.",
    untestable: noneOf,
    run: tipFaults,
  },
  {
    id: "PS-61",
    severity: "error",
    sure: "high",
    statement: "A named branch has a tip only, or a tip, a lane config and a lane state.",
    why: "Two of the three is a corrupt lane.",
    good: "A tip alone, or all three.",
    bad: "A lane config without a lane state.",
    remedy: null,
    untestable: noScalars,
    run: laneFaults,
  },
  {
    id: "PS-62",
    severity: "warning",
    sure: "mid",
    statement: "Labels belong to entries of the session.",
    why: "Nothing enforces it; a label of nothing is never shown.",
    good: "The key of pi.entry.label is an entry id.",
    bad: "A label for an entry of another session.",
    remedy: null,
    untestable: noneOf,
    *run(session) {
      for (const key of inNamespace(session, "pi.entry.label").keys()) {
        if (!session.byId.has(key))
          yield { statement: [`the label of ${key} belongs to no entry`], subject: `label ${key}` };
      }
    },
  },
  {
    id: "PS-63",
    severity: "error",
    sure: "high",
    statement: "A lane's current operation has its meta and state, and its meta names the operation and the lane.",
    why: "The harness takes up an interrupted run from these rows.",
    good: "currentOperationId with pi.op.meta and pi.op.state under the same id.",
    bad: "currentOperationId without pi.op.state.",
    remedy: null,
    untestable: noScalars,
    run: operationFaults,
  },
  {
    id: "PS-64",
    severity: "warning",
    sure: "mid",
    statement: "Each entry in a lane's inbox has its pi.pending.entry.",
    why: "The entry is written from there when its turn comes.",
    good: "An inbox id that is a key of pi.pending.entry.",
    bad: "An inbox id without one.",
    remedy: null,
    untestable: noScalars,
    run: inboxFaults,
  },
  {
    id: "PS-65",
    severity: "warning",
    sure: "low",
    statement: "Namespaces under pi are known ones.",
    why: "They are reserved, and one that is not known makes a fork fail.",
    good: "pi.branch.tip",
    bad: "pi.custom",
    remedy: "Keep application values in a namespace of the application's own.",
    *run(session) {
      const namespaces = new Set([...session.scalars, ...session.lists].map((row) => row.namespace));
      for (const name of [...namespaces].sort()) {
        if ((name !== "pi" && !name.startsWith("pi.")) || knownNamespaces.has(name)) continue;
        yield { statement: [`the namespace ${name} is not known`], subject: `namespace ${name}` };
      }
    },
  },
  {
    id: "PS-66",
    severity: "warning",
    sure: "mid",
    statement: "A branch summary's fromId is null or an entry.",
    why: "In a fork of a branch the summarised entry stays behind, so there it is right.",
    good: "The entry that was left when the branch was navigated back.",
    bad: "An id that does not exist, in a session that is no fork.",
    remedy: null,
    untestable: noEntries,
    *run(session) {
      for (const entry of session.entries) {
        const { fromId } = entry.payload;
        if (typeof fromId !== "string" || session.byId.has(fromId)) continue;
        const statement = [`branch summary ${entry.id} summarises ${fromId}, which is not in the session`];
        const hit = { statement, subject: `entry ${entry.id}` };
        yield session.row.parent === null ? hit : { ...hit, severity: "info" };
      }
    },
  },
  {
    id: "PS-70",
    severity: "info",
    sure: "high",
    statement: "parent_session_id, when set, names another session, which may not be at hand.",
    why: "A fork stands on its own; its source is only history.",
    good: "A session of the same folder.",
    bad: "Nothing: the source may be gone.",
    remedy: null,
    *run({ row, known }) {
      if (row.parent === null) return;
      if (row.parent === row.id)
        yield { statement: [`session ${row.id} names itself as its source`], subject: "parent" };
      else if (!known.has(row.parent)) {
        yield {
          statement: [`session ${row.id} was forked from ${row.parent}, which is not among these stores`],
          subject: "parent",
        };
      }
    },
  },
]);
