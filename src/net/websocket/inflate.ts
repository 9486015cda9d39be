/**
 * permessage-deflate: one compressed message in, its bytes out; keeps the 32 KiB that later messages of the direction may refer to.
 * RFC 7692 7.2.2. When a message is lost the window starts anew: a later message that refers to nothing older still inflates, and
 * one that does is refused by the inflater, so nothing wrong ever comes out.
 */
import { constants, inflateRawSync } from "node:zlib";
import { inflateSync } from "fflate";
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
/** Up to here fflate is faster than setting zlib up; above, zlib is faster and stops at a limit by itself. */
const smallBytes = 8192;
/** The ratio counts for outputs above this. */
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
      const small = payload.length <= smallBytes ? this.small(payload) : undefined;
      return small === undefined ? this.large(payload) : { bytes: small };
    } catch (error) {
      const what = error instanceof Error ? error.message : String(error);
      return { fault: this.partial && what.includes("distance") ? "context" : "bad", what };
    }
  }

  /** undefined: the output is larger than the scratch buffer or than a limit might allow. */
  private small(payload: Bytes): Bytes | undefined {
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

  private large(payload: Bytes): InflateResult {
    const { inflatedBytes, inflateRatio } = this.limits;
    const byRatio = Math.max(ratioFrom, payload.length * inflateRatio);
    const limit = Math.min(inflatedBytes, byRatio);
    try {
      const bytes = inflateRawSync(concat([payload, tail]), {
        dictionary: this.window(),
        finishFlush: constants.Z_SYNC_FLUSH,
        chunkSize: Math.min(Math.max(payload.length * 4, 65_536), 1_048_576),
        // Zero means zero, but zlib wants one at least.
        maxOutputLength: Math.max(1, limit),
      });
      if (bytes.length <= limit) return { bytes: new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length) };
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
    return { fault: inflatedBytes <= byRatio ? "inflatedBytes" : "inflateRatio", what: `more than ${limit} bytes` };
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
