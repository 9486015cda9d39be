/** Guards for values of a parsed entry: a HAR promises nothing, so every field is asked for with the type it is used as. */

export type Fields = Readonly<Record<string, unknown>>;

export function asObject(value: unknown): Fields | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

export function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** An own property: names from the wire never reach the prototype. */
export function field(object: Fields | undefined, name: string): unknown {
  return object !== undefined && Object.hasOwn(object, name) ? object[name] : undefined;
}

export function textField(object: Fields | undefined, name: string): string | undefined {
  const value = field(object, name);
  return typeof value === "string" ? value : undefined;
}

/** A finite number of at least 0, also where it is written as text; undefined for -1, null, NaN and everything else. */
export function sizeField(object: Fields | undefined, name: string): number | undefined {
  const value = numberOf(field(object, name));
  return value !== undefined && value >= 0 ? value : undefined;
}

export function numberOf(value: unknown): number | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
  if (typeof value !== "string" || !/^\s*-?\d+(?:\.\d+)?\s*$/.test(value)) return undefined;
  return Number(value);
}
