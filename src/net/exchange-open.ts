/**
 * Opens an exchange at the neck and emits its events in order. Each direction ends once; whatever comes for a direction after its
 * end is dropped, so that a layer which learns of an end twice (END_STREAM, then RST_STREAM, then FIN) need not keep count.
 */
import type { Bytes } from "../core/bytes.js";
import type { Mark } from "../core/mark.js";
import type {
  Direction,
  Exchange,
  FrameFault,
  GapReason,
  Headers,
  RequestHead,
  ResponseHead,
} from "../model/exchange.js";
import type { EndReason, LayerContext } from "./duplex.js";

export class ExchangeEvents {
  readonly exchange: Exchange;
  private readonly over: Record<Direction, boolean> = { up: false, down: false };

  /** `first`: mark of the first byte of the request head, which is when the exchange opened. `head`: of the whole head. */
  constructor(
    private readonly context: LayerContext,
    request: RequestHead,
    first: Mark,
    head: Mark,
  ) {
    this.exchange = {
      kind: "http",
      id: context.ids.exchange(),
      flow: context.flow,
      request,
      opened: first.when,
      mark: head,
      recorder: "packets",
      durationMs: null,
    };
    context.sink({ kind: "open", exchange: this.exchange });
  }

  ended(direction: Direction): boolean {
    return this.over[direction];
  }

  /** `informational`: a 1xx head that another head follows. */
  head(head: ResponseHead, informational: boolean, mark: Mark): void {
    if (this.over.down) return;
    this.context.sink({ kind: "head", exchange: this.exchange, head, informational, mark });
  }

  bytes(direction: Direction, bytes: Bytes, mark: Mark): void {
    if (bytes.length === 0 || this.over[direction]) return;
    this.context.sink({
      kind: "bytes",
      exchange: this.exchange,
      direction,
      bytes,
      evidence: "exact",
      contentDecoded: false,
      mark,
    });
  }

  frame(
    direction: Direction,
    frame: {
      readonly opcode: number;
      readonly bytes: Bytes;
      readonly compressed: boolean;
      readonly wireBytes: number;
      readonly fault: FrameFault | null;
      readonly mark: Mark;
    },
  ): void {
    if (this.over[direction]) return;
    const { exchange } = this;
    const { opcode, bytes, compressed, wireBytes, fault, mark } = frame;
    // Written out: spreading an object would cost more than reading the frame.
    this.context.sink(
      fault === null
        ? { kind: "frame", exchange, direction, opcode, bytes, compressed, wireBytes, evidence: "exact", mark }
        : { kind: "frame", exchange, direction, opcode, bytes, compressed, wireBytes, evidence: "exact", mark, fault },
    );
  }

  gap(direction: Direction, length: number | undefined, why: GapReason, mark: Mark): void {
    if (this.over[direction]) return;
    this.context.sink({ kind: "gap", exchange: this.exchange, direction, length, why, mark });
  }

  trailers(direction: Direction, headers: Headers, mark: Mark): void {
    if (headers.length === 0 || this.over[direction]) return;
    this.context.sink({ kind: "trailers", exchange: this.exchange, direction, headers, mark });
  }

  end(direction: Direction, reason: EndReason, by: "client" | "server" | null, mark: Mark): void {
    if (this.over[direction]) return;
    this.over[direction] = true;
    this.context.sink({ kind: "end", exchange: this.exchange, direction, reason, by, mark });
  }
}

export function sideOf(direction: Direction): "client" | "server" {
  return direction === "up" ? "client" : "server";
}

export function otherDirection(direction: Direction): Direction {
  return direction === "up" ? "down" : "up";
}

/** Place side of a direction's bytes. */
export function placeSide(direction: Direction): "request" | "response" {
  return direction === "up" ? "request" : "response";
}
