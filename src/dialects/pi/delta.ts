/**
 * Delta operations of replicated state: decoding with the state's path dictionary, then applying to its value. The pi page, section
 * 8. A batch decodes as a whole or not at all; applying stops at the first operation that does not fit.
 */
import type { CborArray, CborValue } from "../../decode/cbor.js";
import { GrowingText } from "./growing-text.js";
import { clip, isArray, isCount, kindOf } from "./shape.js";

export type Segment = string | number;
export type Path = readonly Segment[];

export type Op =
  | { readonly verb: "r"; readonly value: CborValue }
  | { readonly verb: "s"; readonly path: Path; readonly value: CborValue }
  | { readonly verb: "d"; readonly path: Path }
  | { readonly verb: "a"; readonly path: Path; readonly text: string }
  /** Drops `count` UTF-16 units from the front. */
  | { readonly verb: "t"; readonly path: Path; readonly count: number }
  | {
      readonly verb: "p";
      readonly path: Path;
      readonly index: number;
      readonly remove: number;
      readonly items: CborArray;
    }
  /** new[i] = old[permutation[i]] */
  | { readonly verb: "m"; readonly path: Path; readonly permutation: readonly number[] };

export type DecodedOps = { readonly ops: readonly Op[] } | { readonly fault: string };

/** Elements after the verb in the full form; one less leaves the path out. */
const operands: Readonly<Record<string, number>> = { s: 2, d: 1, a: 2, t: 2, p: 4, m: 2 };
const unsafeSegments: ReadonlySet<Segment> = new Set(["__proto__", "constructor", "prototype"]);

/** One per subscription, instance and state member. Ids live from batch to batch, the previous path only within one. */
export class DeltaDecoder {
  private readonly paths = new Map<number, Path>();

  decode(batch: CborValue): DecodedOps {
    if (!isArray(batch)) return { fault: `ops is ${kindOf(batch)}, not an array` };
    const ops: Op[] = [];
    let previous: Path | null = null;
    for (const [i, item] of batch.entries()) {
      const read = this.one(item, previous);
      if (typeof read === "string") return { fault: `operation ${i + 1} of ${batch.length}: ${read}` };
      if (read === null) continue;
      previous = read.verb === "r" ? null : read.path;
      ops.push(read);
    }
    return { ops };
  }

  /** A string is a fault, null a definition. */
  private one(item: CborValue, previous: Path | null): Op | null | string {
    if (!isArray(item) || typeof item[0] !== "string") return `${kindOf(item)} that is no operation`;
    const verb = item[0];
    if (verb === "r") {
      if (item.length !== 2) return `"r" with ${item.length} elements`;
      this.paths.clear();
      return { verb, value: item[1]! };
    }
    if (verb === "#") return this.define(item);
    const full = Object.hasOwn(operands, verb) ? operands[verb]! : undefined;
    if (full === undefined) return `unknown verb "${clip(verb)}"`;
    const count = item.length - 1;
    if (count !== full && count !== full - 1) return `"${verb}" with ${item.length} elements`;
    const path = count === full ? this.path(item[1]!) : (previous ?? "the path left out, with none before it");
    if (typeof path === "string") return `"${verb}": ${path}`;
    if (path.length === 0 && verb !== "p" && verb !== "m") return `"${verb}" on the root`;
    return operation(verb, path, item.slice(count === full ? 2 : 1));
  }

  private define(item: CborArray): null | string {
    const [, id, path] = item;
    if (item.length !== 3 || !isCount(id)) return `"#" that is no definition`;
    const read = segments(path!);
    if (typeof read === "string") return `"#": ${read}`;
    this.paths.set(id, read);
    return null;
  }

  private path(reference: CborValue): Path | string {
    if (typeof reference !== "number") return segments(reference);
    return this.paths.get(reference) ?? `path id ${reference} was never defined`;
  }
}

function segments(value: CborValue): Path | string {
  if (!isArray(value)) return `the path is ${kindOf(value)}, not an array`;
  for (const segment of value) {
    if (typeof segment !== "string" && !isCount(segment)) return `a path segment is ${kindOf(segment)}`;
    if (unsafeSegments.has(segment)) return `the path segment "${segment}" is refused`;
  }
  return value as Path;
}

function operation(verb: string, path: Path, rest: CborArray): Op | string {
  const [first, second, third] = rest;
  switch (verb) {
    case "s":
      return { verb, path, value: first! };
    case "d":
      return { verb, path };
    case "a":
      return typeof first === "string" ? { verb, path, text: first } : `"a" with ${kindOf(first)} for its text`;
    case "t":
      return isCount(first) ? { verb, path, count: first } : `"t" with ${kindOf(first)} for its count`;
    case "p":
      return isCount(first) && isCount(second) && isArray(third)
        ? { verb, path, index: first, remove: second, items: third }
        : `"p" without an index, a count and an array`;
    default:
      return isArray(first) && isPermutation(first)
        ? { verb: "m", path, permutation: first as readonly number[] }
        : `"m" without a permutation`;
  }
}

function isPermutation(list: CborArray): boolean {
  const seen = new Uint8Array(list.length);
  for (const item of list) {
    if (!isCount(item) || item >= list.length || seen[item] === 1) return false;
    seen[item] = 1;
  }
  return true;
}

/** What a replica holds: as decoded, but for long texts that were appended to. */
export type ReplicaValue = CborValue | GrowingText;
type MutableMap = Map<string, ReplicaValue>;
type MutableArray = ReplicaValue[];

/** Texts below this many units are plain strings. */
const longText = 1024;

/** The value of one replicated state. It owns what it holds and changes it in place. */
export class Replica {
  /** For a look at it; nested texts may be growing ones. */
  value: ReplicaValue | undefined = undefined;

  /** The value with all its texts joined. */
  whole(): CborValue | undefined {
    return this.value === undefined ? undefined : joined(this.value);
  }

  /** Null, or what did not fit; operations before it stay applied. */
  apply(ops: readonly Op[]): string | null {
    for (const op of ops) {
      const fault = this.one(op);
      if (fault !== null) return fault;
    }
    return null;
  }

  private one(op: Op): string | null {
    switch (op.verb) {
      case "r":
        this.value = op.value;
        return null;
      case "p": {
        const list = this.find(op.path, op.path.length);
        if (!Array.isArray(list)) return unresolved(op);
        splice(list as MutableArray, op.index, op.remove, op.items);
        return null;
      }
      case "m": {
        const list = this.find(op.path, op.path.length);
        if (!Array.isArray(list) || list.length !== op.permutation.length) return unresolved(op);
        const old = list.slice() as MutableArray;
        for (const [i, from] of op.permutation.entries()) (list as MutableArray)[i] = old[from]!;
        return null;
      }
      default:
        return this.child(op);
    }
  }

  private child(op: Extract<Op, { verb: "s" | "d" | "a" | "t" }>): string | null {
    const parent = this.find(op.path, op.path.length - 1);
    const last = op.path[op.path.length - 1]!;
    if (Array.isArray(parent)) {
      const list = parent as MutableArray;
      if (typeof last !== "number" || last > list.length || (last === list.length && op.verb !== "s"))
        return unresolved(op);
      if (op.verb === "s") list[last] = op.value;
      else if (op.verb === "d") list.splice(last, 1);
      else return edit(op, list[last], (text) => (list[last] = text));
      return null;
    }
    if (!(parent instanceof Map)) return unresolved(op);
    const map = parent as MutableMap;
    const key = String(last);
    if (op.verb === "s") map.set(key, op.value);
    else if (op.verb === "d") map.delete(key);
    else return edit(op, map.get(key), (text) => map.set(key, text));
    return null;
  }

  private find(path: Path, depth: number): ReplicaValue | undefined {
    let node = this.value;
    for (let i = 0; i < depth && node !== undefined; i++) {
      const segment = path[i]!;
      if (Array.isArray(node)) node = typeof segment === "number" ? (node[segment] as ReplicaValue) : undefined;
      else node = node instanceof Map ? node.get(String(segment)) : undefined;
    }
    return node;
  }
}

function edit(
  op: Extract<Op, { verb: "a" | "t" }>,
  value: ReplicaValue | undefined,
  store: (text: ReplicaValue) => unknown,
): string | null {
  if (value instanceof GrowingText) {
    if (op.verb === "a") value.append(op.text);
    else value.dropFront(op.count);
    return null;
  }
  if (typeof value !== "string") return unresolved(op);
  if (op.verb === "t") store(value.slice(op.count));
  else if (value.length + op.text.length < longText) store(value + op.text);
  else {
    const text = new GrowingText(value);
    text.append(op.text);
    store(text);
  }
  return null;
}

function joined(value: ReplicaValue): CborValue {
  if (value instanceof GrowingText) return value.toString();
  if (Array.isArray(value)) return (value as readonly ReplicaValue[]).map(joined);
  if (!(value instanceof Map)) return value;
  return new Map([...value].map(([key, item]) => [key, joined(item)]));
}

/** As Array.prototype.splice, without spreading a long list over call arguments. */
function splice(list: MutableArray, index: number, remove: number, items: CborArray): void {
  const at = Math.min(index, list.length);
  if (items.length <= 1000) {
    list.splice(at, remove, ...items);
    return;
  }
  const tail = list.splice(at);
  for (const item of items) list.push(item);
  for (let i = remove; i < tail.length; i++) list.push(tail[i]!);
}

function unresolved(op: Exclude<Op, { verb: "r" }>): string {
  return `"${op.verb}" does not fit the value at ${pathText(op.path)}`;
}

/** `entries[0].text`; `(root)` for the root. */
export function pathText(path: Path): string {
  if (path.length === 0) return "(root)";
  const text = path
    .slice(0, 40)
    .map((segment, i) => (typeof segment === "number" ? `[${segment}]` : `${i === 0 ? "" : "."}${clip(segment)}`));
  return clip(text.join(""), 120);
}

function samePath(a: Path, b: Path): boolean {
  return a === b || (a.length === b.length && a.every((segment, i) => segment === b[i]));
}

const verbWords: Readonly<Record<Op["verb"], string>> = {
  r: "replaced",
  s: "set",
  d: "deleted",
  a: "appended to",
  t: "cut the front of",
  p: "spliced",
  m: "reordered",
};

/** `set title, appended to tail`: verbs and paths only. */
export function opsText(ops: readonly Op[]): string {
  const parts = ops
    .slice(0, 3)
    .map((op) => (op.verb === "r" ? "replaced" : `${verbWords[op.verb]} ${pathText(op.path)}`));
  if (ops.length > 3) parts.push(`${ops.length - 3} more`);
  return parts.length === 0 ? "no operation" : parts.join(", ");
}

/** For a batch that only appends to (or cuts the front of) one text: its path, and the characters that came. Else null. */
export function isBatchOfText(ops: readonly Op[]): { readonly path: Path; readonly chars: number } | null {
  const first = ops[0];
  if (first === undefined || first.verb === "r") return null;
  let chars = 0;
  for (const op of ops) {
    if (op.verb !== "a" && op.verb !== "t") return null;
    if (!samePath(op.path, first.path)) return null;
    if (op.verb === "a") chars += op.text.length;
  }
  return { path: first.path, chars };
}
