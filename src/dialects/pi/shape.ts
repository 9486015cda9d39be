/** Tests for the strict objects of envelopes and chord payloads: exact keys, exact types. A fault is a path and a sentence. */
import type { CborArray, CborMap, CborValue } from "../../decode/cbor.js";

export interface ShapeFault {
  /** Where in the payload: "target.serverId", "" for the payload itself. */
  readonly path: string;
  readonly says: string;
}

export function isMap(value: CborValue | undefined): value is CborMap {
  return value instanceof Map;
}

export function isArray(value: CborValue | undefined): value is CborArray {
  return Array.isArray(value);
}

/** Text of at least one character: ids, names, codes. */
export function isName(value: CborValue | undefined): value is string {
  return typeof value === "string" && value.length > 0;
}

/** An integer of at least `least`. */
export function isCount(value: CborValue | undefined, least = 0): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= least;
}

/** Lowercase UUID of version 4, variant 8 to b: the form of every server id. */
export function isServerId(value: CborValue | undefined): value is string {
  return (
    typeof value === "string" && /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(value)
  );
}

/** Faults as soon as a required key is absent or an unknown one present; null when the keys are right. */
export function keysFault(
  map: CborMap,
  path: string,
  required: readonly string[],
  optional: readonly string[] = [],
): ShapeFault | null {
  for (const key of required) if (!map.has(key)) return { path: join(path, key), says: "is missing" };
  if (map.size > required.length) {
    for (const key of map.keys()) {
      if (!required.includes(key) && !optional.includes(key))
        return { path: join(path, clip(key)), says: "is not allowed here" };
    }
  }
  return null;
}

export function join(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}

/** Few words for a value that is of the wrong kind. */
export function kindOf(value: CborValue | undefined): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (value instanceof Uint8Array) return "a byte string";
  if (isArray(value)) return "an array";
  if (isMap(value)) return "a map";
  if (typeof value === "string") return value === "" ? "an empty text" : "a text";
  return typeof value === "number" ? `the number ${value}` : String(value);
}

/** A text from the wire, cut for a sentence. */
export function clip(text: string, room = 60): string {
  return text.length > room ? `${text.slice(0, room)}…` : text;
}
