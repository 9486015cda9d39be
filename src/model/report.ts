/** What a report is given: the whole analysis, and how to print it. */
import type { Diagnostic, DiagnosticRow } from "../core/diagnostic.js";
import type { Place } from "../core/place.js";
import type { When } from "../core/time.js";
import type { Finding, NotCheckable, Rule } from "./check.js";
import type { BlobLedger, Conversation, Turn } from "./conversation.js";
import type { DialectResult } from "./dialect.js";
import type { Direction, FlowSummary, RequestHead } from "./exchange.js";

export interface InputInfo {
  readonly path: string;
  readonly format: "har" | "pcap" | "pcapng" | "raw" | "jsonl" | "keylog" | "unreadable";
  /** As stored on disk. */
  readonly bytes: number;
  /** null where hashing was not asked for. */
  readonly sha256: string | null;
  readonly producer: string | null;
}

/** One exchange as `flows` lists it, claimed or not. */
export interface ExchangeRow {
  readonly id: number;
  readonly flow: number;
  readonly kind: "http" | "bytes" | "lines";
  /** Without its headers: there are as many rows as exchanges. */
  readonly request: RequestHead | null;
  readonly status: number | null;
  readonly dialect: string | null;
  /** What it looks like when no dialect claims it: "Connect stream", "gRPC", "gRPC-Web", "SSE", "WebSocket", "JSON", … */
  readonly looks: string | null;
  readonly up: BodySummary;
  readonly down: BodySummary;
  readonly messages: number;
  readonly end: "complete" | "reset" | "capture-ended";
  readonly opened: When;
  /** Of the request head, or of the first bytes. */
  readonly place: Place;
}

/** What many rows have in common. */
export type ExchangeFacts = Pick<ExchangeRow, "kind" | "request" | "status" | "dialect" | "looks" | "end">;

/** The body after de-chunking and content-decoding. */
export interface BodySummary {
  readonly bytes: number;
  readonly sha256: string | null;
}

export interface Analysis {
  readonly inputs: readonly InputInfo[];
  /** Printed names of the inputs, same order. */
  readonly inputNames: readonly string[];
  readonly capture: {
    readonly start: When;
    readonly end: When;
    readonly packets: number;
    readonly flows: number;
    readonly exchanges: number;
    readonly messages: number;
  };
  readonly results: readonly DialectResult[];
  /** Of all dialects, conversations in order of their first turn. */
  readonly conversations: readonly Conversation[];
  /** Of all dialects, in order of start. */
  readonly turns: readonly Turn[];
  readonly blobs: BlobLedger | null;
  readonly flows: readonly FlowSummary[];
  /** A list made when it is first asked for; `eachExchange` takes no room. */
  readonly exchanges: readonly ExchangeRow[];
  /** `which`: only those whose shared facts it takes; rows that it refuses are not even made. */
  eachExchange(which?: (facts: ExchangeFacts) => boolean): Iterable<ExchangeRow>;
  /** How many exchanges each dialect claimed; null: those that nobody did. */
  readonly claimed: ReadonlyMap<string | null, number>;
  readonly findings: readonly Finding[];
  readonly notCheckable: readonly NotCheckable[];
  /** Rule id -> indices of the turns it was found to hold in; -1: for the whole capture. */
  readonly held: ReadonlyMap<string, readonly number[]>;
  readonly rules: readonly Rule[];
  readonly diagnostics: readonly DiagnosticRow[];
  /** Inputs that could not be read at all: path and sentence. */
  readonly unreadable: readonly { readonly path: string; readonly message: string }[];
}

export type { Diagnostic, Direction };
