/** The short facts at the head of a turn's block: what matters when a run went wrong. */
import { privately, type Words } from "../../core/printable.js";
import { isExact, isKnown, millisBetween } from "../../core/time.js";
import { count, plural, took } from "./format.js";
import type { CursorTurn } from "./turn.js";
import { kvHash } from "./turn-json.js";

/** Open items named one by one; more are counted. */
const named = 4;

export function factsOf(turn: CursorTurn): Words[] {
  const facts: Words[] = [];
  const add = (fact: Words) => {
    if (fact.length > 0) facts.push(fact);
  };
  add(clientFact(turn));
  add(blobFact(turn));
  add(checkpointFact(turn));
  add(endMarks(turn));
  add(whyItHung(turn));
  add(lastFrame(turn));
  add(lossFact(turn));
  return facts;
}

function clientFact(turn: CursorTurn): Words {
  const client = turn.clientFacts;
  const parts = [client?.type, client?.version, client?.userAgent].filter(
    (part) => part !== null && part !== undefined,
  );
  const context = turn.run === null || turn.run.context === "none" ? [] : [`context ${turn.run.context}`];
  const parent = client?.parentRequestId ?? null;
  const under = parent === null ? [] : [`subagent of request ${parent.slice(0, 8)}`];
  return [...parts, ...context, ...under].length === 0 ? [] : [[...parts, ...context, ...under].join(" · ")];
}

function blobFact(turn: CursorTurn): Words {
  const { kv } = turn.pairs;
  const sets = kv.filter((op) => op.op === "set");
  const gets = kv.filter((op) => op.op === "get");
  const parts: string[] = [];
  if (sets.length > 0) parts.push(`${count(sets.length)} set, ${verdicts(sets.map(kvHash))}`);
  if (gets.length > 0) parts.push(`${count(gets.length)} get, ${verdicts(gets.map(kvHash))}`);
  return parts.length === 0 ? [] : [parts.join("; ")];
}

function verdicts(hashes: readonly ("match" | "mismatch" | "absent")[]): string {
  const parts: string[] = [];
  for (const [verdict, says] of [
    ["match", "match"],
    ["mismatch", "DO NOT match"],
    ["absent", "without data"],
  ] as const) {
    const n = hashes.filter((hash) => hash === verdict).length;
    if (n > 0) parts.push(`${count(n)} ${says}`);
  }
  return parts.join(", ");
}

function checkpointFact(turn: CursorTurn): Words {
  const last = turn.checkpoints.at(-1);
  if (last === undefined) return [];
  const { closure, missing } = turn.services.blobs.closure(turn, turn.state(last));
  const parts = [plural(turn.checkpoints.length, "checkpoint"), `the last one ${closure}`];
  if (missing.length > 0) parts.push(`${plural(missing.length, "blob")} missing`);
  return [parts.join(", ")];
}

/** turn_ended, final checkpoint and EndStream are three facts (protocols/cursor.md 7). */
function endMarks(turn: CursorTurn): Words {
  const { call } = turn;
  if (call === null || call.downlink.frames.total === 0) return [];
  const ended = turn.down.find(({ detail }) => detail.type === "turn-ended");
  const checkpoint = turn.checkpoints.at(-1);
  const end = call.downlink.ends[0];
  const mark = (name: string, ordinal: number | undefined) =>
    `${name} ${ordinal === undefined ? "absent" : `frame ${count(ordinal + 1)}`}`;
  const marks = [
    mark("turn_ended", ended?.first),
    mark("final checkpoint", checkpoint?.ordinal),
    mark("EndStream", end?.ordinal),
  ];
  return [`of ${count(call.downlink.frames.total)} frames: ${marks.join(", ")}`];
}

function whyItHung(turn: CursorTurn): Words {
  const { open } = turn;
  if (open.length === 0) return [];
  const items = open
    .slice(0, named)
    .map((item) => `${item.family.replace("_", " ")} ${item.id} ${item.what} unanswered`);
  const more = open.length > named ? ` and ${count(open.length - named)} more` : "";
  const head = turn.outcome === "completed" ? "left open" : "why it hung";
  return [`${head}: ${items.join(", ")}${more}`];
}

/** What came last, where the stream did not end as it should. */
function lastFrame(turn: CursorTurn): Words {
  if (turn.outcome === "completed" || turn.call === null) return [];
  const last = turn.down.findLast(({ kind }) => kind !== "EndStream");
  const how = turn.ending.how === "" ? [] : [turn.ending.how];
  const error = turn.error === null ? [] : [`${turn.error.code}: `, privately(turn.error.message)];
  if (last === undefined) return [...how, ...(how.length > 0 && error.length > 0 ? [" · "] : []), ...error];
  const silent =
    isKnown(last.until) && isExact(last.until) && isKnown(turn.end) && isExact(turn.end)
      ? `, ${took(millisBetween(last.until.earliest, turn.end.earliest))} before the end`
      : "";
  const said = `last frame: ${last.kind}${silent}`;
  return [said, ...how.map((text) => ` · ${text}`), ...(error.length > 0 ? [" · ", ...error] : [])];
}

function lossFact(turn: CursorTurn): Words {
  if (turn.loss.length === 0) return [];
  const side = { up: "uplink", down: "downlink" } as const;
  return [`lost: ${turn.loss.map((loss) => `${side[loss.direction]} (${loss.why})`).join(", ")}`];
}
