/**
 * A file or standard input as blocks of bytes, unpacked where it is compressed. The only place below cli/ that reads inputs: all
 * reading is synchronous, so that everything above it can be plain calls.
 */
import { createHash } from "node:crypto";
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import type { Bytes } from "../core/bytes.js";
import { concat, noBytes } from "../core/bytes.js";
import type { Note } from "../core/diagnostic.js";
import { CursorWireError } from "../core/errors.js";
import type { Limits } from "../core/limits.js";
import { type Compression, compressionOf, decompress } from "./decompress.js";
import { isPcapng, pcapMagic } from "./magic.js";

export interface Source {
  /** As given; "-" is standard input. */
  readonly path: string;
  /**
   * The unpacked bytes in order, in blocks of about 256 KiB (less from a pipe). Blocks are never reused: views may be kept, but pin
   * their block. One pass; starts with the bytes that head() showed.
   */
  blocks(): Iterable<Bytes>;
  /** Up to 64 KiB from the front, unpacked. From a pipe that holds a packet capture: what has come so far. */
  head(): Bytes;
  /** Bytes read so far, as stored; all of them after the pass. */
  readonly rawBytes: number;
  /** Hex, of all bytes as stored; null when hashing was not asked for. Reads what the pass left unread. */
  sha256(): string | null;
  readonly compression: Compression | null;
  close(): void;
}

export interface SourceOptions {
  /** Index of the input. */
  readonly input: number;
  readonly hash: boolean;
  readonly limits: Limits;
  readonly note: Note;
}

const MiB = 1024 * 1024;
const fileBlock = 256 * 1024;
/** A pipe gives at most this much at once on Linux. */
const pipeBlock = 64 * 1024;
const headBytes = 64 * 1024;
/** zstd's own default for unpacking (windowLog 27). */
const windowBytes = 128 * MiB;

/** Opens a file, or standard input for "-". Throws CursorWireError `input.*` where it cannot be read at all. */
export function openSource(path: string, options: SourceOptions): Source {
  if (path === "-") return new FileSource(path, 0, options);
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch (cause) {
    throw openError(path, cause);
  }
  try {
    return new FileSource(path, fd, options);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

class FileSource implements Source {
  readonly compression: Compression | null;
  rawBytes = 0;
  private readonly regular: boolean;
  private readonly digest: ReturnType<typeof createHash> | null;
  private hashed: string | null = null;
  private readonly raw: Iterator<Bytes>;
  private readonly unpacked: Iterator<Bytes>;
  /** Unpacked blocks that head() pulled and blocks() has not handed out yet. */
  private early: Bytes[] = [];
  private shown: Bytes | undefined;
  private closed = false;

  constructor(
    readonly path: string,
    private readonly fd: number,
    private readonly options: SourceOptions,
  ) {
    this.regular = isRegular(path, fd);
    this.digest = options.hash ? createHash("sha256") : null;
    this.raw = this.read();
    const first = this.firstBytes();
    this.compression = compressionOf(first.bytes);
    const all = chain(first.blocks, this.raw);
    this.unpacked = (
      this.compression === null
        ? all
        : decompress(this.compression, all, { windowBytes, fault: (what, why) => this.noteFault(what, why) })
    )[Symbol.iterator]();
  }

  head(): Bytes {
    if (this.shown !== undefined) return this.shown;
    let held = 0;
    while (held < headBytes) {
      const next = this.unpacked.next();
      if (next.done === true) break;
      this.early.push(next.value);
      held += next.value.length;
      // Whoever pipes packets in may send the next one in an hour.
      if (!this.regular && isCapture(this.early[0]!)) break;
    }
    this.shown = concatFront(this.early, headBytes);
    return this.shown;
  }

  *blocks(): Iterable<Bytes> {
    const early = this.early;
    this.early = [];
    yield* early;
    yield* { [Symbol.iterator]: () => this.unpacked };
  }

  sha256(): string | null {
    if (this.digest === null) return null;
    if (this.hashed === null) {
      while (this.raw.next().done !== true);
      this.hashed = this.digest.digest("hex");
    }
    return this.hashed;
  }

  close(): void {
    if (this.closed || this.fd === 0) return;
    this.closed = true;
    closeSync(this.fd);
  }

  /** Enough of the raw file to name its compression. */
  private firstBytes(): { blocks: Bytes[]; bytes: Bytes } {
    const blocks: Bytes[] = [];
    let held = 0;
    while (held < 4) {
      const next = this.raw.next();
      if (next.done === true) break;
      blocks.push(next.value);
      held += next.value.length;
    }
    return { blocks, bytes: concat(blocks) };
  }

  private *read(): Generator<Bytes, void> {
    const size = this.regular ? fileBlock : pipeBlock;
    let buffer = Buffer.allocUnsafeSlow(size);
    let used = 0;
    for (;;) {
      const count = this.readInto(buffer, used);
      if (count === 0) return;
      const block = new Uint8Array(buffer.buffer, used, count);
      this.rawBytes += count;
      this.digest?.update(block);
      used += count;
      // Short reads of a pipe share one buffer: each part of it is handed out once.
      if (used >= size - size / 4) {
        buffer = Buffer.allocUnsafeSlow(size);
        used = 0;
      }
      yield block;
    }
  }

  /** Blocks until there is something; 0 at the end of the file. */
  private readInto(buffer: Buffer, at: number): number {
    for (let waitMs = 1; ; waitMs = Math.min(waitMs * 2, 50)) {
      try {
        return readSync(this.fd, buffer, at, buffer.length - at, null);
      } catch (cause) {
        const code = codeOf(cause);
        // Standard input may have been made non-blocking by whoever shares it.
        if (code === "EAGAIN" || code === "EWOULDBLOCK") {
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, waitMs);
          continue;
        }
        // A closed pipe on Windows.
        if (code === "EOF") return 0;
        if (this.rawBytes === 0) throw openError(this.path, cause);
        this.options.note({
          code: "capture.read-error",
          detail: { file: this.path, offset: this.rawBytes, error: code ?? "unknown" },
        });
        return 0;
      }
    }
  }

  private noteFault(what: "cut" | "damaged" | "trailing", why: string): void {
    const detail = { file: this.path, compression: this.compression ?? "", why };
    this.options.note({ code: `capture.compressed-${what}`, detail });
  }
}

function isRegular(path: string, fd: number): boolean {
  let stat: ReturnType<typeof fstatSync>;
  try {
    stat = fstatSync(fd);
  } catch (cause) {
    throw openError(path, cause);
  }
  if (stat.isDirectory()) throw directoryError(path);
  return stat.isFile();
}

function isCapture(head: Bytes): boolean {
  return isPcapng(head) || pcapMagic(head) !== undefined;
}

function* chain(first: readonly Bytes[], rest: Iterator<Bytes>): Iterable<Bytes> {
  yield* first;
  for (let next = rest.next(); next.done !== true; next = rest.next()) yield next.value;
}

function concatFront(blocks: readonly Bytes[], count: number): Bytes {
  if (blocks.length === 0) return noBytes;
  return concat(blocks).subarray(0, count);
}

function codeOf(error: unknown): string | undefined {
  return typeof error === "object" && error !== null && "code" in error ? String(error.code) : undefined;
}

function openError(path: string, cause: unknown): CursorWireError {
  const name = path === "-" ? "standard input" : path;
  switch (codeOf(cause)) {
    case "ENOENT":
    case "ENOTDIR":
      return new CursorWireError(
        "input.not-found",
        `${name} does not exist: check the path (relative paths start at the working folder)`,
        { cause },
      );
    case "EACCES":
    case "EPERM":
      return new CursorWireError(
        "input.not-allowed",
        `${name} may not be read: permission denied; change its mode or copy it (files of a root tcpdump belong to root)`,
        { cause },
      );
    case "EISDIR":
      return directoryError(name, cause);
    default:
      return new CursorWireError("input.unreadable", `${name} cannot be read: ${messageOf(cause)}`, { cause });
  }
}

function directoryError(name: string, cause?: unknown): CursorWireError {
  return new CursorWireError("input.directory", `${name} is a directory, not a capture file: name the files in it`, {
    cause,
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
