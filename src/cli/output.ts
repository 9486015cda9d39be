/** Where results go: standard output or the file of `-o`, in large writes, with every known secret taken out on the way. */
import { closeSync, openSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import { CursorWireError } from "../core/errors.js";
import type { Redactor } from "../report/redact.js";
import { type Io, writeAll } from "./io.js";
import { reason } from "./reason.js";

const flushChars = 64 * 1024;

export interface Output {
  /** Nobody reads any more: the caller may stop. */
  readonly closed: boolean;
  /** Whole lines: a secret cut in two between pieces would not be found. */
  write(text: string): void;
  /** Bytes as they are, for `blobs cat`. */
  writeBytes(bytes: Uint8Array): void;
  flush(): void;
  close(): void;
}

/** `inputs`: files that must not be overwritten. Throws CursorWireError `usage.output`. */
export function openOutput(io: Io, file: string | undefined, redactor: Redactor, inputs: readonly string[]): Output {
  if (file === undefined || file === "-")
    return new Sink(
      (data) => io.out(data),
      redactor,
      () => {},
    );
  const path = resolve(io.cwd, file);
  if (inputs.some((input) => input !== "-" && sameFile(resolve(io.cwd, input), path))) {
    throw new CursorWireError("usage.output", `-o ${file} is one of the inputs: it would be overwritten`);
  }
  let fd: number;
  try {
    fd = openSync(path, "w");
  } catch (error) {
    throw new CursorWireError("usage.output", `cannot write ${file}: ${reason(error)}`, { cause: error });
  }
  return new Sink(
    (data) => writeAll(fd, data, file),
    redactor,
    () => closeSync(fd),
  );
}

function sameFile(a: string, b: string): boolean {
  try {
    return realpathSync(a) === realpathSync(b);
  } catch {
    return a === b;
  }
}

class Sink implements Output {
  private held: string[] = [];
  private heldChars = 0;
  closed = false;

  constructor(
    private readonly put: (data: string | Uint8Array) => boolean,
    private readonly redactor: Redactor,
    private readonly done: () => void,
  ) {}

  write(text: string): void {
    if (this.closed) return;
    this.held.push(text);
    this.heldChars += text.length;
    if (this.heldChars >= flushChars) this.flush();
  }

  writeBytes(bytes: Uint8Array): void {
    this.flush();
    if (!this.closed) this.closed = !this.put(bytes);
  }

  flush(): void {
    if (this.heldChars === 0) return;
    const text = this.redactor.scrub(this.held.join(""));
    this.held = [];
    this.heldChars = 0;
    if (!this.closed) this.closed = !this.put(text);
  }

  close(): void {
    this.flush();
    this.done();
  }
}
