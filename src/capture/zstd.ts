/**
 * zstd files (RFC 8878), frame by frame. Frames and blocks are found here and handed to fzstd one block at a time, so that a frame
 * cannot make it allocate what a header merely declares: 16 bytes of header can ask for a window of 2 GB.
 */
import { createRequire } from "node:module";
import { ByteQueue } from "../core/byte-queue.js";
import { type Bytes, noBytes } from "../core/bytes.js";
import { CursorWireError } from "../core/errors.js";
import type { Mark } from "../core/mark.js";
import { unknownWhen } from "../core/time.js";
import type { DecompressOptions } from "./decompress.js";

type Zstd = typeof import("fzstd");

/** Magic, descriptor, window, dictionary id, content size: RFC 8878 3.1.1.1. */
const longestHeader = 18;

/** The queue wants marks; bytes of a file have none. */
const noMark: Mark = { input: 0, first: 0, last: 0, when: unknownWhen };

export function* unzstd(raw: Iterable<Bytes>, options: DecompressOptions): Iterable<Bytes> {
  const frames = new Frames(loadZstd(), options);
  for (const block of raw) {
    // Small pieces, so that what one call gives stays small: a run-length block makes 128 KiB of four bytes.
    for (let at = 0; at < block.length; at += 4096) {
      yield* frames.push(block.subarray(at, at + 4096));
      if (frames.stopped) return;
    }
  }
  frames.end();
}

/** fzstd is optional: it is loaded when the first zstd file is met. */
function loadZstd(): Zstd {
  try {
    return createRequire(import.meta.url)("fzstd") as Zstd;
  } catch (cause) {
    throw new CursorWireError(
      "input.zstd",
      "this file is zstd-compressed and the package fzstd is not installed: run `npm install fzstd`, or unpack the file with `zstd -d`",
      { cause },
    );
  }
}

class Frames {
  stopped = false;
  private readonly queue = new ByteQueue();
  private frame: InstanceType<Zstd["Decompress"]> | undefined;
  private skipping = 0;
  private checksum = false;
  private whole = 0;
  private out: Bytes[] = [];

  constructor(
    private readonly zstd: Zstd,
    private readonly options: DecompressOptions,
  ) {}

  *push(bytes: Bytes): Iterable<Bytes> {
    this.queue.push(bytes, noMark);
    while (!this.stopped && this.step()) {
      yield* this.out;
      this.out = [];
    }
    yield* this.out;
    this.out = [];
  }

  end(): void {
    if (this.queue.length > 0 || this.frame !== undefined || this.skipping > 0) {
      this.options.fault(this.frame === undefined && this.skipping === 0 && this.whole > 0 ? "trailing" : "cut", "");
    }
  }

  /** One header, block or skip; false when more bytes are needed. */
  private step(): boolean {
    if (this.skipping > 0) {
      const count = Math.min(this.skipping, this.queue.length);
      this.queue.skip(count);
      this.skipping -= count;
      return this.skipping === 0 && count > 0;
    }
    return this.frame === undefined ? this.header() : this.block(this.frame);
  }

  private header(): boolean {
    const head = this.queue.peek(longestHeader);
    if (head.length < 8) return false;
    if (head[1] === 0x2a && head[2] === 0x4d && head[3] === 0x18 && (head[0]! & 0xf0) === 0x50) {
      this.queue.skip(8);
      this.skipping = le(head, 4, 4);
      return true;
    }
    if (le(head, 0, 4) !== 0xfd2fb528) {
      return this.stop(this.whole > 0 ? "trailing" : "damaged", "no zstd frame where one is due");
    }
    const parsed = frameHeader(head);
    if (head.length < parsed.length) return false;
    if (parsed.window > this.options.windowBytes) {
      return this.stop("damaged", `a frame asks for a window of ${parsed.window} bytes`);
    }
    this.checksum = parsed.checksum;
    this.frame = new this.zstd.Decompress((bytes) => {
      if (bytes.length > 0) this.out.push(bytes);
    });
    return this.feed(this.frame, parsed.length, false);
  }

  /** RFC 8878 3.1.1.2: last flag, type, size; a run-length block holds one byte whatever its size says. */
  private block(frame: InstanceType<Zstd["Decompress"]>): boolean {
    if (this.queue.length < 3) return false;
    const head = le(this.queue.peek(3), 0, 3);
    const last = (head & 1) === 1;
    const type = (head >> 1) & 3;
    const size = 3 + (type === 1 ? 1 : head >> 3) + (last && this.checksum ? 4 : 0);
    if (type === 3 || head >> 3 > 128 * 1024) return this.stop("damaged", "a block of an impossible size");
    if (this.queue.length < size) return false;
    if (last) {
      this.frame = undefined;
      this.whole++;
    }
    return this.feed(frame, size, last);
  }

  private feed(frame: InstanceType<Zstd["Decompress"]>, count: number, final: boolean): boolean {
    try {
      frame.push(this.queue.take(count)?.bytes ?? noBytes, final);
      return true;
    } catch (error) {
      return this.stop("damaged", error instanceof Error ? error.message : String(error));
    }
  }

  private stop(what: "damaged" | "trailing", why: string): false {
    this.stopped = true;
    this.options.fault(what, why);
    return false;
  }
}

function frameHeader(head: Bytes): { length: number; window: number; checksum: boolean } {
  const descriptor = head[4]!;
  const single = (descriptor & 0x20) !== 0;
  const dictionary = [0, 1, 2, 4][descriptor & 3]!;
  const sizeFlag = descriptor >> 6;
  const sizeBytes = sizeFlag === 0 ? (single ? 1 : 0) : 1 << sizeFlag;
  const sizeAt = 5 + (single ? 0 : 1) + dictionary;
  const length = sizeAt + sizeBytes;
  let window: number;
  if (single) {
    window = head.length < length ? 0 : le(head, sizeAt, sizeBytes) + (sizeBytes === 2 ? 256 : 0);
  } else {
    const base = 2 ** (10 + (head[5]! >> 3));
    window = base + (base / 8) * (head[5]! & 7);
  }
  return { length, window, checksum: (descriptor & 4) !== 0 };
}

function le(bytes: Bytes, at: number, count: number): number {
  let value = 0;
  for (let i = count - 1; i >= 0; i--) value = value * 256 + (bytes[at + i] ?? 0);
  return value;
}
