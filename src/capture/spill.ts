/** Blob bodies: in memory up to a budget, then in two private temporary files (0700 folders, removed on every exit). */
import { type Bytes, keep } from "../core/bytes.js";
import { Float64List } from "../core/number-list.js";
import { Recent } from "../core/recent.js";
import { SpillFile } from "./spill-file.js";

/** Small bodies share a block: an array of its own costs more than most of them hold. */
const blockBytes = 256 * 1024;
/** Bodies of a file of their own: between them, small ones would lie far apart. */
const largeBytes = 4 * 1024;
/** What is read back lies together: the small bodies of a turn. A few stretches of their file are kept. */
const stretchBytes = 32 * 1024;
const stretchesKept = 8;
/** The rules of a turn look at the same bodies one after the other: the last ones stay, unless they are long. */
const keptBytes = 64 * 1024;
const bodiesKept = 16;
/** In place of a block's number. */
const inSmall = -1;
const inLarge = -2;

/** Keeps what is put and gives it back by handle; `close` removes the files. */
export class SpillStore {
  /** Where each body lies: number of its block, or which file; then offset and length. */
  private readonly blockOf = new Float64List();
  private readonly offsets = new Float64List();
  private readonly lengths = new Float64List();
  private readonly blocks: Bytes[] = [];
  /** Bytes used of the last shared block, and its number; -1 before the first. */
  private used = 0;
  private shared = -1;
  private memory = 0;
  private readonly small = new SpillFile();
  private readonly large = new SpillFile();
  private readonly stretches = new Recent<number, Bytes>(stretchesKept);
  /** By handle. */
  private readonly bodies = new Recent<number, Bytes>(bodiesKept);

  /** `memoryBytes`: how much stays in memory. */
  constructor(private readonly memoryBytes: number) {}

  put(bytes: Bytes): number {
    const { length } = bytes;
    if (this.memory + length > this.memoryBytes) {
      if (length < largeBytes) this.place(inSmall, this.small.append(bytes), length);
      else this.place(inLarge, this.large.append(bytes), length);
    } else if (length > blockBytes / 8) this.place(this.blocks.push(keep(bytes)) - 1, 0, length);
    else this.share(bytes);
    return this.lengths.length - 1;
  }

  get(handle: number, from = 0, to = Number.POSITIVE_INFINITY): Bytes {
    if (handle < 0 || handle >= this.lengths.length) return new Uint8Array(0);
    const block = this.blockOf.at(handle);
    const offset = this.offsets.at(handle) + from;
    const length = Math.max(0, Math.min(to, this.lengths.at(handle)) - from);
    if (block === inSmall) return this.read(offset, length);
    if (block === inLarge) return this.body(handle, offset, length);
    return this.blocks[block]!.subarray(offset, offset + length);
  }

  close(): void {
    this.small.close();
    this.large.close();
  }

  private place(block: number, offset: number, length: number): void {
    this.blockOf.push(block);
    this.offsets.push(offset);
    this.lengths.push(length);
    if (block >= 0) this.memory += length;
  }

  private share(bytes: Bytes): void {
    if (this.shared < 0 || this.used + bytes.length > blockBytes) {
      this.shared = this.blocks.push(new Uint8Array(blockBytes)) - 1;
      this.used = 0;
    }
    this.blocks[this.shared]!.set(bytes, this.used);
    this.place(this.shared, this.used, bytes.length);
    this.used += bytes.length;
  }

  private read(offset: number, length: number): Bytes {
    const number = Math.floor(offset / stretchBytes);
    const from = offset - number * stretchBytes;
    return from + length > stretchBytes
      ? this.small.read(offset, length)
      : this.stretch(number).subarray(from, from + length);
  }

  private body(handle: number, offset: number, length: number): Bytes {
    const known = this.bodies.get(handle);
    if (known !== undefined) {
      const from = offset - this.offsets.at(handle);
      return known.subarray(from, from + length);
    }
    const bytes = this.large.read(offset, length);
    return length === this.lengths.at(handle) && length <= keptBytes ? this.bodies.set(handle, bytes) : bytes;
  }

  private stretch(number: number): Bytes {
    const known = this.stretches.get(number);
    const due = Math.min(stretchBytes, this.small.length - number * stretchBytes);
    // The last one grows while bodies are put.
    if (known !== undefined && known.length >= due) return known;
    return this.stretches.set(number, this.small.read(number * stretchBytes, due));
  }
}
