/** The process as the commands see it. Tests hand in another one. */
import { writeSync } from "node:fs";
import { isatty } from "node:tty";
import { CursorWireError } from "../core/errors.js";
import { reason } from "./reason.js";

export interface Io {
  /** Writes to standard output; false once nobody reads it any more. */
  out(data: string | Uint8Array): boolean;
  err(text: string): void;
  readonly outTty: boolean;
  readonly errTty: boolean;
  /** Of the terminal on standard output; undefined where there is none. */
  readonly columns: number | undefined;
  readonly rows: number | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Milliseconds since any fixed point, for the progress bar alone. */
  now(): number;
}

export function processIo(): Io {
  // process.stdout would make a pipe non-blocking; it is touched only for the size of a terminal.
  const outTty = isatty(1);
  const size = outTty ? process.stdout : undefined;
  return {
    out: (data) => writeAll(1, data, "standard output"),
    err: tell,
    outTty,
    errTty: isatty(2),
    columns: size?.columns,
    rows: size?.rows,
    env: process.env,
    cwd: process.cwd(),
    now: () => performance.now(),
  };
}

/** Standard error is where faults are told: where it cannot be written, there is nobody to tell. */
function tell(text: string): void {
  try {
    writeAll(2, text, "standard error");
  } catch {}
}

/**
 * Writes everything, waiting where a pipe is full. False where the reader is gone, which is not an error (`| head`).
 * Throws CursorWireError `usage.output`; `name` is for its message.
 */
export function writeAll(fd: number, data: string | Uint8Array, name: string): boolean {
  const bytes = typeof data === "string" ? Buffer.from(data, "utf8") : data;
  let at = 0;
  while (at < bytes.length) {
    try {
      at += writeSync(fd, bytes, at, bytes.length - at);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === "EPIPE" || code === "ECONNRESET") return false;
      if (code !== "EAGAIN")
        throw new CursorWireError("usage.output", `cannot write ${name}: ${reason(error)}`, { cause: error });
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
  return true;
}
