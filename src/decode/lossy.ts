/** Bytes that went through a text decoding which replaces what is no UTF-8 by U+FFFD (EF BF BD): where the damage begins. */
import { asBuffer, type Bytes, concat, noBytes } from "../core/bytes.js";
import type { Framing } from "../model/message.js";

const replacement = Buffer.from([0xef, 0xbf, 0xbd]);

/** Hands on what stands in front of the first replacement, whatever pieces it comes in. */
export class LossyCutter {
  /** Up to two bytes that may be the beginning of a replacement. */
  private held: Bytes = noBytes;
  private found = false;
  /** The last push met the first replacement. */
  justEnded = false;

  /** Framings that lose step with the first damaged byte. The others carry text, or are one message. */
  static fits(framing: Framing): boolean {
    return (
      framing === "connect-envelope" || framing === "grpc" || framing === "grpc-web" || framing === "length-prefix"
    );
  }

  static isLossy(bytes: Bytes): boolean {
    return asBuffer(bytes).includes(replacement);
  }

  push(bytes: Bytes): Bytes {
    this.justEnded = false;
    if (this.found) return noBytes;
    const all = this.held.length === 0 ? bytes : concat([this.held, bytes]);
    const at = asBuffer(all).indexOf(replacement);
    if (at >= 0) {
      this.found = true;
      this.justEnded = true;
      this.held = noBytes;
      return all.subarray(0, at);
    }
    const keep = tail(all);
    this.held = all.slice(all.length - keep);
    return all.subarray(0, all.length - keep);
  }

  /** What was held back and is no replacement after all. */
  end(): Bytes {
    const held = this.held;
    this.held = noBytes;
    return held;
  }
}

/** How many of the last bytes could begin a replacement. */
function tail(bytes: Bytes): number {
  const size = bytes.length;
  if (size >= 2 && bytes[size - 2] === 0xef && bytes[size - 1] === 0xbf) return 2;
  return size >= 1 && bytes[size - 1] === 0xef ? 1 : 0;
}
