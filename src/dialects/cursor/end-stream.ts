/** The EndStream payload: UTF-8 JSON whatever the codec of the stream (protocols/cursor.md 1.6). */
import { type Bytes, utf8 } from "../../core/bytes.js";
import { type Printable, Sensitive, secretly } from "../../core/printable.js";
import { codeOfStatus, connectCodes } from "../../decode/connect-error.js";
import type { Schemas } from "../../model/schema.js";
import { isSecretHeader } from "../../model/secret-headers.js";
import { flag, flat, sub, text } from "./fields.js";
import type { EndStream } from "./model.js";
import { ERROR_DETAILS } from "./types.js";

const codes: ReadonlySet<string> = new Set(connectCodes);

type Json = { readonly [key: string]: unknown };

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parse(body: Bytes): unknown {
  try {
    return JSON.parse(utf8(body)) as unknown;
  } catch {
    return undefined;
  }
}

export function readEndStream(body: Bytes, schemas: Schemas): EndStream {
  const value = parse(body);
  if (!isObject(value)) {
    // A payload that is no JSON object is an error to the client.
    const issue = value === undefined ? "the payload is no JSON" : "the payload is no JSON object";
    return { error: { code: "unknown", message: issue }, details: "", retryable: null, issues: [issue] };
  }
  const issues = metadataIssues(value["metadata"]);
  const error = value["error"];
  if (error === undefined || error === null) return { error: null, details: "", retryable: null, issues };
  return { ...readError(error, schemas, issues), issues };
}

/** A Connect error object, of an EndStream or of a unary answer (1.4). */
function readError(error: unknown, schemas: Schemas, issues: string[]): Omit<EndStream, "issues"> {
  if (!isObject(error)) {
    issues.push("error is no object");
    return { error: { code: "unknown", message: "" }, details: "", retryable: null };
  }
  const { code, message } = error;
  if (typeof code !== "string") issues.push("error.code is missing");
  else if (!codes.has(code)) issues.push(`error.code "${flat(code.slice(0, 60))}" is none of the 16 codes`);
  return {
    error: {
      code: typeof code === "string" ? flat(code) : "unknown",
      message: typeof message === "string" ? flat(message) : "",
    },
    ...readDetails(error["details"], schemas),
  };
}

function readDetails(details: unknown, schemas: Schemas): { details: string; retryable: boolean | null } {
  const first = Array.isArray(details)
    ? details.find((item) => isObject(item) && item["type"] === ERROR_DETAILS)
    : undefined;
  if (!isObject(first) || typeof first["value"] !== "string") return { details: "", retryable: null };
  const decoded = schemas.decode(ERROR_DETAILS, Buffer.from(first["value"], "base64"));
  const custom = sub(decoded.value, "details");
  const kind = schemas.enumName(`${ERROR_DETAILS}.Error`, Number(decoded.value["error"] ?? 0));
  const said = [kind, text(custom, "title"), text(custom, "detail")].filter((part) => part !== "").join(": ");
  return {
    details: flat(said),
    retryable: custom?.["is_retryable"] === undefined ? null : flag(custom, "is_retryable"),
  };
}

function metadataIssues(metadata: unknown): string[] {
  if (metadata === undefined || metadata === null) return [];
  if (!isObject(metadata)) return ["metadata is no object"];
  const issues: string[] = [];
  for (const [name, values] of Object.entries(metadata)) {
    const fine = Array.isArray(values) && values.every((value) => typeof value === "string");
    if (!fine) issues.push(`metadata "${flat(name.slice(0, 60))}" is no array of strings`);
  }
  return issues;
}

/** The answer to a call that failed before its stream began: its JSON, or what the client makes of the status (1.4). */
export function readUnaryError(status: number, body: Bytes, schemas: Schemas): Omit<EndStream, "issues"> {
  const value = parse(body);
  if (isObject(value) && typeof value["code"] === "string") return readError(value, schemas, []);
  return { error: { code: codeOfStatus(status), message: `HTTP ${status}` }, details: "", retryable: null };
}

/** As `frames` prints it: what a server says in words, its details and trailers are content; header values that are secrets are marked as such. */
export function endStreamValue(body: Bytes): Printable {
  const value = parse(body);
  if (value === undefined) return new Sensitive("private", body);
  if (!isObject(value)) return content(value);
  const out: { [key: string]: Printable } = Object.create(null);
  for (const [key, inner] of Object.entries(value)) {
    if (key === "error" && isObject(inner)) out[key] = withoutWords(inner);
    else if (key === "metadata" && isObject(inner)) out[key] = markedMetadata(inner);
    else out[key] = content(inner);
  }
  return out;
}

/** The code stays readable: it is a name of the protocol. */
function withoutWords(error: Json): Printable {
  const out: { [key: string]: Printable } = Object.create(null);
  for (const [key, value] of Object.entries(error))
    out[key] = key === "code" && typeof value === "string" && codes.has(value) ? value : content(value);
  return out;
}

function markedMetadata(metadata: Json): Printable {
  const out: { [name: string]: Printable } = Object.create(null);
  for (const [name, values] of Object.entries(metadata))
    out[name] = isSecretHeader(name) ? secretly(JSON.stringify(values)) : content(values);
  return out;
}

function content(value: unknown): Printable {
  return value === null ? null : new Sensitive("private", value as Exclude<Sensitive["value"], null>);
}
