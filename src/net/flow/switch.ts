/**
 * Finds out which protocol a connection speaks, or a tunnel inside it, and hands everything to that layer. What comes before the
 * decision waits, in order; it is little, since a few bytes of either side decide.
 */
import { type Bytes, concat, keep, noBytes } from "../../core/bytes.js";
import type { Mark } from "../../core/mark.js";
import type { Direction, GapReason } from "../../model/exchange.js";
import type { Duplex, EndReason } from "../duplex.js";
import { isGreeting, type Protocol, sniffBytes, sniffDown, sniffMidway, sniffUp } from "../sniff.js";

export interface SwitchOptions {
  /** The beginning was not captured: what looks like nothing may be the middle of something. */
  readonly midway: boolean;
  /** Decided already, by a TLS handshake. */
  readonly alpn: string | null;
  build(protocol: Protocol): Duplex;
}

type Event =
  | { readonly kind: "bytes"; readonly direction: Direction; readonly bytes: Bytes; readonly mark: Mark }
  | {
      readonly kind: "gap";
      readonly direction: Direction;
      readonly length: number | undefined;
      readonly why: GapReason;
      readonly mark: Mark;
    }
  | {
      readonly kind: "end";
      readonly direction: Direction;
      readonly reason: EndReason;
      readonly by: "client" | "server" | null;
      readonly mark: Mark;
    };

export class ProtocolSwitch implements Duplex {
  private layer: Duplex | undefined;
  /** The layer is a guess for want of a better one: any piece may begin something known. */
  private open = false;
  private waiting: Event[] = [];
  private readonly front: Record<Direction, Bytes> = { up: noBytes, down: noBytes };
  private readonly over: Record<Direction, Extract<Event, { kind: "end" }> | undefined> = {
    up: undefined,
    down: undefined,
  };
  private midway: boolean;

  constructor(private readonly options: SwitchOptions) {
    this.midway = options.midway;
    if (options.alpn === "h2") this.layer = options.build("http2");
    else if (options.alpn === "http/1.1" || options.alpn === "http/1.0") this.layer = options.build("http1");
  }

  bytes(direction: Direction, bytes: Bytes, mark: Mark): void {
    if (this.layer === undefined) this.sniff(direction, bytes, mark);
    else {
      if (this.open) this.lookAgain(direction, bytes, mark);
      this.layer.bytes(direction, bytes, mark);
    }
  }

  gap(direction: Direction, length: number | undefined, why: GapReason, mark: Mark): void {
    if (this.layer === undefined) {
      this.midway = true;
      if (this.front[direction].length === 0) {
        this.waiting.push({ kind: "gap", direction, length, why, mark });
        return;
      }
      // The bytes in front of it fitted several things, and those that would decide are lost.
      this.layer = this.decide("raw");
    }
    this.layer.gap(direction, length, why, mark);
  }

  end(direction: Direction, reason: EndReason, by: "client" | "server" | null, mark: Mark): void {
    const event = { kind: "end", direction, reason, by, mark } as const;
    this.over[direction] = event;
    if (this.layer === undefined) {
      this.waiting.push(event);
      if (this.over.up !== undefined && this.over.down !== undefined) this.decideAtEnd();
      return;
    }
    this.layer.end(direction, reason, by, mark);
  }

  private sniff(direction: Direction, bytes: Bytes, mark: Mark): void {
    const front = this.front[direction];
    const joined = front.length === 0 ? bytes : concat([front, bytes]);
    let found = direction === "up" ? sniffUp(joined) : sniffDown(joined, isGreeting(this.front.up));
    if (found === "raw" && this.midway) found = sniffMidway(bytes, direction === "up") ?? "raw";
    // A request line longer than any server takes is none.
    if (found === "more" && joined.length >= sniffBytes) found = "raw";
    if (found !== "more") {
      this.decide(found).bytes(direction, bytes, mark);
      return;
    }
    this.front[direction] = keep(joined);
    this.waiting.push({ kind: "bytes", direction, bytes: keep(bytes), mark });
  }

  /** Both directions are over: what has come is all there is. */
  private decideAtEnd(): void {
    if (this.waiting.some((event) => event.kind !== "end")) this.decide("raw");
  }

  private decide(protocol: Protocol): Duplex {
    const layer = this.options.build(protocol);
    this.layer = layer;
    this.open = protocol === "raw" && this.midway;
    const { waiting } = this;
    this.waiting = [];
    for (const event of waiting) replay(layer, event);
    return layer;
  }

  /** A connection joined midway shows a beginning after all: the unknown part ends here. */
  private lookAgain(direction: Direction, bytes: Bytes, mark: Mark): void {
    const found = sniffMidway(bytes, direction === "up");
    if (found === undefined) return;
    for (const each of ["up", "down"] as const) {
      if (this.over[each] === undefined) this.layer!.end(each, "capture-ended", null, mark);
    }
    const layer = this.options.build(found);
    this.layer = layer;
    this.open = false;
    for (const each of ["up", "down"] as const) {
      const over = this.over[each];
      if (over !== undefined) replay(layer, over);
    }
  }
}

function replay(layer: Duplex, event: Event): void {
  switch (event.kind) {
    case "bytes":
      layer.bytes(event.direction, event.bytes, event.mark);
      break;
    case "gap":
      layer.gap(event.direction, event.length, event.why, event.mark);
      break;
    case "end":
      layer.end(event.direction, event.reason, event.by, event.mark);
      break;
  }
}
