/**
 * The transcript channel (what the web UI subscribes to): operations on turns, steps and frames instead of classic events. kimi.md 3.6.
 * Turn ids there are `t0`, `t1`, …; turn N equals turnId N of the classic events.
 */
import type { TurnError } from "../../model/conversation.js";
import { at, canonical, contentText, listAt, numberAt, textAt } from "./json.js";
import type { TurnBuilder } from "./turn-builder.js";
import type { SessionEventIn } from "./turn-events.js";

interface TurnAccess {
  /** Known or new. */
  turn(turnId: string): TurnBuilder;
  known(turnId: string): TurnBuilder | undefined;
  current(): TurnBuilder | null;
}

export function applyTranscript(event: SessionEventIn, access: TurnAccess): void {
  if (event.type === "transcript.reset") {
    for (const item of listAt(event.payload, "snapshot", "items")) applySnapshotItem(item, access);
    return;
  }
  for (const op of listAt(event.payload, "ops")) applyOp(op, event, access);
}

/** A snapshot tells of turns that ran before; only one still running goes on in this capture. */
function applySnapshotItem(item: unknown, access: TurnAccess): void {
  const id = turnNumber(textAt(item, "turnId"));
  if (textAt(item, "kind") !== "turn" || textAt(item, "state") !== "running" || id === null) return;
  const turn = access.turn(id);
  turn.lose({ direction: "down", why: "not-captured" });
  for (const step of listAt(item, "steps")) for (const frame of listAt(step, "frames")) upsertFrame(turn, frame);
}

function applyOp(op: unknown, event: SessionEventIn, access: TurnAccess): void {
  switch (textAt(op, "op")) {
    case "turn.upsert":
      return upsertTurn(at(op, "turn"), event, access);
    case "step.upsert":
      return upsertStep(op, event, access);
    case "frame.upsert":
      return upsertToolOrText(op, event, access);
    case "append":
      return append(op, access);
    case "prompt.upsert":
      return upsertPrompt(at(op, "prompt"), access);
    case "meta.merge":
      return mergeMeta(at(op, "meta"), access);
    case "interaction.upsert":
      return upsertInteraction(at(op, "interaction"), event, access);
    default:
      return;
  }
}

/** `t0` -> "0". */
function turnNumber(text: string | null): string | null {
  const match = text === null ? null : /^t(\d+)$/.exec(text);
  return match === null ? null : match[1]!;
}

function upsertTurn(turnValue: unknown, event: SessionEventIn, access: TurnAccess): void {
  const id = turnNumber(textAt(turnValue, "turnId"));
  if (id === null) return;
  const isNew = access.known(id) === undefined;
  const turn = access.turn(id);
  if (isNew) {
    turn.start = event.when;
    turn.startSeen = true;
  }
  turn.promptId ??= textAt(turnValue, "triggerPromptId");
  turn.action ??= textAt(turnValue, "origin", "kind");
  const state = textAt(turnValue, "state");
  if (state === null || state === "running" || turn.endSeen) return;
  turn.endSeen = true;
  turn.end = event.when;
  turn.reason = state === "canceled" ? "cancelled" : state;
  turn.error = errorOf(turnValue);
}

function errorOf(value: unknown): TurnError | null {
  const code = textAt(value, "error", "code");
  return code === null ? null : { code, message: textAt(value, "error", "message") ?? "" };
}

function upsertStep(op: unknown, event: SessionEventIn, access: TurnAccess): void {
  const id = turnNumber(textAt(op, "turnId"));
  if (id === null) return;
  const turn = access.turn(id);
  const ordinal = numberAt(op, "step", "ordinal") ?? -1;
  const state = textAt(op, "step", "state");
  if (state === "running") turn.stepsOpen.set(ordinal, event.place);
  else if (turn.stepsOpen.delete(ordinal) || state === "completed") addStepUsage(turn, at(op, "step", "usage"));
}

function addStepUsage(turn: TurnBuilder, usage: unknown): void {
  const output = numberAt(usage, "output");
  if (output === null) return;
  const read = numberAt(usage, "inputCacheRead") ?? 0;
  const write = numberAt(usage, "inputCacheCreation") ?? 0;
  turn.addUsage((numberAt(usage, "inputOther") ?? 0) + read + write, output, read, write);
}

function upsertToolOrText(op: unknown, event: SessionEventIn, access: TurnAccess): void {
  const id = turnNumber(textAt(op, "turnId"));
  const frame = at(op, "frame");
  if (id === null) return;
  const turn = access.turn(id);
  if (textAt(frame, "kind") !== "tool") return upsertFrame(turn, frame);
  const callId = textAt(frame, "toolCallId");
  if (callId === null) return;
  const call = turn.tool(callId, event.place);
  call.name = textAt(frame, "name") ?? call.name;
  const state = textAt(frame, "state");
  if (at(frame, "input") !== undefined) call.args = canonical(at(frame, "input"));
  if (call.started === null && state !== "streaming" && state !== "pending") call.started = event.when;
  if (call.ended === null && (state === "done" || state === "error" || state === "failed")) {
    call.ended = event.when;
    call.results++;
    call.isError = state !== "done" || at(frame, "isError") === true;
  }
}

function upsertFrame(turn: TurnBuilder, frame: unknown): void {
  const id = textAt(frame, "frameId");
  const kind = textAt(frame, "kind");
  if (id === null || kind === null || kind === "tool") return;
  const text = textAt(frame, "text") ?? textAt(frame, "thinking") ?? "";
  const known = turn.frames.get(id);
  if (known === undefined) turn.frames.set(id, { kind, text });
  else if (text !== "" || known.text === "") known.text = text;
}

/** Text at a UTF-16 offset of a frame; what is there already is not written twice. */
function append(op: unknown, access: TurnAccess): void {
  const id = turnNumber(textAt(op, "target", "turnId"));
  const frameId = textAt(op, "target", "frameId");
  const text = textAt(op, "text");
  if (id === null || frameId === null || text === null) return;
  const turn = access.turn(id);
  let frame = turn.frames.get(frameId);
  if (frame === undefined) {
    frame = { kind: "text", text: "" };
    turn.frames.set(frameId, frame);
  }
  const offset = numberAt(op, "offset") ?? frame.text.length;
  if (offset > frame.text.length) {
    turn.lose({ direction: "down", why: "not-captured" });
    frame.text += text;
  } else frame.text += text.slice(frame.text.length - offset);
}

function upsertPrompt(prompt: unknown, access: TurnAccess): void {
  const id = textAt(prompt, "promptId");
  const turn = access.current();
  if (id === null || turn === null || (turn.promptId !== null && turn.promptId !== id)) return;
  turn.promptId = id;
  turn.prompt ??= contentText(at(prompt, "content"));
}

function mergeMeta(meta: unknown, access: TurnAccess): void {
  const turn = access.current();
  const model = textAt(meta, "agent", "model");
  if (turn !== null && model !== null) turn.model ??= model;
}

function upsertInteraction(interaction: unknown, event: SessionEventIn, access: TurnAccess): void {
  const id = textAt(interaction, "interactionId");
  const turnId = numberAt(interaction, "request", "turnId");
  const turn = turnId === null ? access.current() : access.known(String(turnId));
  if (id === null || turn === null || turn === undefined) return;
  const known = turn.asks.get(id);
  const pending = textAt(interaction, "state") === "pending";
  const family = textAt(interaction, "interactionKind") ?? "approval";
  const what = textAt(interaction, "request", "toolName") ?? family;
  if (known === undefined)
    turn.asks.set(id, { when: event.when, place: event.place, what, answered: !pending, family });
  else if (!pending) known.answered = true;
}
