/** What framing makes of an exchange's bytes, and what decoding makes of that. */
import type { Bytes } from "../core/bytes.js";
import type { Mark } from "../core/mark.js";
import type { Place } from "../core/place.js";
import type { Direction, Evidence, Exchange } from "./exchange.js";

/** How the bytes of one direction split into messages. */
export type Framing =
  | "connect-envelope"
  | "grpc"
  | "grpc-web"
  | "grpc-web-text"
  | "sse"
  | "websocket"
  | "length-prefix"
  | "json-lines"
  | "whole-body"
  | "none";

/** What is wrong with one message; the dialect decides what it means. */
export type MessageFault =
  /** A compressed flag without a codec, or an unknown one. */
  | "no-codec"
  /** The payload does not decompress. */
  | "bad-compression"
  /** Over a limit: `body` is empty, lengths are true. */
  | "over-limit"
  /** The direction ended inside this message: `body` is what there is, `declared` what the header promised. */
  | "truncated"
  /** A bare message where envelopes are due: `body` is the whole direction. */
  | "not-enveloped"
  /** An envelope where a bare message is due: `body` is the whole direction. */
  | "enveloped"
  /** The bytes went through a lossy text decoding. */
  | "lossy";

export interface StreamMessage {
  readonly exchange: Exchange;
  readonly direction: Direction;
  readonly framing: Framing;
  /** 0-based within this direction of the exchange. */
  readonly ordinal: number;
  /** Envelope flags; WebSocket opcode; -1 where the framing has none. */
  readonly flags: number;
  /** Decompressed payload, without any header. */
  readonly body: Bytes;
  /** Payload bytes before decompression. */
  readonly wireBytes: number;
  /** Payload bytes the header declared; equals wireBytes unless truncated. */
  readonly declared: number;
  /** Length of the framing header in front of the payload (5 for an envelope, 0 for a whole body). */
  readonly headerBytes: number;
  /** Codec that was undone ("gzip"), or null. */
  readonly codec: string | null;
  readonly fault: MessageFault | null;
  readonly evidence: Evidence;
  readonly mark: Mark;
  /** Offsets of the framed message (header included) in the direction's body. */
  readonly place: Place;
}

/** What a dialect's session takes in: the stream's own events, with bytes already framed into messages. */
export type SessionInput =
  | Extract<import("./exchange.js").StreamEvent, { kind: "open" | "head" | "gap" | "trailers" | "end" }>
  | { readonly kind: "message"; readonly message: StreamMessage };

/** One message of any dialect, decoded, as `frames` prints it. */
export interface FrameLine {
  readonly message: StreamMessage;
  readonly dialect: string;
  readonly conversationId: string | null;
  readonly requestId: string | null;
  /** "RunSSE", "BidiAppend", "Run", "ws", "pi", "rest", … */
  readonly channel: string;
  /** The bytes that `type` describes where they are not the message's own body: the inner message of an append. */
  readonly decoded?: Bytes;
  /** Schema or value type: "agent.v1.AgentServerMessage", "json", "cbor", "bytes". */
  readonly type: string;
  readonly kind: string;
  /** Few words, sensitive parts marked. */
  readonly says: import("../core/printable.js").Words;
  /** Computed only when printed. */
  value(): import("../core/printable.js").Printable;
  unknown(): readonly UnknownField[];
}

/** A reading of a field that no schema names, best first. */
export interface Reading {
  readonly as: string;
  readonly value: import("../core/printable.js").Printable;
  readonly score: number;
}

export interface UnknownField {
  /** Field numbers from the message's root, joined with dots. */
  readonly path: string;
  readonly wire: "varint" | "i64" | "len" | "i32" | "group";
  readonly count: number;
  readonly readings: readonly Reading[];
}
