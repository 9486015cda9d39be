/**
 * The bytes delivered last, over all connections, to compare a retransmission with. Pieces are views and pin their block of the
 * capture, so only those of the last few megabytes of packets are kept.
 */
import type { Bytes } from "../../core/bytes.js";
import { differing } from "./held.js";

/** Pieces of one direction, oldest first. */
export interface RecentOf {
  oldest: RecentPiece | undefined;
  newest: RecentPiece | undefined;
}

interface RecentPiece {
  readonly owner: RecentOf;
  readonly seq: number;
  readonly bytes: Bytes;
  /** Bytes of packets that had passed when this one came. */
  readonly stamp: number;
  /** The next one of the same direction, and of all. */
  next: RecentPiece | undefined;
  nextOfAll: RecentPiece | undefined;
}

const maxPieces = 512;
const maxAge = 4 * 1024 * 1024;

export class Recent {
  private oldest: RecentPiece | undefined;
  private newest: RecentPiece | undefined;
  private count = 0;
  private passed = 0;

  /** Counts every packet, whatever it holds. */
  pass(bytes: number): void {
    this.passed += bytes;
  }

  add(owner: RecentOf, seq: number, bytes: Bytes): void {
    const piece: RecentPiece = { owner, seq, bytes, stamp: this.passed, next: undefined, nextOfAll: undefined };
    if (owner.newest === undefined) owner.oldest = piece;
    else owner.newest.next = piece;
    owner.newest = piece;
    if (this.newest === undefined) this.oldest = piece;
    else this.newest.nextOfAll = piece;
    this.newest = piece;
    this.count++;
    while (this.count > maxPieces || this.oldest!.stamp + maxAge < this.passed) this.drop();
  }

  /** Whether bytes that come again differ from what was delivered. */
  differs(owner: RecentOf, seq: number, bytes: Bytes): boolean {
    for (let piece = owner.oldest; piece !== undefined; piece = piece.next) {
      if (differing(piece.seq, piece.bytes, seq, bytes)) return true;
    }
    return false;
  }

  private drop(): void {
    const piece = this.oldest!;
    this.oldest = piece.nextOfAll;
    if (this.oldest === undefined) this.newest = undefined;
    // The oldest of all is the oldest of its direction, too.
    piece.owner.oldest = piece.next;
    if (piece.next === undefined) piece.owner.newest = undefined;
    this.count--;
  }
}
