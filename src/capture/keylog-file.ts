/** A key log file that may be written to while it is read. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { type Bytes, concat, latin1, noBytes } from "../core/bytes.js";
import type { Note } from "../core/diagnostic.js";
import { CursorWireError } from "../core/errors.js";
import type { KeyLog } from "./keylog.js";

export interface KeyLogFile {
  /** Reads what was appended since the last time; from the start again where the file became shorter. */
  refresh(): void;
}

/** Reads the file at once. Throws CursorWireError `input.keylog` where it cannot be read; later failures are diagnostics. */
export function keyLogFile(path: string, keys: KeyLog, note: Note): KeyLogFile {
  const file = new GrowingFile(path, keys, note);
  try {
    file.read();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new CursorWireError("input.keylog", `cannot read the key log ${path}: ${reason}`, { cause });
  }
  if (keys.size === 0 && file.bytesRead > 0) note({ code: "keylog.no-secrets", detail: { path } });
  return file;
}

const wholeLine = /^[A-Z][A-Z0-9_]* [0-9a-f]{16,64} (?:[0-9a-f]{64}|[0-9a-f]{96})\s*$/i;
const blockBytes = 1024 * 1024;

class GrowingFile implements KeyLogFile {
  private offset = 0;
  /** The last line, while it has no end. */
  private tail: Bytes = noBytes;

  constructor(
    private readonly path: string,
    private readonly keys: KeyLog,
    private readonly note: Note,
  ) {}

  get bytesRead(): number {
    return this.offset;
  }

  refresh(): void {
    try {
      this.read();
    } catch (error) {
      this.note({ code: "keylog.unreadable", detail: { path: this.path, reason: String(error) } });
    }
  }

  read(): void {
    const file = openSync(this.path, "r");
    try {
      if (fstatSync(file).size < this.offset) {
        this.offset = 0;
        this.tail = noBytes;
      }
      const block = new Uint8Array(blockBytes);
      for (;;) {
        const count = readSync(file, block, 0, block.length, this.offset);
        if (count === 0) break;
        this.offset += count;
        this.take(block.slice(0, count));
      }
    } finally {
      closeSync(file);
    }
  }

  private take(bytes: Bytes): void {
    const end = bytes.lastIndexOf(0x0a) + 1;
    if (end > 0) this.keys.add(concat([this.tail, bytes.subarray(0, end)]));
    const rest = bytes.subarray(end);
    this.tail = end > 0 || this.tail.length === 0 ? rest : concat([this.tail, rest]);
    // A finished file may lack its last line end, so the tail counts too. Half a line does no harm: the whole one replaces it.
    if (this.tail.length < 4096 && wholeLine.test(latin1(this.tail))) this.keys.add(this.tail);
  }
}
