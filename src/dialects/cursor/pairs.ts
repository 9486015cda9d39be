/**
 * Asks and answers of one turn, each family by its own numbers: the id spaces overlap (protocols/cursor.md 3). Downlink items ask in
 * frame order; uplink items answer in seqno order; an id that is used again pairs first in, first out.
 */
import { isExact, isKnown, millisBetween, type When } from "../../core/time.js";
import type { DownItem, ExecAsk, KvAsk, ToolEvent, UpDetail, UpItem } from "./model.js";

export type KvAnswer = Extract<UpDetail, { type: "kv" }>;

export interface KvOp {
  readonly id: number;
  readonly op: "set" | "get";
  readonly blobId: string;
  readonly item: DownItem;
  readonly ask: KvAsk;
  /** Answers with this id, of whatever branch; more than one is a fault. */
  answers: readonly UpItem[];
}

export interface ExecCall {
  readonly id: number;
  readonly kind: string;
  readonly ask: ExecAsk;
  readonly item: DownItem;
  /** Data messages, heartbeats, stream_close and throw, in seqno order. */
  messages: readonly UpItem[];
  aborts: readonly DownItem[];
}

export interface Query {
  readonly id: number;
  readonly branch: string;
  readonly item: DownItem;
  answers: readonly UpItem[];
}

export interface ToolCallLife {
  readonly callId: string;
  /** Call id of the task it runs under; "" for the run's own. */
  readonly scope: string;
  tool: string;
  readonly events: { readonly event: ToolEvent; readonly item: DownItem }[];
}

export interface Pairs {
  readonly kv: readonly KvOp[];
  readonly exec: readonly ExecCall[];
  readonly queries: readonly Query[];
  readonly tools: readonly ToolCallLife[];
  /** Answers to nothing that this downlink asked. */
  readonly stray: readonly UpItem[];
  readonly askOf: ReadonlyMap<UpItem, DownItem>;
}

export function pairUp(down: readonly DownItem[], up: readonly UpItem[]): Pairs {
  const pairing = new Pairing();
  for (const item of down) pairing.ask(item);
  for (const item of up) pairing.answer(item);
  return pairing;
}

/** Asks that share one id, and which of them the next answer is for. */
class Queue<T> {
  at = 0;

  constructor(readonly list: T[]) {}
}

/** By id: the one ask that has it, as nearly always, or all that do. */
type ById<T> = Map<number, T | Queue<T>>;

class Pairing implements Pairs {
  readonly kv: KvOp[] = [];
  readonly exec: ExecCall[] = [];
  readonly queries: Query[] = [];
  readonly tools: ToolCallLife[] = [];
  readonly stray: UpItem[] = [];
  private readonly kvById: ById<KvOp> = new Map();
  private readonly execById: ById<ExecCall> = new Map();
  private readonly queriesById: ById<Query> = new Map();
  private readonly toolsById = new Map<string, ToolCallLife>();

  /** Only the timeline asks for it. */
  get askOf(): ReadonlyMap<UpItem, DownItem> {
    const asks = new Map<UpItem, DownItem>();
    for (const { answers, item } of this.kv) for (const answer of answers) asks.set(answer, item);
    for (const { messages, item } of this.exec) for (const answer of messages) asks.set(answer, item);
    for (const { answers, item } of this.queries) for (const answer of answers) asks.set(answer, item);
    return asks;
  }

  ask(item: DownItem): void {
    const { detail } = item;
    switch (detail.type) {
      case "kv": {
        const { id, op, blobId } = detail;
        add(this.kv, this.kvById, { id, op, blobId, item, ask: detail, answers: none });
        break;
      }
      case "exec": {
        const { id, kind } = detail;
        add(this.exec, this.execById, { id, kind, ask: detail, item, messages: none, aborts: none });
        break;
      }
      case "abort": {
        const call = lastOf(this.execById.get(detail.id));
        if (call !== undefined) call.aborts = grown(call.aborts, item);
        break;
      }
      case "query":
        add(this.queries, this.queriesById, { id: detail.id, branch: detail.branch, item, answers: none });
        break;
      case "tool":
        this.tool(detail, item);
        break;
      default:
        break;
    }
    if (item.nested !== null) this.tool(item.nested, item);
  }

  answer(item: UpItem): void {
    const { detail } = item;
    switch (detail.type) {
      case "kv":
        this.give(waiting(this.kvById.get(detail.id), true), item);
        break;
      case "exec":
        this.report(waiting(this.execById.get(detail.id), false), item);
        break;
      case "control":
        this.report(waiting(this.execById.get(detail.id), detail.what !== "heartbeat"), item);
        break;
      case "response":
        this.give(waiting(this.queriesById.get(detail.id), true), item);
        break;
      default:
        break;
    }
  }

  private give(asked: KvOp | Query | undefined, item: UpItem): void {
    if (asked === undefined) this.stray.push(item);
    else asked.answers = grown(asked.answers, item);
  }

  private report(call: ExecCall | undefined, item: UpItem): void {
    if (call === undefined) this.stray.push(item);
    else call.messages = grown(call.messages, item);
  }

  private tool(event: ToolEvent, item: DownItem): void {
    const key = `${event.scope}\n${event.callId}`;
    let life = this.toolsById.get(key);
    if (life === undefined) {
      life = { callId: event.callId, scope: event.scope, tool: event.tool, events: [] };
      this.toolsById.set(key, life);
      this.tools.push(life);
    }
    if (life.tool === "") life.tool = event.tool;
    life.events.push({ event, item });
  }
}

const none: readonly never[] = Object.freeze([]);

/** The first one stands in a list of its own size: most lists stay at one, and a pushed one has room for sixteen. */
function grown<T>(list: readonly T[], item: T): readonly T[] {
  if (list.length === 0) return [item];
  (list as T[]).push(item);
  return list;
}

function add<T extends { readonly id: number }>(list: T[], byId: ById<T>, entry: T): void {
  list.push(entry);
  const same = byId.get(entry.id);
  if (same === undefined) byId.set(entry.id, entry);
  else if (same instanceof Queue) same.list.push(entry);
  else byId.set(entry.id, new Queue([same, entry]));
}

/** The first one that still waits, else the last one with this id. `settles`: the next answer is for the one behind it. */
function waiting<T>(asked: T | Queue<T> | undefined, settles: boolean): T | undefined {
  if (!(asked instanceof Queue)) return asked;
  const entry = asked.list[asked.at];
  if (settles && asked.at < asked.list.length - 1) asked.at++;
  return entry;
}

function lastOf<T>(asked: T | Queue<T> | undefined): T | undefined {
  return asked instanceof Queue ? asked.list.at(-1) : asked;
}

const lastEvents: ReadonlySet<string> = new Set([
  "exit",
  "backgrounded",
  "rejected",
  "permission_denied",
  "sandbox_unsupported",
]);

/** The message that carries the result: a shell stream ends with one of five events, anything else is one message. */
export function isResult(item: UpItem): boolean {
  const { detail } = item;
  if (detail.type !== "exec" || detail.branch === "") return false;
  return detail.branch !== "shell_stream" || lastEvents.has(detail.event);
}

export interface ExecAnswer {
  /** Branch of the first data message; null: none. */
  readonly branch: string | null;
  readonly dataMessages: number;
  readonly closed: boolean;
  readonly thrown: string | null;
  /** The message that settled it: result, throw or close. */
  readonly settled: UpItem | null;
}

export function execAnswer(call: ExecCall): ExecAnswer {
  let branch: string | null = null;
  let dataMessages = 0;
  let closed = false;
  let thrown: string | null = null;
  let result: UpItem | null = null;
  let over: UpItem | null = null;
  for (const item of call.messages) {
    const { detail } = item;
    if (detail.type === "exec") {
      dataMessages++;
      if (detail.branch !== "") branch ??= detail.branch;
      if (isResult(item)) result ??= item;
    } else if (detail.type === "control" && detail.what !== "heartbeat") {
      if (detail.what === "throw") thrown = detail.error;
      else closed = true;
      over ??= item;
    }
  }
  return { branch, dataMessages, closed, thrown, settled: result ?? over };
}

/** Between two exact times; null where either is only bounded. */
export function exactMillis(from: When, to: When): number | null {
  return isKnown(from) && isKnown(to) && isExact(from) && isExact(to)
    ? millisBetween(from.earliest, to.earliest)
    : null;
}

/** Events of one call: its own times where the frames' are exact, else what the messages themselves say. */
export function toolTimes(
  life: ToolCallLife,
  exactTimes = true,
): { started: boolean; completed: boolean; durationMs: number | null } {
  const started = life.events.find(({ event }) => event.event === "started");
  const completed = life.events.find(({ event }) => event.event === "completed");
  let durationMs: number | null = null;
  if (completed !== undefined) {
    if (started !== undefined && exactTimes) durationMs = exactMillis(started.item.when, completed.item.when);
    const { startedAtMs, completedAtMs } = completed.event;
    if (durationMs === null && startedAtMs !== null && completedAtMs !== null) durationMs = completedAtMs - startedAtMs;
  }
  return { started: started !== undefined, completed: completed !== undefined, durationMs };
}
