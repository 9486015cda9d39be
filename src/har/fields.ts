/** Guards for values of a parsed entry: a HAR promises nothing, so every field is asked for with the type it is used as. */

/** Asked only for names that Object.prototype does not have. */
export type Fields = Readonly<Record<string, unknown>>;

export function asObject(value: unknown): Fields | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

export function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function asText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** A finite number of at least 0, also where it is written as text; undefined for -1, null, NaN and everything else. */
export function asSize(given: unknown): number | undefined {
  if (typeof given === "number") return given >= 0 && given < Number.POSITIVE_INFINITY ? given : undefined;
  const value = numberOf(given);
  return value !== undefined && value >= 0 ? value : undefined;
}

export function numberOf(value: unknown): number | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
  if (typeof value !== "string" || !/^\s*-?\d+(?:\.\d+)?\s*$/.test(value)) return undefined;
  return Number(value);
}
