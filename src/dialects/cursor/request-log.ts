/** Everything seen of one request id: its downlinks and its appends, in order of arrival. Epochs are told apart later. */
import type { Place } from "../../core/place.js";
import { type Nanos, unknownWhen, type When } from "../../core/time.js";
import { type Exchange, type GapReason, headerValue, mediaType } from "../../model/exchange.js";
import type { AppendHead } from "./append-facts.js";
import type { Downlink } from "./downlink.js";
import { flat } from "./fields.js";
import type { EndStream, GapFact, UpItem } from "./model.js";
import type { Box, BoxList } from "./shelf.js";

/** What the headers of a call say about the client and about other runs. */
export interface ClientFacts {
  readonly userAgent: string | null;
  readonly version: string | null;
  readonly type: string | null;
  /** HTTP version; null where the producer did not say. */
  readonly http: string | null;
  readonly originalRequestId: string | null;
  readonly parentRequestId: string | null;
  readonly rootParentRequestId: string | null;
  readonly parentToolCallId: string | null;
}

/** One RunSSE or Run exchange, or the polls of one run. */
export interface DownCall {
  readonly channel: "RunSSE" | "Run" | "RunPoll";
  readonly input: number;
  readonly exchange: number;
  readonly order: number;
  readonly opened: When;
  readonly recorder: Exchange["recorder"];
  /** Of a HAR entry; null where unknown, and with packets. */
  durationMs: number | null;
  readonly method: string;
  readonly headerId: string;
  readonly requestType: string;
  readonly timeoutMs: number | null;
  readonly client: ClientFacts;
  readonly place: Place;
  readonly downlink: Downlink;
  /** Client messages of a Run; null in the split modes. */
  readonly uplink: BoxList<UpItem> | null;
  /** Request ids in the request's envelopes; one in the split mode. */
  bodyIds: readonly string[];
  /** Envelopes of the request, and how many of them were EndStream. */
  requestFrames: number;
  requestEnds: number;
  upGaps: readonly GapFact[];
  /** How the request's side ended; null: not seen. */
  upEnd: { readonly reason: string; readonly by: "client" | "server" | null; readonly when: When } | null;
  responseSeen: boolean;
  status: number | null;
  responseType: string;
  responseCodec: string;
  /** Of an answer that is no stream. */
  httpError: Omit<EndStream, "issues"> | null;
  /** Of polls: the last one said that there is no more. */
  eof: boolean;
  polls: number;
}

/** An append whose body the capture lost or mangled beyond reading. */
export interface LostAppend {
  readonly why: GapReason;
  readonly place: Place;
  readonly when: When;
  readonly order: number;
  readonly length: number | null;
}

export class RequestLog {
  readonly calls: DownCall[] = [];
  readonly lost: LostAppend[] = [];
  /** Methods of other families that carry this request id. */
  readonly foreign = new Set<string>();
  client: ClientFacts | null = null;
  readonly heads: AppendHead[] = [];
  /** Of its first exchange. */
  recorder: Exchange["recorder"] | null = null;
  /** As the last run_request or prewarm_request named it. */
  conversationId: string | null = null;
  private readonly appendList: BoxList<UpItem>;

  constructor(
    /** null: neither header nor body names it. */
    readonly id: string | null,
    readonly order: number,
    /** Holds the items of all that belongs to it. */
    readonly box: Box,
  ) {
    this.appendList = box.add();
  }

  get appends(): UpItem[] {
    return this.appendList.items;
  }
}

const agents = new Map<string, string>();

/** Header values repeat for every exchange: one copy of each is kept, cut from its head. */
function shared(value: string | undefined): string | null {
  if (value === undefined || value === "") return null;
  let known = agents.get(value);
  if (known === undefined) {
    known = flat(value);
    if (agents.size < 4096) agents.set(known, known);
  }
  return known;
}

export function clientFacts(exchange: Exchange): ClientFacts {
  const headers = exchange.request?.headers ?? [];
  const value = (name: string) => shared(headerValue(headers, name));
  return {
    userAgent: value("user-agent"),
    version: value("x-cursor-client-version"),
    type: value("x-cursor-client-type"),
    http: exchange.request?.version ?? null,
    originalRequestId: value("x-original-request-id"),
    parentRequestId: value("x-parent-request-id"),
    rootParentRequestId: value("x-root-parent-request-id"),
    parentToolCallId: value("x-parent-agent-tool-call-id"),
  };
}

export function headerId(exchange: Exchange): string {
  return shared(headerValue(exchange.request?.headers ?? [], "x-request-id")) ?? "";
}

export function requestType(exchange: Exchange): string {
  return shared(mediaType(exchange.request?.headers ?? [])) ?? "";
}

export function responseTypeOf(headers: Parameters<typeof mediaType>[0]): string {
  return shared(mediaType(headers)) ?? "";
}

export function timeoutMs(exchange: Exchange): number | null {
  const value = headerValue(exchange.request?.headers ?? [], "connect-timeout-ms");
  return value !== undefined && /^\d{1,10}$/.test(value) ? Number(value) : null;
}

/** When a request was sent. */
export function sentAt(exchange: Exchange): When {
  const { opened } = exchange;
  return opened === unknownWhen ? unknownWhen : opened;
}

export function latestOf(when: When | undefined): Nanos | null {
  return when === undefined || when === unknownWhen || when.latest === 0n ? null : when.latest;
}
