/** Opens the inputs, recognises each by content and reads them into the neck: packet captures merged by time, the rest in order. */
import { type CaptureFormat, captureFormats, type Packet } from "../capture/index.js";
import type { KeyLog } from "../capture/keylog.js";
import { looksLikeLines, readLines } from "../capture/lines.js";
import { mergeByTime } from "../capture/merge.js";
import { openSource, type Source } from "../capture/source.js";
import { type Bytes, latin1 } from "../core/bytes.js";
import type { Note } from "../core/diagnostic.js";
import { CursorWireError } from "../core/errors.js";
import type { Limits } from "../core/limits.js";
import { looksLikeHar, readHar } from "../har/reader.js";
import type { Ids, NeckSink } from "../model/exchange.js";
import type { InputInfo } from "../model/report.js";
import { net } from "../net/index.js";

export interface InputsContext {
  readonly limits: Limits;
  readonly note: Note;
  readonly sink: NeckSink;
  readonly ids: Ids;
  readonly keys: KeyLog;
  readonly wantHashes: boolean;
  /** Called between packets while inputs are read live, so that a growing key log is read again. */
  refreshKeys(): void;
  /** Bytes read of one input so far. */
  progress(path: string, bytes: number): void;
}

export interface InputsResult {
  readonly inputs: InputInfo[];
  readonly unreadable: { readonly path: string; readonly message: string }[];
  readonly packets: number;
}

type Format = InputInfo["format"];

interface Opened {
  readonly index: number;
  readonly path: string;
  readonly source: Source;
  readonly format: Format;
  readonly packets: CaptureFormat | null;
  producer: string | null;
}

export function readInputs(paths: readonly string[], context: InputsContext): InputsResult {
  return new InputReader(paths, context).run();
}

class InputReader {
  private readonly opened: (Opened | undefined)[] = [];
  private readonly failures = new Map<number, string>();
  private packetCount = 0;

  constructor(
    private readonly paths: readonly string[],
    private readonly context: InputsContext,
  ) {}

  run(): InputsResult {
    this.paths.forEach((path, index) => {
      this.attempt(index, () => {
        this.opened[index] = this.open(path, index);
      });
    });
    let packetsDone = false;
    for (const [index] of this.paths.entries()) {
      const input = this.opened[index];
      if (input === undefined || this.failures.has(index)) continue;
      if (input.packets !== null) {
        if (!packetsDone) this.readPackets();
        packetsDone = true;
      } else this.attempt(index, () => this.readWhole(input));
    }
    for (const input of this.opened) input?.source.close();
    return { inputs: this.infos(), unreadable: this.unreadable(), packets: this.packetCount };
  }

  /** A reader that cannot begin makes its own input unreadable, never the others. */
  private attempt(index: number, action: () => void): void {
    try {
      action();
    } catch (error) {
      if (!(error instanceof CursorWireError) || !error.code.startsWith("input.")) throw error;
      this.failures.set(index, error.message);
    }
  }

  private open(path: string, index: number): Opened {
    const { context } = this;
    const source = this.withProgress(
      openSource(path, { input: index, hash: context.wantHashes, limits: context.limits, note: context.note }),
    );
    const head = source.head();
    const packets = captureFormats.find((format) => format.matches(head)) ?? null;
    if (packets !== null) return { index, path, source, format: packets.name, packets, producer: null };
    if (looksLikeLines(head)) return { index, path, source, format: "jsonl", packets: null, producer: null };
    if (looksLikeHar(head)) return { index, path, source, format: "har", packets: null, producer: null };
    source.close();
    throw new CursorWireError("input.unknown-format", unknownFormat(path, head));
  }

  private readWhole(input: Opened): void {
    const context = { ...this.context, input: input.index };
    if (input.format === "jsonl") readLines(input.source, context);
    else input.producer = readHar(input.source, context).producer;
  }

  private readPackets(): void {
    const { context } = this;
    const stack = net(context);
    const readers = this.opened.flatMap((input) => (input?.packets ? [this.packetsOf(input, input.packets)] : []));
    for (const packet of readers.length === 1 ? readers[0]! : mergeByTime(readers)) {
      context.refreshKeys();
      stack.push(packet);
    }
    context.refreshKeys();
    stack.end();
    this.packetCount = stack.counts.packets;
  }

  private *packetsOf(input: Opened, format: CaptureFormat): Generator<Packet> {
    const { limits, note, keys } = this.context;
    try {
      yield* format.read(input.source, { input: input.index, limits, note, keys });
    } catch (error) {
      if (!(error instanceof CursorWireError) || !error.code.startsWith("input.")) throw error;
      this.failures.set(input.index, error.message);
    }
  }

  private withProgress(source: Source): Source {
    const { progress } = this.context;
    return {
      path: source.path,
      compression: source.compression,
      get rawBytes() {
        return source.rawBytes;
      },
      head: () => source.head(),
      sha256: () => source.sha256(),
      close: () => source.close(),
      *blocks() {
        for (const block of source.blocks()) {
          progress(source.path, source.rawBytes);
          yield block;
        }
      },
    };
  }

  private infos(): InputInfo[] {
    return this.paths.map((path, index) => {
      const input = this.opened[index];
      const failed = input === undefined || this.failures.has(index);
      return {
        path,
        format: failed ? "unreadable" : input.format,
        bytes: input?.source.rawBytes ?? 0,
        sha256: input?.source.sha256() ?? null,
        producer: input?.producer ?? null,
      };
    });
  }

  private unreadable(): { path: string; message: string }[] {
    return [...this.failures]
      .sort(([a], [b]) => a - b)
      .map(([index, message]) => ({ path: this.paths[index]!, message }));
  }
}

const knownOthers: readonly { readonly test: (head: Bytes, text: string) => boolean; readonly what: string }[] = [
  { test: (_, text) => text.startsWith("SQLite format 3\0"), what: "is an SQLite database: use `cursor-wire store`" },
  {
    test: (_, text) => /^(?:#.*\s+)*(CLIENT|SERVER|EXPORTER|RSA)[A-Z0-9_]* [0-9a-fA-F]{16,}/.test(text),
    what: "is a TLS key log: give it with --keylog and name the capture it belongs to",
  },
  {
    test: (_, text) => /^\d+:\d+:/.test(text) && text.includes(";9:websocket;"),
    what: "is a mitmproxy flow file: export it as HAR (mitmdump -r FILE --set hardump=OUT.har)",
  },
  {
    test: (head) => head.length === 0,
    what: "is empty: the recorder wrote nothing, or has not written yet (tcpdump -U writes each packet at once)",
  },
];

function unknownFormat(path: string, head: Bytes): string {
  const text = latin1(head.subarray(0, 2048));
  const known = knownOthers.find((other) => other.test(head, text));
  if (known !== undefined) return `${path} ${known.what}`;
  const first = latin1(head.subarray(0, 4)).replace(/[^ -~]/g, ".");
  const bytes = [...head.subarray(0, 4)].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
  return (
    `${path} is no capture: byte 0 starts ${bytes} ("${first}"); ` +
    "expected a HAR, pcap, pcapng or JSON-lines log (gzip, zlib or zstd around it is fine)"
  );
}
