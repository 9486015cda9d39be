/** What arrived for a direction that has to wait for the other one, in order. Bytes are copied: they may wait long. */
import { type Bytes, keep } from "../core/bytes.js";
import type { Mark } from "../core/mark.js";
import type { GapReason } from "../model/exchange.js";
import type { EndReason } from "./duplex.js";

export type HeldEvent =
  | { readonly kind: "bytes"; readonly bytes: Bytes; readonly mark: Mark }
  | { readonly kind: "gap"; readonly length: number | undefined; readonly why: GapReason; readonly mark: Mark }
  | {
      readonly kind: "end";
      readonly reason: EndReason;
      readonly by: "client" | "server" | null;
      readonly mark: Mark;
    };

export class Held {
  private events: HeldEvent[] = [];
  private at = 0;
  /** Bytes waiting. */
  bytes = 0;

  get empty(): boolean {
    return this.at === this.events.length;
  }

  /** What waits: bytes, and each event as one more. */
  get length(): number {
    return this.bytes + this.events.length - this.at;
  }

  get first(): HeldEvent | undefined {
    return this.events[this.at];
  }

  add(event: HeldEvent): void {
    if (event.kind === "bytes") {
      this.bytes += event.bytes.length;
      this.events.push({ ...event, bytes: keep(event.bytes) });
    } else this.events.push(event);
  }

  shift(): HeldEvent | undefined {
    const event = this.events[this.at];
    if (event === undefined) return undefined;
    this.at++;
    if (event.kind === "bytes") this.bytes -= event.bytes.length;
    if (this.at === this.events.length) {
      this.events = [];
      this.at = 0;
    }
    return event;
  }

  /** Puts back the rest of what `shift` gave. */
  putBack(bytes: Bytes, mark: Mark): void {
    this.bytes += bytes.length;
    const event: HeldEvent = { kind: "bytes", bytes, mark };
    if (this.at > 0) this.events[--this.at] = event;
    else this.events.unshift(event);
  }
}
