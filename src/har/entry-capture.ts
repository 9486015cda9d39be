/**
 * Collects one value of the HAR while the splitter walks over it: its JSON text without the long body strings, and those apart. One
 * capture serves all entries of a file in turn. Calls give the block and indices in it; text is copied only where a cut string or the
 * end of a block interrupts it.
 */
import { JsonText, unescapeJson } from "./json-text.js";

export interface EntryPlace {
  /** Ordinal of the log it stands in. */
  readonly log: number;
  /** Position among the elements of that log's entries. */
  readonly index: number;
  /** Of its first byte. */
  readonly offset: number;
}

export interface RawEntry extends EntryPlace {
  /** Of the byte after its last. */
  readonly end: number;
  /**
   * JSON text, good until the next value begins; undefined where it is over the limit or was not wanted. Cut strings are placeholders
   * in it, which `cutOf` turns back.
   */
  readonly text: Buffer | undefined;
  /** Bytes of the entry without its cut strings. */
  readonly bytes: number;
  readonly cuts: readonly JsonText[];
  /** Long strings under other keys, which were not kept. */
  readonly dropped: readonly { readonly key: string; readonly bytes: number }[];
}

/** Body strings from this many bytes on are cut out: their bytes are then decoded without a JavaScript string in between. */
const cutBytes = 128;
/** Strings under other keys are kept up to this many bytes. */
const otherBytes = 1024 * 1024;
/** A key that matters is not longer. */
const keyBytes = 64;
const spareBytes = 64 * 1024;
const bodyKeys: ReadonlySet<string> = new Set(["text", "data"]);

const mark = "\u0000cut:";
const placeholders: Buffer[] = [];

/** Stands for cut string `i` in an entry's text. A hostile file may write it itself and gets its own other body for it. */
function placeholder(i: number): Buffer {
  const known = placeholders[i];
  if (known !== undefined) return known;
  const made = Buffer.from(JSON.stringify(`${mark}${i}`).slice(1, -1), "latin1");
  if (i < 64) placeholders[i] = made;
  return made;
}

/** The cut string that `text` stands for, or undefined. */
export function cutOf(text: string, cuts: readonly JsonText[]): JsonText | undefined {
  return cuts.length > 0 && text.startsWith(mark) ? cuts[Number(text.slice(mark.length))] : undefined;
}

export class EntryCapture {
  private place: EntryPlace = { log: 0, index: 0, offset: 0 };
  private textLimit = 0;
  private bodyLimit = 0;
  /** Text that was interrupted. */
  private spare = Buffer.allocUnsafe(spareBytes);
  private copied = 0;
  private total = 0;
  /** Start of the text in the current block that was not copied yet. */
  private from = 0;
  /** The string before the current one, where it may be its key: in this block, or a copy from an earlier one. */
  private keyStart = -1;
  private keyEnd = -1;
  private keyKept = "";
  /** The string that runs on into the next block. */
  private open: Buffer[] = [];
  private openBytes = 0;
  private cuts: JsonText[] = [];
  private dropped: { key: string; bytes: number }[] = [];

  /** A value begins. Limits are in bytes: of its text, and of each cut string. */
  begin(place: EntryPlace, textLimit: number, bodyLimit: number): void {
    this.place = place;
    this.textLimit = textLimit;
    this.bodyLimit = bodyLimit;
    this.copied = 0;
    this.total = 0;
    this.keyStart = -1;
    this.keyKept = "";
    if (this.cuts.length > 0) this.cuts = [];
    if (this.dropped.length > 0) this.dropped = [];
    if (this.spare.length > 16 * spareBytes) this.spare = Buffer.allocUnsafe(spareBytes);
  }

  /** A block is gone through from index `from` on. */
  enter(from: number): void {
    this.from = from;
  }

  /** The block ends, outside a string. */
  leave(block: Buffer): void {
    this.copy(block, this.from, block.length);
    this.keepKey(block);
  }

  /** A string lies whole in the block, its content from `start` to `end`. */
  string(block: Buffer, start: number, end: number): void {
    const bytes = end - start;
    if (bytes >= cutBytes && (bytes > otherBytes || this.isBody(block))) {
      this.copy(block, this.from, start);
      this.from = end;
      if (this.isBody(block)) this.cut([block.subarray(start, end)], bytes);
      else this.dropped.push({ key: this.key(block), bytes });
    } else {
      this.keyStart = start;
      this.keyEnd = end;
    }
  }

  /** A string starts at `start` and runs past the end of the block. */
  stringBegins(block: Buffer, start: number): void {
    this.copy(block, this.from, start);
    this.keepKey(block);
    this.open = [];
    this.openBytes = 0;
    this.hold(block, start, block.length);
  }

  stringGoesOn(block: Buffer, from: number, to: number): void {
    this.hold(block, from, to);
  }

  stringEnds(block: Buffer, from: number, to: number): void {
    this.hold(block, from, to);
    this.from = to;
    const bytes = this.openBytes;
    if (bytes >= cutBytes && bodyKeys.has(this.keyKept)) this.cut(this.open, bytes);
    else if (bytes > otherBytes) this.dropped.push({ key: this.keyKept, bytes });
    else {
      for (const piece of this.open) this.copy(piece, 0, piece.length);
      this.keyKept = bytes > keyBytes ? "" : unescapeJson(Buffer.concat(this.open));
      this.keyStart = -1;
    }
    this.open = [];
  }

  /** The value ends in front of index `end` of the block, which is `offset` of the input. */
  finish(block: Buffer, end: number, offset: number): RawEntry {
    const { place, cuts, dropped } = this;
    let text: Buffer | undefined;
    if (this.copied === 0 && this.total === 0) {
      this.total = end - this.from;
      text = block.subarray(this.from, end);
    } else {
      this.copy(block, this.from, end);
      text = this.spare.subarray(0, this.copied);
    }
    const { log, index, offset: start } = place;
    if (this.total > this.textLimit) text = undefined;
    return { log, index, offset: start, end: offset, text, bytes: this.total, cuts, dropped };
  }

  private hold(block: Buffer, from: number, to: number): void {
    if (to === from) return;
    this.openBytes += to - from;
    const limit = bodyKeys.has(this.keyKept) ? this.bodyLimit : otherBytes;
    if (this.openBytes <= limit) this.open.push(block.subarray(from, to));
    else this.open = [];
  }

  private cut(pieces: readonly Buffer[], bytes: number): void {
    const over = bytes > this.bodyLimit;
    const stand = placeholder(this.cuts.length);
    this.cuts.push(JsonText.cut(over ? [] : pieces, over ? bytes : 0));
    this.copy(stand, 0, stand.length);
  }

  private copy(block: Buffer, from: number, to: number): void {
    if (to <= from) return;
    this.total += to - from;
    if (this.total > this.textLimit) return;
    const needed = this.copied + to - from;
    if (needed > this.spare.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.spare.length));
      this.spare.copy(larger, 0, 0, this.copied);
      this.spare = larger;
    }
    block.copy(this.spare, this.copied, from, to);
    this.copied = needed;
  }

  private isBody(block: Buffer): boolean {
    if (this.keyStart < 0) return bodyKeys.has(this.keyKept);
    const at = this.keyStart;
    if (this.keyEnd - at === 4) {
      const a = block[at];
      if (a === 0x74) return block[at + 1] === 0x65 && block[at + 2] === 0x78 && block[at + 3] === 0x74;
      if (a === 0x64) return block[at + 1] === 0x61 && block[at + 2] === 0x74 && block[at + 3] === 0x61;
      return false;
    }
    return bodyKeys.has(this.key(block));
  }

  /** The string in front, as far as it can be a key of interest. */
  private key(block: Buffer): string {
    if (this.keyStart < 0) return this.keyKept;
    return this.keyEnd - this.keyStart > keyBytes ? "" : unescapeJson(block.subarray(this.keyStart, this.keyEnd));
  }

  private keepKey(block: Buffer): void {
    this.keyKept = this.key(block);
    this.keyStart = -1;
  }
}
