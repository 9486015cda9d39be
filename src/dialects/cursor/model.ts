/**
 * What a session keeps of the messages: one item per message or per run of the same delta, with the few facts that pairing, the
 * state machine and the rules need. Decoded messages are not kept; large ones (checkpoints, run requests) can be decoded again from
 * the blob store.
 */

import type { Place } from "../../core/place.js";
import type { Words } from "../../core/printable.js";
import type { When } from "../../core/time.js";
import type { Step, Usage } from "../../model/conversation.js";
import type { Evidence, GapReason } from "../../model/exchange.js";
import type { WireFault } from "../../model/schema.js";
import type { AppendFacts } from "./append-facts.js";
import type { Reference } from "./references.js";

export type { AppendFacts } from "./append-facts.js";

export type Lane = Step["lane"];

/** One server message, or a run of the same delta or heartbeat. */
export interface DownItem {
  readonly kind: string;
  /** Ordinals of the first and last frame in the downlink. */
  readonly first: number;
  last: number;
  count: number;
  bytes: number;
  chars: number;
  /** Tokens of token_deltas. */
  tokens: number;
  readonly flags: number;
  readonly when: When;
  until: When;
  readonly place: Place;
  /** Of the last folded message. */
  lastPlace: Place;
  readonly lane: Lane;
  /** Empty for a run of deltas: `lead` says it. */
  readonly says: Words;
  /** Beginning of the text of a run of deltas, as it came. */
  lead: string;
  readonly detail: DownDetail;
  /** What a subagent did inside a tool_call_delta. */
  readonly nested: ToolEvent | null;
  readonly references: readonly Reference[];
  /** What folds together: same kind, same call. "" never folds. */
  readonly fold: string;
  /** The message had a fault of the wire format: what it says is not relied on. */
  readonly faulty: boolean;
}

export type DownDetail =
  | { readonly type: "none" }
  | { readonly type: "heartbeat" }
  | KvAsk
  | ExecAsk
  | { readonly type: "abort"; readonly id: number }
  | { readonly type: "query"; readonly id: number; readonly branch: string; readonly callId: string }
  | ToolEvent
  | {
      readonly type: "step";
      readonly event: "started" | "completed";
      readonly stepId: number;
      readonly durationMs: number | null;
    }
  | { readonly type: "thinking-completed"; readonly durationMs: number }
  | { readonly type: "listed"; readonly calls: number }
  | { readonly type: "summary"; readonly event: "started" | "text" | "completed" }
  | { readonly type: "injection"; readonly id: string; readonly state: string }
  | { readonly type: "checkpoint"; readonly checkpoint: Checkpoint }
  | { readonly type: "turn-ended"; readonly usage: Usage; readonly reasoningTokens: number | null }
  | { readonly type: "end-stream"; readonly end: EndStream };

/** Shared, so that what has none costs nothing. */
export const noWords: Words = Object.freeze([]);
export const noReferences: readonly Reference[] = Object.freeze([]);
export const noBlobs: readonly CarriedBlob[] = Object.freeze([]);

export const noDetail: DownDetail & UpDetail = Object.freeze({ type: "none" });

export interface KvAsk {
  readonly type: "kv";
  readonly id: number;
  readonly op: "set" | "get";
  /** Hex, of any length. */
  readonly blobId: string;
  /** Of a set: SHA-256 of the data in hex, and its size. */
  readonly digest: string | null;
  readonly size: number | null;
}

export interface ExecAsk {
  readonly type: "exec";
  readonly id: number;
  /** "shell_stream_args"; "" for a message without a branch. */
  readonly kind: string;
  readonly execId: string;
  readonly callId: string;
  readonly machineId: string;
}

export interface ToolEvent {
  readonly type: "tool";
  readonly event: "partial" | "started" | "delta" | "completed";
  readonly callId: string;
  /** "" where the message names none (a delta). */
  readonly tool: string;
  readonly modelCallId: string;
  readonly hasResult: boolean;
  /** Branch of the result: "success", "failure", …; "" where there is none. */
  readonly result: string;
  /** ToolCall.tool_call_id, "" where absent. */
  readonly toolCallId: string;
  readonly startedAtMs: number | null;
  readonly completedAtMs: number | null;
  /** Call id of the task whose subagent this event belongs to; "" for the run's own. */
  readonly scope: string;
}

export interface Checkpoint {
  /** The whole server message in the blob store. */
  readonly handle: number;
  /** SHA-256 of the message bytes: equal ones are the same checkpoint sent again. */
  readonly digest: string;
  readonly ordinal: number;
  readonly when: When;
  readonly place: Place;
  readonly turns: number;
  readonly roots: number;
  readonly pending: readonly string[];
  readonly usedTokens: number | null;
  readonly maxTokens: number | null;
  readonly faulty: boolean;
}

export interface EndStream {
  readonly error: { readonly code: string; readonly message: string } | null;
  /** ErrorDetails in words, "" where there are none. */
  readonly details: string;
  readonly retryable: boolean | null;
  /** What is wrong with the payload itself (T08). */
  readonly issues: readonly string[];
}

/** One client message: a BidiAppend, or a message of a Run request. */
export interface UpItem {
  /** -1: not readable. */
  seqno: number;
  readonly seqnoFrom: number;
  readonly kind: string;
  readonly encoding: "hex" | "binary" | "stream";
  /** Of the inner message. */
  readonly bytes: number;
  readonly flags: number;
  /** When it was sent: exact with packets and, for an append, in a HAR. */
  readonly when: When;
  readonly place: Place;
  readonly evidence: Evidence;
  readonly lane: Lane;
  readonly says: Words;
  readonly detail: UpDetail;
  readonly fold: string;
  readonly chars: number;
  /** Blob ids in it; those of a run request are walked again from the kept message. */
  readonly references: readonly Reference[];
  readonly carried: readonly CarriedBlob[];
  readonly faults: readonly WireFault[];
  readonly branches: number;
  readonly unknownFields: number;
  /** Of the inner message: tells a repeat from a conflict. */
  readonly digest: string;
  /** Ordinal of arrival in the session. */
  readonly order: number;
  readonly append: AppendFacts | null;
}

export type UpDetail =
  | { readonly type: "none" }
  | { readonly type: "heartbeat" }
  | RunFacts
  | {
      readonly type: "kv";
      readonly id: number;
      readonly op: "set" | "get" | "";
      readonly answer: "ok" | "error" | "not_found";
      readonly digest: string | null;
      readonly size: number | null;
      readonly error: string;
    }
  | {
      readonly type: "exec";
      readonly id: number;
      readonly branch: string;
      readonly event: string;
      /** Branch of a result, "exit 3" of a shell stream; "" of what settles nothing. */
      readonly result: string;
      readonly execId: string;
      readonly localMs: number | null;
    }
  | {
      readonly type: "control";
      readonly id: number;
      readonly what: "stream_close" | "throw" | "heartbeat";
      readonly error: string;
    }
  | { readonly type: "action"; readonly branch: string; readonly injectionId: string; readonly expectedRunId: string }
  | { readonly type: "response"; readonly id: number; readonly branch: string; readonly result: string };

/** Facts of a run_request or prewarm_request. */
export interface RunFacts {
  readonly type: "run" | "prewarm";
  readonly conversationId: string | null;
  readonly conversationGroupId: string | null;
  readonly runId: string | null;
  readonly agentSessionId: string | null;
  /** "user_message_action"; null where there is none. */
  readonly action: string | null;
  readonly prompt: string | null;
  readonly model: string | null;
  readonly subagentType: string | null;
  /** The whole client message in the blob store. */
  readonly handle: number;
  readonly hasState: boolean;
  readonly stateTurns: number;
  readonly context: "none" | "legacy" | "dual" | "ref_only" | "references";
  readonly carried: readonly CarriedBlob[];
}

/** A blob that came with its bytes outside of KV: prefetched, uploaded, or inline beside its id. */
export interface CarriedBlob {
  readonly via: "prefetched" | "upload" | "inline";
  readonly id: string;
  readonly digest: string;
  readonly size: number;
  readonly path: string;
}

/** Something is missing in one direction. */
export interface GapFact {
  readonly why: GapReason;
  readonly length: number | null;
  readonly place: Place;
  /** Frames of that direction before it. */
  readonly after: number;
}
