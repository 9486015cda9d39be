/**
 * Streams that wait at a hole, over all connections, and when they stop waiting. Time is the capture's: the latest packet time seen,
 * so that packets out of order in the file make nobody impatient.
 */
import type { Nanos } from "../../core/time.js";

export interface Waiter {
  /** Gives up the first hole, and the acknowledged ones behind it that have been waited for since `until` or longer. */
  giveUp(until: Nanos | undefined): void;
}

/**
 * After the receiver acknowledged the bytes (or the connection was reset) only the capture's own disorder can still bring them:
 * that is a matter of milliseconds. Without an acknowledgement the sender may repeat them, at intervals of up to two minutes.
 */
const afterAck: Nanos = 2_000_000_000n;
const withoutAck: Nanos = 300_000_000_000n;

export class Waiting {
  /** The latest packet time so far. */
  now: Nanos = 0n;
  private readonly plain = new Map<Waiter, Nanos>();
  private readonly acked = new Map<Waiter, Nanos>();
  private held = 0;

  constructor(
    private readonly limitBytes: number,
    /** A limit makes a stream give up. */
    private readonly noteLimit: () => void,
  ) {}

  /** The stream waits at a hole since then; `acked`: nothing but disorder can bring the bytes. */
  wait(waiter: Waiter, acked: boolean, since: Nanos): void {
    const [into, other] = acked ? [this.acked, this.plain] : [this.plain, this.acked];
    other.delete(waiter);
    into.set(waiter, since);
  }

  done(waiter: Waiter): void {
    this.plain.delete(waiter);
    this.acked.delete(waiter);
  }

  /** Bytes put behind a hole, or taken away when negative. */
  hold(bytes: number): void {
    this.held += bytes;
  }

  overLimit(waiter: Waiter): void {
    this.noteLimit();
    this.done(waiter);
    waiter.giveUp(undefined);
  }

  /** A packet's time: called for each one. */
  tick(at: Nanos): void {
    if (at > this.now) this.now = at;
    if (this.acked.size > 0) expire(this.acked, this.now - afterAck);
    if (this.plain.size > 0) expire(this.plain, this.now - withoutAck);
    while (this.held > this.limitBytes) {
      const oldest = this.acked.keys().next().value ?? this.plain.keys().next().value;
      if (oldest === undefined) return;
      this.overLimit(oldest);
    }
  }
}

function expire(waiters: Map<Waiter, Nanos>, until: Nanos): void {
  for (const [waiter, since] of waiters) {
    if (since > until) return;
    waiters.delete(waiter);
    waiter.giveUp(until);
  }
}
