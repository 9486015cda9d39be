/** One parsed entry -> the neck's events of one exchange, in this order: open, request body, response head, response body, frames, ends. */
import type { SiblingReader } from "../capture/sibling.js";
import type { Detail, DiagnosticCode, Severity } from "../core/diagnostic.js";
import { type Mark, placeOf } from "../core/mark.js";
import type { PlaceSide } from "../core/place.js";
import { exactly, isKnown, type When } from "../core/time.js";
import type { Direction, Exchange, FlowProtocol, GapReason, RequestHead, ResponseHead } from "../model/exchange.js";
import type { ReaderContext } from "../model/reader.js";
import { requestFields, responseFields } from "./body-fields.js";
import { type BodyTools, type EntryBody, readBody } from "./entry-body.js";
import { asObject, asSize, asText, type Fields, numberOf } from "./fields.js";
import type { HarFlows } from "./flows.js";
import { type KnownHeaders, type ReadHead, requestHead, responseHead } from "./heads.js";
import type { JsonText } from "./json-text.js";
import type { ProducerKind } from "./producer.js";
import { type EntryTimes, entryTimes } from "./times.js";
import { wsMessages } from "./websocket.js";

export interface ParsedEntry {
  readonly index: number;
  readonly value: Fields;
  readonly cuts: readonly JsonText[];
}

export interface EntryContext {
  readonly reader: ReaderContext;
  readonly flows: HarFlows;
  readonly siblings: SiblingReader;
  producer(): ProducerKind;
}

/** `value.request` must be an object. */
export function emitEntry(entry: ParsedEntry, context: EntryContext): void {
  new Emission(entry, context).run();
}

type EndReason = { readonly reason: "complete" | "reset" | "capture-ended"; readonly by: "client" | "server" | null };
const complete: EndReason = { reason: "complete", by: null };
const discarded = (): GapReason => "discarded-by-producer";

class Emission {
  private readonly times: EntryTimes;
  private readonly exchange: Exchange;
  private readonly sums = { up: 0, down: 0 };
  private readonly request: RequestHead;
  private readonly requestValue: Fields;
  private readonly requestKnown: KnownHeaders;
  private readonly response: Fields | undefined;

  constructor(
    private readonly entry: ParsedEntry,
    private readonly context: EntryContext,
  ) {
    const { reader, flows } = context;
    const { value } = entry;
    this.times = entryTimes(value);
    this.response = asObject(value?.response);
    this.requestValue = asObject(value?.request) ?? {};
    const { head, known } = requestHead(this.requestValue, (part) =>
      this.note("har.header-dropped", { side: "request", part }),
    );
    this.request = head;
    this.requestKnown = known;
    const mark = this.mark(this.times.opened);
    this.exchange = {
      kind: "http",
      id: reader.ids.exchange(),
      flow: flows.of(value, mark),
      request: this.request,
      opened: this.times.opened,
      mark,
      recorder: "har",
      durationMs: this.times.durationMs,
    };
  }

  run(): void {
    const { exchange, times } = this;
    this.noteTimes();
    this.context.reader.sink({ kind: "open", exchange });
    this.requestBody();
    const head = responseHead(this.response, (part) => this.note("har.header-dropped", { side: "response", part }));
    const upgraded = this.entry.value?._webSocketMessages !== undefined;
    if (!upgraded) this.end("up", complete, times.up);
    if (head === undefined) this.noResponse(upgraded);
    else this.answer(head, upgraded);
    this.context.flows.use(exchange.flow, {
      opened: times.opened,
      end: times.end,
      up: this.sums.up,
      down: this.sums.down,
      protocol: this.protocol(head?.head, upgraded),
    });
  }

  // ---- the request ----

  private requestBody(): void {
    const { requestKnown } = this;
    const fields = requestFields(this.requestValue, requestKnown, this.entry.cuts);
    const { method } = this.request;
    const bodiless = method !== "POST" && /^(?:GET|HEAD|OPTIONS|CONNECT|TRACE)$/i.test(method);
    const due = !bodiless || requestKnown["content-length"] !== undefined;
    const body = readBody(fields, { due, why: discarded }, this.tools("request"));
    this.body("up", body, this.times.up);
  }

  // ---- the response ----

  private answer({ head, known }: ReadHead<ResponseHead>, upgraded: boolean): void {
    const { exchange, times, response } = this;
    const informational = head.status >= 100 && head.status < 200 && head.status !== 101;
    this.context.reader.sink({ kind: "head", exchange, head, informational, mark: this.mark(times.head) });
    if (upgraded) {
      this.frames();
      return;
    }
    const fields = responseFields(response ?? {}, known, this.entry.cuts);
    const due =
      this.request.method.toUpperCase() !== "HEAD" && head.status !== 204 && head.status !== 304 && !informational;
    const unfinished = this.unfinished();
    const why = (): GapReason => (unfinished === undefined ? this.absentWhy() : "not-captured");
    this.body("down", readBody(fields, { due, why }, this.tools("response")), times.down);
    if (unfinished !== undefined) this.note("har.unfinished", { why: unfinished }, "response");
    const failure = failureEnd(this.failure());
    this.end(
      "down",
      failure ?? (unfinished === undefined ? complete : { reason: "capture-ended", by: null }),
      times.end,
    );
  }

  private noResponse(upgraded: boolean): void {
    const { exchange, times } = this;
    const failure = this.failure();
    const why = failure ?? (this.response === undefined ? "none is there" : "its status is 0");
    this.note("har.no-response", { why: why.slice(0, 128) }, "response");
    const end = failureEnd(failure) ?? { reason: "capture-ended" as const, by: null };
    if (end.reason !== "reset") {
      const mark = this.mark(times.down);
      this.context.reader.sink({
        kind: "gap",
        exchange,
        direction: "down",
        length: undefined,
        why: "not-captured",
        mark,
      });
    }
    if (upgraded) this.end("up", complete, times.up);
    this.end("down", end, times.end);
  }

  /** Chromium and mitmproxy: `_error`; Playwright: `_failureText`. */
  private failure(): string | undefined {
    const { response } = this;
    const text = asText(response?._error) ?? asText(response?._failureText) ?? asText(this.entry.value?._error);
    return text === "" ? undefined : text;
  }

  /** Why the response had not ended when the file was written; undefined: it had. */
  private unfinished(): string | undefined {
    const { value } = this.entry;
    const producer = this.context.producer();
    const content = asObject(this.response?.content);
    if (asText(content?.text) !== undefined) return undefined;
    if (producer === "http-toolkit" && numberOf(value.time) === -1) return "the recorder gives no duration";
    if (producer !== "playwright" && value._frameref === undefined) return undefined;
    // Playwright fills in receive time and size when the body has come.
    const receive = numberOf(asObject(value.timings)?.receive);
    return receive === -1 && numberOf(content?.size) === -1 ? "no receive time and no size" : undefined;
  }

  private absentWhy(): GapReason {
    const producer = this.context.producer();
    const { value } = this.entry;
    const looksChromium =
      value._initiator !== undefined || value._priority !== undefined || value._resourceType !== undefined;
    return producer === "chromium" || (producer === "untold" && looksChromium) ? "evicted" : "discarded-by-producer";
  }

  // ---- WebSocket ----

  private frames(): void {
    const { exchange, times, context } = this;
    const { reader } = context;
    let closed: "client" | "server" | null = null;
    let last: When | undefined;
    const note = (code: DiagnosticCode, detail: Detail, severity?: Severity) =>
      this.note(code, detail, undefined, severity);
    for (const message of wsMessages(this.entry.value, this.entry.cuts, note)) {
      const { direction, opcode, bytes, evidence } = message;
      const when = message.when ?? times.down;
      if (message.when !== undefined) last = message.when;
      this.sums[direction] += bytes.length;
      if (opcode === 8) closed ??= direction === "up" ? "client" : "server";
      reader.sink({
        kind: "frame",
        exchange,
        direction,
        opcode,
        bytes,
        compressed: false,
        wireBytes: bytes.length,
        evidence,
        mark: this.mark(when),
      });
    }
    const end: EndReason = closed === null ? { reason: "capture-ended", by: null } : { reason: "complete", by: closed };
    // The recorder's end of the entry may be that of the recording.
    const at = isKnown(times.end) ? times.end : last === undefined ? times.down : exactly(last.latest);
    this.end("up", end, at);
    this.end("down", end, at);
  }

  // ---- parts ----

  private body(direction: Direction, body: EntryBody, when: When): void {
    const { exchange } = this;
    const { sink } = this.context.reader;
    const mark = this.mark(when);
    const { evidence, contentDecoded, gap } = body;
    this.sums[direction] += body.size;
    for (const bytes of body.pieces) {
      sink({ kind: "bytes", exchange, direction, bytes, evidence, contentDecoded, mark });
    }
    if (gap !== undefined) sink({ kind: "gap", exchange, direction, length: gap.length, why: gap.why, mark });
  }

  private end(direction: Direction, end: EndReason, when: When): void {
    const { reason, by } = end;
    this.context.reader.sink({ kind: "end", exchange: this.exchange, direction, reason, by, mark: this.mark(when) });
  }

  private protocol(head: ResponseHead | undefined, upgraded: boolean): FlowProtocol {
    if (upgraded && head?.status !== undefined && (head.status === 101 || this.request.method === "CONNECT")) {
      return "websocket";
    }
    switch (head?.version ?? this.request.version) {
      case "1.0":
      case "1.1":
        return "http1";
      case "2":
        return "http2";
      default:
        return "unknown";
    }
  }

  private noteTimes(): void {
    const { times } = this;
    const { value } = this.entry;
    const given = value?.startedDateTime;
    const shown =
      typeof given === "string"
        ? `"${given.slice(0, 64)}"`
        : given === undefined
          ? "missing"
          : String(given).slice(0, 64);
    if (times.startless) this.note("har.no-start", { value: shown });
    else if (times.zoneless) this.note("har.no-zone", { value: shown });
    if (asSize(value?.time) !== undefined && times.durationMs === null)
      this.note("har.odd-duration", { value: String(value?.time) });
  }

  private mark(when: When): Mark {
    const { index } = this.entry;
    return { input: this.context.reader.input, first: index, last: index, when };
  }

  private tools(side: PlaceSide): BodyTools {
    const { siblings, reader } = this.context;
    return { siblings, limits: reader.limits, note: (code, detail) => this.note(code, detail, side) };
  }

  private note(code: DiagnosticCode, detail: Detail, side?: PlaceSide, severity?: Severity): void {
    const place = placeOf(this.mark(this.times.opened), side);
    this.context.reader.note({ code, place, detail, ...(severity === undefined ? {} : { severity }) });
  }
}

const byClient = /(?:^|::)(?:ERR_|NS_(?:BINDING_|ERROR_)?)?ABORT(?:ED)?$|cancel|client (?:disconnected|closed)/i;
const byServer =
  /CONNECTION_(?:RESET|CLOSED)|EMPTY_RESPONSE|INCOMPLETE_CHUNKED|INVALID_CHUNKED|CONTENT_LENGTH_MISMATCH|ERR_(?:HTTP2|SPDY|QUIC)|(?:server|peer|remote) (?:closed|disconnected|reset)|NET_RESET|NET_INTERRUPT|PARTIAL_TRANSFER/i;

/** How a failed exchange ended, by the recorder's words for it. */
function failureEnd(failure: string | undefined): EndReason | undefined {
  if (failure === undefined) return undefined;
  if (byClient.test(failure)) return { reason: "reset", by: "client" };
  if (byServer.test(failure)) return { reason: "reset", by: "server" };
  return { reason: "capture-ended", by: null };
}
