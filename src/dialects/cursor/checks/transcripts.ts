/** Stored transcripts against what was streamed (protocols/cursor.md 5, U11, U12, U14, U15). */
import { hex } from "../../../core/bytes.js";
import type { ProtoMessage } from "../../../model/schema.js";
import { int, isMessage, listOf, sub, text } from "../fields.js";
import { count, plural } from "../format.js";
import type { CursorTurn } from "../turn.js";
import { JSON_MESSAGE, STEP } from "../types.js";
import { lastAgentTurn } from "./conversations.js";
import { type OpenedMessage, openMessage } from "./json-messages.js";
import { type CursorRule, examples, type Judgement } from "./rule.js";
import { idsOf, ownSets } from "./states.js";

/** Steps of the last turn that this run set, decoded; a reason where the capture does not hold them. */
function ownSteps(turn: CursorTurn): readonly ProtoMessage[] | string {
  if (turn.outcome !== "completed") return `the run did not end successfully (${turn.outcome})`;
  if (turn.lost("down")) return "part of the downlink is lost";
  const agent = lastAgentTurn(turn);
  if (agent === undefined) return "the last turn of the final checkpoint is not in the capture";
  const sets = ownSets(turn);
  const { graph } = turn.services.blobs;
  const steps: ProtoMessage[] = [];
  for (const value of listOf(agent, "steps")) {
    const id = value instanceof Uint8Array ? hex(value) : "";
    if (!sets.has(id)) continue;
    const step = graph.message(id, STEP);
    if (step === undefined) return "a step of the last turn is not in the capture";
    steps.push(step);
  }
  return steps.length === 0 ? "this run sets no step" : steps;
}

function* sameText(turn: CursorTurn): Generator<Judgement> {
  const steps = ownSteps(turn);
  if (typeof steps === "string") {
    yield { why: steps };
    return;
  }
  for (const [branch, streamed] of [
    ["assistant_message", turn.text],
    ["thinking_message", turn.thinking],
  ] as const) {
    const stored = steps.map((step) => text(sub(step, branch), "text")).join("");
    if (stored === streamed) continue;
    const at = firstDifference(stored, streamed);
    yield {
      says: [
        `${branch}: ${count(stored.length)} characters are stored, ${count(streamed.length)} were streamed; they differ from character ${count(at)} on`,
      ],
      places: [turn.checkpoints.at(-1)!.place],
      subject: branch,
    };
  }
}

function firstDifference(a: string, b: string): number {
  const most = Math.min(a.length, b.length);
  for (let i = 0; i < most; i++) if (a[i] !== b[i]) return i;
  return most;
}

function* sameCalls(turn: CursorTurn): Generator<Judgement> {
  const steps = ownSteps(turn);
  if (typeof steps === "string") {
    yield { why: steps };
    return;
  }
  const stored = steps.map((step) => text(sub(step, "tool_call"), "tool_call_id")).filter((id) => id !== "");
  const completed = new Set(
    turn.pairs.tools
      .filter((call) => call.scope === "" && call.events.some(({ event }) => event.event === "completed"))
      .map((call) => call.callId),
  );
  if (stored.length === 0) {
    yield { why: "no stored step names its tool_call_id" };
    return;
  }
  const extra = stored.filter((id) => !completed.has(id));
  const missing = [...completed].filter((id) => !stored.includes(id));
  if (extra.length === 0 && missing.length === 0) return;
  yield {
    says: [
      `the last turn stores ${plural(stored.length, "tool call")}, ${count(completed.size)} were completed: ${examples([...extra, ...missing], 4)}`,
    ],
    places: [turn.checkpoints.at(-1)!.place],
    subject: "tool calls",
  };
}

function modelMessage(turn: CursorTurn, id: string): OpenedMessage | undefined {
  if (turn.services.blobs.typeOf(id) !== JSON_MESSAGE) return undefined;
  const message = openMessage(turn, id);
  return message?.parses === true ? message : undefined;
}

function* answersCalls(turn: CursorTurn): Generator<Judgement> {
  const last = turn.checkpoints.at(-1);
  if (last === undefined) {
    yield { why: "this turn has no checkpoint" };
    return;
  }
  const sets = ownSets(turn);
  const roots = idsOf(turn.state(last), "root_prompt_messages_json");
  let seen = 0;
  let asked: ReadonlySet<string> | null = null;
  for (const id of roots) {
    const message: OpenedMessage | undefined = sets.has(id) ? modelMessage(turn, id) : undefined;
    if (message === undefined) asked = null;
    else if (message.role === "assistant") asked = new Set(message.calls);
    else if (message.role === "tool" && asked !== null && message.calls.length > 0) {
      const known = asked;
      seen++;
      const stray = message.calls.find((call) => !known.has(call));
      if (stray === undefined) continue;
      yield {
        says: [`a tool message answers ${stray}, which the assistant message before it did not call`],
        places: [last.place],
        subject: `tool message ${seen}`,
      };
    }
  }
  if (seen === 0) yield { why: "no tool message of this run is in the capture" };
}

function* updatePositions(turn: CursorTurn): Generator<Judgement> {
  const last = turn.checkpoints.at(-1);
  const agent = lastAgentTurn(turn);
  const history = last === undefined ? [] : listOf(turn.state(last), "communicate_update_history").filter(isMessage);
  if (last === undefined || agent === undefined || history.length === 0) {
    yield { why: "no communicate_update of a turn that the capture holds" };
    return;
  }
  const steps = listOf(agent, "steps").length;
  const wrong = history.map((entry) => int(entry, "message_index")).filter((index) => index < 1 || index > steps);
  if (wrong.length === 0) return;
  yield {
    says: [
      `communicate_update_history names ${examples(wrong)} as message_index, the turn has ${plural(steps, "step")}`,
    ],
    places: [last.place],
    subject: "message_index",
  };
}

const rule = (data: Omit<CursorRule, "family" | "class" | "implies" | "source"> & Partial<CursorRule>): CursorRule => ({
  family: "Interaction and tool calls",
  class: "check",
  implies: [],
  source: "protocols/cursor.md 5 U, 2.15",
  ...data,
});

export const transcriptRules: readonly CursorRule[] = [
  rule({
    id: "cursor/U11",
    severity: "warning",
    statement:
      "The streamed text of a run, server notices left out, is the text of its stored assistant steps; the same for thinking.",
    why: "What the user read is not what the next turn remembers.",
    needs: "a completed run whose steps the capture holds",
    good: '"Hello" streamed and stored',
    bad: '"Hello" streamed, "Hell" stored',
    remedy: "build the step from the deltas that were sent",
    turn: sameText,
  }),
  rule({
    id: "cursor/U12",
    severity: "info",
    statement: "The tool calls of the last turn are the completed call ids of the run.",
    why: "A call that is shown and not stored is repeated by the model.",
    needs: "a completed run whose steps the capture holds, with tool calls",
    good: "c1, c2 completed and stored",
    bad: "c1, c2 completed, c1 stored",
    remedy: null,
    turn: sameCalls,
  }),
  rule({
    id: "cursor/U14",
    severity: "info",
    statement: "In the model transcript each tool message answers a call of the assistant message before it.",
    why: "Providers refuse a transcript with stray tool results.",
    needs: "tool messages of this run",
    good: "assistant calls c1, tool answers c1",
    bad: "assistant calls c1, tool answers c9",
    remedy: null,
    turn: answersCalls,
  }),
  rule({
    id: "cursor/U15",
    severity: "warning",
    statement: "message_index of a communicate_update is the 1-based position of its step in the turn.",
    why: "The update is shown beside the wrong step.",
    needs: "communicate_update_history and the turn's steps",
    good: "index 3 of 5 steps",
    bad: "index 9 of 5 steps",
    remedy: null,
    turn: updatePositions,
  }),
];
