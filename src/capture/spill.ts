/** Blob bodies: in memory up to a budget, then in one private temporary file (0700 folder, removed on every exit). */
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Bytes, keep } from "../core/bytes.js";

/** Small bodies share a block: an array of its own costs more than most of them hold. */
const blockBytes = 256 * 1024;
/** What is read back lies together: the blobs of a turn. A few stretches of the file are kept. */
const stretchBytes = 32 * 1024;
const stretchesKept = 8;

/** Keeps what is put and gives it back by handle; `close` removes the file. */
export class SpillStore {
  /** Where each body lies: number of its block, -1 for the file; then offset and length. */
  private readonly blockOf = new Numbers();
  private readonly offsets = new Numbers();
  private readonly lengths = new Numbers();
  private readonly blocks: Bytes[] = [];
  /** Bytes used of the last shared block, and its number; -1 before the first. */
  private used = 0;
  private shared = -1;
  private memory = 0;
  private file: { readonly fd: number; readonly folder: string } | undefined;
  /** Bytes for the file so far; the last of them wait to be written. */
  private written = 0;
  private readonly waiting = new Uint8Array(blockBytes);
  private waits = 0;
  private readonly stretches = new Map<number, Bytes>();

  /** `memoryBytes`: how much stays in memory. */
  constructor(private readonly memoryBytes: number) {}

  put(bytes: Bytes): number {
    if (this.memory + bytes.length > this.memoryBytes) this.place(-1, this.spill(bytes), bytes.length);
    else if (bytes.length > blockBytes / 8) this.place(this.blocks.push(keep(bytes)) - 1, 0, bytes.length);
    else this.share(bytes);
    return this.lengths.length - 1;
  }

  get(handle: number): Bytes {
    if (handle < 0 || handle >= this.lengths.length) return new Uint8Array(0);
    const [block, offset, length] = [this.blockOf.at(handle), this.offsets.at(handle), this.lengths.at(handle)];
    return block >= 0 ? this.blocks[block]!.subarray(offset, offset + length) : this.read(offset, length);
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
      ? this.readFile(offset, length)
      : this.stretch(number).subarray(from, from + length);
  }

  private stretch(number: number): Bytes {
    const known = this.stretches.get(number);
    const due = Math.min(stretchBytes, this.written - number * stretchBytes);
    // The last one grows while bodies are put.
    if (known !== undefined && known.length >= due) return known;
    const bytes = this.readFile(number * stretchBytes, due);
    this.stretches.set(number, bytes);
    if (this.stretches.size > stretchesKept) this.stretches.delete(this.stretches.keys().next().value!);
    return bytes;
  }

  private readFile(offset: number, length: number): Bytes {
    if (offset + length > this.written - this.waits) this.flush();
    const out = new Uint8Array(length);
    let at = 0;
    while (this.file !== undefined && at < length) {
      const count = readSync(this.file.fd, out, at, length - at, offset + at);
      if (count === 0) break;
      at += count;
    }
    return out;
  }

  close(): void {
    if (this.file === undefined) return;
    process.removeListener("exit", this.onExit);
    closeSync(this.file.fd);
    rmSync(this.file.folder, { recursive: true, force: true });
    this.file = undefined;
  }

  private readonly onExit = (): void => this.close();

  private spill(bytes: Bytes): number {
    if (this.file === undefined) {
      const folder = mkdtempSync(join(tmpdir(), "cursor-wire-"));
      this.file = { fd: openSync(join(folder, "blobs"), "wx+", 0o600), folder };
      // The name goes at once where that is allowed: no signal and no crash can leave the file behind then, and while a capture is
      // read no handler of a signal would run. Elsewhere it goes with the process.
      try {
        rmSync(folder, { recursive: true });
      } catch {
        process.once("exit", this.onExit);
      }
    }
    const offset = this.written;
    if (this.waits + bytes.length > blockBytes) this.flush();
    if (bytes.length > blockBytes) this.write(bytes, offset);
    else {
      this.waiting.set(bytes, this.waits);
      this.waits += bytes.length;
    }
    this.written += bytes.length;
    return offset;
  }

  private flush(): void {
    const { waits } = this;
    this.waits = 0;
    if (waits > 0) this.write(this.waiting.subarray(0, waits), this.written - waits);
  }

  private write(bytes: Bytes, offset: number): void {
    let at = 0;
    while (this.file !== undefined && at < bytes.length)
      at += writeSync(this.file.fd, bytes, at, bytes.length - at, offset + at);
  }
}

/** A growing list of numbers below 2^53, eight bytes each. */
class Numbers {
  private data = new Float64Array(64);
  length = 0;

  push(value: number): void {
    if (this.length === this.data.length) {
      const more = new Float64Array(this.data.length * 2);
      more.set(this.data);
      this.data = more;
    }
    this.data[this.length++] = value;
  }

  at(index: number): number {
    return this.data[index]!;
  }
}
