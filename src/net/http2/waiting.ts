/** What responses did whose requests were not read yet, by stream: kept, bounded, until the request is there or cannot come. */
import type { Mark } from "../../core/mark.js";

export interface WaitingResponse {
  /** Of the first byte that waited. */
  readonly first: Mark;
  /** In order. */
  readonly steps: (() => void)[];
  bytes: number;
}

/** What a waiting step counts for beside its bytes. */
const stepBytes = 64;

export class WaitingResponses {
  private readonly byStream = new Map<number, WaitingResponse>();
  private bytes = 0;
  private lowest = Number.POSITIVE_INFINITY;

  constructor(private readonly limitBytes: number) {}

  has(stream: number): boolean {
    return this.byStream.has(stream);
  }

  get(stream: number): WaitingResponse | undefined {
    return this.byStream.get(stream);
  }

  get streams(): readonly number[] {
    return [...this.byStream.keys()];
  }

  /** Streams below this one. */
  below(stream: number): readonly number[] {
    return stream > this.lowest ? this.streams.filter((each) => each < stream) : [];
  }

  /** Returns false when more waits than the limit allows. */
  add(stream: number, first: Mark, step: () => void, bytes: number): boolean {
    let waiting = this.byStream.get(stream);
    if (waiting === undefined) {
      waiting = { first, steps: [], bytes: 0 };
      this.byStream.set(stream, waiting);
      this.lowest = Math.min(this.lowest, stream);
    }
    waiting.steps.push(step);
    waiting.bytes += bytes + stepBytes;
    this.bytes += bytes + stepBytes;
    return this.bytes <= this.limitBytes;
  }

  take(stream: number): WaitingResponse | undefined {
    const waiting = this.byStream.get(stream);
    if (waiting === undefined) return undefined;
    this.byStream.delete(stream);
    this.bytes -= waiting.bytes;
    if (stream === this.lowest) this.lowest = Math.min(...this.byStream.keys());
    return waiting;
  }
}
