/**
 * Which request a response answers. HTTP/1 answers in order (RFC 9112 9.3.2), so while nothing is lost it is the first one that
 * waits; after a loss the packets' order decides, since nobody answers what was not asked yet.
 */
import type { Mark } from "../../core/mark.js";
import type { ExchangeEvents } from "../exchange-open.js";

export type SwitchKind = "connect" | "websocket" | "h2c" | "other";

export interface Slot {
  readonly events: ExchangeEvents;
  readonly method: string;
  /** Of the request head's first byte. */
  readonly first: Mark;
  /** No request can be missing in front of this one. */
  readonly inStep: boolean;
  /** What the connection may become after the response. */
  readonly turns: SwitchKind | null;
  /** Where the request ended; null while it goes on. */
  requestDone: Mark | null;
  /** The response was complete. */
  answered: boolean;
}

export function isLater(a: Mark, b: Mark): boolean {
  return a.input === b.input ? a.first > b.first : a.when.latest > b.when.latest;
}

export type Match = { readonly slot: Slot; readonly skipped: readonly Slot[] } | "orphan" | "wait";

/** Requests waiting for a response head, bounded: a capture of the client's side alone never answers them. */
const waitingRequests = 1024;

export class Pairing {
  private waiting: Slot[] = [];
  /** A request was seen on its way before the response to the one in front of it. */
  private pipelined = false;

  get first(): Slot | undefined {
    return this.waiting[0];
  }

  /** Returns the slot that has to go because too many wait. */
  add(slot: Slot): Slot | undefined {
    this.waiting.push(slot);
    return this.waiting.length > waitingRequests ? this.waiting.shift() : undefined;
  }

  /** An exchange made for a response without request stays in front until its final head. */
  addFront(slot: Slot): void {
    this.waiting.unshift(slot);
  }

  answer(slot: Slot): void {
    const at = this.waiting.indexOf(slot);
    if (at >= 0) this.waiting.splice(at, 1);
  }

  rest(): readonly Slot[] {
    return this.waiting;
  }

  /** Whether a request that came before `mark` waits: with a client that does not pipeline, everything older is answered then. */
  hasBefore(mark: Mark): boolean {
    return !this.pipelined && this.waiting.some((slot) => !isLater(slot.first, mark));
  }

  /** `inStep`: no response can be missing in front of the one that begins at `mark`. `lonely`: no more requests will come. */
  match(mark: Mark, inStep: boolean, lonely: boolean): Match {
    const first = this.waiting[0];
    if (first === undefined) return lonely ? "orphan" : "wait";
    if (inStep) {
      if (!first.inStep && isLater(first.first, mark)) return "orphan";
      const second = this.waiting[1];
      if (second !== undefined && !isLater(second.first, mark)) this.pipelined = true;
      return { slot: first, skipped: [] };
    }
    const before = this.waiting.filter((slot) => !isLater(slot.first, mark));
    if (before.length === 0) return "orphan";
    const slot = this.pipelined ? before[0]! : before.at(-1)!;
    return { slot, skipped: before.slice(0, before.indexOf(slot)) };
  }
}
