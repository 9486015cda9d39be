/**
 * Bytes of a HAR (UTF-8, in blocks cut anywhere) -> the elements of `log.entries`, each alone, and the few other fields of `log`.
 * Nothing is parsed here: quotes and brackets decide where a value ends, so a value may be as large as it likes. Long strings under
 * the keys that carry bodies are cut out of their entry and stay views of the blocks; the rest of the entry goes to JSON.parse.
 * Offsets are bytes from the first byte pushed.
 */
import { asBuffer, type Bytes, concat } from "../core/bytes.js";
import type { Limits } from "../core/limits.js";
import { closingQuote, isSpace, quote, type ScanEnd } from "./bytes-scan.js";
import { EntryCapture, type RawEntry } from "./entry-capture.js";
import { unescapeJson } from "./json-text.js";

export interface SplitterEvents {
  /** A top-level key "log" begins; `isObject` false where its value is no object. */
  log(ordinal: number, isObject: boolean): void;
  /** "entries" of the current log is an array; called once per such key. */
  entries(ordinal: number): void;
  entry(entry: RawEntry): void;
  /** Another field of the current log, as JSON text good during the call; only the names in `wantedFields`, and only short ones. */
  field(name: string, text: Bytes): void;
  /** Bytes that no JSON has here were stepped over. */
  stray(offset: number): void;
}

export interface SplitEnd {
  /** Bytes pushed. */
  readonly length: number;
  /** An opening brace was found. */
  readonly started: boolean;
  /** The top-level value was complete. */
  readonly complete: boolean;
  readonly inString: boolean;
  /** log.entries was not closed. */
  readonly inEntries: boolean;
  /** Between two values rather than inside one. */
  readonly between: boolean;
  /** Text in front of and behind the JSON, white space at its edges left out. */
  readonly before: { readonly offset: number; readonly bytes: number };
  readonly after: { readonly offset: number; readonly bytes: number };
}

export interface SplitterOptions {
  readonly limits: Limits;
  /** Ordinal of the log whose entries and fields are captured; "all" or "none" (entries are only counted). */
  readonly capture: number | "all" | "none";
}

const wantedFields: ReadonlySet<string> = new Set(["creator", "browser", "version", "comment"]);
const fieldBytes = 64 * 1024;
const keyBytes = 256;
const prefixBytes = 64 * 1024;

/** Where the splitter stands between two bytes, outside a value that it only passes over or captures. */
type Step = "prefix" | "key" | "colon" | "value" | "done";
/** Which container it stands in: the top-level object, log, or log.entries. */
type Level = 1 | 2 | 3;

export class EntrySplitter {
  private step: Step = "prefix";
  private level: Level = 1;
  private base = 0;
  private logs = 0;
  private elements = 0;
  private key: Bytes[] | undefined;
  private keyHeld = 0;
  private keyName = "";

  /** The value that is being passed over or captured, if any. */
  private kind: "none" | "container" | "string" | "scalar" = "none";
  private depth = 0;
  private inString = false;
  private readonly scan: ScanEnd = { escaped: false };
  private readonly collector = new EntryCapture();
  /** The collector, while it collects. */
  private capture: EntryCapture | undefined;
  private captureIs: "entry" | "field" = "entry";

  private readonly before = { first: -1, last: -1 };
  private readonly after = { first: -1, last: -1 };

  constructor(
    private readonly events: SplitterEvents,
    private readonly options: SplitterOptions,
  ) {}

  push(bytes: Bytes): void {
    const block = asBuffer(bytes);
    let i = 0;
    while (i < block.length) {
      if (this.kind !== "none") i = this.passValue(block, i);
      else if (this.key !== undefined) i = this.readKey(block, i);
      else if (this.step === "prefix") i = this.findStart(block, i);
      else if (this.step === "done") i = this.passRest(block, i);
      else i = this.structure(block, i);
    }
    this.base += block.length;
  }

  end(): SplitEnd {
    return {
      length: this.base,
      started: this.step !== "prefix",
      complete: this.step === "done",
      inString: this.inString || this.key !== undefined,
      inEntries: this.level === 3,
      between: this.kind === "none" && this.key === undefined,
      before: { offset: this.before.first, bytes: extent(this.before) },
      after: { offset: this.after.first, bytes: extent(this.after) },
    };
  }

  /** Nothing that could be a HAR was found so far, and enough was looked at. */
  get hopeless(): boolean {
    return this.step === "prefix" && this.base > prefixBytes;
  }

  // ---- outside values ----

  private findStart(block: Buffer, from: number): number {
    const at = block.indexOf(0x7b, from);
    mark(this.before, block, from, at < 0 ? block.length : at, this.base);
    if (at < 0) return block.length;
    this.step = "key";
    return at + 1;
  }

  private passRest(block: Buffer, from: number): number {
    mark(this.after, block, from, block.length, this.base);
    return block.length;
  }

  /** One structural byte of the top-level object, log, or log.entries. */
  private structure(block: Buffer, i: number): number {
    const byte = block[i]!;
    if (isSpace(byte) || byte === 0x2c) return i + 1;
    if (byte === 0x7d || byte === 0x5d) return this.close(byte, i);
    if (this.step === "value") return this.beginValue(block, i, byte);
    if (this.step === "colon") {
      if (byte === 0x3a) this.step = "value";
      else this.events.stray(this.base + i);
      return i + 1;
    }
    if (byte === quote) {
      this.key = [];
      this.keyHeld = 0;
      this.scan.escaped = false;
    } else this.events.stray(this.base + i);
    return i + 1;
  }

  private close(byte: number, i: number): number {
    const wanted = this.level === 3 ? 0x5d : 0x7d;
    if (byte !== wanted) {
      this.events.stray(this.base + i);
      return i + 1;
    }
    if (this.level === 1) this.step = "done";
    else {
      this.level = this.level === 3 ? 2 : 1;
      this.step = "key";
    }
    return i + 1;
  }

  private readKey(block: Buffer, from: number): number {
    const at = closingQuote(block, this.scan.escaped ? from + 1 : from, this.scan);
    const end = at < 0 ? block.length : at;
    if (this.keyHeld <= keyBytes && end > from)
      this.key!.push(block.subarray(from, Math.min(end, from + keyBytes + 1)));
    this.keyHeld += end - from;
    if (at < 0) return block.length;
    this.keyName = this.keyHeld > keyBytes ? "" : unescapeJson(asBuffer(concat(this.key!)));
    this.key = undefined;
    this.step = "colon";
    return at + 1;
  }

  private beginValue(block: Buffer, i: number, byte: number): number {
    if (this.level !== 3) this.step = "key";
    if (this.level === 1 && this.keyName === "log") {
      this.events.log(this.logs, byte === 0x7b);
      if (byte === 0x7b) {
        this.logs++;
        this.elements = 0;
        this.level = 2;
        return i + 1;
      }
    }
    if (this.level === 2 && this.keyName === "entries" && byte === 0x5b) {
      this.events.entries(this.logs - 1);
      this.level = 3;
      this.step = "value";
      return i + 1;
    }
    this.startCapture(i);
    this.depth = 0;
    this.kind = byte === quote ? "string" : byte === 0x7b || byte === 0x5b ? "container" : "scalar";
    return this.passValue(block, i, true);
  }

  private startCapture(i: number): void {
    const { limits, capture: wanted } = this.options;
    const capture = wanted === "all" || wanted === this.logs - 1;
    if (this.level === 3) {
      this.captureIs = "entry";
      const place = { log: this.logs - 1, index: this.elements++, offset: this.base + i };
      if (capture) {
        this.collector.begin(place, limits.harEntryBytes, limits.harBodyBytes);
        this.capture = this.collector;
      } else this.events.entry({ ...place, end: place.offset, text: undefined, bytes: 0, cuts: [], dropped: [] });
    } else if (this.level === 2 && capture && wantedFields.has(this.keyName)) {
      this.captureIs = "field";
      this.collector.begin({ log: this.logs - 1, index: 0, offset: this.base + i }, fieldBytes, 0);
      this.capture = this.collector;
    }
  }

  // ---- inside a value ----

  /** Goes on with the current value from `from`; returns where the next thing begins. */
  private passValue(block: Buffer, from: number, first = false): number {
    if (this.kind === "scalar") return this.passScalar(block, from);
    this.capture?.enter(from);
    let i = from;
    if (this.inString) {
      i = this.finishString(block, i);
      if (i < 0) return block.length;
    }
    if (this.kind === "string") return first ? this.wholeString(block, i) : this.endValue(block, i);
    return this.passContainer(block, i);
  }

  /** The string continues from the block before. Returns the index after its closing quote, -1 when the block ends first. */
  private finishString(block: Buffer, from: number): number {
    const at = closingQuote(block, this.scan.escaped ? from + 1 : from, this.scan);
    if (at < 0) {
      this.capture?.stringGoesOn(block, from, block.length);
      return -1;
    }
    this.capture?.stringEnds(block, from, at);
    this.inString = false;
    return at + 1;
  }

  private wholeString(block: Buffer, from: number): number {
    const at = closingQuote(block, from + 1, this.scan);
    if (at >= 0) return this.endValue(block, at + 1);
    this.inString = true;
    this.capture?.stringBegins(block, from + 1);
    return block.length;
  }

  private passContainer(block: Buffer, from: number): number {
    const { capture } = this;
    const length = block.length;
    let depth = this.depth;
    let i = from;
    while (i < length) {
      const byte = block[i++]!;
      if (byte === quote) {
        const at = closingQuote(block, i, this.scan);
        if (at < 0) {
          this.inString = true;
          this.depth = depth;
          capture?.stringBegins(block, i);
          return length;
        }
        if (capture !== undefined) capture.string(block, i, at);
        i = at + 1;
      } else if ((byte | 0x20) === 0x7b) depth++;
      else if ((byte | 0x20) === 0x7d && --depth === 0) {
        this.depth = 0;
        return this.endValue(block, i);
      }
    }
    this.depth = depth;
    capture?.leave(block);
    return length;
  }

  private passScalar(block: Buffer, from: number): number {
    this.capture?.enter(from);
    for (let i = from; i < block.length; i++) {
      const byte = block[i]!;
      if (byte === 0x2c || byte === 0x7d || byte === 0x5d || isSpace(byte)) return this.endValue(block, i);
    }
    this.capture?.leave(block);
    return block.length;
  }

  private endValue(block: Buffer, end: number): number {
    this.kind = "none";
    const { capture } = this;
    if (capture === undefined) return end;
    this.capture = undefined;
    const entry = capture.finish(block, end, this.base + end);
    if (this.captureIs === "entry") this.events.entry(entry);
    else if (entry.text !== undefined) this.events.field(this.keyName, entry.text);
    return end;
  }
}

/** Remembers where the first and last byte that is no white space stands. */
function mark(into: { first: number; last: number }, block: Buffer, from: number, to: number, base: number): void {
  let start = from;
  while (start < to && isSpace(block[start]!)) start++;
  if (start === to) return;
  let end = to;
  while (isSpace(block[end - 1]!)) end--;
  if (into.first < 0) into.first = base + start;
  into.last = base + end;
}

function extent(part: { first: number; last: number }): number {
  return part.first < 0 ? 0 : part.last - part.first;
}
