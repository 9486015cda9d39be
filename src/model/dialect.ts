/** The interface of a dialect: one folder under dialects/ and one row in dialects/index.ts. */
import type { Bytes } from "../core/bytes.js";
import type { Note } from "../core/diagnostic.js";
import type { Limits } from "../core/limits.js";
import type { Printable } from "../core/printable.js";
import type { Rule, VerdictSink } from "./check.js";
import type { BlobLedger, Conversation, Step, Turn } from "./conversation.js";
import type { Direction, Exchange, ResponseHead } from "./exchange.js";
import type { FrameLine, Framing, SessionInput } from "./message.js";

/** What is known of an exchange when a dialect is asked whether it is its own. */
export interface Sight {
  readonly exchange: Exchange;
  /** The final response head, once seen. */
  readonly response: ResponseHead | null;
  /** First bytes each way (for WebSocket: the first data message), empty until seen. */
  readonly up: Bytes;
  readonly down: Bytes;
}

export interface Dialect {
  readonly name: string;
  /**
   * 0: not mine. 1: too early to say, and no claim. 2..99: perhaps; asked again as more is seen, the highest score wins when both heads
   * or first bytes are there.
   * 100: mine for certain, decided at once. Ties: the earlier row of the table.
   */
  recognise(sight: Sight): number;
  /** How a direction of a claimed exchange splits; asked once its head is known (up: request, down: response). */
  framing(exchange: Exchange, direction: Direction, response: ResponseHead | null): Framing;
  session(tools: SessionTools): Session;
  /** The whole catalogue, for --list-rules and --explain. */
  readonly rules: readonly Rule[];
}

export interface SessionTools {
  readonly limits: Limits;
  readonly note: Note;
  /** Protobuf schemas: built-in ones, with --descriptors and --proto merged in. */
  readonly schemas: import("./schema.js").Schemas;
  /** Holds blob bodies: memory first, then a private temporary file. */
  readonly blobs: BlobStore;
  /** Whether anybody listens: frames are then emitted; else the work for them is saved. */
  readonly wantFrames: boolean;
  readonly wantSteps: boolean;
  /** Somebody takes steps and ends of turns as they happen. Absent: nobody. */
  readonly follows?: boolean;
  emit(event: SessionEvent): void;
  /**
   * Whether bytes of the capture are missing outside of any exchange this session was told about (a gap between HTTP messages, packets
   * that were not decrypted, a file cut off): what is absent may then just be unseen. Asked when the session finishes. Absent: no.
   */
  lost?(): boolean;
  /** Content of a blob from a session store that the user gave (`--store`); undefined where none holds it. */
  stored?(id: string): Bytes | undefined;
}

/** Live events: `frames` prints the first kind, `analyze --follow` the others. */
export type SessionEvent =
  | { readonly kind: "frame"; readonly frame: FrameLine }
  | { readonly kind: "step"; readonly title: string; readonly step: Step }
  | { readonly kind: "turn-ended"; readonly title: string; readonly turn: Turn };

export interface Session {
  push(input: SessionInput): void;
  /** After the last input. Called once. */
  finish(): DialectResult;
}

export interface DialectResult {
  readonly dialect: string;
  readonly conversations: readonly Conversation[];
  /** All turns, in order of start. */
  readonly turns: readonly Turn[];
  readonly blobs: BlobLedger | null;
  /** More top-level keys of the analysis: `pi`, `kimi`. */
  readonly extra: { readonly [key: string]: Printable };
  /** Lines for the text report about what has no turn (REST calls, RPC): may be empty. */
  readonly notes: readonly import("../core/printable.js").Words[];
  /** Exchange ids that turned out not to be this dialect's. */
  readonly givenBack: ReadonlySet<number>;
  /** Runs the rules; `wanted` says which are on. */
  judge(wanted: (ruleId: string) => boolean, sink: VerdictSink): void;
}

export interface BlobStore {
  put(bytes: Bytes): number;
  /** Bytes `from` to `to` of what was put; all of it by default. */
  get(handle: number, from?: number, to?: number): Bytes;
}
