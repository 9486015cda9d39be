/**
 * The neck. Above it everything is about transport (HAR entries, packets); below it nobody knows which. Events of one exchange come
 * in order; those of different exchanges interleave as the capture has them.
 */
import type { Bytes } from "../core/bytes.js";
import type { Mark } from "../core/mark.js";
import type { When } from "../core/time.js";

/** up: client to server. down: server to client. */
export type Direction = "up" | "down";

/** How the bytes were won. `lossy-utf8`: the producer replaced bad bytes by U+FFFD; these are the UTF-8 bytes of that text. */
export type Evidence =
  | "exact"
  | "re-encoded"
  | "latin1"
  | "windows-1252"
  | "base64-guessed"
  | "salvaged"
  | "lossy-utf8";

export type GapReason =
  | "lossy-utf8"
  | "tcp-gap"
  | "truncated-by-producer"
  | "discarded-by-producer"
  | "evicted"
  | "missing-file"
  | "undecrypted"
  | "not-captured";

export interface Header {
  /** As on the wire (HTTP/2: lower case; pseudo-headers are not among them). */
  readonly name: string;
  readonly value: string;
}
export type Headers = readonly Header[];

export interface RequestHead {
  readonly method: string;
  /** Host, or host:port; empty where unknown. */
  readonly authority: string;
  readonly scheme: string;
  /** Path with query, as on the wire. */
  readonly path: string;
  /** "1.0", "1.1", "2", "3"; null where the producer did not say. */
  readonly version: string | null;
  readonly headers: Headers;
  /** `:protocol` of an extended CONNECT (RFC 8441): "websocket". */
  readonly protocol?: string;
}

export interface ResponseHead {
  /** 0 where the producer saw none. */
  readonly status: number;
  readonly version: string | null;
  readonly headers: Headers;
}

export interface TlsInfo {
  readonly version: string | null;
  readonly cipher: string | null;
  readonly sni: string | null;
  readonly alpn: string | null;
  readonly decrypted: boolean;
  /** Why it stayed closed, wholly or in part. */
  readonly why: string | null;
}

/** One transport connection. For a HAR: one connection the producer names, or the file. */
export interface Flow {
  readonly id: number;
  readonly input: number;
  /** "192.0.2.1:50000", "[2001:db8::1]:443"; for a HAR whatever is known, else "". */
  readonly client: string;
  readonly server: string;
  readonly rolesBy: "syn" | "tls" | "port" | "har" | "raw";
}

export type FlowProtocol = "http1" | "http2" | "websocket" | "pi" | "jsonl" | "unknown";

export interface DirectionSummary {
  /** TCP payload bytes seen once, in order, gaps left out. */
  readonly bytes: number;
  /** Hex of their SHA-256; null where hashing was not asked for. */
  readonly sha256: string | null;
  readonly gaps: readonly { readonly offset: number; readonly length: number }[];
}

/** Comes once, when the flow is over or the capture ends. */
export interface FlowSummary {
  readonly flow: Flow;
  readonly start: When;
  readonly end: When;
  readonly packets: number;
  readonly up: DirectionSummary;
  readonly down: DirectionSummary;
  readonly tls: TlsInfo | null;
  readonly protocol: FlowProtocol;
}

/**
 * http: one request and its response; frames follow after an upgrade to WebSocket.
 * bytes: a raw two-way byte stream (pi, unknown protocols). lines: one JSON text per piece (stdio logs).
 */
export type ExchangeKind = "http" | "bytes" | "lines";

export interface Exchange {
  readonly kind: ExchangeKind;
  /** 0-based, in order of opening over the whole run. */
  readonly id: number;
  readonly flow: Flow;
  /** Present for http. */
  readonly request: RequestHead | null;
  readonly opened: When;
  /** Of the request head. */
  readonly mark: Mark;
  /** Which recorder made it: "packets" have true times per piece, "har" intervals only, "log" times per line. */
  readonly recorder: "packets" | "har" | "log";
  /** A HAR entry's duration in ms, where known. */
  readonly durationMs: number | null;
}

/** Why a WebSocket message is not what its sender meant; the names are MessageFault's. */
export type FrameFault = "no-codec" | "bad-compression" | "over-limit";

export type StreamEvent =
  | { readonly kind: "open"; readonly exchange: Exchange }
  /** A response head. Informational (1xx but 101) ones come before the final one. */
  | {
      readonly kind: "head";
      readonly exchange: Exchange;
      readonly head: ResponseHead;
      readonly informational: boolean;
      readonly mark: Mark;
    }
  /** Body bytes, transfer coding removed, content coding still on. They may be kept; copy small parts to free their chunk. */
  | {
      readonly kind: "bytes";
      readonly exchange: Exchange;
      readonly direction: Direction;
      readonly bytes: Bytes;
      readonly evidence: Evidence;
      /** The producer has already undone Content-Encoding. */
      readonly contentDecoded: boolean;
      readonly mark: Mark;
    }
  /** A whole WebSocket message or control frame, unmasked, inflated; opcode 1 text, 2 binary, 8 close, 9 ping, 10 pong. */
  | {
      readonly kind: "frame";
      readonly exchange: Exchange;
      readonly direction: Direction;
      readonly opcode: number;
      readonly bytes: Bytes;
      readonly compressed: boolean;
      /** Payload bytes on the wire, all fragments, before inflating. */
      readonly wireBytes: number;
      readonly evidence: Evidence;
      readonly mark: Mark;
      /** Absent: the message is sound. over-limit: `bytes` is empty. no-codec, bad-compression: `bytes` is the payload as it was on the wire. */
      readonly fault?: FrameFault;
    }
  /** Bytes are missing here. `length` undefined: unknown. `fatal`: nothing after it in this direction can be trusted to be in step. */
  | {
      readonly kind: "gap";
      readonly exchange: Exchange;
      readonly direction: Direction;
      readonly length: number | undefined;
      readonly why: GapReason;
      readonly mark: Mark;
    }
  | {
      readonly kind: "trailers";
      readonly exchange: Exchange;
      readonly direction: Direction;
      readonly headers: Headers;
      readonly mark: Mark;
    }
  /**
   * One direction is over. complete: its end was seen. reset: RST_STREAM, TCP RST, or a connection closed inside the message.
   * capture-ended: no end seen. `by`: the side that reset it, or that closed the connection first; null where neither is known.
   */
  | {
      readonly kind: "end";
      readonly exchange: Exchange;
      readonly direction: Direction;
      readonly reason: "complete" | "reset" | "capture-ended";
      readonly by: "client" | "server" | null;
      readonly mark: Mark;
    };

export type NeckEvent =
  | StreamEvent
  | { readonly kind: "flow"; readonly flow: Flow; readonly mark: Mark }
  | { readonly kind: "flow-end"; readonly summary: FlowSummary };

/**
 * Where the neck's events go. A sink is a plain call: in design measurements callbacks were the fastest of all styles, and since
 * faults are Diagnostics nothing is ever thrown through it.
 */
export type NeckSink = (event: NeckEvent) => void;

/** Hands out flow and exchange ids in order of first appearance; one per run, shared by all readers. */
export interface Ids {
  flow(): number;
  exchange(): number;
}

export function newIds(): Ids {
  let flows = 0;
  let exchanges = 0;
  return { flow: () => flows++, exchange: () => exchanges++ };
}

/** First value of a header, by case-insensitive name. */
export function headerValue(headers: Headers, name: string): string | undefined {
  const wanted = name.toLowerCase();
  for (const { name: own, value } of headers)
    if (own === wanted || (own.length === wanted.length && own.toLowerCase() === wanted)) return value;
  return undefined;
}

/** Path without query. */
export function pathOnly(path: string): string {
  const at = path.indexOf("?");
  return at < 0 ? path : path.slice(0, at);
}

/** `application/connect+proto; charset=x` -> `application/connect+proto`, lower case; "" when absent. */
export function mediaType(headers: Headers): string {
  const value = headerValue(headers, "content-type");
  if (value === undefined) return "";
  let type = mediaTypes.get(value);
  if (type === undefined) {
    type = value.split(";")[0]!.trim().toLowerCase();
    if (mediaTypes.size < mediaTypesKept) mediaTypes.set(value, type);
  }
  return type;
}

/** A capture asks for the same few types again and again. */
const mediaTypes = new Map<string, string>();
const mediaTypesKept = 1024;
