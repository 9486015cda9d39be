/** Typed looks into decoded messages: present fields only, undefined for anything else. */
import type { Bytes } from "../../core/bytes.js";
import type { ProtoMessage, ProtoValue } from "../../model/schema.js";

/** Stands in for a message that is absent. */
export const noMessage: ProtoMessage = Object.freeze(Object.create(null));

export function isMessage(value: ProtoValue | undefined): value is ProtoMessage {
  return (
    typeof value === "object" && !(value instanceof Uint8Array) && !Array.isArray(value) && !(value instanceof Map)
  );
}

export function sub(message: ProtoMessage | undefined, field: string): ProtoMessage | undefined {
  const value = message?.[field];
  return isMessage(value) ? value : undefined;
}

/** Follows message fields by name. */
export function deep(message: ProtoMessage | undefined, ...path: string[]): ProtoMessage | undefined {
  let at = message;
  for (const field of path) at = sub(at, field);
  return at;
}

export function text(message: ProtoMessage | undefined, field: string): string {
  const value = message?.[field];
  return typeof value === "string" ? value : "";
}

/** null where it is absent or empty. */
export function textOrNull(message: ProtoMessage | undefined, field: string): string | null {
  const value = text(message, field);
  return value === "" ? null : value;
}

export function bytesOf(message: ProtoMessage | undefined, field: string): Bytes | undefined {
  const value = message?.[field];
  return value instanceof Uint8Array ? value : undefined;
}

/** Numbers of any width; 64-bit ones above 2^53 lose their low bits. undefined where absent. */
export function numberOf(message: ProtoMessage | undefined, field: string): number | undefined {
  const value = message?.[field];
  return typeof value === "number" ? value : typeof value === "bigint" ? Number(value) : undefined;
}

/** proto3's default where the field is absent. */
export function int(message: ProtoMessage | undefined, field: string): number {
  return numberOf(message, field) ?? 0;
}

export function flag(message: ProtoMessage | undefined, field: string): boolean {
  return message?.[field] === true;
}

export function listOf(message: ProtoMessage | undefined, field: string): readonly ProtoValue[] {
  const value = message?.[field];
  return Array.isArray(value) ? value : [];
}

export function mapOf(
  message: ProtoMessage | undefined,
  field: string,
): ReadonlyMap<string | number | bigint | boolean, ProtoValue> {
  const value = message?.[field];
  return value instanceof Map ? value : emptyMap;
}

const emptyMap: ReadonlyMap<string | number | bigint | boolean, ProtoValue> = new Map();

/** One more at the end. Lists that nearly always hold one thing: a literal of one takes a tenth of the room of a pushed one. */
export function appended<T>(list: readonly T[], item: T): readonly T[] {
  return list.length === 0 ? [item] : [...list, item];
}

/** A copy that pins no longer text or buffer. */
export function flat(value: string): string {
  return Buffer.from(value, "utf8").toString("utf8");
}
