/** One claimed exchange while it is open: what its heads and ends say, and where its messages go. */
import type { Exchange, ResponseHead } from "../../model/exchange.js";
import type { AppendFacts } from "./append-facts.js";
import type { Downlink } from "./downlink.js";
import type { GapFact, UpItem } from "./model.js";
import type { Method } from "./paths.js";
import type { DownCall, RequestLog } from "./request-log.js";

export interface Call {
  readonly exchange: Exchange;
  readonly method: Method;
  readonly order: number;
  readonly headerId: string;
  response: ResponseHead | null;
  log: RequestLog | null;
  /** Of a stream. */
  down: DownCall | null;
  /** Of an append: its item, once the body was read. */
  item: UpItem | null;
  facts: AppendFacts | null;
  upGaps: GapFact[];
  /** Gaps of a response that has no downlink. */
  downGaps: GapFact[];
  upMessages: number;
  ended: { up: boolean; down: boolean };
}

/** The request that a call turns out to belong to; until the call is over it may add to what is known of it. */
export function enter(call: Call, log: RequestLog): void {
  call.log = log;
  log.box.enter();
}

export function downlinkOf(call: Call): Downlink | null {
  return call.down?.downlink ?? null;
}
