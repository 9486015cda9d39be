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
  readonly answers: UpItem[];
}

export interface ExecCall {
  readonly id: number;
  readonly kind: string;
  readonly ask: ExecAsk;
  readonly item: DownItem;
  /** Data messages, heartbeats, stream_close and throw, in seqno order. */
  readonly messages: UpItem[];
  readonly aborts: DownItem[];
}

export interface Query {
  readonly id: number;
  readonly branch: string;
  readonly item: DownItem;
  readonly answers: UpItem[];
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

/** Asks with one id, and which of them the next answer is for. */
interface Waiting<T> {
  readonly list: T[];
  at: number;
}

class Pairing implements Pairs {
  readonly kv: KvOp[] = [];
  readonly exec: ExecCall[] = [];
  readonly queries: Query[] = [];
  readonly tools: ToolCallLife[] = [];
  readonly stray: UpItem[] = [];
  readonly askOf = new Map<UpItem, DownItem>();
  private readonly kvById = new Map<number, Waiting<KvOp>>();
  private readonly execById = new Map<number, Waiting<ExecCall>>();
  private readonly queriesById = new Map<number, Waiting<Query>>();
  private readonly toolsById = new Map<string, ToolCallLife>();

  ask(item: DownItem): void {
    const { detail } = item;
    switch (detail.type) {
      case "kv":
        this.add(this.kv, this.kvById, {
          id: detail.id,
          op: detail.op,
          blobId: detail.blobId,
          item,
          ask: detail,
          answers: [],
        });
        break;
      case "exec":
        this.add(this.exec, this.execById, {
          id: detail.id,
          kind: detail.kind,
          ask: detail,
          item,
          messages: [],
          aborts: [],
        });
        break;
      case "abort":
        this.execById.get(detail.id)?.list.at(-1)?.aborts.push(item);
        break;
      case "query":
        this.add(this.queries, this.queriesById, { id: detail.id, branch: detail.branch, item, answers: [] });
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
        this.give(this.kvById.get(detail.id), item, (op) => op.answers, true);
        break;
      case "exec":
        this.give(this.execById.get(detail.id), item, (call) => call.messages, false);
        break;
      case "control":
        this.give(this.execById.get(detail.id), item, (call) => call.messages, detail.what !== "heartbeat");
        break;
      case "response":
        this.give(this.queriesById.get(detail.id), item, (query) => query.answers, true);
        break;
      default:
        break;
    }
  }

  private add<T extends { readonly id: number }>(list: T[], byId: Map<number, Waiting<T>>, entry: T): void {
    list.push(entry);
    const same = byId.get(entry.id);
    if (same === undefined) byId.set(entry.id, { list: [entry], at: 0 });
    else same.list.push(entry);
  }

  /** To the first one that still waits, else to the last one with this id. `settles`: the next answer is for the one behind it. */
  private give<T extends { readonly item: DownItem }>(
    waiting: Waiting<T> | undefined,
    item: UpItem,
    answers: (entry: T) => UpItem[],
    settles: boolean,
  ): void {
    if (waiting === undefined) {
      this.stray.push(item);
      return;
    }
    const entry = waiting.list[waiting.at]!;
    answers(entry).push(item);
    this.askOf.set(item, entry.item);
    if (settles && waiting.at < waiting.list.length - 1) waiting.at++;
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
