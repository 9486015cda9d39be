/**
 * What the reports know of any dialect: conversations of turns, turns of steps. A dialect adds what is its own through `Turn.json`
 * and its result's `extra`; no report asks which dialect it is.
 */
import type { Place } from "../core/place.js";
import type { Printable, Words } from "../core/printable.js";
import type { When } from "../core/time.js";
import type { Direction, GapReason } from "./exchange.js";

export interface Conversation {
  readonly dialect: string;
  /** null: never seen in the capture. */
  readonly id: string | null;
  /** In order of start. */
  readonly turns: readonly Turn[];
}

export type Outcome = "completed" | "failed" | "canceled" | "dropped" | "truncated" | "unknown";

export interface TurnError {
  readonly code: string;
  readonly message: string;
}

/** Joins the two halves of a request and its answer inside one turn. */
export interface Pair {
  /** "kv", "exec", "interaction", "tool_call", "rpc", "rest", … */
  readonly family: string;
  readonly id: string;
  readonly role: "ask" | "answer";
  /** On the answer: ms since the ask; null where times are not known well enough. */
  readonly afterMs: number | null;
  /** On the answer: "ok", "error", "not found", …; on an ask that was never answered: "unanswered". */
  readonly result: string | null;
}

/** One event of a turn; runs of the same delta or heartbeat are folded into one. */
export interface Step {
  /** Time of the first folded message. */
  readonly when: When;
  /** Time of the last one. */
  readonly until: When;
  readonly direction: Direction;
  readonly channel: string;
  /** Which participant of a diagram it concerns. */
  readonly lane: "session" | "model" | "kv" | "exec" | "interaction" | "state" | "control";
  readonly kind: string;
  /** Folded messages. */
  readonly count: number;
  /** Payload bytes after decompression, all of them. */
  readonly bytes: number;
  /** Characters of text folded; 0 where it has none. */
  readonly chars: number;
  /** Envelope flags of the first, -1 where there are none. */
  readonly flags: number;
  readonly says: Words;
  readonly place: Place;
  readonly pair: Pair | null;
  /** State of the run after this step, for dialects with a state machine. */
  readonly state: string | null;
}

export interface Loss {
  readonly direction: Direction;
  readonly why: GapReason;
}

export interface OpenItem {
  readonly family: string;
  readonly id: string;
  readonly what: string;
  readonly place: Place;
}

export interface Usage {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cacheReadTokens: number | null;
  readonly cacheWriteTokens: number | null;
}

export interface Turn {
  readonly dialect: string;
  readonly conversationId: string | null;
  readonly requestId: string | null;
  /** Ordinal in the conversation, by start. */
  readonly index: number;
  /** What the request asked for: "user_message_action", "prompt", …; null unknown. */
  readonly action: string | null;
  readonly model: string | null;
  readonly prompt: string | null;
  readonly text: string;
  readonly thinking: string;
  readonly start: When;
  readonly end: When;
  readonly durationMs: number | null;
  readonly outcome: Outcome;
  readonly error: TurnError | null;
  /** "RunSSE+BidiAppend", "Run", "ws", "pi", … */
  readonly transport: string;
  /** "1.1", "2" or null. */
  readonly http: string | null;
  readonly client: string | null;
  /** Messages: all of them, folded or not. */
  readonly messages: number;
  /** Payload bytes each way. */
  readonly upBytes: number;
  readonly downBytes: number;
  readonly steps: readonly Step[];
  readonly open: readonly OpenItem[];
  readonly usage: Usage | null;
  readonly loss: readonly Loss[];
  readonly recovered: readonly string[];
  /** Request id of the turn this one hangs under (subagent), and of the attempt it repeats. */
  readonly parentRequestId: string | null;
  readonly retryOf: string | null;
  readonly attempt: number;
  /** Short facts for the head of the turn's block: "9 set, 9 match". Sensitive parts marked. */
  readonly facts: readonly Words[];
  /** Where the turn begins. */
  readonly place: Place;
  /** The contract's Turn object, keys in contract order. */
  json(): { readonly [key: string]: Printable };
}

/** One row of the blob ledger: a distinct (id, content). */
export interface BlobRow {
  /** Hex. */
  readonly id: string;
  /** null: referenced, never supplied. */
  readonly bytes: number | null;
  readonly hash: "match" | "mismatch" | null;
  readonly type: string;
  readonly sources: readonly {
    readonly via: "set" | "get" | "prefetched" | "upload" | "store";
    readonly requestId: string | null;
    readonly place: Place | null;
  }[];
  readonly referrers: readonly string[];
  readonly timesSent: number;
}

/** A node of a checkpoint's graph, for `blobs tree`. */
export interface BlobNode {
  /** "turns[3]", "steps[0]", … from its parent; the root's name at the top. */
  readonly label: string;
  readonly id: string | null;
  readonly type: string;
  readonly bytes: number | null;
  /** "match", "mismatch", "missing", "carried", "inline". */
  readonly state: string;
  readonly says: Words;
  readonly children: readonly BlobNode[];
}

export interface BlobTotals {
  readonly sentBytes: number;
  /** Of them, content that had been sent before. */
  readonly sentAgainBytes: number;
  /** Known to both sides by their ids, and not sent. */
  readonly carriedBytes: number;
}

export interface BlobLedger {
  readonly rows: readonly BlobRow[];
  /** Of these turns, or of all that was sent. */
  totals(turns?: readonly Turn[]): BlobTotals;
  /** Raw content; undefined where it was never supplied. */
  content(id: string): Uint8Array | undefined;
  /** Decoded by the type of its referrer; null where the type is unknown. */
  decoded(id: string): Printable | null;
  /** The DAG of the last checkpoint of each turn. */
  trees(): readonly { readonly turn: Turn; readonly root: BlobNode }[];
}
