/** The payload of a Connect EndStream envelope (flag 0x02): JSON, whatever the codec of the messages is. cursor page 1.6. */
import type { Bytes } from "../core/bytes.js";
import { type ConnectError, readConnectError } from "./connect-error.js";
import { parseJson } from "./json.js";

export interface EndStream {
  /** No error: the call succeeded. False too for a payload that is no JSON object. */
  readonly ok: boolean;
  readonly error: ConnectError | null;
  /** Trailers, names as on the wire. They may repeat response headers: redact them by the same list. */
  readonly metadata: ReadonlyMap<string, readonly string[]>;
  /** What is not as the protocol has it, in words; empty for a sound payload. */
  readonly faults: readonly string[];
  /** Whether the payload is a JSON object at all. */
  readonly readable: boolean;
}

const noMetadata: ReadonlyMap<string, readonly string[]> = new Map();

export function readEndStream(body: Bytes): EndStream {
  const { value, fault, duplicates } = parseJson(body);
  if (!(value instanceof Map)) {
    const why =
      fault === null
        ? "the payload is no JSON object"
        : `the payload is no JSON (${fault.why} at byte ${fault.offset})`;
    return { ok: false, error: null, metadata: noMetadata, faults: [why], readable: false };
  }
  const faults = duplicates.map((key) => `key ${JSON.stringify(key)} stands there twice`);
  const metadata = readMetadata(value.get("metadata"), faults);
  const raw = value.get("error");
  if (raw === undefined || raw === null) return { ok: true, error: null, metadata, faults, readable: true };
  if (!(raw instanceof Map)) {
    faults.push("error is no object");
    const error: ConnectError = { code: "unknown", wireCode: null, message: "", details: [] };
    return { ok: false, error, metadata, faults, readable: true };
  }
  return { ok: false, error: readConnectError(raw, faults), metadata, faults, readable: true };
}

function readMetadata(value: unknown, faults: string[]): ReadonlyMap<string, readonly string[]> {
  if (value === undefined || value === null) return noMetadata;
  if (!(value instanceof Map)) {
    faults.push("metadata is no object");
    return noMetadata;
  }
  const out = new Map<string, readonly string[]>();
  for (const [name, values] of value as ReadonlyMap<string, unknown>) {
    const list = Array.isArray(values) ? values.filter((one): one is string => typeof one === "string") : [];
    if (!Array.isArray(values) || list.length !== values.length)
      faults.push(`metadata ${JSON.stringify(name)} is no list of strings`);
    out.set(name, list);
  }
  return out;
}
