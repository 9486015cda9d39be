/** What has come for a direction that waits for a hello or a secret: in order of arrival, within limits. */
import type { Bytes } from "../../core/bytes.js";
import type { Mark } from "../../core/mark.js";
import type { Direction, GapReason } from "../../model/exchange.js";
import type { EndReason } from "../duplex.js";
import type { Holder, HoldPool } from "./shared.js";

export type WaitingEvent =
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

/** How many connections may hold as much as one may. */
const sharers = 16;
/** What an event costs beside its bytes. */
const eventBytes = 64;

export class Backlog implements Holder {
  private events: WaitingEvent[] = [];
  private held = 0;

  /** `over`: the limit is passed; nothing waits any longer. */
  constructor(
    private readonly pool: HoldPool,
    private readonly limit: number,
    private readonly over: (mark: Mark) => void,
  ) {}

  add(event: WaitingEvent): void {
    const size = cost(event);
    this.events.push(event);
    this.held += size;
    if (this.held > this.limit) this.letGo();
    else this.pool.add(this, size, this.limit * sharers);
  }

  letGo(): void {
    this.pool.release(this);
    const { events } = this;
    if (events.length > 0) this.over(events[events.length - 1]!.mark);
  }

  /** Hands on the events of directions that do not wait any more, and keeps those of the others. */
  replay(waits: (direction: Direction) => boolean, each: (event: WaitingEvent) => void): void {
    const { events } = this;
    this.events = [];
    this.held = 0;
    this.pool.release(this);
    for (const event of events) {
      if (waits(event.direction)) {
        this.events.push(event);
        this.held += cost(event);
      } else each(event);
    }
    if (this.held > 0) this.pool.add(this, this.held, this.limit * sharers);
  }
}

function cost(event: WaitingEvent): number {
  return eventBytes + (event.kind === "bytes" ? event.bytes.length : 0);
}
