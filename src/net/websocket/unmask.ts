/** Removes the client's mask. RFC 6455 5.3. */
import type { Bytes } from "../../core/bytes.js";

/** The mask as one word in the machine's own byte order. Shared: it is read before anything else runs. */
const turned = new Uint8Array(4);
const word = new Uint32Array(turned.buffer);
/** Below this a view costs more than it saves. */
const shortBytes = 48;

/** XORs `bytes[from..to)` in place with `mask` (four bytes), whose first byte meets `bytes[from]`. */
export function unmask(bytes: Bytes, from: number, to: number, mask: Bytes): void {
  let at = from;
  if (to - from >= shortBytes) {
    for (; ((bytes.byteOffset + at) & 3) !== 0; at++) bytes[at] = bytes[at]! ^ mask[(at - from) & 3]!;
    for (let i = 0; i < 4; i++) turned[i] = mask[(at - from + i) & 3]!;
    const by = word[0]!;
    const view = new Uint32Array(bytes.buffer, bytes.byteOffset + at, (to - at) >> 2);
    for (let i = 0; i < view.length; i++) view[i] = view[i]! ^ by;
    at += view.length * 4;
  }
  for (; at < to; at++) bytes[at] = bytes[at]! ^ mask[(at - from) & 3]!;
}
