/**
 * The HAR 1.2 schema, by har-validator, on one parsed entry. What it says is information: real recorders deviate all the time, and
 * what can be used is decided by this reader's own guards. The package builds its validator on first use (some 100 ms), so it is loaded for
 * the first entry that is not plainly valid.
 */
import { createRequire } from "node:module";
import { isUsual } from "./entry-usual.js";
import { asArray, asObject, type Fields } from "./fields.js";

export type EntryVerdict =
  | { readonly kind: "fine" }
  | { readonly kind: "invalid"; readonly pointer: string; readonly message: string; readonly errors: number }
  | { readonly kind: "unchecked"; readonly what: string };

export type EntryCheck = (entry: Fields) => EntryVerdict;

interface SchemaError {
  readonly dataPath?: string;
  readonly message?: string;
}
/** `har-validator/lib/async`: calls back before it returns. */
interface HarValidator {
  entry(data: unknown, next: (error: { readonly errors?: readonly SchemaError[] } | null) => void): void;
}

let validator: HarValidator | undefined;

function load(): HarValidator {
  validator ??= createRequire(import.meta.url)("har-validator/lib/async") as HarValidator;
  return validator;
}

const fine: EntryVerdict = { kind: "fine" };
/** The validator collects every error: lists longer than this would make it slow and its answer useless. */
const longestList = 2000;
/** Formats (URL, date, address) are matched by regular expressions. */
const longestText = 64 * 1024;

export const checkEntry: EntryCheck = (entry) => {
  const what = tooLarge(entry);
  if (what !== undefined) return { kind: "unchecked", what };
  if (isUsual(entry)) return fine;
  let verdict: EntryVerdict = fine;
  load().entry(entry, (error) => {
    if (error === null) return;
    const errors = error.errors ?? [];
    const first = errors[0];
    verdict = {
      kind: "invalid",
      pointer: pointerOf(first?.dataPath ?? ""),
      message: first?.message ?? "is not valid",
      errors: errors.length,
    };
  });
  return verdict;
};

function tooLarge(entry: Fields): string | undefined {
  if (isLong(entry.startedDateTime)) return "startedDateTime";
  if (isLong(entry.serverIPAddress)) return "serverIPAddress";
  if (isLong(entry.connection)) return "connection";
  const request = asObject(entry.request);
  const response = asObject(entry.response);
  const postData = asObject(request?.postData);
  if (asArray(postData?.params).length > longestList) return "request.postData.params";
  if (asArray(request?.queryString).length > longestList) return "request.queryString";
  if (isLong(request?.url)) return "request.url";
  if (isLong(response?.redirectURL)) return "response.redirectURL";
  const lists = [request?.headers, request?.cookies, response?.headers, response?.cookies];
  return lists.some((list) => asArray(list).length > longestList) ? "a list of headers or cookies" : undefined;
}

function isLong(value: unknown): boolean {
  return typeof value === "string" && value.length > longestText;
}

/** `.request.headers[0]` -> `/request/headers/0` (RFC 6901). */
function pointerOf(path: string): string {
  return (
    path.replace(
      /\['((?:[^'\\]|\\.)*)'\]|\[(\d+)\]|\./g,
      (_, name?: string, index?: string) => `/${name ?? index ?? ""}`,
    ) || "/"
  );
}
