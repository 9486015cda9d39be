/** Does this look like a HAR? By the front of the file, never by its name. */
import type { Bytes } from "../core/bytes.js";
import { headText } from "./text-input.js";

const frontCharacters = 4096;

/**
 * A JSON object, alone or in a JSONP call. Any JSON object counts, so that one which is no HAR gets a sentence that says so; JSON lines
 * and packet captures are recognised before.
 */
export function looksLikeHar(head: Bytes): boolean {
  const text = headText(head);
  const brace = text.slice(0, frontCharacters).indexOf("{");
  if (brace < 0) return false;
  // In front of it: white space, a callback's name and parenthesis, an assignment, an array bracket, a comment.
  if (/[^\t\n\r\f\x20-\x7e]/.test(text.slice(0, brace))) return false;
  const next = text.slice(brace + 1).trimStart()[0];
  return next === undefined || next === '"' || next === "}";
}
