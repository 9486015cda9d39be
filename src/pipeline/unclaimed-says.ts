/** What the framing alone tells of a message that no dialect claims: how its call ended, an event's name. */
import { type Bytes, utf8 } from "../core/bytes.js";
import { type Printable, privately, secretly, type Words } from "../core/printable.js";
import { type ConnectError, unaryError } from "../decode/connect-error.js";
import { readEndStream } from "../decode/endstream.js";
import { grpcStatus, webTrailers } from "../decode/grpc.js";
import { parseSse } from "../decode/sse.js";
import type { StreamMessage } from "../model/message.js";
import { isSecretHeader } from "../model/secret-headers.js";

const nothing: Words = [];

/** The envelope that closes a Connect stream: JSON, whatever the codec of the others is. */
export function isEndStream(message: StreamMessage): boolean {
  return message.framing === "connect-envelope" && (message.flags & 0x02) !== 0;
}

/** The frame that carries a gRPC-Web call's trailers as text. */
export function isWebTrailer(message: StreamMessage): boolean {
  const isWeb = message.framing === "grpc-web" || message.framing === "grpc-web-text";
  return isWeb && (message.flags & 0x80) !== 0;
}

export function unclaimedSays(message: StreamMessage): Words {
  if (message.fault !== null) return nothing;
  if (isEndStream(message)) return endWords(message.body);
  if (isWebTrailer(message)) return statusWords(message.body);
  if (message.framing === "sse") return eventWords(message.body);
  const mayBeError = message.framing === "whole-body" && message.direction === "down" && message.body[0] === 0x7b;
  const error = mayBeError ? unaryError(message.body) : null;
  // Any JSON may have a key "code": only Connect's own codes make it an error.
  return error === null || error.code !== error.wireCode ? nothing : errorWords(error);
}

/** A code that is none of Connect's is wire text like any other, and read as "unknown". */
function errorWords(error: ConnectError): Words {
  const lead = `error ${error.code}`;
  return error.message === "" ? [lead] : [`${lead}: `, privately(error.message)];
}

function endWords(body: Bytes): Words {
  const end = readEndStream(body);
  if (end.ok) return ["ended ok"];
  return end.error === null ? ["ended, ", end.faults.join("; ")] : ["ended, ", ...errorWords(end.error)];
}

function statusWords(body: Bytes): Words {
  const status = grpcStatus(webTrailers(body));
  if (status === null) return ["ended without a grpc-status"];
  const lead = status.status === 0 ? "ended ok" : `ended, status ${status.status} ${status.code}`;
  return status.message === "" ? [lead] : [`${lead}: `, privately(status.message)];
}

function eventWords(body: Bytes): Words {
  const event = parseSse(body);
  if (event.data === null) return [event.comments.length > 0 ? "comment" : "no data"];
  const size = `${event.data.length} characters`;
  return event.event === "message" ? [size] : ["event ", privately(event.event), `, ${size}`];
}

/** The payload as it is; hidden as a whole where its trailers hold credentials. */
export function endStreamValue(body: Bytes): Printable {
  const text = utf8(body);
  return [...readEndStream(body).metadata.keys()].some(isSecretHeader) ? secretly(text) : privately(text);
}

export function trailersValue(body: Bytes): Printable {
  const value: { [name: string]: Printable } = Object.create(null);
  for (const header of webTrailers(body))
    value[header.name] = isSecretHeader(header.name) ? secretly(header.value) : privately(header.value);
  return value;
}
