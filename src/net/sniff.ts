/** Which protocol begins here? Looks at the first bytes of either direction; "more" means that they fit so far. */
import { type Bytes, latin1, readU16BE, readU32BE } from "../core/bytes.js";

export type Fit = "yes" | "no" | "more";

export type Protocol = "tls" | "http1" | "http2" | "socks5" | "proxy-header" | "raw";

/** No first line that is looked at is longer: servers refuse request lines above 8 or 16 KiB. */
export const sniffBytes = 16 * 1024;

const preface = new Uint8Array(Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1"));
const proxySignature = Uint8Array.of(0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a);
const proxyWord = new Uint8Array(Buffer.from("PROXY ", "latin1"));
const responseWord = new Uint8Array(Buffer.from("HTTP/1.", "latin1"));

const methods = new Set(["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT"]);
const longestMethod = 20;

/** What the client's first bytes are. `empty` when there are none. */
export function sniffUp(bytes: Bytes): Protocol | "more" {
  const fits: readonly (readonly [Protocol, Fit])[] = [
    ["tls", startsTls(bytes)],
    ["http2", startsPreface(bytes)],
    ["http1", startsHttpRequest(bytes)],
    ["proxy-header", startsProxyHeader(bytes)],
    ["socks5", startsSocks5(bytes)],
  ];
  return verdict(fits);
}

/** `greeted`: the client's bytes so far are a SOCKS5 greeting, which the server's answer must confirm. */
export function sniffDown(bytes: Bytes, greeted: boolean): Protocol | "more" {
  if (greeted && bytes[0] === 5) return bytes.length < 2 ? "more" : "socks5";
  return verdict([
    ["tls", startsTls(bytes)],
    ["http1", startsHttpResponse(bytes)],
    ["http2", startsServerPreface(bytes)],
  ]);
}

/** At the start of any piece of a connection joined midway, or of one that lost its beginning. Only what leaves little doubt. */
export function sniffMidway(bytes: Bytes, up: boolean): Protocol | undefined {
  if (startsTlsRecord(bytes)) return "tls";
  if (up && startsPreface(bytes) === "yes") return "http2";
  if ((up ? startsHttpRequest(bytes) : startsHttpResponse(bytes)) === "yes") return "http1";
  return frames(bytes) ? "http2" : undefined;
}

function verdict(fits: readonly (readonly [Protocol, Fit])[]): Protocol | "more" {
  let more = false;
  for (const [protocol, fit] of fits) {
    if (fit === "yes") return protocol;
    more ||= fit === "more";
  }
  return more ? "more" : "raw";
}

function prefixFit(bytes: Bytes, wanted: Bytes): Fit {
  const count = Math.min(bytes.length, wanted.length);
  for (let i = 0; i < count; i++) if (bytes[i] !== wanted[i]) return "no";
  return bytes.length >= wanted.length ? "yes" : "more";
}

/** A connection begins with a hello or, refused, with an alert. RFC 8446 4, 5.1. */
export function startsTls(bytes: Bytes): Fit {
  const type = bytes[0];
  if (type !== 0x16 && type !== 0x15) return bytes.length === 0 ? "more" : "no";
  if (bytes.length > 1 && bytes[1] !== 3) return "no";
  if (bytes.length > 2 && bytes[2]! > 4) return "no";
  if (bytes.length < 6) return "more";
  const length = readU16BE(bytes, 3);
  if (type === 0x15) return length === 2 ? "yes" : "no";
  return length >= 4 && length <= 16_384 + 2048 && (bytes[5] === 1 || bytes[5] === 2) ? "yes" : "no";
}

/** Any record, with the next one's header where the piece reaches so far. */
function startsTlsRecord(bytes: Bytes): boolean {
  if (!recordHeader(bytes, 0)) return false;
  const next = 5 + readU16BE(bytes, 3);
  return bytes.length < next + 5 || recordHeader(bytes, next);
}

function recordHeader(bytes: Bytes, at: number): boolean {
  if (bytes.length < at + 5) return false;
  const type = bytes[at]!;
  const length = readU16BE(bytes, at + 3);
  return type >= 0x14 && type <= 0x17 && bytes[at + 1] === 3 && bytes[at + 2]! <= 4 && length > 0 && length <= 18_432;
}

export function startsPreface(bytes: Bytes): Fit {
  return prefixFit(bytes, preface);
}

export function startsHttpResponse(bytes: Bytes): Fit {
  const fit = prefixFit(bytes, responseWord);
  if (fit !== "yes" || bytes.length < 9) return fit === "no" ? "no" : "more";
  return (bytes[7] === 0x30 || bytes[7] === 0x31) && bytes[8] === 0x20 ? "yes" : "no";
}

/** Method, space, target; "HTTP/1." at the end of the line where the line is whole. RFC 9112 3. */
export function startsHttpRequest(bytes: Bytes): Fit {
  const space = bytes.subarray(0, longestMethod + 1).indexOf(0x20);
  const end = space < 0 ? Math.min(bytes.length, longestMethod + 1) : space;
  for (let i = 0; i < end; i++) if (!isUpper(bytes[i]!)) return "no";
  if (space < 0) return bytes.length > longestMethod ? "no" : "more";
  if (space === 0) return "no";
  const line = bytes.subarray(0, sniffBytes).indexOf(0x0a);
  if (line >= 0) return / HTTP\/1\.[01]\r?$/.test(latin1(bytes.subarray(0, line))) ? "yes" : "no";
  const target = bytes[space + 1];
  if (target !== undefined && (target < 0x21 || target > 0x7e)) return "no";
  const method = latin1(bytes.subarray(0, space));
  if (target === undefined || !methods.has(method)) return bytes.length < sniffBytes ? "more" : "no";
  // SIP and RTSP share method names, but their targets are URIs of their own.
  const plain = target === 0x2f || target === 0x2a || target === 0x68 || method === "CONNECT";
  return plain ? "yes" : "no";
}

function isUpper(byte: number): boolean {
  return (byte >= 0x41 && byte <= 0x5a) || byte === 0x2d;
}

/** Version 1 is a line, version 2 binary. haproxy's proxy-protocol.txt. */
function startsProxyHeader(bytes: Bytes): Fit {
  const word = prefixFit(bytes, proxyWord);
  return word === "no" ? prefixFit(bytes, proxySignature) : word;
}

/** A whole SOCKS5 greeting and nothing else: version, number of methods, methods. RFC 1928 3. */
export function isGreeting(bytes: Bytes): boolean {
  return bytes[0] === 5 && bytes.length > 2 && bytes.length === 2 + bytes[1]! && sensibleMethods(bytes.subarray(2));
}

/** After its greeting the client waits for an answer; where the answer was not captured, the next message must fit, too. */
function startsSocks5(bytes: Bytes): Fit {
  if (bytes.length === 0) return "more";
  if (bytes[0] !== 5 || bytes[1] === 0) return "no";
  const end = 2 + (bytes[1] ?? 0);
  if (!sensibleMethods(bytes.subarray(2, end))) return "no";
  if (bytes.length < end + 4) return "more";
  const [version, command, reserved, type] = bytes.subarray(end, end + 4);
  // RFC 1929: user name and password.
  if (version === 1) return command! > 0 ? "yes" : "no";
  const request = version === 5 && command! >= 1 && command! <= 3 && reserved === 0;
  return request && (type === 1 || type === 3 || type === 4) ? "yes" : "no";
}

/** Methods 0 to 9 are assigned, those from 128 on are private. */
function sensibleMethods(methods: Bytes): boolean {
  return methods.every((method) => method <= 9 || (method >= 0x80 && method < 0xff));
}

/** A server may speak first in HTTP/2: its preface is a SETTINGS frame. RFC 9113 3.4. */
function startsServerPreface(bytes: Bytes): Fit {
  if (bytes.length < 9) return bytes.length === 0 || bytes[0] === 0 ? "more" : "no";
  return bytes[3] === 4 && plausibleFrame(bytes, 0) && readU32BE(bytes, 5) === 0 ? "yes" : "no";
}

/** Whole plausible frames up to the end of the piece, or two headers in step. */
function frames(bytes: Bytes): boolean {
  let at = 0;
  for (let count = 0; ; count++) {
    if (at === bytes.length) return count > 0;
    if (bytes.length < at + 9) return count >= 2;
    if (!plausibleFrame(bytes, at)) return false;
    if (count === 1) return true;
    at += 9 + ((bytes[at]! << 16) | readU16BE(bytes, at + 1));
    // One header alone: only a frame that a peer sends by itself, on a client's stream.
    if (at > bytes.length) return count > 0 || (bytes[3]! <= 1 && (bytes[8]! & 1) === 1);
  }
}

/** Length, flags and stream as RFC 9113 6 demands of the frame type. */
function plausibleFrame(bytes: Bytes, at: number): boolean {
  const length = (bytes[at]! << 16) | readU16BE(bytes, at + 1);
  const flags = bytes[at + 4]!;
  const stream = readU32BE(bytes, at + 5);
  if (length > 1 << 20 || stream >= 1 << 30) return false;
  switch (bytes[at + 3]) {
    case 0:
      return (flags & ~0x09) === 0 && stream > 0;
    case 1:
      return (flags & ~0x2d) === 0 && stream > 0 && length > 0;
    case 2:
      return length === 5 && flags === 0 && stream > 0;
    case 3:
      return length === 4 && flags === 0 && stream > 0;
    case 4:
      return stream === 0 && (flags === 1 ? length === 0 : flags === 0 && length % 6 === 0 && length <= 256);
    case 5:
      return (flags & ~0x0c) === 0 && stream > 0 && length > 4;
    case 6:
      return length === 8 && flags <= 1 && stream === 0;
    case 7:
      return length >= 8 && flags === 0 && stream === 0;
    case 8:
      return length === 4 && flags === 0;
    case 9:
      return (flags & ~4) === 0 && stream > 0;
    default:
      return false;
  }
}
