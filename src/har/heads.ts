/** Request and response of an entry -> the neck's heads. Pseudo-headers become what they stand for; recorders' oddities are mended. */
import type { Header, RequestHead, ResponseHead } from "../model/exchange.js";
import { asObject, asText, type Fields, numberOf } from "./fields.js";

/** Told of each header that cannot be one; `part`: what it lacks. */
export type HeaderNote = (part: "name" | "value") => void;

/** First values of the headers that the reading itself depends on. */
export interface KnownHeaders {
  host?: string;
  "content-type"?: string;
  "content-length"?: string;
  "content-encoding"?: string;
}

interface HeaderList {
  readonly headers: Header[];
  readonly known: KnownHeaders;
  /** `:path` and the like, without the colon; the last one of a name counts. */
  readonly pseudo: ReadonlyMap<string, string> | undefined;
}

export interface ReadHead<Head> {
  readonly head: Head;
  readonly known: KnownHeaders;
}

/**
 * `[{name, value}]` as HAR has it, `[[name, value]]`, or an object from name to value or values. Duplicates are kept in order; numbers
 * and booleans become text; null is dropped.
 */
export function headerList(value: unknown, note: HeaderNote): HeaderList {
  if (Array.isArray(value)) {
    const ready = readyList(value);
    if (ready !== undefined) return ready;
  }
  const headers: Header[] = [];
  const known: KnownHeaders = {};
  let pseudo: Map<string, string> | undefined;
  const add = (name: unknown, content: unknown): void => {
    const text = scalarText(content);
    if (typeof name !== "string" || name === "") note("name");
    else if (text === undefined) note("value");
    else if (name.charCodeAt(0) === 0x3a) {
      pseudo ??= new Map();
      pseudo.set(name.slice(1).toLowerCase(), text);
    } else {
      headers.push({ name, value: text });
      remember(known, name, text);
    }
  };
  if (Array.isArray(value)) {
    for (const item of value) {
      if (Array.isArray(item)) add(item[0], item[1]);
      else {
        const object = asObject(item);
        add(object?.name, object?.value);
      }
    }
  } else {
    for (const [name, content] of Object.entries(asObject(value) ?? {})) {
      for (const each of Array.isArray(content) ? content : [content]) add(name, each);
    }
  }
  return { headers, known, pseudo };
}

/** The parsed list itself, where every item is as HAR has it and none is a pseudo-header: by far the commonest case. */
function readyList(items: readonly unknown[]): HeaderList | undefined {
  const known: KnownHeaders = {};
  for (const item of items) {
    if (typeof item !== "object" || item === null) return undefined;
    const { name, value } = item as Fields;
    if (typeof name !== "string" || typeof value !== "string" || name === "" || name.charCodeAt(0) === 0x3a) {
      return undefined;
    }
    remember(known, name, value);
  }
  return { headers: items as Header[], known, pseudo: undefined };
}

function remember(known: KnownHeaders, name: string, value: string): void {
  const { length } = name;
  if (length !== 4 && length !== 12 && length !== 14 && length !== 16) return;
  const lower = name.toLowerCase();
  if (lower === "host" || lower === "content-type" || lower === "content-length" || lower === "content-encoding") {
    known[lower] ??= value;
  }
}

function scalarText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : undefined;
}

export function requestHead(request: Fields, note: HeaderNote): ReadHead<RequestHead> {
  const { headers, known, pseudo } = headerList(request?.headers, note);
  const url = splitUrl(asText(request?.url) ?? "");
  const protocol = pseudo?.get("protocol");
  const head: RequestHead = {
    method: pseudo?.get("method") ?? asText(request?.method) ?? "",
    authority: pseudo?.get("authority") ?? known.host ?? url.authority,
    scheme: pseudo?.get("scheme") ?? url.scheme,
    path: pseudo?.get("path") ?? url.path,
    version: httpVersion(asText(request?.httpVersion), pseudo !== undefined),
    headers,
  };
  return { head: protocol === undefined ? head : { ...head, protocol }, known };
}

/** undefined: the producer saw no response (none there, or no status, header or text in it). */
export function responseHead(response: Fields | undefined, note: HeaderNote): ReadHead<ResponseHead> | undefined {
  if (response === undefined) return undefined;
  const { headers, known, pseudo } = headerList(response?.headers, note);
  const status = statusOf(pseudo?.get("status") ?? response?.status);
  if (status === 0 && headers.length === 0) return undefined;
  const version = httpVersion(asText(response?.httpVersion), pseudo !== undefined);
  return { head: { status, version, headers }, known };
}

function statusOf(value: unknown): number {
  const status = numberOf(value);
  return status !== undefined && Number.isInteger(status) && status >= 100 && status <= 999 ? status : 0;
}

/** "http/2.0", "h2", "HTTP/2" -> "2"; "h3", "h3-29", "http/3" -> "3"; "HTTP/1.1" -> "1.1"; others null (or "2" where pseudo-headers show it). */
export function httpVersion(text: string | undefined, pseudo = false): string | null {
  if (text === "HTTP/1.1") return "1.1";
  const version = (text ?? "").trim().toLowerCase();
  const match = /^(?:https?\/)?([123])(?:\.(\d))?$/.exec(version);
  if (match !== null) {
    if (match[1] === "1") return `1.${match[2] ?? "1"}`;
    return match[1]!;
  }
  if (/^(?:h2|h2c|h2-\d+|spdy.*)$/.test(version)) return "2";
  if (/^(?:h3|h3-.*|hq|quic|http\/2\+quic.*)$/.test(version)) return "3";
  return pseudo ? "2" : null;
}

interface UrlParts {
  readonly scheme: string;
  readonly authority: string;
  readonly path: string;
}

/** Cut, not normalised: the path stays as it was on the wire. User information and fragment were never on it. */
export function splitUrl(url: string): UrlParts {
  const hash = url.indexOf("#");
  const text = hash < 0 ? url : url.slice(0, hash);
  const colon = text.indexOf("://");
  if (colon < 1 || !/^[a-z][a-z0-9+.-]*$/i.test(text.slice(0, colon))) return { scheme: "", authority: "", path: text };
  const start = colon + 3;
  let end = start;
  while (end < text.length && text[end] !== "/" && text[end] !== "?") end++;
  const authority = text.slice(start, end);
  const rest = text.slice(end);
  return {
    scheme: text.slice(0, colon).toLowerCase(),
    authority: authority.includes("@") ? authority.slice(authority.lastIndexOf("@") + 1) : authority,
    path: rest.startsWith("/") ? rest : `/${rest}`,
  };
}
