/** What the kimi session keeps: connections with their frames, REST calls, RPC calls. Payloads are dropped once they are read. */
import type { Place } from "../../core/place.js";
import type { When } from "../../core/time.js";
import type { Direction, Exchange, GapReason } from "../../model/exchange.js";
import type { JsonObject } from "./json.js";

export type FrameClass = "control" | "system" | "ack" | "event" | "invalid";

/** One WebSocket frame, in the order of its connection. kimi.md 3.2. */
export interface KimiFrame {
  readonly ordinal: number;
  readonly direction: Direction;
  readonly class: FrameClass;
  /** Frame type; "invalid" for text that is no JSON object with a string type. */
  readonly type: string;
  readonly id: string | null;
  readonly when: When;
  readonly place: Place;
  readonly bytes: number;
  /** Events only. */
  readonly seq: number | null;
  readonly epoch: string | null;
  readonly volatile: boolean | null;
  readonly offset: number | null;
  readonly sessionId: string | null;
  /** ack: its code and msg. */
  readonly code: number | null;
  readonly msg: string | null;
  /** Short scalars of the payload, and whole payloads of control, system and ack frames. */
  readonly payload: JsonObject;
  /** Fingerprint of a durable event's payload. */
  readonly digest: string | null;
  /** UTF-16 length of a delta's text. */
  readonly deltaLength: number | null;
}

export interface KimiGap {
  /** Frames seen in this connection before the gap. */
  readonly afterOrdinal: number;
  readonly direction: Direction;
  readonly why: GapReason;
}

export interface KimiConnection {
  readonly exchange: Exchange;
  /** Ordinal among the WebSocket connections, by first packet. */
  readonly index: number;
  readonly frames: KimiFrame[];
  readonly gaps: KimiGap[];
  /** The 101 is in the capture: rules about a beginning may speak. */
  opened: boolean;
  /** A refused upgrade is no connection. */
  refused: boolean;
  close: { readonly code: number; readonly reason: string; readonly by: Direction; readonly when: When } | null;
  /** Both directions ended on the wire (close frame or end of the stream). */
  ended: boolean;
  compression: "none" | "permessage-deflate";
  protocolVersion: number | null;
  heartbeatMs: number | null;
  maxBuffer: number | null;
  readonly sessions: Set<string>;
}

/** One exchange under /api/. kimi.md 2. */
export interface RestCall {
  readonly exchange: Exchange;
  readonly method: string;
  readonly path: string;
  readonly place: Place;
  status: number;
  /** Sent as X-Request-Id. */
  readonly sentRequestId: string | null;
  contentType: string;
  requestBytes: number;
  responseBytes: number;
  /** Body seen whole and undamaged. */
  bodySeen: boolean;
  isJson: boolean;
  isEnvelope: boolean;
  /** The three keys of an unknown route's answer. */
  unknownRoute: boolean;
  code: number | null;
  msg: string | null;
  requestId: string | null;
  dataIsNull: boolean;
  hasStack: boolean;
  items: number | null;
  hasMore: "absent" | "boolean" | "other";
  promptId: string | null;
  promptText: string | null;
  model: string | null;
  answeredAt: When | null;
  answerPlace: Place | null;
  damaged: boolean;
}

/** One JSON-RPC 2.0 request and what answered it. kimi.md 5. */
export interface RpcCall {
  readonly exchange: Exchange;
  readonly id: string | number;
  readonly from: "client" | "agent";
  readonly method: string;
  readonly when: When;
  readonly place: Place;
  readonly answers: {
    readonly kind: "result" | "error" | "both" | "neither";
    readonly when: When;
    readonly place: Place;
  }[];
}
