/** The google.protobuf types that protobuf-JSON writes in forms of their own. https://protobuf.dev/programming-guides/json */
import type { Bytes } from "../core/bytes.js";
import type { Printable } from "../core/printable.js";
import { isoTime } from "../core/time.js";
import type { ProtoMessage } from "../model/schema.js";

export type AnyJson = (typeUrl: string, value: Bytes) => Printable;

const prefix = "google.protobuf.";
const wrappers = new Set(
  ["Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes"].map(
    (name) => `${prefix}${name}Value`,
  ),
);

/** undefined: no well-known type, or a value outside its range; both are written field by field. */
export function wellKnownJson(type: string, message: ProtoMessage, any: AnyJson): Printable | undefined {
  if (!type.startsWith(prefix)) return undefined;
  if (wrappers.has(type)) return wrapperJson(type, message.value);
  switch (type.slice(prefix.length)) {
    case "Timestamp":
      return timestampJson(message);
    case "Duration":
      return durationJson(message);
    case "FieldMask":
      return ((message.paths ?? []) as readonly string[]).map(camelPath).join(",");
    case "Struct":
      return structJson(message);
    case "ListValue":
      return listJson(message);
    case "Value":
      return valueJson(message);
    case "Any":
      return any(
        (message.type_url as string | undefined) ?? "",
        (message.value as Bytes | undefined) ?? new Uint8Array(0),
      );
    default:
      return undefined;
  }
}

function wrapperJson(type: string, value: unknown): Printable {
  if (typeof value === "bigint") return value.toString();
  if (value !== undefined) return number(value as Printable);
  if (type.endsWith("StringValue")) return "";
  if (type.endsWith("BytesValue")) return new Uint8Array(0);
  if (type.endsWith("BoolValue")) return false;
  return type.endsWith("64Value") ? "0" : 0;
}

function number(value: Printable): Printable {
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
}

function timestampJson(message: ProtoMessage): Printable | undefined {
  const seconds = (message.seconds as bigint | undefined) ?? 0n;
  const nanos = (message.nanos as number | undefined) ?? 0;
  // Years 1 to 9999, as the specification has it.
  if (seconds < -62_135_596_800n || seconds > 253_402_300_799n || nanos < 0 || nanos > 999_999_999) return undefined;
  return isoTime(seconds * 1_000_000_000n + BigInt(nanos));
}

function durationJson(message: ProtoMessage): Printable | undefined {
  const seconds = (message.seconds as bigint | undefined) ?? 0n;
  const nanos = (message.nanos as number | undefined) ?? 0;
  const limit = 315_576_000_000n;
  if (seconds > limit || seconds < -limit || Math.abs(nanos) > 999_999_999) return undefined;
  if ((seconds > 0n && nanos < 0) || (seconds < 0n && nanos > 0)) return undefined;
  const sign = seconds < 0n || nanos < 0 ? "-" : "";
  const whole = seconds < 0n ? -seconds : seconds;
  if (nanos === 0) return `${sign}${whole}s`;
  let decimals = Math.abs(nanos).toString().padStart(9, "0");
  while (decimals.endsWith("000")) decimals = decimals.slice(0, -3);
  return `${sign}${whole}.${decimals}s`;
}

function camelPath(path: string): string {
  return path.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

function structJson(message: ProtoMessage): Printable {
  const out: { [key: string]: Printable } = Object.create(null);
  const fields = message.fields as ReadonlyMap<string, ProtoMessage> | undefined;
  if (fields !== undefined) for (const [key, value] of fields) out[key] = valueJson(value);
  return out;
}

function listJson(message: ProtoMessage): Printable {
  return ((message.values ?? []) as readonly ProtoMessage[]).map(valueJson);
}

function valueJson(message: ProtoMessage): Printable {
  const list = message.list_value;
  if (list !== undefined) return listJson(list as ProtoMessage);
  const struct = message.struct_value;
  if (struct !== undefined) return structJson(struct as ProtoMessage);
  const value = message.string_value ?? message.number_value ?? message.bool_value;
  return value === undefined ? null : number(value as Printable);
}
