/** Phrases of the model as text: redacted and free of known secrets, not yet escaped for any target. */
import { Sensitive, type Words } from "../core/printable.js";
import { jsonText } from "./json-text.js";
import type { Redactor } from "./redact.js";

const noNames: readonly string[] = [];

export function plain(words: Words, redactor: Redactor): string {
  let out = "";
  for (const word of words) {
    out += word instanceof Sensitive ? redactor.sensitive(word, (value) => asText(value, redactor)) : word;
  }
  return redactor.scrub(out);
}

function asText(value: Sensitive["value"], redactor: Redactor): string {
  return jsonText(value, { redactor, names: noNames, maxBody: Number.POSITIVE_INFINITY });
}
