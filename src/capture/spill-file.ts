/** A private temporary file: written at its end, read anywhere. */
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Bytes } from "../core/bytes.js";

/** Short bodies wait until there is something to write. */
const waitingBytes = 256 * 1024;

export class SpillFile {
  private open: { readonly fd: number; readonly folder: string } | undefined;
  private readonly waiting = new Uint8Array(waitingBytes);
  private waits = 0;
  /** Bytes so far; the last of them wait to be written. */
  length = 0;

  /** Returns where the bytes begin. */
  append(bytes: Bytes): number {
    this.open ??= this.create();
    const offset = this.length;
    if (this.waits + bytes.length > waitingBytes) this.flush();
    if (bytes.length > waitingBytes) this.write(bytes, offset);
    else {
      this.waiting.set(bytes, this.waits);
      this.waits += bytes.length;
    }
    this.length += bytes.length;
    return offset;
  }

  read(offset: number, length: number): Bytes {
    if (offset + length > this.length - this.waits) this.flush();
    const out = new Uint8Array(length);
    let at = 0;
    while (this.open !== undefined && at < length) {
      const count = readSync(this.open.fd, out, at, length - at, offset + at);
      if (count === 0) break;
      at += count;
    }
    return out;
  }

  close(): void {
    if (this.open === undefined) return;
    process.removeListener("exit", this.onExit);
    closeSync(this.open.fd);
    rmSync(this.open.folder, { recursive: true, force: true });
    this.open = undefined;
  }

  private readonly onExit = (): void => this.close();

  private create(): { readonly fd: number; readonly folder: string } {
    const folder = mkdtempSync(join(tmpdir(), "cursor-wire-"));
    const file = { fd: openSync(join(folder, "blobs"), "wx+", 0o600), folder };
    // The name goes at once where that is allowed: no signal and no crash can leave the file behind then, and while a capture is
    // read no handler of a signal would run. Elsewhere it goes with the process.
    try {
      rmSync(folder, { recursive: true });
    } catch {
      process.once("exit", this.onExit);
    }
    return file;
  }

  private flush(): void {
    const { waits } = this;
    this.waits = 0;
    if (waits > 0) this.write(this.waiting.subarray(0, waits), this.length - waits);
  }

  private write(bytes: Bytes, offset: number): void {
    let at = 0;
    while (this.open !== undefined && at < bytes.length)
      at += writeSync(this.open.fd, bytes, at, bytes.length - at, offset + at);
  }
}
