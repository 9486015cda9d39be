/**
 * The HAR 1.2 schema, by har-validator, on one parsed entry. What it says is information: real recorders deviate all the time, and
 * what can be used is decided by this reader's own guards. The package builds its validator on first use (some 100 ms), so it is loaded then.
 */
import { createRequire } from "node:module";
import { asArray, asObject, type Fields, field } from "./fields.js";

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
  for (const side of ["request", "response"]) {
    const object = asObject(field(entry, side));
    for (const list of ["headers", "cookies", "queryString"]) {
      if (asArray(field(object, list)).length > longestList) return `${side}.${list}`;
    }
    if (asArray(field(asObject(field(object, "postData")), "params")).length > longestList)
      return `${side}.postData.params`;
    for (const name of ["url", "redirectURL"]) if (isLong(field(object, name))) return `${side}.${name}`;
  }
  for (const name of ["startedDateTime", "serverIPAddress", "connection"]) if (isLong(field(entry, name))) return name;
  return undefined;
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
