/**
 * Joins the boxes: inputs -> neck -> framing -> dialects -> rules -> Analysis. docs/architecture.md has the picture. Everything is
 * synchronous; only `onEvent` and `onProgress` are called before the end.
 */

import { type KeyLog, keyLog } from "./capture/keylog.js";
import { keyLogFile } from "./capture/keylog-file.js";
import { readRaw } from "./capture/raw.js";
import { SpillStore } from "./capture/spill.js";
import { type CheckFacts, type CheckOptions, catalogue, defaultCheckOptions, runChecks } from "./check/index.js";
import type { Bytes } from "./core/bytes.js";
import { DiagnosticLog, type Note } from "./core/diagnostic.js";
import { CursorWireError } from "./core/errors.js";
import type { Limits } from "./core/limits.js";
import { by } from "./core/order.js";
import { inputNames } from "./core/place.js";
import { isKnown } from "./core/time.js";
import { dialects } from "./dialects/index.js";
import type { Conversation, Turn } from "./model/conversation.js";
import type { DialectResult, SessionEvent } from "./model/dialect.js";
import { type Exchange, type NeckEvent, type NeckSink, newIds } from "./model/exchange.js";
import type { StreamMessage } from "./model/message.js";
import type { Analysis, InputInfo } from "./model/report.js";
import type { Schemas } from "./model/schema.js";
import type { ExchangeRows } from "./pipeline/exchange-rows.js";
import { type InputsResult, readInputs } from "./pipeline/inputs.js";
import { Router } from "./pipeline/router.js";
import { unclaimedLine } from "./pipeline/unclaimed.js";
import { readChatBlobs } from "./store/index.js";

export interface PipelineOptions {
  /** Captures, in command-line order; "-" is standard input. */
  readonly paths: readonly string[];
  /** A recorded byte stream: one file per direction, and a chunk index with times. */
  readonly raw?: { readonly client: string; readonly server: string; readonly index?: string };
  readonly keylogs: readonly string[];
  /** From the environment; used, and named among the inputs, only when `keylogs` is empty. */
  readonly sslkeylogfile?: string;
  /** Forces one dialect. */
  readonly dialect?: string;
  readonly schemas: Schemas;
  readonly limits: Limits;
  /** SHA-256 of inputs, flows and bodies. */
  readonly wantHashes: boolean;
  readonly wantFrames: boolean;
  readonly wantSteps: boolean;
  /** The capture may still grow: key logs are read again as it does. */
  readonly live?: boolean;
  readonly checks?: CheckOptions;
  /** Session stores that resolve blobs the capture never showed. */
  readonly stores?: readonly string[];
  onEvent?(event: SessionEvent): void;
  /** Sees every event of the neck before anything is made of it: heads (their secrets must not be printed), bodies for `show`. */
  onNeck?(event: NeckEvent): void;
  onProgress?(progress: { readonly path: string; readonly bytes: number }): void;
}

export interface OpenAnalysis extends Analysis {
  /** Frees blob bodies that spilled to disk; the ledger's content is gone after it. */
  close(): void;
}

/** Throws CursorWireError `usage.*` for options that do not fit, `input.*` for a key log that cannot be read. */
export function runPipeline(options: PipelineOptions): OpenAnalysis {
  return new Pipeline(options).run();
}

class Pipeline {
  private readonly log: DiagnosticLog;
  private readonly note: Note;
  private readonly ids = newIds();
  private readonly keys: KeyLog;
  private readonly keyFiles: { refresh(): void }[] = [];
  private readonly keyInputs: InputInfo[] = [];
  private readonly spill: SpillStore;
  private messages = 0;

  constructor(private readonly options: PipelineOptions) {
    this.log = new DiagnosticLog(options.limits.diagnosticPlaces);
    this.note = this.log.note;
    this.keys = keyLog(this.note);
    this.spill = new SpillStore(options.limits.conversationBytes);
  }

  run(): OpenAnalysis {
    this.openKeys();
    const claims = this.claims();
    const router = new Router({
      limits: this.options.limits,
      note: this.note,
      noteUnclaimed: () => {},
      wantHashes: this.options.wantHashes,
      candidates: claims,
      forced: (exchange, sawFrames) =>
        this.options.dialect !== undefined && forceable(exchange, sawFrames) ? claims[0]! : null,
      message: (message, unclaimed) => {
        this.messages++;
        if (unclaimed !== null && this.options.wantFrames) this.emitUnclaimed(message, unclaimed.looks);
      },
    });
    const read = this.read(router);
    router.finish();
    const results = claims.map((claim) => claim.session.finish());
    return this.analysis(router, read, results);
  }

  private storedHandles: Map<string, number> | undefined;

  /** Read when the first blob is missed: most captures need no store. */
  private stored(id: string): Bytes | undefined {
    const { stores } = this.options;
    if (stores === undefined || stores.length === 0) return undefined;
    if (this.storedHandles === undefined) {
      const handles = new Map<string, number>();
      readChatBlobs(
        stores,
        (blob, data) => handles.set(blob, this.spill.put(data)),
        (path, why) => this.note({ code: "store.unreadable", detail: { path, why } }),
      );
      this.storedHandles = handles;
    }
    const handle = this.storedHandles.get(id);
    return handle === undefined ? undefined : this.spill.get(handle);
  }

  private emitUnclaimed(message: StreamMessage, looks: string | null): void {
    const frame = unclaimedLine(message, this.options.schemas, looks);
    if (frame !== undefined) this.options.onEvent?.({ kind: "frame", frame });
  }

  private openKeys(): void {
    const { keylogs, sslkeylogfile } = this.options;
    for (const path of keylogs) this.keyFiles.push(keyLogFile(path, this.keys, this.note));
    if (keylogs.length > 0 || sslkeylogfile === undefined || sslkeylogfile === "") return;
    try {
      this.keyFiles.push(keyLogFile(sslkeylogfile, this.keys, this.note));
    } catch (error) {
      // The variable may be left over from something else: the capture is still worth reading.
      if (!(error instanceof CursorWireError)) throw error;
      this.note({ code: "keylog.unreadable", detail: { path: sslkeylogfile, reason: error.message } });
    }
    this.keyInputs.push({ path: sslkeylogfile, format: "keylog", bytes: 0, sha256: null, producer: null });
  }

  private claims() {
    const { options } = this;
    const chosen =
      options.dialect === undefined ? dialects : dialects.filter((dialect) => dialect.name === options.dialect);
    if (chosen.length === 0) {
      const names = dialects.map((dialect) => dialect.name).join(", ");
      throw new CursorWireError("usage.dialect", `no dialect "${options.dialect}"; the dialects are ${names}`);
    }
    return chosen.map((dialect) => ({
      dialect,
      session: dialect.session({
        limits: options.limits,
        note: this.note,
        schemas: options.schemas,
        blobs: this.spill,
        wantFrames: options.wantFrames,
        wantSteps: options.wantSteps,
        follows: options.wantSteps && options.onEvent !== undefined,
        emit: (event) => options.onEvent?.(event),
        stored: (id) => this.stored(id),
        lost: () => this.log.list().some(losesBytes),
      }),
    }));
  }

  private read(router: Router): InputsResult {
    const { options } = this;
    const context = {
      limits: options.limits,
      note: this.note,
      sink: this.tapped(router.sink),
      ids: this.ids,
      keys: this.keys,
      wantHashes: options.wantHashes,
      refreshKeys: options.live ? () => this.refreshKeys() : () => {},
      progress: (path: string, bytes: number) => options.onProgress?.({ path, bytes }),
    };
    const read = readInputs(options.paths, context);
    if (options.raw === undefined) return read;
    const raw = readRaw(options.raw, { ...context, input: options.paths.length });
    return { ...read, inputs: [...read.inputs, ...raw.inputs] };
  }

  private tapped(sink: NeckSink): NeckSink {
    const tap = this.options.onNeck;
    if (tap === undefined) return sink;
    return (event) => {
      tap(event);
      sink(event);
    };
  }

  private refreshKeys(): void {
    for (const file of this.keyFiles) file.refresh();
  }

  private analysis(router: Router, read: InputsResult, results: readonly DialectResult[]): OpenAnalysis {
    const inputs = [...read.inputs, ...this.keyInputs];
    const conversations = orderConversations(results);
    const turns = orderTurns(results);
    const givenBack = new Set(results.flatMap((result) => [...result.givenBack]));
    const exchanges = router.rows;
    exchanges.giveBack(givenBack);
    let list: Analysis["exchanges"] | undefined;
    const rules = catalogue(dialects.flatMap((dialect): Analysis["rules"] => dialect.rules));
    const facts: CheckFacts = {
      claimed: exchanges.claimed(),
      eachExchange: (which) => exchanges.each(which ?? (() => true)),
      rules,
    };
    const checked = runChecks(results, turns, this.options.checks ?? defaultCheckOptions, facts);
    const spill = this.spill;
    return {
      inputs,
      inputNames: inputNames(inputs.map((input) => input.path)),
      capture: {
        ...router.span(),
        packets: read.packets,
        flows: router.flowCount,
        exchanges: exchanges.length,
        messages: this.messages,
      },
      results,
      conversations,
      turns,
      blobs: results.find((result) => result.blobs !== null)?.blobs ?? null,
      flows: flowsOf(router.flows, exchanges),
      get exchanges() {
        list ??= [...exchanges];
        return list;
      },
      ...facts,
      findings: checked.findings,
      notCheckable: checked.notCheckable,
      held: checked.held,
      diagnostics: this.log.list(),
      unreadable: read.unreadable,
      close: () => spill.close(),
    };
  }
}

/** A raw byte stream is known for what it is once a dialect has claimed it. */
function flowsOf(flows: Analysis["flows"], exchanges: ExchangeRows): Analysis["flows"] {
  const claimed = new Set<number>();
  for (const row of exchanges.each(({ kind, dialect }) => kind === "bytes" && dialect === "pi")) claimed.add(row.flow);
  return flows.map((flow) =>
    flow.protocol === "unknown" && claimed.has(flow.flow.id) ? { ...flow, protocol: "pi" } : flow,
  );
}

/**
 * Diagnostics that mean missing bytes or messages outside of what a session is told of, not just an odd form. A body that a HAR lacks is
 * a gap of its own exchange, which its session is told; that of an unrelated page says nothing about the talk.
 */
function losesBytes(row: { readonly code: string; readonly severity: string }): boolean {
  return missing.test(row.code) && (row.severity !== "info" || joined.test(row.code));
}

const missing =
  /^(capture|link|ip|tcp|tls|websocket|http2|hpack|net)\.|^http1?\.(skipped|head-cut|head-too-long|response-lost|response-without-request|bad-chunk)|^har\.(cut|entry-(unreadable|too-large))/;
const joined = /\.joined-(midway|late)$/;

/** What a forced dialect gets even where it does not recognise it: raw streams, logs and WebSockets, never a plain HTTP exchange. */
function forceable(exchange: Exchange, sawFrames: boolean): boolean {
  return exchange.kind !== "http" || sawFrames;
}

/** Turns of all dialects by start; a turn without a time keeps its place behind those before it in its own dialect. */
function orderTurns(results: readonly DialectResult[]): readonly Turn[] {
  if (results.filter((result) => result.turns.length > 0).length <= 1) return results.flatMap((result) => result.turns);
  const ranked = results.flatMap((result, dialect) =>
    result.turns.map((turn, ordinal) => ({ turn, dialect, ordinal })),
  );
  ranked.sort(
    by(
      (row) => (isKnown(row.turn.start) ? row.turn.start.earliest : null),
      (row) => row.dialect,
      (row) => row.ordinal,
    ),
  );
  return ranked.map((row) => row.turn);
}

function orderConversations(results: readonly DialectResult[]): readonly Conversation[] {
  const ranked = results.flatMap((result, dialect) =>
    result.conversations.map((conversation, ordinal) => ({ conversation, dialect, ordinal })),
  );
  const start = (row: (typeof ranked)[number]) => {
    const first = row.conversation.turns[0]?.start;
    return first !== undefined && isKnown(first) ? first.earliest : null;
  };
  const several = results.filter((result) => result.conversations.length > 0).length > 1;
  if (several)
    ranked.sort(
      by(
        start,
        (row) => row.dialect,
        (row) => row.ordinal,
      ),
    );
  return ranked.map((row) => row.conversation);
}
