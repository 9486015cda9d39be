/** Narrow readers for JSON that came over the wire: never a throw, never a prototype key. */
import { createHash } from "node:crypto";
import { type Bytes, utf8 } from "../../core/bytes.js";

export type JsonObject = { readonly [key: string]: unknown };

/** The parsed value, or undefined where the bytes are no JSON. */
export function parseJson(bytes: Bytes): unknown {
  try {
    return JSON.parse(utf8(bytes));
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function own(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Follows own keys; undefined as soon as one is missing. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, key) => own(inner, key), value);
}

export function textAt(value: unknown, ...path: readonly string[]): string | null {
  const found = at(value, ...path);
  return typeof found === "string" ? found : null;
}

export function numberAt(value: unknown, ...path: readonly string[]): number | null {
  const found = at(value, ...path);
  return typeof found === "number" && Number.isFinite(found) ? found : null;
}

export function boolAt(value: unknown, ...path: readonly string[]): boolean | null {
  const found = at(value, ...path);
  return typeof found === "boolean" ? found : null;
}

export function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

export function textsAt(value: unknown, ...path: readonly string[]): readonly string[] {
  return listAt(value, ...path).filter((item): item is string => typeof item === "string");
}

/** Text of message content: a string, or the text parts of a content list. kimi.md 2.7. */
export function contentText(content: unknown): string | null {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return null;
  return content
    .map((part) => textAt(part, "text"))
    .filter((text): text is string => text !== null)
    .join("\n");
}

/** JSON text with sorted keys, to compare values whose key order is free. Depth beyond 100 counts as equal. */
export function canonical(value: unknown, depth = 0): string {
  if (depth > 100) return '"…"';
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, depth + 1)).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? "null";
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key], depth + 1)}`).join(",")}}`;
}

/** Short fingerprint of a value, key order ignored. */
export function digest(value: unknown): string {
  return createHash("sha256").update(canonical(value)).digest("base64").slice(0, 22);
}

/** ULID: 26 characters of Crockford's base32, the first one 0 to 7. kimi.md 2.2. */
export function isUlid(text: string): boolean {
  return /^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$/.test(text);
}
