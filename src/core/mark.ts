/**
 * Which packets carried some bytes, and when. Every layer that joins or cuts bytes hands marks on, so that a message knows its
 * packets without any map that outlives it. One mark is shared by all bytes of a packet.
 */
import { Place, type PlaceSide } from "./place.js";
import type { When } from "./time.js";

export interface Mark {
  /** Index of the input file. */
  readonly input: number;
  /** First and last packet, entry, line or chunk; 0-based, inclusive. */
  readonly first: number;
  readonly last: number;
  /** When the last of them was seen: a message exists once its last packet has arrived. */
  readonly when: When;
}

/** From the first packet of `a` to the last of `b`, complete when `b` is. */
export function spanMarks(a: Mark, b: Mark): Mark {
  if (a === b) return a;
  if (a.input !== b.input) return b;
  return { input: b.input, first: Math.min(a.first, b.first), last: Math.max(a.last, b.last), when: b.when };
}

export function placeOf(mark: Mark, side?: PlaceSide, start?: number, end?: number): Place {
  return new Place(mark.input, mark.first, mark.last, side, start, end);
}
