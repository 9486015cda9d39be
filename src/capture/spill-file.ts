/** A private temporary file: written at its end, read anywhere. */
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Bytes, noBytes } from "../core/bytes.js";
import { CursorWireError } from "../core/errors.js";

/** Short bodies wait until there is something to write. */
const waitingBytes = 256 * 1024;

export class SpillFile {
  private open: { readonly fd: number; readonly folder: string } | undefined;
  private waiting = noBytes;
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
    const file = needed(() => {
      const folder = mkdtempSync(join(tmpdir(), "cursor-wire-"));
      return { fd: openSync(join(folder, "blobs"), "wx+", 0o600), folder };
    });
    const { folder } = file;
    this.waiting = new Uint8Array(waitingBytes);
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
    const fd = this.open?.fd;
    if (fd === undefined) return;
    needed(() => {
      for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at, bytes.length - at, offset + at);
    });
  }
}

/** The folder for temporary files is missing, closed or full: nothing in the capture, and nothing that can be gone on without. */
function needed<T>(act: () => T): T {
  try {
    return act();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new CursorWireError(
      "input.temporary-file",
      `cannot write a temporary file in ${tmpdir()} (${code ?? String(cause)}): set TMPDIR to a folder with room, or raise --limit conversationBytes=SIZE`,
      { cause },
    );
  }
}
