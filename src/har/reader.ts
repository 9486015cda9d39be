/**
 * HAR -> neck events, entry by entry in the file's order. Memory is bounded by the largest entry. Whatever is wrong inside the file is a
 * diagnostic; only a file that is no HAR, or ends before its first entry, is refused.
 */
import { isAscii, isUtf8 } from "node:buffer";
import { siblingReader } from "../capture/sibling.js";
import type { Source } from "../capture/source.js";
import { asBuffer, type Bytes } from "../core/bytes.js";
import type { Detail, DiagnosticCode } from "../core/diagnostic.js";
import { CursorWireError } from "../core/errors.js";
import { Place } from "../core/place.js";
import type { ReaderContext } from "../model/reader.js";
import type { RawEntry } from "./entry-capture.js";
import { checkEntry } from "./entry-check.js";
import { EntrySplitter, type SplitEnd } from "./entry-splitter.js";
import { type EntryContext, emitEntry } from "./exchange.js";
import { asObject, asText, type Fields } from "./fields.js";
import { HarFlows } from "./flows.js";
import { chooseLog } from "./log-choice.js";
import { mendJson } from "./mend.js";
import { type ProducerKind, producerKind } from "./producer.js";
import { TextInput } from "./text-input.js";

export { looksLikeHar } from "./recognise.js";

/** Throws CursorWireError `input.not-har` or `input.har-cut` where there is nothing to read. */
export function readHar(source: Source, context: ReaderContext): { producer: string | null } {
  return new HarReader(source, context).run();
}

interface LogSeen {
  producer: string | null;
  entryArrays: number;
  /** Elements of its entries that were read. */
  read: number;
}

class HarReader {
  private readonly text: TextInput;
  private readonly entryContext: EntryContext;
  private readonly flows: HarFlows;
  private readonly logs: LogSeen[] = [];
  private logKeys = 0;
  private whole = 0;
  private next = 0;
  private shift = 0;
  private strays = 0;
  private kind: ProducerKind = "untold";

  constructor(
    private readonly source: Source,
    private readonly context: ReaderContext,
  ) {
    this.text = new TextInput(source);
    this.flows = new HarFlows(context);
    this.entryContext = {
      reader: context,
      flows: this.flows,
      siblings: siblingReader(source.path, context.limits.inflatedBytes),
      producer: () => this.kind,
    };
  }

  run(): { producer: string | null } {
    const { text, context } = this;
    const { encoding, markBytes } = text.detected;
    if (encoding !== "UTF-8" || markBytes > 0) this.noteFile("har.byte-order-mark", { encoding });
    const { wanted, blocks } = chooseLog(this.source, text, context.limits);
    const splitter = new EntrySplitter(
      {
        log: (_, isObject) => this.log(isObject),
        entries: (ordinal) => this.entries(ordinal, wanted),
        entry: (entry) => this.entry(entry),
        field: (name, bytes) => this.field(name, bytes),
        stray: (offset) => {
          if (this.strays++ === 0) this.noteFile("har.bad-json", { byte: text.fileOffset(offset) });
        },
      },
      { limits: context.limits, capture: wanted },
    );
    for (const block of blocks) {
      splitter.push(block);
      if (splitter.hopeless) break;
    }
    this.finish(splitter.end());
    this.flows.end();
    return { producer: this.producer() };
  }

  // ---- the log ----

  private log(isObject: boolean): void {
    this.logKeys++;
    if (!isObject) return;
    this.logs.push({ producer: null, entryArrays: 0, read: 0 });
    this.kind = "untold";
  }

  private entries(ordinal: number, wanted: number | "all"): void {
    const log = this.logs[ordinal]!;
    if (++log.entryArrays === 2) this.noteFile("har.duplicate-entries", {});
    if (wanted === "all") this.shift = log.entryArrays > 1 ? this.shift : this.next;
  }

  private field(name: string, bytes: Bytes): void {
    const log = this.logs.at(-1)!;
    if (name !== "creator" && !(name === "browser" && log.producer === null)) return;
    const creator = asObject(parsed(asBuffer(bytes).toString("utf8")));
    const words = [asText(creator?.name), asText(creator?.version)].filter((word) => word?.trim());
    if (words.length > 0) log.producer = words.join(" ").slice(0, 256);
    this.kind = producerKind(log.producer);
  }

  /** Of the log whose entries were read; else of the last that names one. */
  private producer(): string | null {
    const named = this.logs.filter((log) => log.producer !== null);
    return (named.findLast((log) => log.read > 0) ?? named.at(-1))?.producer ?? null;
  }

  // ---- entries ----

  private entry(raw: RawEntry): void {
    const log = this.logs[raw.log]!;
    // Not captured: an entry of a log that does not count.
    if (raw.text === undefined && raw.bytes === 0) return;
    if (log.read++ === 0 && this.whole > 0) this.noteSeveral();
    this.whole++;
    const index = this.shift + raw.index;
    this.next = index + 1;
    const value = this.parse(raw, index);
    if (value === undefined) return;
    const object = asObject(value);
    if (object === undefined || asObject(object?.request) === undefined) {
      this.noteEntry(index, "har.not-an-entry", { what: whatIs(value) });
      return;
    }
    for (const { key, bytes } of raw.dropped) this.noteEntry(index, "har.string-dropped", { key, bytes });
    this.check(object, index);
    emitEntry({ index, value: object, cuts: raw.cuts }, this.entryContext);
  }

  private noteSeveral(): void {
    const others = this.logs.filter((log) => log.read > 0).length;
    if (others > 1) this.noteFile("har.several-logs", {});
  }

  private parse(raw: RawEntry, index: number): unknown {
    const { text: bytes } = raw;
    if (bytes === undefined) {
      const limit = this.context.limits.harEntryBytes;
      this.noteEntry(index, "har.entry-too-large", { bytes: raw.bytes, limit });
      return undefined;
    }
    let text: string;
    if (isAscii(bytes)) text = bytes.toString("latin1");
    else if (isUtf8(bytes)) text = bytes.toString("utf8");
    else {
      this.noteEntry(index, "har.entry-not-utf8", {});
      text = bytes.toString("latin1");
    }
    try {
      return JSON.parse(text);
    } catch (error) {
      return this.mend(text, index, error);
    }
  }

  private mend(text: string, index: number, error: unknown): unknown {
    const { text: better, what } = mendJson(text);
    const value = what.length > 0 ? parsed(better) : undefined;
    if (value !== undefined) this.noteEntry(index, "har.entry-repaired", { what: what.join(", ") });
    else {
      // V8's message quotes the text; its kind is enough.
      const problem = error instanceof Error ? error.message.replace(/[,:]? ?["'.][\s\S]*$/, "").slice(0, 100) : "";
      this.noteEntry(index, "har.entry-unreadable", { problem });
    }
    return value;
  }

  private check(entry: Fields, index: number): void {
    const verdict = checkEntry(entry);
    if (verdict.kind === "invalid") {
      const { pointer, message, errors } = verdict;
      this.noteEntry(index, "har.entry-invalid", { pointer, message, errors });
    } else if (verdict.kind === "unchecked") this.noteEntry(index, "har.entry-unchecked", { what: verdict.what });
  }

  // ---- the end ----

  private finish(end: SplitEnd): void {
    const name = this.source.path === "-" ? "standard input" : this.source.path;
    if (this.logs.length === 0) throw noHar(name, end, this.text.length);
    if (!end.complete) {
      const arrays = this.logs.some((log) => log.entryArrays > 0);
      if (this.whole === 0 && (end.inEntries || !arrays)) throw cutBeforeFirst(name, this.text.length);
      this.noteCut(end);
    }
    const around = [
      ["before", end.before.bytes],
      ["after", end.after.bytes],
    ] as const;
    for (const [where, bytes] of around) if (bytes > 0) this.noteFile("har.text-around", { bytes, where });
    if (this.logKeys > 1) {
      const read = this.logs.findLastIndex((log) => log.read > 0);
      this.noteFile("har.duplicate-log", { count: this.logKeys, read: (read < 0 ? this.logs.length - 1 : read) + 1 });
    }
    if (this.whole === 0) this.noteFile("har.no-entries", {});
  }

  private noteCut(end: SplitEnd): void {
    const where = end.inString ? "inside a string" : end.between ? "between two values" : "inside a value";
    const { input } = this.context;
    const last = Math.max(0, this.next - 1);
    this.context.note({
      code: "har.cut",
      place: new Place(input, last, last),
      detail: { file: this.source.path, byte: this.text.length, where, entries: this.whole },
    });
  }

  private noteFile(code: DiagnosticCode, detail: Detail): void {
    this.context.note({ code, detail: { file: this.source.path, ...detail } });
  }

  private noteEntry(index: number, code: DiagnosticCode, detail: Detail): void {
    this.context.note({ code, place: new Place(this.context.input, index, index), detail });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function whatIs(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object without a request";
  return `a ${typeof value}`;
}

const howToExport =
  "export the traffic as HAR (browsers: Network panel, Save all as HAR; mitmproxy: hardump) or give a pcap or pcapng";

function noHar(name: string, end: SplitEnd, length: number): CursorWireError {
  if (length === 0) return new CursorWireError("input.not-har", `${name} is empty`);
  if (end.started && !end.complete) {
    return new CursorWireError(
      "input.har-cut",
      `${name} ends at byte ${length}, before its first entry: the file was cut; export the HAR again`,
    );
  }
  return new CursorWireError(
    "input.not-har",
    `${name} is no HAR: its ${length} bytes hold no "log" object (looked at up to byte ${end.length}); ${howToExport}`,
  );
}

function cutBeforeFirst(name: string, length: number): CursorWireError {
  return new CursorWireError(
    "input.har-cut",
    `${name} ends at byte ${length}, before its first whole entry: the file was cut; export the HAR again`,
  );
}
