/** The contract's Turn object, keys in its order. */
import { hex } from "../../core/bytes.js";
import type { Place } from "../../core/place.js";
import { type Printable, privately } from "../../core/printable.js";
import { isExact, isKnown, isoTime, type When } from "../../core/time.js";
import { listOf } from "./fields.js";
import { clientHeartbeats, type Heartbeats, serverHeartbeats } from "./heartbeats.js";
import type { Checkpoint, UpItem } from "./model.js";
import { type ExecCall, exactMillis, execAnswer, type KvOp, toolTimes } from "./pairs.js";
import type { CursorTurn } from "./turn.js";

type Json = { [key: string]: Printable };

export function turnJson(turn: CursorTurn): Json {
  return {
    ...identity(turn),
    ...ending(turn),
    model: turn.model,
    action: turn.action,
    prompt: turn.prompt === null ? null : privately(turn.prompt),
    ...traffic(turn),
    ...pairing(turn),
    heartbeats: {
      client: beats(clientHeartbeats(turn.uplink)),
      server: beats(serverHeartbeats(turn.call)),
    },
    text: privately(turn.text),
    thinking: privately(turn.thinking),
    usage: turn.usage === null ? null : { ...turn.usage },
    loss: turn.loss.map((loss) => ({ direction: loss.direction, why: loss.why })),
    recovered: [...turn.recovered],
  };
}

function identity(turn: CursorTurn): Json {
  const client = turn.clientFacts;
  return {
    dialect: turn.dialect,
    conversationId: turn.conversationId,
    requestId: turn.requestId,
    epoch: turn.epochNumber,
    runId: turn.runId,
    index: turn.index,
    attempt: turn.attempt,
    retryOf: turn.retryOf,
    parentRequestId: turn.parentRequestId,
    parentToolCallId: client?.parentToolCallId ?? null,
    transport: turn.transport,
    http: turn.http,
    client: { userAgent: client?.userAgent ?? null, version: client?.version ?? null, type: client?.type ?? null },
  };
}

/** Of an interval the end that bounds it: a start's earliest, an end's latest time. */
function instant(when: When, edge: "earliest" | "latest"): Json {
  return { at: isKnown(when) ? isoTime(when[edge]) : null, exact: isKnown(when) && isExact(when) };
}

function ending(turn: CursorTurn): Json {
  const { error } = turn;
  return {
    start: instant(turn.start, "earliest"),
    end: instant(turn.end, "latest"),
    durationMs: turn.durationMs,
    outcome: turn.outcome,
    error: error === null ? null : { code: error.code, message: privately(error.message) },
  };
}

function traffic(turn: CursorTurn): Json {
  const downlink = turn.call?.downlink;
  const frames = downlink?.frames;
  const up: { [kind: string]: number } = Object.create(null);
  for (const item of turn.uplink) up[item.kind] = (up[item.kind] ?? 0) + 1;
  const flags = [...(frames?.byFlags ?? [])].sort(([a], [b]) => a - b);
  return {
    frames: {
      total: frames?.total ?? 0,
      byFlags: fromEntries(flags.map(([flag, count]) => [String(flag), count])),
      wireBytes: frames?.wireBytes ?? 0,
      bodyBytes: frames?.bodyBytes ?? 0,
    },
    down: fromEntries([...(downlink?.kinds ?? [])]),
    up,
    appends: turn.uplink.map(append),
  };
}

function fromEntries(entries: readonly (readonly [string, Printable])[]): Json {
  const out: Json = Object.create(null);
  for (const [key, value] of entries) out[key] = value;
  return out;
}

function append(item: UpItem): Json {
  const { seqno, kind, encoding, bytes, place } = item;
  return { seqno: seqno < 0 ? null : seqno, kind, encoding, bytes, place };
}

function pairing(turn: CursorTurn): Json {
  const { pairs } = turn;
  const upLost = turn.lost("up");
  return {
    kv: pairs.kv.map((op) => kvJson(turn, op, upLost)),
    exec: pairs.exec.map((call) => execJson(turn, call, upLost)),
    toolCalls: pairs.tools.map((life) => ({
      callId: life.callId,
      tool: life.tool,
      ...toolTimes(life, turn.hasExactTimes),
      ...(life.scope === "" ? {} : { parentCallId: life.scope }),
    })),
    checkpoints: turn.checkpoints.map((checkpoint) => checkpointJson(turn, checkpoint)),
    open: turn.open.map((item) => ({ family: item.family, id: item.id, what: item.what, place: item.place as Place })),
  };
}

/** Verdict on the bytes carried by the operation itself. */
export function kvHash(op: KvOp): "match" | "mismatch" | "absent" {
  const digest = op.op === "set" ? op.ask.digest : kvDigest(op);
  if (digest === null) return "absent";
  return digest === op.blobId ? "match" : "mismatch";
}

function kvDigest(op: KvOp): string | null {
  const detail = op.answers[0]?.detail;
  return detail?.type === "kv" ? detail.digest : null;
}

/** How long an answer took; null where the times are only bounded. */
function tookMs(turn: CursorTurn, from: When, to: When | undefined): number | null {
  return to === undefined || !turn.hasExactTimes ? null : exactMillis(from, to);
}

export function kvBytes(op: KvOp): number | null {
  if (op.op === "set") return op.ask.size;
  const detail = op.answers[0]?.detail;
  return detail?.type === "kv" ? detail.size : null;
}

function kvJson(turn: CursorTurn, op: KvOp, upLost: boolean): Json {
  const answer = op.answers[0];
  return {
    id: op.id,
    op: op.op,
    blobId: op.blobId,
    bytes: kvBytes(op),
    hash: kvHash(op),
    answer: answer?.detail.type === "kv" ? answer.detail.answer : upLost ? "unseen" : "none",
    durationMs: tookMs(turn, op.item.when, answer?.when),
  };
}

function execJson(turn: CursorTurn, call: ExecCall, upLost: boolean): Json {
  const answer = execAnswer(call);
  const last = answer.settled ?? call.messages.at(-1);
  return {
    id: call.id,
    kind: call.kind,
    answer: answer.branch ?? (upLost && answer.settled === null ? "unseen" : "none"),
    messages: answer.dataMessages,
    closed: answer.closed,
    durationMs: tookMs(turn, call.item.when, last?.when),
    ...(answer.thrown === null ? {} : { thrown: privately(answer.thrown) }),
  };
}

function checkpointJson(turn: CursorTurn, checkpoint: Checkpoint): Json {
  const state = turn.state(checkpoint);
  const { closure, missing } = turn.services.blobs.closure(turn, state);
  return {
    turns: ids(listOf(state, "turns")),
    rootPromptMessages: ids(listOf(state, "root_prompt_messages_json")),
    closure,
    missing: [...missing],
    place: checkpoint.place,
  };
}

/** Of another length than 32 bytes an id prints as its full hex all the same. */
function ids(values: readonly unknown[]): string[] {
  return values.map((value) => (value instanceof Uint8Array ? hex(value) : ""));
}

function beats(heartbeats: Heartbeats): Json {
  return { count: heartbeats.count, minGapMs: heartbeats.minGapMs, maxGapMs: heartbeats.maxGapMs };
}
