/** Blob bodies: in memory up to a budget, then in one private temporary file (0700 folder, removed on every exit). */
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Bytes, keep } from "../core/bytes.js";

interface Spilled {
  readonly offset: number;
  readonly length: number;
}

/** Keeps what is put and gives it back by handle; `close` removes the file. */
export class SpillStore {
  private readonly held: (Bytes | Spilled)[] = [];
  private memory = 0;
  private file: { readonly fd: number; readonly folder: string } | undefined;
  private written = 0;

  /** `memoryBytes`: how much stays in memory. */
  constructor(private readonly memoryBytes: number) {}

  put(bytes: Bytes): number {
    if (this.memory + bytes.length <= this.memoryBytes) {
      this.memory += bytes.length;
      this.held.push(keep(bytes));
    } else {
      this.held.push(this.spill(bytes));
    }
    return this.held.length - 1;
  }

  get(handle: number): Bytes {
    const entry = this.held[handle];
    if (entry === undefined) return new Uint8Array(0);
    if (entry instanceof Uint8Array) return entry;
    const out = new Uint8Array(entry.length);
    let at = 0;
    while (this.file !== undefined && at < out.length) {
      const count = readSync(this.file.fd, out, at, out.length - at, entry.offset + at);
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

  private spill(bytes: Bytes): Spilled {
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
    let at = 0;
    while (at < bytes.length) at += writeSync(this.file.fd, bytes, at, bytes.length - at, this.written + at);
    const spilled = { offset: this.written, length: bytes.length };
    this.written += bytes.length;
    return spilled;
  }
}
