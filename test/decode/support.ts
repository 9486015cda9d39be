import { type Bytes, concat, hex, utf8Bytes } from "../../src/core/bytes.js";
import type { Diagnostic } from "../../src/core/diagnostic.js";
import { defaultLimits, type Limits } from "../../src/core/limits.js";
import type { Mark } from "../../src/core/mark.js";
import { exactly } from "../../src/core/time.js";
import { type BodyEvent, bodyReader } from "../../src/decode/bodies.js";
import type { Direction, Evidence, Exchange, Headers, RequestHead } from "../../src/model/exchange.js";
import type { Framing, SessionInput, StreamMessage } from "../../src/model/message.js";

export function bytesOf(text: string): Bytes {
  return new Uint8Array(Buffer.from(text.replace(/\s/g, ""), "hex"));
}

/** Packet `index`, one millisecond apart. */
export function markAt(index: number): Mark {
  return { input: 0, first: index, last: index, when: exactly(BigInt(1_000_000 * (index + 1))) };
}

export function headersOf(values: Readonly<Record<string, string>>): Headers {
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}

export function exchangeOf(request: Partial<RequestHead> = {}, kind: Exchange["kind"] = "http"): Exchange {
  const head = {
    method: "POST",
    authority: "h",
    scheme: "https",
    path: "/p.S/M",
    version: "1.1",
    headers: [],
    ...request,
  };
  return {
    kind,
    id: 0,
    flow: { id: 0, input: 0, client: "192.0.2.1:50000", server: "192.0.2.2:443", rolesBy: "syn" },
    request: kind === "http" ? head : null,
    opened: exactly(0n),
    mark: markAt(0),
    recorder: "packets",
    durationMs: null,
  };
}

export interface Feed {
  readonly framing: Framing;
  readonly pieces: readonly Bytes[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly direction?: Direction;
  readonly limits?: Partial<Limits>;
  readonly evidence?: Evidence;
  readonly contentDecoded?: boolean;
  readonly exchange?: Exchange;
  /** A gap in front of the piece with this number (pieces.length: behind the last). */
  readonly gaps?: ReadonlyMap<number, number | undefined>;
  readonly reason?: "complete" | "reset" | "capture-ended";
}

export interface Fed {
  readonly inputs: readonly SessionInput[];
  readonly messages: readonly StreamMessage[];
  readonly diagnostics: readonly Diagnostic[];
  readonly codes: readonly string[];
  readonly summary: { readonly bytes: number; readonly sha256: string | null };
}

export function feed(options: Feed): Fed {
  const inputs: SessionInput[] = [];
  const diagnostics: Diagnostic[] = [];
  const exchange = options.exchange ?? exchangeOf();
  const direction = options.direction ?? "down";
  const reader = bodyReader({
    exchange,
    direction,
    framing: options.framing,
    headers: headersOf(options.headers ?? {}),
    limits: { ...defaultLimits, ...options.limits },
    note: (diagnostic) => diagnostics.push(diagnostic),
    hash: true,
    out: (input) => inputs.push(input),
  });
  for (const event of eventsOf(options, exchange, direction)) reader.push(event);
  const messages = inputs.flatMap((input) => (input.kind === "message" ? [input.message] : []));
  return { inputs, messages, diagnostics, codes: diagnostics.map((one) => one.code), summary: reader.summary() };
}

function* eventsOf(options: Feed, exchange: Exchange, direction: Direction): Iterable<BodyEvent> {
  const { pieces, evidence = "exact", contentDecoded = false } = options;
  for (let i = 0; i <= pieces.length; i++) {
    if (options.gaps?.has(i)) {
      yield { kind: "gap", exchange, direction, length: options.gaps.get(i), why: "tcp-gap", mark: markAt(i) };
    }
    const bytes = pieces[i];
    if (bytes !== undefined)
      yield { kind: "bytes", exchange, direction, bytes, evidence, contentDecoded, mark: markAt(i) };
  }
  yield {
    kind: "end",
    exchange,
    direction,
    reason: options.reason ?? "complete",
    by: null,
    mark: markAt(pieces.length),
  };
}

/** What a message says, without marks and the exchange. */
export function brief(message: StreamMessage): object {
  const { flags, wireBytes, declared, headerBytes, codec, fault, ordinal, place } = message;
  const body = Buffer.from(message.body).toString("latin1");
  return { ordinal, flags, body, wireBytes, declared, headerBytes, codec, fault, start: place.start, end: place.end };
}

export function envelope(flags: number, payload: Bytes | string): Bytes {
  const body = typeof payload === "string" ? utf8Bytes(payload) : payload;
  const head = new Uint8Array(5);
  head[0] = flags;
  new DataView(head.buffer).setUint32(1, body.length, false);
  return concat([head, body]);
}

export function pi(payload: Bytes | string): Bytes {
  return envelope(0, payload).subarray(1);
}

/** The whole, every cut in two, and byte by byte. */
export function* cuts(whole: Bytes): Iterable<Bytes[]> {
  yield [whole];
  for (let at = 1; at < whole.length; at++) yield [whole.subarray(0, at), whole.subarray(at)];
  yield Array.from(whole, (byte) => Uint8Array.of(byte));
}

export { hex };
