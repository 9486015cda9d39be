/**
 * Cuts the stream inside WebSocket binary messages into frames: their payloads one after another are the stream, and message borders
 * carry no meaning. 4-byte big-endian length, then the payload; the pi page, section 2.
 */
import { ByteQueue } from "../../core/byte-queue.js";
import { readU32BE } from "../../core/bytes.js";
import type { Place } from "../../core/place.js";
import type { StreamMessage } from "../../model/message.js";

export const headerBytes = 4;
/** The published peers' bound on a payload, inclusive. */
export const frameBound = 16 * 1024 * 1024;

export interface Leftover {
  /** What the header says; null where the header is cut too. */
  readonly declared: number | null;
  /** Payload bytes that are there. */
  readonly have: number;
  /** All bytes left over, the header's included. */
  readonly bytes: number;
  readonly from: StreamMessage;
}

interface Piece {
  readonly message: StreamMessage;
  /** Stream offset of its first byte. */
  readonly start: number;
}

export class FrameCutter {
  private readonly queue = new ByteQueue();
  private pieces: Piece[] = [];
  private pushed = 0;
  private ordinal = 0;

  constructor(private readonly bound: number) {}

  /** Frames that are complete now. Stops before a header over the bound: see `overBound`. */
  *push(message: StreamMessage): Generator<StreamMessage> {
    if (message.body.length === 0) return;
    this.pieces.push({ message, start: this.pushed });
    this.pushed += message.body.length;
    this.queue.push(message.body, message.mark);
    for (;;) {
      const declared = this.declared();
      if (declared === null || declared > this.bound || this.queue.length < headerBytes + declared) return;
      yield this.cut(declared);
    }
  }

  /** The declared length that makes the stream unreadable, or null. */
  overBound(): number | null {
    const declared = this.declared();
    return declared !== null && declared > this.bound ? declared : null;
  }

  /** What is left when the stream ends, or null on a frame border. Takes it. */
  leftover(): Leftover | null {
    const bytes = this.queue.length;
    const from = this.pieces[this.pieces.length - 1]?.message;
    if (bytes === 0 || from === undefined) return null;
    const left = { declared: this.declared(), have: Math.max(0, bytes - headerBytes), bytes, from };
    this.queue.skip(bytes);
    return left;
  }

  private declared(): number | null {
    return this.queue.length < headerBytes ? null : readU32BE(this.queue.peek(headerBytes), 0);
  }

  private cut(declared: number): StreamMessage {
    const start = this.queue.offset;
    const size = headerBytes + declared;
    const taken = this.queue.take(size)!;
    const place = this.place(start, start + size);
    const { exchange, direction, evidence } = this.pieces[0]!.message;
    this.drop(start + size);
    return {
      exchange,
      direction,
      framing: "length-prefix",
      ordinal: this.ordinal++,
      flags: -1,
      body: taken.bytes.subarray(headerBytes),
      wireBytes: declared,
      declared,
      headerBytes,
      codec: null,
      fault: null,
      evidence,
      mark: taken.mark,
      place,
    };
  }

  /** The stream's bytes are the payloads of the messages, so offsets inside a message add to its own. */
  private place(start: number, end: number): Place {
    const first = this.pieces[0]!;
    const last = this.pieces.find((piece) => piece.start + piece.message.body.length >= end)!;
    const from = payloadStart(first.message) + (start - first.start);
    const to = payloadStart(last.message) + (end - last.start);
    const { place } = first.message;
    return place.through(last.message.place).within(place.side, from, to);
  }

  private drop(offset: number): void {
    let done = 0;
    while (done < this.pieces.length && this.pieces[done]!.start + this.pieces[done]!.message.body.length <= offset)
      done++;
    if (done > 0) this.pieces = this.pieces.slice(done);
  }
}

function payloadStart(message: StreamMessage): number {
  return (message.place.start ?? 0) + message.headerBytes;
}
