/** What every framing does: bytes of one direction in, cut anywhere; framed messages out. */
import type { Bytes } from "../../core/bytes.js";
import type { Note } from "../../core/diagnostic.js";
import type { Limits } from "../../core/limits.js";
import type { Mark } from "../../core/mark.js";
import type { Place } from "../../core/place.js";
import type { GapReason } from "../../model/exchange.js";
import type { MessageFault } from "../../model/message.js";

/** A StreamMessage before the exchange's own facts are added. Offsets: of header and payload in the direction's body, gaps left out. */
export interface Framed {
  readonly flags: number;
  readonly body: Bytes;
  readonly wireBytes: number;
  readonly declared: number;
  readonly headerBytes: number;
  readonly codec: string | null;
  readonly fault: MessageFault | null;
  readonly mark: Mark;
  readonly start: number;
  readonly end: number;
}

export interface FramerContext {
  readonly limits: Limits;
  readonly note: Note;
  emit(framed: Framed): void;
  place(mark: Mark, start: number, end: number): Place;
}

/** Why a direction ended inside a message. */
export type CutFault = Extract<MessageFault, "truncated" | "bad-compression" | "over-limit" | "no-codec">;

export interface Framer {
  push(bytes: Bytes, mark: Mark): void;
  /** Bytes are missing here. Emits what it has of the message around the hole; goes on behind it only if it can stay in step. */
  gap(length: number | undefined, why: GapReason): void;
  /** `cut`: why what is still held can be no whole message; null when the direction came to its proper end. */
  end(cut: CutFault | null): void;
}
