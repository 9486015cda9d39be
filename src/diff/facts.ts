/** Differences between the JSON of two turns, without what differs between any two recordings: ids, times, sizes, texts, places. */
import { Place } from "../core/place.js";
import { type Printable, Sensitive } from "../core/printable.js";
import type { FactDiff } from "../model/diff.js";

/** Keys whose values name a moment, a size or this recording. */
const ignored: ReadonlySet<string> = new Set([
  "start",
  "end",
  "durationMs",
  "place",
  "places",
  "http",
  "recovered",
  "heartbeats",
  "frames",
  "appends",
  "text",
  "thinking",
  "client",
  // Which kinds occurred is told by the comparison of the messages themselves.
  "down",
  "up",
]);
const mostDiffs = 50;

export function factDiffs(a: Printable, b: Printable): readonly FactDiff[] {
  const diffs: FactDiff[] = [];
  compare(a, b, "", diffs);
  return diffs;
}

/** Random ids, hashes and times: another recording has others in the same part. */
function looksRandom(text: string): boolean {
  return (
    /[0-9a-f]{8}-[0-9a-f]{4}-/i.test(text) ||
    /^[0-9a-f]{16,}$/i.test(text) ||
    /^[a-z]+[_-][A-Za-z0-9_-]{8,}$/.test(text.replace(/^[a-z_]+$/, "")) ||
    /^\d{4}-\d\d-\d\dT/.test(text)
  );
}

function compare(a: Printable | undefined, b: Printable | undefined, path: string, diffs: FactDiff[]): void {
  if (diffs.length >= mostDiffs) return;
  const [x, y] = [kindOf(a), kindOf(b)];
  if (x.shape !== y.shape || x.text !== y.text) {
    diffs.push({ path, a: x.text, b: y.text });
    return;
  }
  if (x.shape === "list") compareLists(a as readonly Printable[], b as readonly Printable[], path, diffs);
  if (x.shape === "object") compareObjects(a as Fields, b as Fields, path, diffs);
}

type Fields = { readonly [key: string]: Printable | undefined };

function compareLists(a: readonly Printable[], b: readonly Printable[], path: string, diffs: FactDiff[]): void {
  if (a.length !== b.length) diffs.push({ path: `${path}.length`, a: String(a.length), b: String(b.length) });
  for (let i = 0; i < Math.min(a.length, b.length); i++) compare(a[i], b[i], `${path}[${i}]`, diffs);
}

function compareObjects(a: Fields, b: Fields, path: string, diffs: FactDiff[]): void {
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    if (ignored.has(key) || /heartbeat|(bytes|Ms)$/i.test(key)) continue;
    compare(a[key], b[key], path === "" ? key : `${path}.${key}`, diffs);
  }
}

function kindOf(value: Printable | undefined): { shape: string; text: string } {
  if (value === undefined || value === null) return { shape: "absent", text: "absent" };
  if (value instanceof Place) return { shape: "place", text: "a place" };
  if (value instanceof Sensitive) return { shape: "text", text: "a text" };
  if (value instanceof Uint8Array) return { shape: "bytes", text: "bytes" };
  if (Array.isArray(value)) return { shape: "list", text: "a list" };
  if (typeof value === "object") return { shape: "object", text: "an object" };
  if (typeof value === "number" || typeof value === "bigint") return { shape: "number", text: "a number" };
  return {
    shape: typeof value,
    text: typeof value === "string" ? (looksRandom(value) ? "an id" : value) : String(value),
  };
}
