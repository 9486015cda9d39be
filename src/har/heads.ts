/** Request and response of an entry -> the neck's heads. Pseudo-headers become what they stand for; recorders' oddities are mended. */
import type { Header, RequestHead, ResponseHead } from "../model/exchange.js";
import { asObject, type Fields, field, numberOf, textField } from "./fields.js";

/** Told of each header that cannot be one; `part`: what it lacks. */
export type HeaderNote = (part: "name" | "value") => void;

interface HeaderList {
  readonly headers: Header[];
  /** `:path` and the like, without the colon; the last one of a name counts. */
  readonly pseudo: ReadonlyMap<string, string>;
}

/**
 * `[{name, value}]` as HAR has it, `[[name, value]]`, or an object from name to value or values. Duplicates are kept in order; numbers
 * and booleans become text; null is dropped.
 */
export function headerList(value: unknown, note: HeaderNote): HeaderList {
  const headers: Header[] = [];
  const pseudo = new Map<string, string>();
  const add = (name: unknown, content: unknown): void => {
    const text = scalarText(content);
    if (typeof name !== "string" || name === "") note("name");
    else if (text === undefined) note("value");
    else if (name.startsWith(":")) pseudo.set(name.slice(1).toLowerCase(), text);
    else headers.push({ name, value: text });
  };
  if (Array.isArray(value)) {
    for (const item of value) {
      if (Array.isArray(item)) add(item[0], item[1]);
      else {
        const object = asObject(item);
        add(field(object, "name"), field(object, "value"));
      }
    }
  } else {
    for (const [name, content] of Object.entries(asObject(value) ?? {})) {
      for (const each of Array.isArray(content) ? content : [content]) add(name, each);
    }
  }
  return { headers, pseudo };
}

function scalarText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : undefined;
}

export function requestHead(request: Fields, note: HeaderNote): RequestHead {
  const { headers, pseudo } = headerList(field(request, "headers"), note);
  const url = splitUrl(textField(request, "url") ?? "");
  const host = headers.find((header) => header.name.toLowerCase() === "host")?.value;
  const protocol = pseudo.get("protocol");
  return {
    method: pseudo.get("method") ?? textField(request, "method") ?? "",
    authority: pseudo.get("authority") ?? host ?? url.authority,
    scheme: pseudo.get("scheme") ?? url.scheme,
    path: pseudo.get("path") ?? url.path,
    version: httpVersion(textField(request, "httpVersion"), pseudo.size > 0),
    headers,
    ...(protocol === undefined ? {} : { protocol }),
  };
}

/** undefined: the producer saw no response (none there, or no status, header or text in it). */
export function responseHead(response: Fields | undefined, note: HeaderNote): ResponseHead | undefined {
  if (response === undefined) return undefined;
  const { headers, pseudo } = headerList(field(response, "headers"), note);
  const status = statusOf(pseudo.get("status") ?? field(response, "status"));
  if (status === 0 && headers.length === 0) return undefined;
  return { status, version: httpVersion(textField(response, "httpVersion"), pseudo.size > 0), headers };
}

function statusOf(value: unknown): number {
  const status = numberOf(value);
  return status !== undefined && Number.isInteger(status) && status >= 100 && status <= 999 ? status : 0;
}

/** "http/2.0", "h2", "HTTP/2" -> "2"; "h3", "h3-29", "http/3" -> "3"; "HTTP/1.1" -> "1.1"; others null (or "2" where pseudo-headers show it). */
export function httpVersion(text: string | undefined, pseudo = false): string | null {
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
  const match = /^([a-z][a-z0-9+.-]*):\/\/([^/?]*)(.*)$/is.exec(text);
  if (match === null) return { scheme: "", authority: "", path: text };
  const rest = match[3]!;
  const authority = match[2]!;
  return {
    scheme: match[1]!.toLowerCase(),
    authority: authority.slice(authority.lastIndexOf("@") + 1),
    path: rest === "" ? "/" : rest.startsWith("?") ? `/${rest}` : rest,
  };
}
