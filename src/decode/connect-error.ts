/**
 * Connect's error JSON, as it stands in an EndStream message and in the body of a failed unary call:
 * `{"code": string, "message"?: string, "details"?: [{"type": string, "value": base64 without padding, "debug"?: any}]}`.
 * Connect protocol, "Error Codes" and "Error Details"; cursor page 1.4 and 1.6.
 */
import type { Bytes } from "../core/bytes.js";
import { type JsonObject, type JsonValue, parseJson } from "./json.js";

export const connectCodes = [
  "canceled",
  "unknown",
  "invalid_argument",
  "deadline_exceeded",
  "not_found",
  "already_exists",
  "permission_denied",
  "resource_exhausted",
  "failed_precondition",
  "aborted",
  "out_of_range",
  "unimplemented",
  "internal",
  "unavailable",
  "data_loss",
  "unauthenticated",
] as const;

export type ConnectCode = (typeof connectCodes)[number];

export interface ErrorDetail {
  /** Full message name, without "type.googleapis.com/". */
  readonly type: string;
  /** null: absent, or no base64. */
  readonly value: Bytes | null;
  readonly debug: JsonValue | undefined;
}

export interface ConnectError {
  /** One of the sixteen; "unknown" where the wire has none of them. */
  readonly code: ConnectCode;
  /** As on the wire; null where it is no string. */
  readonly wireCode: string | null;
  readonly message: string;
  readonly details: readonly ErrorDetail[];
}

/** Reads the value of an `error` key, or the body of a failed unary call. `faults` takes what is not as it should be. */
export function readConnectError(value: JsonObject, faults: string[]): ConnectError {
  const code = value.get("code");
  const wireCode = typeof code === "string" ? code : null;
  const known = connectCodes.find((one) => one === wireCode);
  if (known === undefined)
    faults.push(wireCode === null ? "error without a code" : `unknown error code ${JSON.stringify(wireCode)}`);
  const message = value.get("message");
  if (message !== undefined && message !== null && typeof message !== "string")
    faults.push("error message is no string");
  return {
    code: known ?? "unknown",
    wireCode,
    message: typeof message === "string" ? message : "",
    details: readDetails(value.get("details"), faults),
  };
}

function readDetails(value: JsonValue | undefined, faults: string[]): ErrorDetail[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) {
    faults.push("error details are no array");
    return [];
  }
  return (value as readonly JsonValue[]).flatMap((item) => {
    if (!(item instanceof Map) || typeof item.get("type") !== "string") {
      faults.push("an error detail without a type");
      return [];
    }
    const type = (item.get("type") as string).replace(/^.*\//, "");
    const bytes = fromBase64(item.get("value"));
    if (bytes === null && item.has("value")) faults.push(`the value of an error detail ${type} is no base64`);
    return [{ type, value: bytes, debug: item.get("debug") }];
  });
}

/** Standard or URL-safe alphabet, padded or not. */
function fromBase64(value: JsonValue | undefined): Bytes | null {
  if (typeof value !== "string" || !/^[A-Za-z0-9+/_-]*={0,2}$/.test(value)) return null;
  return new Uint8Array(Buffer.from(value, "base64"));
}

/** Body of a failed unary call; null where it is no Connect error. */
export function unaryError(body: Bytes): ConnectError | null {
  const { value } = parseJson(body);
  if (!(value instanceof Map) || typeof value.get("code") !== "string") return null;
  return readConnectError(value, []);
}

/** What a client makes of a failed unary call without error JSON. Connect protocol, "HTTP to Error Code". */
export function codeOfStatus(status: number): ConnectCode {
  switch (status) {
    case 400:
      return "internal";
    case 401:
      return "unauthenticated";
    case 403:
      return "permission_denied";
    case 404:
      return "unimplemented";
    case 429:
    case 502:
    case 503:
    case 504:
      return "unavailable";
    default:
      return "unknown";
  }
}
