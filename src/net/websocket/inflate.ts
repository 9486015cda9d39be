/**
 * permessage-deflate: one compressed message in, its bytes out; keeps the 32 KiB that later messages of the direction may refer to.
 * RFC 7692 7.2.2. When a message is lost the window starts anew: a later message that refers to nothing older still inflates, and
 * one that does is refused by the inflater, so nothing wrong ever comes out.
 */
import { Inflate, inflateSync } from "fflate";
import { type Bytes, concat, noBytes } from "../../core/bytes.js";
import type { Limits } from "../../core/limits.js";

export type InflateResult =
  | { readonly bytes: Bytes }
  | { readonly fault: "bad" | "context" | "inflatedBytes" | "inflateRatio"; readonly what: string };

const windowBytes = 32_768;
/** The sender cuts these four bytes off; they end a message. */
const tail = new Uint8Array([0, 0, 0xff, 0xff]);
/** The same, and an empty last block, for an inflater that wants an end. */
const tailAndEnd = new Uint8Array([0, 0, 0xff, 0xff, 1, 0, 0, 0xff, 0xff]);
const smallBytes = 16_384;
/** fflate writes up to 1032 bytes for one, so bigger pieces would overshoot a limit by much. */
const pieceBytes = 1024;
const ratioFrom = 1_048_576;

/** Shared: it is copied from before anything else runs. Larger outputs go the other way. */
let scratch: Bytes = noBytes;
let input: Bytes = noBytes;

export class MessageInflater {
  private readonly history = new Uint8Array(windowBytes * 4);
  private known = 0;
  /** Older bytes than the known ones may be referred to. */
  private partial = false;

  constructor(
    private readonly takeover: boolean,
    private readonly limits: Limits,
  ) {}

  /** A message of this direction was not inflated: what it held is missing from the window. */
  lose(): void {
    if (!this.takeover) return;
    this.known = 0;
    this.partial = true;
  }

  inflate(payload: Bytes): InflateResult {
    const result = this.run(payload);
    if (!("bytes" in result)) this.lose();
    else if (this.takeover) this.remember(result.bytes);
    return result;
  }

  private run(payload: Bytes): InflateResult {
    try {
      const small = payload.length <= smallBytes ? this.atOnce(payload) : undefined;
      return small === undefined ? this.inPieces(payload) : { bytes: small };
    } catch (error) {
      const what = error instanceof Error ? error.message : String(error);
      return { fault: this.partial && what.includes("distance") ? "context" : "bad", what };
    }
  }

  /** undefined: the output is larger than the scratch buffer or than a limit might allow. */
  private atOnce(payload: Bytes): Bytes | undefined {
    if (scratch.length === 0) {
      scratch = new Uint8Array(512 * 1024);
      input = new Uint8Array(smallBytes + tailAndEnd.length);
    }
    input.set(payload);
    input.set(tailAndEnd, payload.length);
    const length = payload.length + tailAndEnd.length;
    let out: Bytes;
    try {
      out = inflateSync(input.subarray(0, length), { out: scratch, dictionary: this.window() });
    } catch (error) {
      // A stored block that does not fit the scratch buffer.
      if (error instanceof RangeError) return undefined;
      throw error;
    }
    return out.length >= scratch.length || out.length > this.limits.inflatedBytes ? undefined : out.slice();
  }

  private inPieces(payload: Bytes): InflateResult {
    const parts: Bytes[] = [];
    let total = 0;
    const stream = new Inflate({ dictionary: this.window() }, (part) => {
      if (part.length === 0) return;
      parts.push(part);
      total += part.length;
    });
    for (let at = 0; at < payload.length; at += pieceBytes) {
      stream.push(payload.subarray(at, at + pieceBytes));
      const over = this.over(total, Math.min(payload.length, at + pieceBytes));
      if (over !== null) return over;
    }
    stream.push(tail);
    return this.over(total, payload.length) ?? { bytes: parts.length === 0 ? noBytes : concat(parts) };
  }

  private over(total: number, used: number): InflateResult | null {
    if (total > this.limits.inflatedBytes) return { fault: "inflatedBytes", what: String(total) };
    if (total > ratioFrom && total > used * this.limits.inflateRatio)
      return { fault: "inflateRatio", what: String(total) };
    return null;
  }

  private window(): Bytes {
    return this.history.subarray(Math.max(0, this.known - windowBytes), this.known);
  }

  private remember(bytes: Bytes): void {
    if (bytes.length >= windowBytes) {
      this.history.set(bytes.subarray(bytes.length - windowBytes));
      this.known = windowBytes;
    } else {
      if (this.known + bytes.length > this.history.length) {
        this.history.copyWithin(0, this.known - windowBytes, this.known);
        this.known = windowBytes;
      }
      this.history.set(bytes, this.known);
      this.known += bytes.length;
    }
    if (this.known >= windowBytes) this.partial = false;
  }
}
