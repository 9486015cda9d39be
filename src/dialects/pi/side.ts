/** One direction of a connection: what was counted, where it stopped being readable, and how it ended. */
import type { Mark } from "../../core/mark.js";
import type { HelloFact, Point } from "./facts.js";

export interface Tail {
  readonly offset: number;
  bytes: number;
  readonly why: string;
}

export interface SideEnd {
  readonly reason: "complete" | "reset" | "capture-ended";
  readonly by: "client" | "server" | null;
  readonly mark: Mark;
}

export class Side {
  /** Stream bytes seen, headers included. */
  bytes = 0;
  readonly frames = new Map<string, number>();
  readonly hellos: HelloFact[] = [];
  tail: Tail | null = null;
  /** Why nothing more of this direction is read; null while it is. */
  dead: string | null = null;
  /** Why bytes are missing; null where none are. */
  lost: string | null = null;
  /** The last frame before the first loss; null where the loss comes before any frame. */
  private before: Point | null = null;
  /** The capture may have begun after the direction did. */
  startUnsure = false;
  first: { readonly type: string; readonly at: Point } | null = null;
  last: Point | null = null;
  end: SideEnd | null = null;
  /** Index of the next frame. */
  index = 0;

  count(type: string, at: Point): void {
    this.frames.set(type, (this.frames.get(type) ?? 0) + 1);
    this.first ??= { type, at };
    this.last = at;
    this.index++;
  }

  /** From here on nothing can be framed. */
  stop(offset: number, bytes: number, why: string): void {
    this.dead ??= why;
    if (this.tail !== null) this.tail.bytes += bytes;
    else if (bytes > 0) this.tail = { offset, bytes, why };
  }

  lose(why: string): void {
    if (this.lost === null) this.before = this.last;
    this.lost ??= why;
  }

  /** Whether something of this direction may be missing before `at`, a moment of either direction. */
  isDoubtful(at: Point): boolean {
    if (this.startUnsure) return true;
    return this.lost !== null && (this.before === null || isAfter(at, this.before));
  }

  /** Whether rules that need all of this direction may judge. */
  get whole(): boolean {
    return this.lost === null && !this.startUnsure;
  }
}

/** Losses are noticed late, so that moments are compared by their packets. */
function isAfter(a: Point, b: Point): boolean {
  return a.place.input === b.place.input ? a.place.last > b.place.last : a.when.latest > b.when.latest;
}
