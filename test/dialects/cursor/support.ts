/** Talks of the fixture script -> neck events -> router and cursor session, without any reader in between. */
import { exchanges, type HttpExchange, host } from "../../../fixtures/cursor/make/http.mjs";
import type { Talk } from "../../../fixtures/cursor/make/script.mjs";
import { SpillStore } from "../../../src/capture/spill.js";
import { noBytes } from "../../../src/core/bytes.js";
import { DiagnosticLog, type DiagnosticRow } from "../../../src/core/diagnostic.js";
import { defaultLimits } from "../../../src/core/limits.js";
import type { Mark } from "../../../src/core/mark.js";
import { Place, placeText } from "../../../src/core/place.js";
import { type Printable, Sensitive, type Words } from "../../../src/core/printable.js";
import { exactly, millis, unknownWhen, type When } from "../../../src/core/time.js";
import { loadSchemas } from "../../../src/decode/schema.js";
import { cursor } from "../../../src/dialects/cursor/index.js";
import type { Violation } from "../../../src/model/check.js";
import type { DialectResult, SessionEvent } from "../../../src/model/dialect.js";
import type { Evidence, Exchange, GapReason, NeckEvent } from "../../../src/model/exchange.js";
import { Router } from "../../../src/pipeline/router.js";
import { judged } from "../verdicts.js";

export const schemas = loadSchemas({ limits: defaultLimits });

export interface Sent {
  readonly exchange: HttpExchange;
  readonly input?: number;
  /** What the recorder did to one side. */
  readonly up?: Damage;
  readonly down?: Damage;
}

export interface Damage {
  readonly gap?: GapReason;
  /** Bytes kept in front of the gap. */
  readonly keep?: number;
  readonly end?: "complete" | "reset" | "capture-ended" | "none";
  readonly by?: "client" | "server";
  /** Instead of the body's own bytes. */
  readonly bytes?: Uint8Array;
  readonly evidence?: Evidence;
  readonly noHead?: boolean;
}

export interface RunOptions {
  readonly recorder?: "packets" | "har";
  readonly untimed?: boolean;
  readonly lost?: boolean;
  readonly live?: boolean;
}

export interface Outcome {
  readonly result: DialectResult;
  // biome-ignore lint/suspicious/noExplicitAny: JSON objects, looked into by tests
  readonly turns: any[];
  readonly diagnostics: readonly DiagnosticRow[];
  readonly violations: readonly Violation[];
  readonly notCheckable: readonly { rule: string; why: string }[];
  readonly events: readonly SessionEvent[];
}

/** Every exchange of a talk, in order of completion as proxies record them. */
export function sentOf(talk: Talk): Sent[] {
  const all = talk.runs.flatMap((run) => exchanges(run));
  return all.sort((a, b) => a.end - b.end).map((exchange) => ({ exchange }));
}

export function run(sent: readonly Sent[], options: RunOptions = {}): Outcome {
  const log = new DiagnosticLog(8);
  const limits = defaultLimits;
  const events: SessionEvent[] = [];
  const session = cursor.session({
    limits,
    note: log.note,
    schemas,
    blobs: new SpillStore(limits.conversationBytes),
    wantFrames: options.live === true,
    wantSteps: options.live === true,
    follows: options.live === true,
    emit: (event) => events.push(event),
    lost: () => options.lost === true,
  });
  const router = new Router({
    limits,
    note: log.note,
    noteUnclaimed: () => {},
    wantHashes: false,
    candidates: [{ dialect: cursor, session }],
    forced: () => null,
    message: () => {},
  });
  for (const event of neckEvents(sent, options)) router.sink(event);
  router.finish();
  const result = session.finish();
  const violations: Violation[] = [];
  const notCheckable: { rule: string; why: string }[] = [];
  for (const verdict of judged(result)) {
    if (verdict.verdict === "violated") violations.push(verdict);
    else if (verdict.verdict === "not-checkable") notCheckable.push({ rule: verdict.rule, why: verdict.why });
  }
  const turns = result.turns.map((turn) => plain(turn.json()));
  return { result, turns, diagnostics: log.list(), violations, notCheckable, events };
}

export function runTalk(talk: Talk, options: RunOptions = {}): Outcome {
  return run(sentOf(talk), options);
}

function neckEvents(sent: readonly Sent[], options: RunOptions): NeckEvent[] {
  const recorder = options.recorder ?? "har";
  const timed = sent.flatMap((each, n) => (recorder === "har" ? harEvents(each, n, options) : packetEvents(each, n)));
  if (recorder === "packets") timed.sort((a, b) => a.at - b.at || a.n - b.n);
  return timed.map(({ event }) => event);
}

interface Timed {
  readonly at: number;
  readonly n: number;
  readonly event: NeckEvent;
}

function exchangeOf(sent: Sent, n: number, recorder: "packets" | "har", opened: When): Exchange {
  const { exchange, input = 0 } = sent;
  return {
    kind: "http",
    id: n,
    flow: { id: n, input, client: "", server: host, rolesBy: "har" },
    request: {
      method: exchange.method,
      authority: host,
      scheme: "https",
      path: exchange.path,
      version: "1.1",
      headers: headersOf(exchange.requestHeaders),
    },
    opened,
    mark: markOf(input, n, opened),
    recorder,
    durationMs: recorder === "har" && opened !== unknownWhen ? exchange.end - exchange.start : null,
  };
}

function headersOf(headers: Record<string, string | undefined>): { name: string; value: string }[] {
  return Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]));
}

function markOf(input: number, n: number, when: When): Mark {
  return { input, first: n, last: n, when };
}

function harEvents(sent: Sent, n: number, options: RunOptions): Timed[] {
  const { exchange, input = 0 } = sent;
  const [start, end] = [millis(exchange.start), millis(exchange.end)];
  const opened = options.untimed ? unknownWhen : exactly(start);
  const whole: When = options.untimed ? unknownWhen : { earliest: start, latest: end };
  const made = exchangeOf(sent, n, "har", opened);
  const mark = markOf(input, n, whole);
  const events: NeckEvent[] = [{ kind: "open", exchange: made }];
  events.push(...sideEvents(made, "up", exchange.requestBody, sent.up ?? {}, mark));
  if (sent.down?.noHead !== true) events.push(headEvent(made, exchange, mark));
  const last = markOf(input, n, options.untimed ? unknownWhen : exactly(end));
  events.push(...sideEvents(made, "down", exchange.responseBody, sent.down ?? {}, mark, last));
  return events.map((event) => ({ at: 0, n, event }));
}

function headEvent(made: Exchange, exchange: HttpExchange, mark: Mark): NeckEvent {
  const head = { status: exchange.status, version: "1.1", headers: headersOf(exchange.responseHeaders) };
  return { kind: "head", exchange: made, head, informational: false, mark };
}

function sideEvents(
  exchange: Exchange,
  direction: "up" | "down",
  body: Uint8Array,
  damage: Damage,
  mark: Mark,
  endMark = mark,
): NeckEvent[] {
  const bytes = damage.bytes ?? (damage.keep === undefined ? body : body.subarray(0, damage.keep));
  const events: NeckEvent[] = [];
  const evidence = damage.evidence ?? "exact";
  if (bytes.length > 0)
    events.push({ kind: "bytes", exchange, direction, bytes, evidence, contentDecoded: true, mark });
  if (damage.gap !== undefined) {
    const length = damage.keep === undefined ? undefined : body.length - damage.keep;
    events.push({ kind: "gap", exchange, direction, length, why: damage.gap, mark });
  }
  const reason = damage.end ?? "complete";
  if (reason !== "none")
    events.push({ kind: "end", exchange, direction, reason, by: damage.by ?? null, mark: endMark });
  return events;
}

/** Every piece of the response at its own time. */
function packetEvents(sent: Sent, n: number): Timed[] {
  const { exchange, input = 0 } = sent;
  const at = (ms: number) => markOf(input, n, exactly(millis(ms)));
  const made = exchangeOf(sent, n, "packets", exactly(millis(exchange.start)));
  const out: Timed[] = [];
  const add = (ms: number, event: NeckEvent) => out.push({ at: ms, n, event });
  add(exchange.start, { kind: "open", exchange: made });
  if (exchange.requestPieces === undefined) {
    const up = sideEvents(made, "up", exchange.requestBody, sent.up ?? {}, at(exchange.start));
    for (const event of up) add(exchange.start, event);
  } else {
    for (const piece of exchange.requestPieces)
      for (const event of sideEvents(made, "up", piece.bytes, { end: "none" }, at(piece.at))) add(piece.at, event);
    for (const event of sideEvents(made, "up", noBytes, sent.up ?? {}, at(exchange.end))) add(exchange.end, event);
  }
  const first = exchange.pieces[0]?.at ?? exchange.end;
  if (sent.down?.noHead !== true) add(first, headEvent(made, exchange, at(first)));
  const down = sent.down ?? {};
  let left = down.keep ?? Number.POSITIVE_INFINITY;
  for (const piece of exchange.pieces) {
    const bytes = piece.bytes.subarray(0, left);
    left -= bytes.length;
    for (const event of sideEvents(
      made,
      "down",
      bytes,
      { ...down, end: "none", ...(left > 0 ? { gap: undefined } : {}) } as Damage,
      at(piece.at),
    ))
      add(piece.at, event);
    if (left <= 0) break;
  }
  for (const event of sideEvents(
    made,
    "down",
    new Uint8Array(0),
    { end: down.end ?? "complete", ...(down.by === undefined ? {} : { by: down.by }) },
    at(exchange.end),
  ))
    add(exchange.end, event);
  return out;
}

/** Printable -> what JSON would hold, sensitive values shown. */
// biome-ignore lint/suspicious/noExplicitAny: any JSON
export function plain(value: Printable): any {
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Place) return placeText(value, ["a", "b"]);
  if (value instanceof Sensitive) return plain(value.value as Printable);
  if (value instanceof Uint8Array) return { $bytes: value.length };
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
}

export function says(words: Words): string {
  return words.map((word) => (typeof word === "string" ? word : String(word.value))).join("");
}
