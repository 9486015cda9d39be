/**
 * Connect GET: the message of a side-effect-free unary call in the query, `?connect=v1&encoding=proto&message=…&base64=1&compression=gzip`.
 * Connect protocol, "Unary-Get-Request".
 */
import { type Bytes, noBytes, utf8Bytes } from "../core/bytes.js";
import type { Limits } from "../core/limits.js";
import type { RequestHead } from "../model/exchange.js";
import type { MessageFault } from "../model/message.js";
import { codecOf, inflate } from "./compression.js";

export interface ConnectGet {
  /** Decompressed. */
  readonly message: Bytes;
  /** "proto", "json", … as the query says. */
  readonly encoding: string;
  readonly codec: string | null;
  /** Message bytes before decompression. */
  readonly wireBytes: number;
  readonly fault: MessageFault | null;
}

/** null: no Connect GET. */
export function connectGet(request: RequestHead, limits: Limits): ConnectGet | null {
  if (request.method !== "GET") return null;
  const at = request.path.indexOf("?");
  if (at < 0) return null;
  const query = new URLSearchParams(request.path.slice(at + 1).split("#")[0]);
  const encoding = query.get("encoding");
  const text = query.get("message");
  if (encoding === null || text === null) return null;
  const bytes = query.get("base64") === "1" ? fromUrlBase64(text) : utf8Bytes(text);
  if (bytes === undefined)
    return { message: noBytes, encoding, codec: null, wireBytes: text.length, fault: "bad-compression" };
  const named = query.get("compression") ?? "identity";
  const wireBytes = bytes.length;
  if (named === "identity" || named === "") return { message: bytes, encoding, codec: null, wireBytes, fault: null };
  const codec = codecOf(named);
  if (codec === undefined) return { message: bytes, encoding, codec: null, wireBytes, fault: "no-codec" };
  const { bytes: message, fault } = inflate(codec, bytes, limits);
  return { message, encoding, codec, wireBytes, fault };
}

/** URL-safe or standard alphabet, padded or not; undefined for anything else. */
function fromUrlBase64(text: string): Bytes | undefined {
  // A plus sign that was not escaped reads as a space in a query.
  const whole = text.replace(/ /g, "+");
  return /^[A-Za-z0-9+/_-]*={0,2}$/.test(whole) ? new Uint8Array(Buffer.from(whole, "base64url")) : undefined;
}
