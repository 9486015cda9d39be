/** Runs the HAR reader over bytes in memory or a file, and collects what it emits. */
import { createHash } from "node:crypto";
import { openSource, type Source } from "../../src/capture/source.js";
import type { Bytes } from "../../src/core/bytes.js";
import { DiagnosticLog } from "../../src/core/diagnostic.js";
import { defaultLimits, type Limits } from "../../src/core/limits.js";
import { readHar } from "../../src/har/reader.js";
import {
  type Exchange,
  type FlowSummary,
  type NeckEvent,
  newIds,
  type ResponseHead,
  type StreamEvent,
} from "../../src/model/exchange.js";

export type EventOf<Kind extends StreamEvent["kind"]> = Extract<StreamEvent, { kind: Kind }>;

export interface ReadExchange {
  readonly exchange: Exchange;
  readonly events: StreamEvent[];
}

export interface ReadResult {
  readonly exchanges: ReadExchange[];
  readonly flows: FlowSummary[];
  readonly diagnostics: DiagnosticLog;
  readonly producer: string | null;
}

/** A source that was never a file. `cuts`: where its blocks end. */
export function memorySource(bytes: Bytes, cuts: readonly number[] = [], path = "-"): Source {
  return {
    path,
    compression: null,
    get rawBytes() {
      return bytes.length;
    },
    head: () => bytes.subarray(0, 65536),
    sha256: () => null,
    close: () => {},
    *blocks() {
      let from = 0;
      for (const cut of [...cuts, bytes.length]) {
        if (cut > from) yield new Uint8Array(bytes.subarray(from, cut));
        from = Math.max(from, cut);
      }
    },
  };
}

export function readSource(source: Source, limits: Limits = defaultLimits): ReadResult {
  const diagnostics = new DiagnosticLog(limits.diagnosticPlaces);
  const byId = new Map<number, ReadExchange>();
  const flows: FlowSummary[] = [];
  const sink = (event: NeckEvent): void => {
    if (event.kind === "flow") return;
    if (event.kind === "flow-end") {
      flows.push(event.summary);
      return;
    }
    if (event.kind === "open") byId.set(event.exchange.id, { exchange: event.exchange, events: [] });
    byId.get(event.exchange.id)!.events.push(event);
  };
  const context = { input: 0, limits, note: diagnostics.note, sink, ids: newIds(), wantHashes: false };
  const { producer } = readHar(source, context);
  return { exchanges: [...byId.values()], flows, diagnostics, producer };
}

export function readFile(path: string, limits: Limits = defaultLimits): ReadResult {
  const source = openSource(path, { input: 0, hash: false, limits, note: () => {} });
  try {
    return readSource(source, limits);
  } finally {
    source.close();
  }
}

export function readText(text: string | Bytes, limits: Limits = defaultLimits): ReadResult {
  return readSource(memorySource(typeof text === "string" ? Buffer.from(text) : text), limits);
}

/** A HAR of these entries as text. */
export function harText(entries: readonly unknown[]): string {
  return JSON.stringify({ log: { version: "1.2", creator: { name: "rig", version: "1" }, entries } });
}

export interface EntryOptions {
  readonly method?: string;
  readonly url?: string;
  readonly requestHeaders?: unknown;
  readonly responseHeaders?: unknown;
  readonly request?: object;
  readonly response?: object;
  readonly entry?: object;
}

/** A valid entry, changed by the options. */
export function entry(options: EntryOptions = {}): Record<string, unknown> {
  return {
    startedDateTime: "2026-11-30T21:00:00.000Z",
    time: 100,
    request: {
      method: options.method ?? "POST",
      url: options.url ?? "http://h.example/p",
      httpVersion: "HTTP/1.1",
      cookies: [],
      headers: options.requestHeaders ?? [],
      queryString: [],
      headersSize: -1,
      bodySize: 0,
      ...options.request,
    },
    response: {
      status: 200,
      statusText: "OK",
      httpVersion: "HTTP/1.1",
      cookies: [],
      headers: options.responseHeaders ?? [],
      content: { size: 0, mimeType: "text/plain" },
      redirectURL: "",
      headersSize: -1,
      bodySize: 0,
      ...options.response,
    },
    cache: {},
    timings: { send: 0, wait: 40, receive: 60 },
    ...options.entry,
  };
}

export function bodyOf(read: ReadExchange, direction: "up" | "down"): Buffer {
  return Buffer.concat(
    read.events.flatMap((event) => (event.kind === "bytes" && event.direction === direction ? [event.bytes] : [])),
  );
}

export function eventsOf<Kind extends StreamEvent["kind"]>(read: ReadExchange, kind: Kind): EventOf<Kind>[] {
  return read.events.filter((event): event is EventOf<Kind> => event.kind === kind);
}

export function gapsOf(read: ReadExchange): [string, number | null, string][] {
  return eventsOf(read, "gap").map((gap) => [gap.direction, gap.length ?? null, gap.why]);
}

export function endsOf(read: ReadExchange): string[] {
  return eventsOf(read, "end").map(({ direction, reason, by }) => [direction, reason, by ?? ""].join(" ").trim());
}

export function headOf(read: ReadExchange): ResponseHead | null {
  return eventsOf(read, "head")[0]?.head ?? null;
}

export function codesOf(result: ReadResult): Record<string, number> {
  return Object.fromEntries(result.diagnostics.list().map((row) => [row.code, row.count]));
}

/** One direction, as truth files give it. */
export function summaryOf(read: ReadExchange, direction: "up" | "down") {
  const events = eventsOf(read, "bytes").filter((event) => event.direction === direction);
  if (events.length === 0) return null;
  const bytes = bodyOf(read, direction);
  return {
    bytes: bytes.length,
    sha256: createHash("sha256").update(bytes).digest("hex"),
    evidence: [...new Set(events.map((event) => event.evidence))].join(),
    contentDecoded: events.every((event) => event.contentDecoded),
  };
}
