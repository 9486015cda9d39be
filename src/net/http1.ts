/**
 * HTTP/1.0 and 1.1 on one connection: both directions' bytes in, exchanges out. RFC 9110, RFC 9112.
 * The two directions are read independently; one waits for the other only where it must: a response for the request it answers
 * (packets may arrive in the wrong order), the client's bytes for the answer to CONNECT or Upgrade. What waits is bounded.
 */
import type { Bytes } from "../core/bytes.js";
import type { Mark } from "../core/mark.js";
import type { Direction, GapReason } from "../model/exchange.js";
import type { Duplex, EndReason, LayerContext } from "./duplex.js";
import { otherDirection, sideOf } from "./exchange-open.js";
import { Held, type HeldEvent } from "./held.js";
import { type EndOfBytes, Http1Exchanges } from "./http1/exchanges.js";
import { isRequestLine, splitHead } from "./http1/head.js";
import { Http1Reader } from "./http1/reader.js";

export function http1Layer(context: LayerContext, secure: boolean): Duplex {
  return new Http1(context, secure);
}

interface Side {
  readonly reader: Http1Reader;
  readonly held: Held;
  /** Its end was told, though it may still be held. */
  closing: boolean;
  /** How it ended; null while it goes on. */
  over: EndOfBytes | null;
  /** From the next message on, the bytes are `inner`'s. */
  through: boolean;
}

class Http1 implements Duplex {
  private readonly exchanges: Http1Exchanges;
  private readonly sides: Record<Direction, Side>;
  private inner: Duplex | null = null;
  private closedBy: "client" | "server" | null = null;

  constructor(
    private readonly context: LayerContext,
    secure: boolean,
  ) {
    this.exchanges = new Http1Exchanges(context, secure, {
      over: (direction) => this.sides[direction].over,
      inStep: (direction) => this.sides[direction].reader.inStep,
      inner: () => this.inner,
      upTurned: (inner) => {
        this.inner = inner;
        this.goThrough("up");
      },
      turned: (inner) => {
        this.inner = inner;
        this.goThrough("up");
        this.goThrough("down");
      },
    });
    // Roles known from a handshake: the capture holds the connection's beginning.
    const startKnown = context.flow.rolesBy === "syn" || context.flow.rolesBy === "tls";
    const side = (direction: Direction): Side => ({
      reader: new Http1Reader(direction, this.exchanges[direction], context.limits.headBytes, startKnown),
      held: new Held(),
      closing: false,
      over: null,
      through: false,
    });
    this.sides = { up: side("up"), down: side("down") };
  }

  bytes(direction: Direction, bytes: Bytes, mark: Mark): void {
    const side = this.sides[direction];
    if (side.closing || bytes.length === 0) return;
    if (!side.held.empty) side.held.add({ kind: "bytes", bytes, mark });
    else {
      const rest = this.read(direction, bytes, mark);
      if (rest !== undefined) side.held.add({ kind: "bytes", bytes: rest, mark });
    }
    this.settle();
    while (side.held.bytes > this.context.limits.headBytes && this.waitedEnough(direction));
  }

  gap(direction: Direction, length: number | undefined, why: GapReason, mark: Mark): void {
    if (length === 0 || this.sides[direction].closing) return;
    this.take(direction, { kind: "gap", length, why, mark });
  }

  end(direction: Direction, reason: EndReason, by: "client" | "server" | null, mark: Mark): void {
    const side = this.sides[direction];
    if (side.closing) return;
    side.closing = true;
    if (reason !== "capture-ended") this.closedBy ??= by ?? sideOf(direction);
    this.take(direction, { kind: "end", reason, by, mark });
    if (!this.sides[otherDirection(direction)].closing) return;
    this.waitedEnough("down");
    while (this.waitedEnough("up"));
  }

  private take(direction: Direction, event: HeldEvent): void {
    const side = this.sides[direction];
    if (side.held.empty) this.apply(direction, event);
    else side.held.add(event);
    this.settle();
  }

  /** Gives each direction what it held for as long as the other one's progress lets it go on. */
  private settle(): void {
    const { up, down } = this.sides;
    if (up.held.empty && down.held.empty) return;
    while (this.release("up") || this.release("down"));
  }

  /** Whether anything of what was held went on. */
  private release(direction: Direction): boolean {
    const { held } = this.sides[direction];
    let moved = false;
    for (let event = held.shift(); event !== undefined; event = held.shift()) {
      const rest = this.apply(direction, event);
      if (rest !== undefined) held.putBack(rest, event.mark);
      moved ||= rest === undefined || event.kind !== "bytes" || rest.length < event.bytes.length;
      if (rest !== undefined) break;
    }
    return moved;
  }

  private apply(direction: Direction, event: HeldEvent): Bytes | undefined {
    switch (event.kind) {
      case "bytes":
        return this.read(direction, event.bytes, event.mark);
      case "gap":
        this.passGap(direction, event.length, event.why, event.mark);
        return undefined;
      case "end":
        this.passEnd(direction, event.reason, event.by, event.mark);
        return undefined;
    }
  }

  private read(direction: Direction, bytes: Bytes, mark: Mark): Bytes | undefined {
    const side = this.sides[direction];
    let rest: Bytes | undefined = bytes;
    if (!(side.through && side.reader.between)) rest = side.reader.feed(bytes, mark);
    if (rest === undefined || this.inner === null || !side.through) return rest;
    this.inner.bytes(direction, rest, mark);
    return undefined;
  }

  private passGap(direction: Direction, length: number | undefined, why: GapReason, mark: Mark): void {
    const side = this.sides[direction];
    if (side.through && side.reader.between) {
      this.inner?.gap(direction, length, why, mark);
      return;
    }
    const before = side.through;
    this.exchanges.lossWhy = why;
    side.reader.gap(length, why, mark);
    // The head that turned the connection was cut here: the new protocol's beginning is lost with it.
    if (!before && side.through) this.inner?.gap(direction, undefined, why, mark);
  }

  private passEnd(direction: Direction, reason: EndReason, by: "client" | "server" | null, mark: Mark): void {
    const side = this.sides[direction];
    const { lost } = side.reader;
    const state = side.reader.finish(mark);
    const closedBy = reason === "capture-ended" ? null : this.closedBy;
    side.over = { reason, by: closedBy, mark };
    this.inner?.end(direction, reason, closedBy ?? by, mark);
    this.exchanges.finish(direction, state, lost, side.over);
  }

  private goThrough(direction: Direction): void {
    const side = this.sides[direction];
    if (side.through) return;
    side.through = true;
    if (side.over !== null) this.inner?.end(direction, side.over.reason, side.over.by, side.over.mark);
  }

  /** The other direction does not bring what this one waits for. Returns whether that let anything go on. */
  private waitedEnough(direction: Direction): boolean {
    const { held } = this.sides[direction];
    const before = held.length;
    if (direction === "down") this.exchanges.noRequests = true;
    else {
      const next = held.first;
      this.exchanges.turnUnseen(
        next?.kind === "bytes" ? { request: beginsRequest(next.bytes), mark: next.mark } : null,
      );
    }
    this.settle();
    return held.length < before;
  }
}

/** Whether a request line stands at the very beginning. */
function beginsRequest(bytes: Bytes): boolean {
  const end = bytes.indexOf(10);
  return end > 0 && isRequestLine(splitHead(bytes.subarray(0, end)).startLine);
}
