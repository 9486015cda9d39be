/** Blob bodies: in memory up to a budget, then in two private temporary files (0700 folders, removed on every exit). */
import { type Bytes, keep } from "../core/bytes.js";
import { Float64List } from "../core/number-list.js";
import { SpillFile } from "./spill-file.js";

/** Small bodies share a block: an array of its own costs more than most of them hold. */
const blockBytes = 256 * 1024;
/** Bodies of a file of their own: between them, small ones would lie far apart. */
const largeBytes = 4 * 1024;
/** What is read back lies together: the small bodies of a turn. A few stretches of their file are kept. */
const stretchBytes = 32 * 1024;
const stretchesKept = 8;
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
  private readonly stretches = new Map<number, Bytes>();

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

  get(handle: number): Bytes {
    if (handle < 0 || handle >= this.lengths.length) return new Uint8Array(0);
    const [block, offset, length] = [this.blockOf.at(handle), this.offsets.at(handle), this.lengths.at(handle)];
    if (block === inSmall) return this.read(offset, length);
    if (block === inLarge) return this.large.read(offset, length);
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

  private stretch(number: number): Bytes {
    const known = this.stretches.get(number);
    const due = Math.min(stretchBytes, this.small.length - number * stretchBytes);
    // The last one grows while bodies are put.
    if (known !== undefined && known.length >= due) return known;
    const bytes = this.small.read(number * stretchBytes, due);
    this.stretches.set(number, bytes);
    if (this.stretches.size > stretchesKept) this.stretches.delete(this.stretches.keys().next().value!);
    return bytes;
  }
}
