/**
 * The text of an HTTP/1 head -> start line and headers, and start line -> RequestHead / ResponseHead. RFC 9112 2-5.
 * Tolerant: bare LF, obs-fold, spaces before the colon, several spaces in the start line; what was tolerated is listed.
 */
import { asBuffer, type Bytes, latin1, strictUtf8 } from "../../core/bytes.js";
import { type Header, type Headers, headerValue, type RequestHead, type ResponseHead } from "../../model/exchange.js";

export interface HeadText {
  readonly startLine: string;
  readonly headers: Headers;
  /** Header lines without a colon or a name; they are left out of `headers`. */
  readonly badLines: number;
}

const LF = 10;
const notAscii = /[\x80-\xff]/;

/** Header text: UTF-8 where it is that, else one character per byte. */
export function headerText(bytes: Bytes): string {
  const text = latin1(bytes);
  return notAscii.test(text) ? (strictUtf8(bytes) ?? text) : text;
}

/** Splits a head (or a trailer section, `startLine` then being empty) without its closing blank line or with it. */
export function splitHead(bytes: Bytes, hasStartLine = true): HeadText {
  const text = latin1(bytes);
  const recode = notAscii.test(text);
  const headers: Header[] = [];
  let badLines = 0;
  let startLine = "";
  let first = hasStartLine;
  for (let at = 0; at < text.length; ) {
    const lf = text.indexOf("\n", at);
    const next = lf < 0 ? text.length : lf + 1;
    let end = lf < 0 ? text.length : lf;
    if (end > at && text.charCodeAt(end - 1) === 13) end--;
    if (first) {
      startLine = readable(text.slice(at, end), recode);
      first = false;
    } else if (end > at && !addLine(headers, text, at, end, recode)) badLines++;
    at = next;
  }
  return { startLine, headers, badLines };
}

function addLine(headers: Header[], text: string, at: number, end: number, recode: boolean): boolean {
  const code = text.charCodeAt(at);
  if (code === 32 || code === 9) {
    // obs-fold: the line goes on with the value before it (RFC 9112 5.2).
    const last = headers.pop();
    if (last === undefined) return false;
    const more = readable(text.slice(at, end).trim(), recode);
    headers.push({
      name: last.name,
      value: last.value === "" ? more : more === "" ? last.value : `${last.value} ${more}`,
    });
    return true;
  }
  const colon = text.indexOf(":", at);
  if (colon <= at || colon >= end) return false;
  const name = text.slice(at, colon).trimEnd();
  if (name === "") return false;
  headers.push({ name, value: readable(trimSpace(text, colon + 1, end), recode) });
  return true;
}

function trimSpace(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isSpace(text.charCodeAt(start))) start++;
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isSpace(code: number): boolean {
  return code === 32 || code === 9;
}

function readable(latin: string, recode: boolean): string {
  if (!recode || !notAscii.test(latin)) return latin;
  return strictUtf8(Buffer.from(latin, "latin1")) ?? latin;
}

/**
 * Index just behind the blank line that ends a head, -1 while it is not there. `from`: everything before it was searched already
 * (the last three bytes of it are looked at again).
 */
export function headEnd(bytes: Bytes, from = 0): number {
  const start = Math.max(0, from - 3);
  const buffer = asBuffer(bytes);
  const withCr = buffer.indexOf("\n\r\n", start, "latin1");
  const bare = (withCr < 0 ? buffer : buffer.subarray(0, withCr + 1)).indexOf("\n\n", start, "latin1");
  if (bare >= 0) return bare + 2;
  return withCr < 0 ? -1 : withCr + 3;
}

/** Token, target, version. Method characters are RFC 9110 tchar; the target may hold spaces that a sloppy client left in. */
const requestLine = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}) +(\S(?:.*\S)?) +HTTP\/(\d\.\d)\s*$/;
const statusLine = /^HTTP\/(\d\.\d) +(\d{3})(?:\s|$)/;

export function isRequestLine(line: string): boolean {
  return requestLine.test(line);
}

export function isStatusLine(line: string): boolean {
  return statusLine.test(line);
}

/** undefined: no request line. The scheme is the connection's unless the target names one. */
export function requestHead(head: HeadText, secure: boolean): RequestHead | undefined {
  const match = requestLine.exec(head.startLine);
  if (match === null) return undefined;
  const [, method = "", target = "", version = ""] = match;
  const host = headerValue(head.headers, "host") ?? "";
  const common = { method, version, headers: head.headers };
  const scheme = secure ? "https" : "http";
  if (method === "CONNECT") return { ...common, authority: target, scheme, path: "" };
  const absolute = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#]*)(.*)$/.exec(target);
  if (absolute === null || target.startsWith("/")) return { ...common, authority: host, scheme, path: target };
  const [, named = "", authority = "", rest = ""] = absolute;
  const path = rest === "" ? "/" : rest.startsWith("/") ? rest : `/${rest}`;
  return { ...common, authority: authority.slice(authority.lastIndexOf("@") + 1), scheme: named.toLowerCase(), path };
}

export function responseHead(head: HeadText): ResponseHead | undefined {
  const match = statusLine.exec(head.startLine);
  if (match === null) return undefined;
  return { status: Number(match[2]), version: match[1] ?? null, headers: head.headers };
}

/** Whether these bytes may begin (so far) a start line of that direction. */
export function mayBeginStartLine(bytes: Bytes, direction: "up" | "down"): boolean {
  const count = Math.min(bytes.length, direction === "down" ? 7 : 65);
  if (direction === "down") return "HTTP/1.".startsWith(latin1(bytes.subarray(0, count)));
  for (let i = 0; i < count; i++) {
    const byte = bytes[i]!;
    if (byte === 32) return i > 0;
    if (!isTokenByte(byte)) return false;
  }
  return count < 65;
}

const tokenBytes = new Set(asBuffer(new TextEncoder().encode("!#$%&'*+-.^_`|~")));

function isTokenByte(byte: number): boolean {
  return (
    (byte >= 0x61 && byte <= 0x7a) ||
    (byte >= 0x41 && byte <= 0x5a) ||
    (byte >= 0x30 && byte <= 0x39) ||
    tokenBytes.has(byte)
  );
}

/** Out of step, only the methods people use: any token would take body text, or the rest of a cut line, for one. */
const usualMethods = new Set(
  (
    "GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH QUERY PROPFIND PROPPATCH MKCOL COPY MOVE LOCK UNLOCK SEARCH REPORT " +
    "MKACTIVITY CHECKOUT MERGE M-SEARCH NOTIFY SUBSCRIBE UNSUBSCRIBE PURGE BIND UNBIND REBIND ACL MKCALENDAR LINK UNLINK"
  ).split(" "),
);

function isUsual(line: string): boolean {
  return usualMethods.has(line.slice(0, line.indexOf(" ")));
}

export interface FoundStart {
  /** Of the line's first byte. */
  readonly at: number;
  /** Whether the whole line, line feed included, is there. */
  readonly whole: boolean;
}

/**
 * The first start line of that direction in bytes that are not in step: at a line's start, or at the very first byte where
 * `atStart` says that a message may begin there.
 */
export function findStartLine(bytes: Bytes, direction: "up" | "down", atStart: boolean): FoundStart | undefined {
  const buffer = asBuffer(bytes);
  const needle = direction === "up" ? " HTTP/1." : "HTTP/1.";
  let lineStart = 0;
  for (let from = 0; ; ) {
    const hit = buffer.indexOf(needle, from, "latin1");
    if (hit < 0) return undefined;
    const feed = buffer.subarray(from, hit).lastIndexOf(LF);
    if (feed >= 0) lineStart = from + feed + 1;
    from = hit + needle.length;
    if ((direction === "down" && hit !== lineStart) || (lineStart === 0 && !atStart)) continue;
    const end = buffer.indexOf(LF, hit);
    if (end < 0) return { at: lineStart, whole: false };
    const line = buffer.toString("latin1", lineStart, end).replace(/\r$/, "");
    if (direction === "up" ? isRequestLine(line) && isUsual(line) : isStatusLine(line))
      return { at: lineStart, whole: true };
    from = end + 1;
    lineStart = from;
  }
}
