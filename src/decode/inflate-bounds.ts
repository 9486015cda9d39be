/** What the ways of inflating share: how much may come out, and which kind of deflate it is. */
import type { Bytes } from "../core/bytes.js";
import type { Limits } from "../core/limits.js";

const MiB = 1024 * 1024;

/** Most bytes that `size` compressed bytes may become. */
export function inflatedLimit(size: number, limits: Limits): number {
  return Math.min(limits.inflatedBytes, Math.max(MiB, size * limits.inflateRatio));
}

/** Whether "deflate" bytes have the zlib header that RFC 9110 asks for; some senders leave it out. */
export function zlibWrapped(bytes: Bytes): boolean {
  return (
    bytes.length >= 2 &&
    (bytes[0]! & 0x8f) === 0x08 &&
    (bytes[1]! & 0x20) === 0 &&
    ((bytes[0]! << 8) | bytes[1]!) % 31 === 0
  );
}
