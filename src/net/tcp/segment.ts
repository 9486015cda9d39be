/** The TCP header of one packet. RFC 9293 3.1. One object serves all packets. */
import type { Bytes } from "../../core/bytes.js";
import type { Slice } from "../link/slice.js";

export const tcpFlag = { fin: 1, syn: 2, rst: 4, ack: 16 } as const;

export class Segment {
  sourcePort = 0;
  destinationPort = 0;
  /** Sequence numbers as signed words: their distance is `(a - b) | 0`. */
  seq = 0;
  ack = 0;
  flags = 0;
  /** Payload on the wire. */
  length = 0;
  /** Its bytes that were not captured, at its end. */
  missing = 0;
  /** The header contradicts itself: nothing but the ports is to be believed. */
  bogus = false;
  private bytes: Bytes | undefined;
  private from = 0;

  /** False where there is no whole header. */
  read(slice: Slice): boolean {
    // A capture may cut the header itself; up to the window there is enough to place the segment, and for tshark to list it.
    if (!slice.has(16) || slice.length < 20) return false;
    const header = (slice.u8(12) >> 4) * 4;
    this.bogus = header < 20 || header > slice.length;
    this.sourcePort = slice.u16();
    this.destinationPort = slice.u16(2);
    this.seq = slice.i32(4);
    this.ack = slice.i32(8);
    this.flags = slice.u8(13);
    this.length = slice.length - header;
    const captured = Math.max(0, slice.end - slice.at - header);
    this.missing = this.length - captured;
    this.bytes = slice.bytes;
    this.from = slice.at + header;
    return true;
  }

  /** The captured payload: a view. */
  payload(): Bytes {
    return this.bytes!.subarray(this.from, this.from + this.length - this.missing);
  }
}
