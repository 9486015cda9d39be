/**
 * gzip and deflate (with or without zlib header) piece by piece, so that an unfinished body gives what it has. fflate expands up to 1,032
 * times what it is fed before anyone can look, therefore it is fed a few KiB at a time. Checksums are not verified here.
 */
import { Gunzip, Inflate, Unzlib } from "fflate";
import { type Bytes, concat } from "../core/bytes.js";
import type { Limits } from "../core/limits.js";
import { inflatedLimit, zlibWrapped } from "./inflate-bounds.js";

/** 8 KiB in, at most 8.4 MB out. */
const sliceBytes = 8192;
/** After this many pieces below this size, such pieces are gathered up to so many bytes. */
const tinyPieces = 256;
const tinyBytes = 128;
const gatheredBytes = 1024;

export type InflateFault = "bad-compression" | "over-limit" | "truncated";

export interface StreamInflater {
  /** After a fault everything is ignored. */
  push(bytes: Bytes): void;
  /** No more will come: an unfinished stream becomes "truncated". */
  end(): void;
  readonly fault: InflateFault | null;
}

interface FflateStream {
  push(chunk: Bytes, final?: boolean): void;
}

export function inflaterFor(codec: "gzip" | "deflate", limits: Limits, out: (piece: Bytes) => void): StreamInflater {
  return new Inflater(codec, limits, out);
}

class Inflater implements StreamInflater {
  fault: InflateFault | null = null;
  private stream: FflateStream | null = null;
  /** First bytes, until it is clear whether a zlib header is there. */
  private first: Bytes | null = null;
  private held: Bytes[] = [];
  private heldBytes = 0;
  private tiny = 0;
  private inBytes = 0;
  private outBytes = 0;

  constructor(
    private readonly codec: "gzip" | "deflate",
    private readonly limits: Limits,
    private readonly out: (piece: Bytes) => void,
  ) {}

  push(bytes: Bytes): void {
    let rest = bytes;
    if (this.stream === null) {
      rest = this.first === null ? bytes : concat([this.first, bytes]);
      if (rest.length < 2) {
        this.first = rest;
        return;
      }
      this.stream = this.open(rest);
    }
    if (this.isTooSmall(rest)) return;
    if (this.held.length > 0) {
      this.held.push(rest);
      rest = concat(this.held);
      this.held = [];
      this.heldBytes = 0;
    }
    for (let at = 0; at < rest.length && this.fault === null; at += sliceBytes) {
      this.feed(rest.subarray(at, at + sliceBytes), false);
    }
  }

  /** Each call of fflate copies its 32 KiB window. A sender of many tiny pieces has them gathered, and its messages come a little later. */
  private isTooSmall(bytes: Bytes): boolean {
    if (bytes.length >= tinyBytes) return false;
    this.tiny++;
    if (this.tiny < tinyPieces || this.heldBytes + bytes.length >= gatheredBytes) return false;
    this.held.push(bytes);
    this.heldBytes += bytes.length;
    return true;
  }

  end(): void {
    if (this.fault !== null) return;
    if (this.stream === null) this.fault = "truncated";
    else this.feed(concat(this.held), true);
  }

  private open(head: Bytes): FflateStream {
    const take = (piece: Bytes): void => this.take(piece);
    if (this.codec === "gzip") return new Gunzip(take);
    return zlibWrapped(head) ? new Unzlib(take) : new Inflate(take);
  }

  private feed(slice: Bytes, final: boolean): void {
    this.inBytes += slice.length;
    try {
      this.stream!.push(slice, final);
    } catch (cause) {
      // 0: unexpected end of the input, which only the last push reports.
      this.fault ??= (cause as { code?: number }).code === 0 ? "truncated" : "bad-compression";
    }
  }

  private take(piece: Bytes): void {
    if (piece.length === 0 || this.fault !== null) return;
    this.outBytes += piece.length;
    if (this.outBytes > inflatedLimit(this.inBytes, this.limits)) this.fault = "over-limit";
    else this.out(piece);
  }
}
