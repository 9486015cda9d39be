/**
 * Collects one value of the HAR while the splitter walks over it: its JSON text without the long body strings, and those apart.
 * All calls give the block and indices in it; between `enter` and `leave` (or a string that runs on) text is only remembered by index.
 */
import { asBuffer, type Bytes, concat } from "../core/bytes.js";
import { JsonText, unescapeJson } from "./json-text.js";

export interface RawEntry {
  /** Ordinal of the log it stands in. */
  readonly log: number;
  /** Position among the elements of that log's entries. */
  readonly index: number;
  /** First byte, and the byte after the last. */
  readonly offset: number;
  readonly end: number;
  /** JSON text; undefined where it is over the limit or was not wanted. Cut strings are `placeholder(i)` in it. */
  readonly text: Bytes | undefined;
  /** Bytes of the entry without its cut strings. */
  readonly bytes: number;
  readonly cuts: readonly JsonText[];
  /** Long strings under other keys, which were not kept. */
  readonly dropped: readonly { readonly key: string; readonly bytes: number }[];
}

/** Body strings from this many bytes on are cut out; below it a copy by JSON.parse is cheaper. */
const cutBytes = 1024;
/** Strings under other keys are kept up to this many bytes. */
const otherBytes = 1024 * 1024;
const bodyKeys: ReadonlySet<string> = new Set(["text", "data"]);

const mark = "\u0000cut:";

/** Stands for cut string `i` in an entry's text. A hostile file may write it itself and gets its own other body for it. */
function placeholder(i: number): Bytes {
  return Buffer.from(JSON.stringify(`${mark}${i}`).slice(1, -1), "latin1");
}

/** The cut string that `text` stands for, or undefined. */
export function cutOf(text: string, cuts: readonly JsonText[]): JsonText | undefined {
  return cuts.length > 0 && text.startsWith(mark) ? cuts[Number(text.slice(mark.length))] : undefined;
}

export class EntryCapture {
  private pieces: Bytes[] = [];
  private total = 0;
  private from = 0;
  /** The string before the current one, where it may be its key: in this block, or a copy from an earlier one. */
  private keyStart = -1;
  private keyEnd = -1;
  private keyKept = "";
  /** The string that runs on into the next block. */
  private open: Bytes[] = [];
  private openBytes = 0;
  private readonly cuts: JsonText[] = [];
  private readonly dropped: { key: string; bytes: number }[] = [];

  constructor(
    private readonly place: { readonly log: number; readonly index: number; readonly offset: number },
    private readonly textLimit: number,
    private readonly bodyLimit: number,
  ) {}

  /** A block is gone through from index `from` on. */
  enter(from: number): void {
    this.from = from;
  }

  /** The block ends, outside a string. */
  leave(block: Buffer): void {
    this.take(block.subarray(this.from));
    this.keepKey(block);
  }

  /** A string lies whole in the block, its content from `start` to `end`. */
  string(block: Buffer, start: number, end: number): void {
    if (end - start >= cutBytes && this.cutWorthy(block, end - start)) {
      this.take(block.subarray(this.from, start));
      this.from = end;
      if (bodyKeys.has(this.key(block))) this.cut([block.subarray(start, end)], end - start);
      else this.drop(this.key(block), end - start);
    } else {
      this.keyStart = start;
      this.keyEnd = end;
    }
  }

  /** A string starts at `start` and runs past the end of the block. */
  stringBegins(block: Buffer, start: number): void {
    this.take(block.subarray(this.from, start));
    this.keepKey(block);
    this.open = [];
    this.openBytes = 0;
    this.hold(block.subarray(start));
  }

  stringGoesOn(block: Buffer, from: number, to: number): void {
    this.hold(block.subarray(from, to));
  }

  stringEnds(block: Buffer, from: number, to: number): void {
    this.hold(block.subarray(from, to));
    this.from = to;
    const bytes = this.openBytes;
    if (bodyKeys.has(this.keyKept) && bytes >= cutBytes) this.cut(this.open, bytes);
    else if (bytes > otherBytes) this.drop(this.keyKept, bytes);
    else {
      for (const piece of this.open) this.take(piece);
      this.keyKept = bytes > 64 ? "" : unescapeJson(asBuffer(concat(this.open)));
      this.keyStart = -1;
    }
    this.open = [];
  }

  finish(block: Buffer, end: number, offset: number): RawEntry {
    this.take(block.subarray(this.from, end));
    const over = this.total > this.textLimit;
    return {
      ...this.place,
      end: offset,
      text: over ? undefined : concat(this.pieces),
      bytes: this.total,
      cuts: this.cuts,
      dropped: this.dropped,
    };
  }

  private cutWorthy(block: Buffer, bytes: number): boolean {
    return bytes > otherBytes || bodyKeys.has(this.key(block));
  }

  private hold(piece: Bytes): void {
    if (piece.length === 0) return;
    this.openBytes += piece.length;
    const limit = bodyKeys.has(this.keyKept) ? this.bodyLimit : otherBytes;
    if (this.openBytes <= limit) this.open.push(piece);
    else this.open = [];
  }

  private cut(pieces: readonly Bytes[], bytes: number): void {
    const over = bytes > this.bodyLimit;
    this.cuts.push(new JsonText(over ? [] : pieces, over ? bytes : 0));
    this.take(placeholder(this.cuts.length - 1));
  }

  private drop(key: string, bytes: number): void {
    this.dropped.push({ key: key.slice(0, 64), bytes });
  }

  private take(bytes: Bytes): void {
    if (bytes.length === 0) return;
    this.total += bytes.length;
    if (this.total <= this.textLimit) this.pieces.push(bytes);
    else this.pieces = [];
  }

  /** Name of the string in front, as far as it can be a key of interest. */
  private key(block: Buffer): string {
    if (this.keyStart < 0) return this.keyKept;
    const length = this.keyEnd - this.keyStart;
    return length > 64 ? "" : unescapeJson(block.subarray(this.keyStart, this.keyEnd));
  }

  private keepKey(block: Buffer): void {
    this.keyKept = this.key(block);
    this.keyStart = -1;
  }
}
