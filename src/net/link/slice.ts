/** Where the reading of one packet stands. One object serves all packets: nothing is allocated per layer. */
import { type Bytes, noBytes } from "../../core/bytes.js";

export class Slice {
  bytes: Bytes = noBytes;
  /** First byte of the current layer. */
  at = 0;
  /** Behind its last captured byte. */
  end = 0;
  /** Bytes of the layer that were on the wire behind `end` and were not captured. */
  missing = 0;

  reset(bytes: Bytes, originalLength: number): void {
    this.bytes = bytes;
    this.at = 0;
    this.end = bytes.length;
    this.missing = Math.max(0, originalLength - bytes.length);
  }

  /** Whether the next `count` bytes were captured. */
  has(count: number): boolean {
    return this.at + count <= this.end;
  }

  /** Length of the rest of the layer on the wire. */
  get length(): number {
    return this.end - this.at + this.missing;
  }

  u8(offset = 0): number {
    return this.bytes[this.at + offset]!;
  }

  u16(offset = 0): number {
    const at = this.at + offset;
    return (this.bytes[at]! << 8) | this.bytes[at + 1]!;
  }

  /** Signed: good enough to compare, mix and subtract. */
  i32(offset = 0): number {
    const at = this.at + offset;
    const { bytes } = this;
    return (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
  }

  /** The layer ends `length` bytes from here: what follows is padding or a trailer. A longer claim changes nothing. */
  narrow(length: number): void {
    const captured = this.end - this.at;
    if (length <= captured) {
      this.end = this.at + length;
      this.missing = 0;
    } else this.missing = Math.min(this.missing, length - captured);
  }
}
