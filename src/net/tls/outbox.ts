/** What is handed inward. Waits until it is known which protocol is inside and whether early data counts. */
import type { Bytes } from "../../core/bytes.js";
import type { Mark } from "../../core/mark.js";
import type { Direction, GapReason } from "../../model/exchange.js";
import type { Duplex, EndReason } from "../duplex.js";

type Item =
  | {
      readonly kind: "bytes";
      readonly direction: Direction;
      readonly bytes: Bytes;
      readonly mark: Mark;
      readonly early: boolean;
    }
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

export class Outbox {
  private inner: Duplex | undefined;
  private items: Item[] = [];
  private opened = false;
  private waitingBytes = 0;
  private readonly ended = new Set<Direction>();

  constructor(private readonly build: () => Duplex) {}

  /** Bytes that wait for `open`. */
  get waiting(): number {
    return this.opened ? 0 : this.waitingBytes;
  }

  bytes(direction: Direction, bytes: Bytes, mark: Mark, early: boolean): void {
    if (this.inner !== undefined) return this.inner.bytes(direction, bytes, mark);
    this.items.push({ kind: "bytes", direction, bytes, mark, early });
    this.waitingBytes += bytes.length;
    if (this.opened) this.start();
  }

  gap(direction: Direction, length: number | undefined, why: GapReason, mark: Mark): void {
    if (this.ended.has(direction)) return;
    if (this.inner !== undefined) return this.inner.gap(direction, length, why, mark);
    this.items.push({ kind: "gap", direction, length, why, mark });
  }

  /** The first of each direction counts: a close_notify comes before the FIN. */
  end(direction: Direction, reason: EndReason, by: "client" | "server" | null, mark: Mark): void {
    if (this.ended.has(direction)) return;
    this.ended.add(direction);
    if (this.inner !== undefined) return this.inner.end(direction, reason, by, mark);
    this.items.push({ kind: "end", direction, reason, by, mark });
  }

  /**
   * What waits can go, and all that follows: as soon as there are bytes. `early`: what becomes of early data. Returns the mark of
   * the first that is thrown away.
   */
  open(early: "taken" | "refused" | "unreadable"): Mark | undefined {
    if (this.opened) return undefined;
    this.opened = true;
    const refused = (item: Item) => early === "refused" && item.kind === "bytes" && item.early;
    const dropped = this.items.find(refused)?.mark;
    if (dropped !== undefined) this.items = this.items.filter((item) => !refused(item));
    const first = this.items.find((item) => item.kind === "bytes");
    if (first === undefined) return dropped;
    if (early === "unreadable") {
      this.items.unshift({ kind: "gap", direction: "up", length: undefined, why: "undecrypted", mark: first.mark });
    }
    this.start();
    return dropped;
  }

  private start(): void {
    const inner = this.build();
    this.inner = inner;
    const { items } = this;
    this.items = [];
    for (const item of items) {
      if (item.kind === "bytes") inner.bytes(item.direction, item.bytes, item.mark);
      else if (item.kind === "gap") inner.gap(item.direction, item.length, item.why, item.mark);
      else inner.end(item.direction, item.reason, item.by, item.mark);
    }
  }
}
