/** Short ASCII texts: keys and ids come again in every message, so the last ones seen are looked up instead of decoded anew. */
import { type Bytes, latin1 } from "./bytes.js";

const slots = 1024;
const recent: string[] = new Array(slots).fill("");

/** The text of bytes `from` to `to`; undefined where they are not all ASCII. */
export function shortAscii(data: Bytes, from: number, to: number): string | undefined {
  let hash = to - from;
  for (let i = from; i < to; i++) {
    const byte = data[i]!;
    if (byte > 0x7f) return undefined;
    hash = (Math.imul(hash, 31) + byte) | 0;
  }
  const slot = hash & (slots - 1);
  const known = recent[slot]!;
  if (known.length === to - from) {
    let i = 0;
    while (i < known.length && known.charCodeAt(i) === data[from + i]) i++;
    if (i === known.length) return known;
  }
  const text = latin1(data.subarray(from, to));
  recent[slot] = text;
  return text;
}
