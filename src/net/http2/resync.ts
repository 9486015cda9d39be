/** Finds the next frame header in an HTTP/2 direction that is out of step, and counts what was passed over. */
import { type Bytes, concat, keep, noBytes } from "../../core/bytes.js";
import { type Mark, spanMarks } from "../../core/mark.js";
import { frameHeaderBytes, frameType, looksLikeFrame, readFrameHead } from "./frame.js";

export interface StreamNumbers {
  /** Whether a stream of this number is open. */
  isOpen(stream: number): boolean;
  /** The highest number seen so far. */
  readonly highest: number;
}

export interface FrameStart {
  readonly bytes: Bytes;
  readonly at: number;
  readonly mark: Mark;
}

/** How far stream numbers may run ahead of the highest seen: 1000 requests. */
const numbersAhead = 2000;

export class FrameResync {
  private held: Bytes = noBytes;
  private heldMark: Mark | undefined;
  /** Bytes passed over since the direction got out of step. */
  skipped = 0;

  constructor(private readonly numbers: StreamNumbers) {}

  /** Missing bytes: what is held does not join with what comes. */
  cut(): void {
    this.skipped += this.held.length;
    this.held = noBytes;
  }

  /**
   * The next place that looks like a frame header at or after `from`. Believed where the piece begins with it (senders write whole
   * frames, so segments often do), where its stream is open, or where another one or the piece's end follows the frame.
   */
  search(piece: Bytes, from: number, maxLength: number, mark: Mark): FrameStart | undefined {
    const own = from === 0 ? piece : piece.subarray(from);
    const joined = this.held.length === 0 ? own : concat([this.held, own]);
    const span = this.held.length === 0 ? mark : spanMarks(this.heldMark ?? mark, mark);
    const edge = this.held.length;
    this.held = noBytes;
    for (let at = 0; at + frameHeaderBytes <= joined.length; at++) {
      if (!looksLikeFrame(joined, at, maxLength) || !this.believed(joined, at, at === edge && from === 0, maxLength))
        continue;
      this.skipped += at;
      return { bytes: joined, at, mark: at >= edge ? mark : span };
    }
    const rest = Math.max(0, joined.length - frameHeaderBytes + 1);
    this.skipped += rest;
    this.held = keep(joined.subarray(rest));
    this.heldMark = mark;
    return undefined;
  }

  private believed(bytes: Bytes, at: number, begins: boolean, maxLength: number): boolean {
    const head = readFrameHead(bytes, at);
    const { highest } = this.numbers;
    const open = head.stream !== 0 && this.numbers.isOpen(head.stream);
    if (!open && head.stream > highest + numbersAhead && highest > 0) return false;
    const next = at + frameHeaderBytes + head.length;
    if (next + frameHeaderBytes <= bytes.length) return looksLikeFrame(bytes, next, maxLength);
    if (next === bytes.length || begins) return true;
    return open && head.type !== frameType.continuation;
  }

  finish(): void {
    this.skipped += this.held.length;
    this.held = noBytes;
  }
}
