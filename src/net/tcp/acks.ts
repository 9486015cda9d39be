/** What the receiver of a stream acknowledged, and when: tells since when a hole can only be the capture's own. */
import type { Nanos } from "../../core/time.js";

interface Ack {
  readonly number: number;
  readonly at: Nanos;
}

/** Steps finer than this do not matter to anyone who waits for seconds. */
const step: Nanos = 100_000_000n;
const maxSteps = 1024;

export class AckLog {
  private log: Ack[] = [];
  /** The highest one that fits the stream. */
  highest: number | undefined;

  add(number: number, at: Nanos): void {
    if (this.highest !== undefined && ((number - this.highest) | 0) <= 0) return;
    this.highest = number;
    const last = this.log[this.log.length - 1];
    if (last !== undefined && (at - last.at < step || this.log.length >= maxSteps)) {
      this.log[this.log.length - 1] = { number, at: last.at };
    } else this.log.push({ number, at });
  }

  /** When everything before `number` was acknowledged; undefined when it is not. */
  since(number: number): Nanos | undefined {
    if (this.highest === undefined || ((this.highest - number) | 0) < 0) return undefined;
    return this.log.find((ack) => ((ack.number - number) | 0) >= 0)?.at;
  }

  /** Forgets what lies before `number`: no hole is left there. */
  passed(number: number): void {
    let old = 0;
    while (old < this.log.length && ((this.log[old]!.number - number) | 0) <= 0) old++;
    if (old > 0) this.log = this.log.slice(old);
  }
}
