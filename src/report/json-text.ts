/** Printable values as JSON text: places, bytes and sensitive values are rendered here and nowhere else. */
import { asBuffer } from "../core/bytes.js";
import { Place, placeText } from "../core/place.js";
import { type Printable, Sensitive } from "../core/printable.js";
import { jsonString } from "./escape.js";
import type { Redactor } from "./redact.js";

export interface JsonContext {
  readonly redactor: Redactor;
  readonly names: readonly string[];
  /** Texts and bytes longer than this become `{"$bytes": n}`. */
  readonly maxBody: number;
}

export function jsonText(value: Printable | undefined, context: JsonContext): string {
  switch (typeof value) {
    case "string":
      return jsonBody(value, context);
    case "number":
      return Number.isFinite(value) ? String(Object.is(value, -0) ? 0 : value) : `"${value}"`;
    case "bigint":
      return `"${value}"`;
    case "boolean":
      return String(value);
    case "undefined":
      return "null";
    default:
      return value === null ? "null" : objectText(value, context);
  }
}

function jsonBody(text: string, context: JsonContext): string {
  if (text.length > context.maxBody / 4) {
    const bytes = Buffer.byteLength(text);
    if (bytes > context.maxBody) return `{"$bytes":${bytes}}`;
  }
  return jsonString(context.redactor.scrub(text));
}

function objectText(
  value: Exclude<Printable, string | number | bigint | boolean | null>,
  context: JsonContext,
): string {
  if (value instanceof Place) return jsonString(placeText(value, context.names));
  if (value instanceof Uint8Array) {
    return value.length > context.maxBody ? `{"$bytes":${value.length}}` : `"${asBuffer(value).toString("base64")}"`;
  }
  if (value instanceof Sensitive) return sensitiveText(value, context);
  if (Array.isArray(value)) return `[${value.map((item: Printable) => jsonText(item, context)).join(",")}]`;
  let out = "";
  for (const [key, item] of Object.entries(value as { readonly [key: string]: Printable | undefined })) {
    if (item === undefined) continue;
    out += `${out === "" ? "" : ","}${jsonString(context.redactor.scrub(key))}:${jsonText(item, context)}`;
  }
  return `{${out}}`;
}

function sensitiveText(value: Sensitive, context: JsonContext): string {
  if (!context.redactor.hides(value.sensitivity)) return jsonText(value.value, context);
  return jsonString(context.redactor.sensitive(value, (inner) => jsonText(inner, context)));
}
