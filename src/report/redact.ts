/**
 * Decides what of a sensitive value is printed, and keeps known secrets out of every text. Equal hidden values get equal numbers, in
 * order of first printing; no digest of a value is ever shown.
 */
import { createHash } from "node:crypto";
import { asBuffer, type Bytes } from "../core/bytes.js";
import type { Sensitive, Sensitivity } from "../core/printable.js";
import { type Headers, headerValue } from "../model/exchange.js";
import { isSecretHeader } from "../model/secret-headers.js";
import { byteCount } from "./numbers.js";

/** secrets: hide secrets. private: hide content too. none: hide nothing. */
export type RedactLevel = "secrets" | "private" | "none";

const secretQuery =
  /^(token|access_token|refresh_token|id_token|auth|auth_token|authorization|api_?key|key|secret|client_secret|password|passwd|code|sig|signature|jwt|session|session_id|x-amz-signature|x-amz-security-token|x-goog-signature)$/i;

/** Shorter values are words, not secrets: scrubbing them everywhere would only make texts unreadable. */
const leastSecret = 5;
const prefixLength = 5;

export function isSecretQuery(name: string): boolean {
  return secretQuery.test(name);
}

export class Redactor {
  private readonly numbers = new Map<string, number>();
  /** Known secrets by their first characters, longest first. */
  private readonly known = new Map<string, string[]>();
  private readonly seen = new Set<string>();
  private pattern: RegExp | null = null;

  constructor(readonly level: RedactLevel) {}

  hides(sensitivity: Sensitivity): boolean {
    return this.level === "private" || (this.level === "secrets" && sensitivity === "secret");
  }

  /** `«redacted #3, 1,234 B»` */
  mark(value: string | Bytes): string {
    const bytes = typeof value === "string" ? Buffer.from(value, "utf8") : asBuffer(value);
    const size = bytes.length;
    // A digest stands in for long values only inside: it is never printed.
    const key = size <= 64 ? bytes.toString("latin1") : createHash("sha256").update(bytes).digest("base64");
    let number = this.numbers.get(key);
    if (number === undefined) {
      number = this.numbers.size + 1;
      this.numbers.set(key, number);
    }
    return `«redacted #${number}, ${byteCount(size)}»`;
  }

  /** Content that `private` hides: a prompt, a path, a user's text. */
  content(text: string): string {
    return this.hides("private") ? this.mark(text) : this.scrub(text);
  }

  /** A sensitive text, or the mark that stands for it. */
  sensitive(value: Sensitive, asText: (value: Sensitive["value"]) => string): string {
    const text = typeof value.value === "string" ? value.value : asText(value.value);
    if (this.hides(value.sensitivity)) return this.mark(value.value instanceof Uint8Array ? value.value : text);
    return this.scrub(text);
  }

  /** Remembers a value that must not appear in any output. */
  learn(secret: string): void {
    const value = secret.trim();
    if (this.level === "none" || value.length < leastSecret || this.seen.has(value)) return;
    this.seen.add(value);
    const prefix = value.slice(0, prefixLength);
    const bucket = this.known.get(prefix);
    if (bucket === undefined) this.known.set(prefix, [value]);
    else {
      bucket.push(value);
      bucket.sort((a, b) => b.length - a.length);
    }
    this.pattern = null;
  }

  /** Learns what the headers and the query of a request or response hold in secrets. */
  learnHead(headers: Headers, path = ""): void {
    if (this.level === "none") return;
    for (const { name, value } of headers) if (isSecretHeader(name)) this.learnHeader(name.toLowerCase(), value);
    const protocols = headerValue(headers, "sec-websocket-protocol");
    if (protocols !== undefined)
      for (const [, token] of protocols.matchAll(/\bbearer[.:]([^,\s]+)/gi)) this.learn(token!);
    if (path.includes("=")) this.learnQuery(path);
  }

  private learnQuery(path: string): void {
    for (const [, name, value] of path.matchAll(/[?&#;]([^?=&#;]+)=([^&#;]*)/g)) {
      if (!secretQuery.test(name!)) continue;
      this.learn(value!);
      this.learn(decoded(value!));
    }
  }

  /** Text of an output with every known secret replaced by its mark. */
  scrub(text: string): string {
    if (this.known.size === 0 || text.length < leastSecret) return text;
    this.pattern ??= new RegExp(
      [...this.known.keys()].map((key) => key.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")).join("|"),
      "g",
    );
    const { pattern } = this;
    pattern.lastIndex = 0;
    let out = "";
    let from = 0;
    for (let hit = pattern.exec(text); hit !== null; hit = pattern.exec(text)) {
      const at = hit.index;
      const secret = this.known.get(hit[0])?.find((value) => text.startsWith(value, at));
      if (secret === undefined) {
        pattern.lastIndex = at + 1;
        continue;
      }
      out += text.slice(from, at) + this.mark(secret);
      from = at + secret.length;
      pattern.lastIndex = from;
    }
    return from === 0 ? text : out + text.slice(from);
  }

  /** The known secrets, for outputs that show bytes. */
  secrets(): readonly string[] {
    return [...this.seen];
  }

  private learnHeader(name: string, value: string): void {
    // The scheme alone ("Bearer") is no secret; what follows it is. So is the whole value where there is no scheme.
    const scheme = /^[A-Za-z][\w-]*\s+(\S.*)$/.exec(value);
    if (name.endsWith("cookie")) {
      for (const part of value.split(/;\s*/)) {
        const at = part.indexOf("=");
        const inner = part.slice(at + 1);
        if (at > 0 && inner.length >= 8 && !cookieAttribute.test(part)) this.learn(inner);
        if (name === "set-cookie") break;
      }
    }
    this.learn(value);
    if (scheme !== null) this.learn(scheme[1]!);
  }
}

const cookieAttribute = /^(path|domain|expires|max-age|samesite)=/i;

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
