/** The blocks of a source as UTF-8 without byte order mark. UTF-16 is transcoded block by block. */
import type { Source } from "../capture/source.js";
import type { Bytes } from "../core/bytes.js";

export type TextEncodingName = "UTF-8" | "UTF-16LE" | "UTF-16BE";

export interface DetectedEncoding {
  readonly encoding: TextEncodingName;
  /** Bytes of the mark; 0: there is none. */
  readonly markBytes: number;
}

export function detectEncoding(head: Bytes): DetectedEncoding {
  const [a, b, c] = head;
  if (a === 0xef && b === 0xbb && c === 0xbf) return { encoding: "UTF-8", markBytes: 3 };
  if (a === 0xff && b === 0xfe) return { encoding: "UTF-16LE", markBytes: 2 };
  if (a === 0xfe && b === 0xff) return { encoding: "UTF-16BE", markBytes: 2 };
  // JSON starts with an ASCII character: a zero beside it tells UTF-16 without a mark.
  if (a !== undefined && a !== 0 && b === 0) return { encoding: "UTF-16LE", markBytes: 0 };
  if (a === 0 && b !== undefined && b !== 0) return { encoding: "UTF-16BE", markBytes: 0 };
  return { encoding: "UTF-8", markBytes: 0 };
}

export class TextInput {
  readonly detected: DetectedEncoding;
  /** Bytes of the unpacked file that were handed out, in its own encoding and with its mark. */
  length = 0;

  constructor(private readonly source: Source) {
    this.detected = detectEncoding(source.head());
  }

  *blocks(): Generator<Bytes> {
    const { encoding, markBytes } = this.detected;
    const decoder = encoding === "UTF-8" ? undefined : new TextDecoder(encoding.toLowerCase());
    let skip = markBytes;
    for (const block of this.source.blocks()) {
      this.length += block.length;
      const bytes = block.subarray(Math.min(skip, block.length));
      skip -= block.length - bytes.length;
      yield decoder === undefined ? bytes : Buffer.from(decoder.decode(bytes, { stream: true }), "utf8");
    }
    if (decoder !== undefined) yield Buffer.from(decoder.decode(), "utf8");
  }

  /** Where in the file an offset of the blocks lies; exact for UTF-8, for UTF-16 where the text is ASCII. */
  fileOffset(offset: number): number {
    const { encoding, markBytes } = this.detected;
    return encoding === "UTF-8" ? markBytes + offset : Math.min(this.length, markBytes + 2 * offset);
  }
}

/** Front of the file as text, whatever its encoding. */
export function headText(head: Bytes): string {
  const { encoding, markBytes } = detectEncoding(head);
  return new TextDecoder(encoding.toLowerCase()).decode(head.subarray(markBytes));
}
