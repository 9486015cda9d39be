/** Finding the end of a JSON string in bytes. Short strings are walked, long ones are searched natively. */

export const quote = 0x22;
export const backslash = 0x5c;

/** What a search that met the end of the block leaves behind: the next block's first byte is escaped by this one's last. */
export interface ScanEnd {
  escaped: boolean;
}

/**
 * Index of the quote that closes the string whose content goes on at `from`; -1 when the block ends first (then `end.escaped` is set).
 * A walk of 48 bytes comes first, since a native call costs as much as walking some dozens; where escaped quotes follow each other
 * closely (JSON within JSON) it goes on walking, so that not every quote costs a call. Linear in any case.
 */
export function closingQuote(block: Buffer, from: number, end: ScanEnd): number {
  const length = block.length;
  let i = from;
  for (let walk = 48; ; ) {
    const stop = Math.min(length, i + walk);
    while (i < stop) {
      const byte = block[i]!;
      if (byte === quote) return i;
      i += byte === backslash ? 2 : 1;
    }
    if (i >= length) {
      end.escaped = i > length;
      return -1;
    }
    const found = block.indexOf(quote, i);
    const before = found < 0 ? length : found;
    let run = before;
    while (run > i && block[run - 1] === backslash) run--;
    const escaped = ((before - run) & 1) === 1;
    if (found < 0) {
      end.escaped = escaped;
      return -1;
    }
    if (!escaped) return found;
    walk = found - i < 64 ? 512 : 0;
    i = found + 1;
  }
}

export function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
