/** A connection whose protocol nobody here knows, as one exchange of raw bytes; dialects may know it by its first bytes. */
import type { Bytes } from "../../core/bytes.js";
import type { Mark } from "../../core/mark.js";
import type { Direction, Exchange, GapReason, StreamEvent } from "../../model/exchange.js";
import type { Duplex, EndReason, LayerContext } from "../duplex.js";

type End = Pick<Extract<StreamEvent, { kind: "end" }>, "reason" | "by" | "mark">;

export class RawExchange implements Duplex {
  private exchange: Exchange | undefined;
  private readonly over: Record<Direction, End | undefined> = { up: undefined, down: undefined };

  constructor(private readonly context: LayerContext) {}

  bytes(direction: Direction, bytes: Bytes, mark: Mark): void {
    const exchange = this.open(mark);
    this.context.sink({
      kind: "bytes",
      exchange,
      direction,
      bytes,
      evidence: "exact",
      contentDecoded: false,
      mark,
    });
  }

  gap(direction: Direction, length: number | undefined, why: GapReason, mark: Mark): void {
    this.context.sink({ kind: "gap", exchange: this.open(mark), direction, length, why, mark });
  }

  end(direction: Direction, reason: EndReason, by: "client" | "server" | null, mark: Mark): void {
    if (this.over[direction] !== undefined) return;
    this.over[direction] = { reason, by, mark };
    // A connection that ends without a byte is no exchange.
    if (this.exchange !== undefined) this.emitEnd(this.exchange, direction);
  }

  private open(mark: Mark): Exchange {
    if (this.exchange !== undefined) return this.exchange;
    this.exchange = {
      kind: "bytes",
      id: this.context.ids.exchange(),
      flow: this.context.flow,
      request: null,
      opened: mark.when,
      mark,
      recorder: "packets",
      durationMs: null,
    };
    this.context.sink({ kind: "open", exchange: this.exchange });
    // The first byte of one direction may come after the end of the other.
    this.emitEnd(this.exchange, "up");
    this.emitEnd(this.exchange, "down");
    return this.exchange;
  }

  private emitEnd(exchange: Exchange, direction: Direction): void {
    const end = this.over[direction];
    if (end !== undefined) this.context.sink({ kind: "end", exchange, direction, ...end });
  }
}
