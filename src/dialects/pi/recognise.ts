/** Is this a pi stream? Its frames say so: a length, then a map whose "type" is that of an envelope. The pi page, sections 2 to 5. */
import { type Bytes, equalBytes, fromHex, latin1, readU16BE, readU32BE } from "../../core/bytes.js";
import type { Sight } from "../../model/dialect.js";
import { headerValue } from "../../model/exchange.js";
import { isEnvelopeType } from "./envelope.js";
import { frameBound, headerBytes } from "./frame-cutter.js";

/** The whole first frame of the real client, always the same. */
const clientHello = fromHex("00000015a2647479706565" + "68656c6c6f6776657273696f6e08");

/** 1: a WebSocket that has not said enough yet. */
export function recognise(sight: Sight): number {
  const { exchange, up, down } = sight;
  if (exchange.kind === "lines" || (exchange.kind === "http" && !isWebSocket(sight))) return 0;
  if (up.length >= clientHello.length && equalBytes(up.subarray(0, clientHello.length), clientHello)) return 100;
  const sides = [typeOf(up), typeOf(down)];
  const types = sides.filter((type) => typeof type === "string");
  // A hello of any version opens every connection; any other envelope may belong to a stream that was joined late.
  if (types.length > 0) return types.some((type) => type.startsWith("hello")) ? 99 : 90;
  // A WebSocket is asked about again only after a score; a raw stream is in any case.
  return exchange.kind === "http" && !sides.includes(null) ? 1 : 0;
}

function isWebSocket({ exchange, response }: Sight): boolean {
  const { request } = exchange;
  if (request === null) return false;
  return (
    response?.status === 101 ||
    request.protocol === "websocket" ||
    (headerValue(request.headers, "upgrade") ?? "").toLowerCase() === "websocket"
  );
}

/** undefined: there is too little to say. */
type Known<T> = T | null | undefined;

/** Type of the envelope that a stream's first frame holds, from as much of it as there is; null: not pi. */
function typeOf(bytes: Bytes): Known<string> {
  if (bytes.length < headerBytes) return undefined;
  const length = readU32BE(bytes, 0);
  if (length < 8 || length > frameBound) return null;
  const payload = bytes.subarray(headerBytes, headerBytes + length);
  if (payload.length === 0) return undefined;
  const pairs = payload[0]! - 0xa0;
  return pairs < 1 || pairs > 8 ? null : findType(payload, pairs);
}

/** Walks the root map's keys as far as their values can be skipped; "type" is the first one with the real peers. */
function findType(payload: Bytes, pairs: number): Known<string> {
  let at = 1;
  for (let i = 0; i < pairs; i++) {
    const key = shortText(payload, at);
    if (key === null || key === undefined) return key;
    const value = shortText(payload, key.end);
    if (value === undefined) return undefined;
    if (key.text === "type") return value !== null && isEnvelopeType(value.text) ? value.text : null;
    const next = value?.end ?? afterNumber(payload, key.end);
    if (next === null || next === undefined) return next;
    at = next;
  }
  return null;
}

function shortText(payload: Bytes, at: number): Known<{ readonly text: string; readonly end: number }> {
  const first = payload[at];
  if (first === undefined) return undefined;
  const info = first & 31;
  if (first >> 5 !== 3 || info > 25) return null;
  const from = at + (info < 24 ? 1 : info - 22);
  if (from > payload.length) return undefined;
  const length = info < 24 ? info : info === 24 ? payload[at + 1]! : readU16BE(payload, at + 1);
  const end = from + length;
  return end > payload.length ? undefined : { text: latin1(payload.subarray(from, end)), end };
}

/** Past an integer, float or simple value; null for anything longer. */
function afterNumber(payload: Bytes, at: number): Known<number> {
  const first = payload[at];
  if (first === undefined) return undefined;
  const major = first >> 5;
  const info = first & 31;
  if (major !== 0 && major !== 1 && major !== 7) return null;
  if (info < 24) return at + 1;
  return info > 27 ? null : at + 1 + (1 << (info - 24));
}
