/** Removes the client's mask. RFC 6455 5.3. */
import type { Bytes } from "../../core/bytes.js";

/** XORs `bytes[from..to)` in place with `mask` (four bytes), whose first byte meets `bytes[from]`. */
export function unmask(bytes: Bytes, from: number, to: number, mask: Bytes): void {
  let at = from;
  while (at < to && ((bytes.byteOffset + at) & 3) !== 0) {
    bytes[at] = bytes[at]! ^ mask[(at - from) & 3]!;
    at++;
  }
  const words = (to - at) >> 2;
  if (words > 0) {
    // The mask turned so that it meets the first aligned byte, in the machine's own byte order.
    const turned = new Uint8Array(4);
    for (let i = 0; i < 4; i++) turned[i] = mask[(at - from + i) & 3]!;
    const word = new Uint32Array(turned.buffer)[0]!;
    const view = new Uint32Array(bytes.buffer, bytes.byteOffset + at, words);
    for (let i = 0; i < words; i++) view[i] = view[i]! ^ word;
    at += words * 4;
  }
  for (; at < to; at++) bytes[at] = bytes[at]! ^ mask[(at - from) & 3]!;
}
