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
const CR = 13;
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
  for (let feed = bytes.indexOf(LF, Math.max(0, from - 3)); feed >= 0; feed = bytes.indexOf(LF, feed + 1)) {
    const next = bytes[feed + 1];
    if (next === LF) return feed + 2;
    if (next === CR && bytes[feed + 2] === LF) return feed + 3;
  }
  return -1;
}

interface RequestLine {
  readonly method: string;
  readonly target: string;
  readonly version: string;
}

/** Method (RFC 9110 tchar), target, version. The target may hold spaces that a sloppy client left in. */
function requestLine(line: string): RequestLine | undefined {
  const space = line.indexOf(" ");
  const end = line.lastIndexOf(" HTTP/");
  if (space < 1 || space > longestMethod || end < space) return undefined;
  for (let i = 0; i < space; i++) if (!isTokenByte(line.charCodeAt(i))) return undefined;
  const version = line.slice(end + 6).trimEnd();
  if (version.length !== 3 || !/^\d\.\d$/.test(version)) return undefined;
  const target = line.slice(space, end).trim();
  return target === "" ? undefined : { method: line.slice(0, space), target, version };
}

const longestMethod = 64;
const statusLine = /^HTTP\/(\d\.\d) +(\d{3})(?:\s|$)/;

export function isRequestLine(line: string): boolean {
  return requestLine(line) !== undefined;
}

export function isStatusLine(line: string): boolean {
  return statusLine.test(line);
}

/** undefined: no request line. The scheme is the connection's unless the target names one. */
export function requestHead(head: HeadText, secure: boolean): RequestHead | undefined {
  const line = requestLine(head.startLine);
  if (line === undefined) return undefined;
  const { method, target, version } = line;
  const host = headerValue(head.headers, "host") ?? "";
  const scheme = secure ? "https" : "http";
  // Written out: spreading an object costs more here than parsing the line.
  const { headers } = head;
  if (method === "CONNECT") return { method, authority: target, scheme, path: "", version, headers };
  const absolute = target.startsWith("/") ? null : /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#]*)(.*)$/.exec(target);
  if (absolute === null) return { method, authority: host, scheme, path: target, version, headers };
  const [, named = "", full = "", rest = ""] = absolute;
  const path = rest === "" ? "/" : rest.startsWith("/") ? rest : `/${rest}`;
  const authority = full.slice(full.lastIndexOf("@") + 1);
  return { method, authority, scheme: named.toLowerCase(), path, version, headers };
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

/** By byte: 1 where RFC 9110 5.6.2 allows it in a token. */
const tokenBytes = new Uint8Array(256);
for (const char of "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
  tokenBytes[char.charCodeAt(0)] = 1;

function isTokenByte(byte: number): boolean {
  return tokenBytes[byte] === 1;
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
