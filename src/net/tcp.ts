/**
 * Segments of one direction of a connection -> its bytes in order, and gaps. RFC 9293 3.4, 3.8; the first copy of every byte wins.
 *
 * A hole is not given up because the receiver acknowledged what lies behind it: a capture may show the acknowledgement first. It is
 * given up when time passes after that (tcp/waiting.ts), when more waits behind it than the limits allow, or when the connection
 * is over. Offsets count from the first byte of the direction, gaps included.
 */
import type { Bytes } from "../core/bytes.js";
import type { Mark } from "../core/mark.js";
import type { Nanos } from "../core/time.js";
import type { GapReason } from "../model/exchange.js";
import type { EndReason } from "./duplex.js";
import { AckLog } from "./tcp/acks.js";
import { HeldSegments } from "./tcp/held.js";
import type { Recent, RecentOf } from "./tcp/recent.js";
import { type Segment, tcpFlag } from "./tcp/segment.js";
import type { Waiter, Waiting } from "./tcp/waiting.js";

/** Who takes what a stream makes of its segments. */
export interface StreamOwner {
  data(stream: TcpStream, bytes: Bytes, mark: Mark): void;
  gap(stream: TcpStream, offset: number, length: number, why: GapReason, mark: Mark): void;
  /** Once: the direction's end was reached, in order. */
  over(stream: TcpStream, reason: EndReason, mark: Mark): void;
  /** An oddity at the packet of `mark`, about so many bytes. */
  odd(stream: TcpStream, code: OddCode, length: number, mark: Mark): void;
}

export type OddCode =
  | "tcp.overlap-differs"
  | "tcp.out-of-window"
  | "tcp.late-data"
  | "tcp.before-start"
  | "tcp.data-after-end";

/** What all streams of a capture share. */
export interface StreamTools {
  readonly recent: Recent;
  readonly waiting: Waiting;
  readonly limitBytes: number;
}

/** The largest window that TCP can announce (RFC 7323 2.3): further ahead or behind is no segment of this stream. */
const maxWindow = 1 << 30;

/** More than this missing at the very end, without data or acknowledgement to prove it, is no loss but a stray number. */
const maxTail = 64 * 1024 * 1024;

/** A reset this far off belongs to another connection, or to nobody. */
const maxResetDistance = 16 * 1024 * 1024;

export class TcpStream implements RecentOf, Waiter {
  oldest: RecentOf["oldest"];
  newest: RecentOf["newest"];
  /** The sequence number before the first byte, once either side tells it. */
  isn: number | undefined;
  /** Unknown until the first packet; "guessed" where a packet without data told it. */
  private base: "unknown" | "guessed" | "known" = "unknown";
  private next = 0;
  private offset = 0;
  private readonly held = new HeldSegments();
  private readonly acks = new AckLog();
  /** An acknowledgement fitted what was seen: the other side speaks of this stream, not of an earlier one. */
  private ackFits = false;
  private fin: { readonly seq: number; readonly mark: Mark; readonly since: Nanos } | undefined;
  private resetBy: { readonly mark: Mark; readonly since: Nanos } | undefined;
  private ended = false;
  /** The last hole that was given up: what comes for it is late, not a repetition. */
  private late: { readonly from: number; readonly to: number } | undefined;

  constructor(
    readonly side: 0 | 1,
    private readonly owner: StreamOwner,
    private readonly tools: StreamTools,
  ) {}

  get isOver(): boolean {
    return this.ended;
  }

  /** A segment of this direction with data, SYN or FIN, in order of capture. `mark`: of its packet. */
  segment(segment: Segment, mark: Mark): void {
    const syn = (segment.flags & tcpFlag.syn) !== 0;
    if (syn) this.synchronize(segment.seq);
    else if (this.base !== "known") this.guess(segment.seq, segment.length);
    const seq = syn ? (segment.seq + 1) | 0 : segment.seq;
    if (segment.length > 0) {
      if (seq === this.next && this.held.empty) this.deliver(segment.payload(), segment.missing, mark);
      else this.place(seq, segment, mark);
    }
    if ((segment.flags & tcpFlag.fin) !== 0) this.finish((seq + segment.length) | 0, mark);
  }

  /** A segment without data tells where the direction stands, if nothing else did. */
  empty(seq: number): void {
    if (this.base === "unknown") this.guess(seq, 0);
  }

  /** The other side acknowledges everything before `ack`. */
  acknowledge(ack: number): void {
    this.isn ??= (ack - 1) | 0;
    if (this.base === "unknown") return;
    const ahead = (ack - this.next) | 0;
    if (ahead <= 0) {
      if (-ahead <= this.offset) this.ackFits = true;
      return;
    }
    if (ahead > maxWindow || !this.ackFits) return;
    this.acks.add(ack, this.tools.waiting.now);
    if (this.waits()) this.register();
  }

  /** The connection was reset, by either side: this direction is over once its holes are filled or given up. */
  reset(mark: Mark): void {
    if (this.ended || this.resetBy !== undefined) return;
    this.resetBy = { mark, since: this.tools.waiting.now };
    this.settle();
  }

  /** Whether a reset with this number can be one of this direction's. */
  resetFits(seq: number): boolean {
    return this.base === "unknown" || Math.abs((seq - this.next) | 0) <= maxResetDistance;
  }

  giveUp(until: Nanos | undefined): void {
    this.giveUpFirst();
    while (until !== undefined && this.waits()) {
      const hole = this.hole();
      if (!hole.acked || hole.since > until) break;
      this.giveUpFirst();
    }
    this.settle();
  }

  /** Nothing more will come. `mark`: of the connection's last packet. `otherEnded`: the other direction had its FIN. */
  close(mark: Mark, otherEnded: boolean): void {
    while (this.waits() && !this.strays(mark)) this.giveUpFirst();
    if (!this.ended) this.missTail(otherEnded, mark);
    this.settle();
    this.end("capture-ended", mark);
  }

  /** A SYN consumes one number and says where the stream begins. */
  private synchronize(seq: number): void {
    // Another SYN-ACK with another number, before any data: the later one counts, as in tshark.
    const nothingYet = this.offset === 0 && this.held.empty && this.fin === undefined;
    if (this.base !== "unknown" && !nothingYet) return;
    this.next = (seq + 1) | 0;
    this.base = "known";
    this.isn = seq;
  }

  /** The capture began in the middle of the connection: so does the stream. */
  private guess(seq: number, length: number): void {
    if (this.base === "unknown") {
      this.next = seq;
      this.isn ??= (seq - 1) | 0;
    } else if (length > 0 && seq === ((this.next + 1) | 0)) {
      // What seemed the beginning was a keep-alive: it carries the number before the next byte.
      this.next = seq;
    }
    this.base = length > 0 ? "known" : "guessed";
  }

  private place(seq: number, segment: Segment, mark: Mark): void {
    const ahead = (seq - this.next) | 0;
    if (ahead >= maxWindow || ahead < -maxWindow) this.owner.odd(this, "tcp.out-of-window", segment.length, mark);
    else if (ahead < 0) this.repeat(seq, -ahead, segment, mark);
    else this.hold(seq, segment.payload(), segment.missing, mark);
  }

  /** Bytes that came before, perhaps with new ones behind them. */
  private repeat(seq: number, old: number, segment: Segment, mark: Mark): void {
    const bytes = segment.payload();
    // A keep-alive repeats the last byte, or sends any byte in its place (RFC 9293 3.8.4).
    if (old > 1 || segment.length > 1) {
      if (this.tools.recent.differs(this, seq, bytes.subarray(0, old))) {
        this.owner.odd(this, "tcp.overlap-differs", Math.min(old, bytes.length), mark);
      }
      const { late } = this;
      if (late !== undefined && ((seq - late.to) | 0) < 0 && ((seq + segment.length - late.from) | 0) > 0) {
        this.owner.odd(this, "tcp.late-data", Math.min(old, segment.length), mark);
      }
      // The capture began in the middle, and this is older than what came first.
      const before = Math.min(old - this.offset, segment.length);
      if (before > 0) this.owner.odd(this, "tcp.before-start", before, mark);
    }
    if (old >= segment.length) return;
    const rest = bytes.subarray(Math.min(old, bytes.length));
    const missing = Math.min(segment.missing, segment.length - old);
    if (this.held.empty) this.deliver(rest, missing, mark);
    else this.hold(this.next, rest, missing, mark);
  }

  /** Puts a segment among those that wait; what thereby becomes the next bytes is delivered. */
  private hold(seq: number, bytes: Bytes, missing: number, mark: Mark): void {
    const first = this.held.first;
    if (first !== undefined && seq === this.next && ((first.seq - seq) | 0) >= bytes.length + missing) {
      // The usual way of a hole being filled: no copy.
      this.deliver(bytes, missing, mark);
    } else {
      const before = this.held.size;
      const differs = this.held.add({ seq, bytes, missing, mark, since: this.tools.waiting.now });
      if (differs) this.owner.odd(this, "tcp.overlap-differs", bytes.length, mark);
      this.tools.waiting.hold(this.held.size - before);
    }
    this.drain();
    while (this.held.size > this.tools.limitBytes) this.tools.waiting.overLimit(this);
    this.settle();
  }

  /** Delivers what waits and has become the next. */
  private drain(): void {
    for (;;) {
      const first = this.held.first;
      if (first === undefined) return;
      // Data behind a FIN skips the number that the FIN took.
      if (this.fin?.seq === this.next && first.seq === ((this.next + 1) | 0)) this.next = first.seq;
      if (first.seq !== this.next) return;
      const before = this.held.size;
      this.held.shift();
      this.tools.waiting.hold(this.held.size - before);
      this.deliver(first.bytes, first.missing, first.mark);
    }
  }

  private deliver(bytes: Bytes, missing: number, mark: Mark): void {
    if (bytes.length > 0) {
      this.tools.recent.add(this, this.next, bytes);
      this.next = (this.next + bytes.length) | 0;
      this.offset += bytes.length;
      if (this.ended) this.owner.odd(this, "tcp.data-after-end", bytes.length, mark);
      this.owner.data(this, bytes, mark);
    }
    if (missing > 0) this.miss(missing, "truncated-by-producer", mark);
    if (this.fin !== undefined) this.settle();
  }

  /** What waits so far off that no window reaches it, and nobody ever acknowledged it, is dropped: it is none of this stream's. */
  private strays(mark: Mark): boolean {
    const to = this.held.first?.seq ?? this.fin!.seq;
    if (((to - this.next) | 0) <= maxTail || this.acks.since(to) !== undefined) return false;
    const before = this.held.size;
    const bytes = this.held.clear();
    this.tools.waiting.hold(this.held.size - before);
    this.fin = undefined;
    this.owner.odd(this, "tcp.out-of-window", bytes, mark);
    return true;
  }

  private giveUpFirst(): void {
    const first = this.held.first;
    if (first === undefined && this.fin === undefined) return;
    const to = first?.seq ?? this.fin!.seq;
    const length = (to - this.next) | 0;
    if (length > 0) {
      this.late = { from: this.next, to };
      this.miss(length, "tcp-gap", first?.mark ?? this.fin!.mark);
    }
    this.drain();
  }

  private miss(length: number, why: GapReason, mark: Mark): void {
    this.owner.gap(this, this.offset, length, why, mark);
    this.next = (this.next + length) | 0;
    this.offset += length;
  }

  /** Bytes at the end that only the receiver's acknowledgement tells of. One number alone is a FIN that was not captured. */
  private missTail(otherEnded: boolean, mark: Mark): void {
    const { highest } = this.acks;
    if (highest === undefined || this.fin !== undefined || this.base !== "known") return;
    const tail = (highest - this.next) | 0;
    // Where the other side is through, this one's FIN was acknowledged with the rest.
    if (tail > 1 && tail <= maxTail) this.miss(otherEnded ? tail - 1 : tail, "tcp-gap", mark);
  }

  private finish(seq: number, mark: Mark): void {
    if (this.ended || this.base === "unknown") return;
    const ahead = (seq - this.next) | 0;
    // One inside what was delivered, or far away, is none of this stream's.
    if (ahead < 0 || ahead > maxWindow) return;
    if (this.fin === undefined || ((seq - this.fin.seq) | 0) < 0) {
      this.fin = { seq, mark, since: this.tools.waiting.now };
    }
    this.settle();
  }

  /** Whether something waits for bytes that have not come. */
  private waits(): boolean {
    return !this.held.empty || (this.fin !== undefined && !this.ended && ((this.fin.seq - this.next) | 0) > 0);
  }

  /** The first hole: since when it is waited for, and whether only disorder can still fill it. */
  private hole(): { readonly acked: boolean; readonly since: Nanos } {
    const first = this.held.first;
    const came = first?.since ?? this.fin?.since ?? 0n;
    const acked = this.acks.since(first?.seq ?? this.fin?.seq ?? this.next);
    const certain =
      this.resetBy !== undefined && (acked === undefined || this.resetBy.since < acked) ? this.resetBy.since : acked;
    if (certain === undefined) return { acked: false, since: came };
    return { acked: true, since: certain > came ? certain : came };
  }

  private register(): void {
    const { acked, since } = this.hole();
    this.tools.waiting.wait(this, acked, since);
  }

  /** Ends the direction where its end is reached, and keeps the register of holes up to date. */
  private settle(): void {
    if (!this.ended && this.fin !== undefined && ((this.fin.seq - this.next) | 0) <= 0)
      this.end("complete", this.fin.mark);
    if (this.waits()) {
      this.register();
      return;
    }
    this.tools.waiting.done(this);
    this.acks.passed(this.next);
    if (this.resetBy !== undefined) this.end("reset", this.resetBy.mark);
  }

  private end(reason: EndReason, mark: Mark): void {
    if (this.ended) return;
    this.ended = true;
    this.owner.over(this, reason, mark);
  }
}
