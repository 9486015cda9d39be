/** The envelopes of protocol version 8, both directions: the pi page, section 4. Unknown properties are refused everywhere. */
import type { CborMap, CborValue } from "../../decode/cbor.js";
import type { Direction } from "../../model/exchange.js";
import { clip, isCount, isMap, isName, isServerId, keysFault, kindOf, type ShapeFault } from "./shape.js";

export const protocolVersion = 8;

/** sessionId and attachmentId are both there or both null. */
export interface Target {
  readonly serverId: string;
  readonly sessionId: string | null;
  readonly attachmentId: string | null;
}

export interface WireError {
  readonly code: string;
  readonly message: string;
}

export type Envelope =
  | { readonly type: "hello"; readonly version: number; readonly serverId: string | null }
  | { readonly type: "request"; readonly id: string; readonly target: Target; readonly call: CborValue }
  | { readonly type: "cancel"; readonly id: string; readonly target: Target }
  | { readonly type: "hello_error"; readonly error: WireError }
  /** `result` undefined: the method returned nothing. */
  | { readonly type: "response"; readonly id: string; readonly ok: true; readonly result: CborValue | undefined }
  | { readonly type: "response"; readonly id: string; readonly ok: false; readonly error: WireError }
  | { readonly type: "service_update"; readonly subscriptionId: string; readonly update: CborValue }
  | { readonly type: "attachment"; readonly attachment: Target | null };

export type EnvelopeType = Envelope["type"];

export type EnvelopeResult =
  | { readonly ok: true; readonly envelope: Envelope }
  | { readonly ok: false; readonly fault: ShapeFault };

type Reader = (map: CborMap, version: number) => Envelope | ShapeFault;

const clientTypes: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ["hello", clientHello],
  ["request", request],
  ["cancel", cancel],
]);
const serverTypes: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ["hello", serverHello],
  ["hello_error", helloError],
  ["response", response],
  ["service_update", serviceUpdate],
  ["attachment", attachment],
]);

/** Whether this is the type of any envelope: used to recognise a stream whose first frame is not a hello. */
export function isEnvelopeType(type: string): boolean {
  return clientTypes.has(type) || serverTypes.has(type);
}

/** `version`: the one a server hello has to carry; 8 unless both sides agree on another. */
export function readEnvelope(direction: Direction, value: CborValue, version = protocolVersion): EnvelopeResult {
  if (!isMap(value)) return { ok: false, fault: { path: "", says: `the payload is ${kindOf(value)}, not a map` } };
  const type = value.get("type");
  if (typeof type !== "string") return { ok: false, fault: { path: "type", says: `is ${kindOf(type)}, not a text` } };
  const reader = (direction === "up" ? clientTypes : serverTypes).get(type);
  if (reader === undefined) {
    const side = direction === "up" ? "client" : "server";
    const other = (direction === "up" ? serverTypes : clientTypes).has(type) ? "the other side's" : "no known";
    return { ok: false, fault: { path: "type", says: `"${clip(type)}" is ${other} envelope, and a ${side} sent it` } };
  }
  const read = reader(value, version);
  return "says" in read ? { ok: false, fault: read } : { ok: true, envelope: read };
}

function clientHello(map: CborMap): Envelope | ShapeFault {
  const fault = keysFault(map, "", ["type", "version"]);
  if (fault !== null) return fault;
  const version = map.get("version");
  return isCount(version) ? { type: "hello", version, serverId: null } : wrong("version", "an integer from 0", version);
}

function serverHello(map: CborMap, version: number): Envelope | ShapeFault {
  const fault = keysFault(map, "", ["type", "version", "serverId"]);
  if (fault !== null) return fault;
  if (map.get("version") !== version) return wrong("version", `exactly ${version}`, map.get("version"));
  const serverId = map.get("serverId");
  return isServerId(serverId) ? { type: "hello", version, serverId } : wrong("serverId", serverIdForm, serverId);
}

function request(map: CborMap): Envelope | ShapeFault {
  const fault = keysFault(map, "", ["type", "id", "target", "call"]);
  if (fault !== null) return fault;
  const id = map.get("id");
  if (!isName(id)) return wrong("id", aName, id);
  const target = readTarget(map.get("target"), "target");
  return "says" in target ? target : { type: "request", id, target, call: map.get("call")! };
}

function cancel(map: CborMap): Envelope | ShapeFault {
  const fault = keysFault(map, "", ["type", "id", "target"]);
  if (fault !== null) return fault;
  const id = map.get("id");
  if (!isName(id)) return wrong("id", aName, id);
  const target = readTarget(map.get("target"), "target");
  return "says" in target ? target : { type: "cancel", id, target };
}

function helloError(map: CborMap): Envelope | ShapeFault {
  const fault = keysFault(map, "", ["type", "error"]);
  if (fault !== null) return fault;
  const error = readError(map.get("error"));
  return "says" in error ? error : { type: "hello_error", error };
}

function response(map: CborMap): Envelope | ShapeFault {
  const id = map.get("id");
  if (!isName(id)) return wrong("id", aName, id);
  const ok = map.get("ok");
  if (ok === true) {
    const fault = keysFault(map, "", ["type", "id", "ok"], ["result"]);
    return fault ?? { type: "response", id, ok, result: map.get("result") };
  }
  if (ok !== false) return wrong("ok", "true or false", ok);
  const fault = keysFault(map, "", ["type", "id", "ok", "error"]);
  if (fault !== null) return fault;
  const error = readError(map.get("error"));
  return "says" in error ? error : { type: "response", id, ok, error };
}

function serviceUpdate(map: CborMap): Envelope | ShapeFault {
  const fault = keysFault(map, "", ["type", "subscriptionId", "update"]);
  if (fault !== null) return fault;
  const subscriptionId = map.get("subscriptionId");
  if (!isName(subscriptionId)) return wrong("subscriptionId", aName, subscriptionId);
  return { type: "service_update", subscriptionId, update: map.get("update")! };
}

function attachment(map: CborMap): Envelope | ShapeFault {
  const fault = keysFault(map, "", ["type", "attachment"]);
  if (fault !== null) return fault;
  const value = map.get("attachment")!;
  if (value === null) return { type: "attachment", attachment: null };
  const target = readTarget(value, "attachment");
  if ("says" in target) return target;
  if (target.sessionId === null) return { path: "attachment.sessionId", says: "is missing" };
  return { type: "attachment", attachment: target };
}

function readTarget(value: CborValue | undefined, path: string): Target | ShapeFault {
  if (!isMap(value)) return wrong(path, "a map", value);
  const session = value.has("sessionId") || value.has("attachmentId");
  const fault = keysFault(value, path, session ? ["serverId", "sessionId", "attachmentId"] : ["serverId"]);
  if (fault !== null) return fault;
  const serverId = value.get("serverId");
  if (!isServerId(serverId)) return wrong(`${path}.serverId`, serverIdForm, serverId);
  if (!session) return { serverId, sessionId: null, attachmentId: null };
  const sessionId = value.get("sessionId");
  const attachmentId = value.get("attachmentId");
  if (!isName(sessionId)) return wrong(`${path}.sessionId`, aName, sessionId);
  if (!isName(attachmentId)) return wrong(`${path}.attachmentId`, aName, attachmentId);
  return { serverId, sessionId, attachmentId };
}

function readError(value: CborValue | undefined): WireError | ShapeFault {
  if (!isMap(value)) return wrong("error", "a map", value);
  const fault = keysFault(value, "error", ["code", "message"]);
  if (fault !== null) return fault;
  const code = value.get("code");
  const message = value.get("message");
  if (!isName(code)) return wrong("error.code", aName, code);
  return typeof message === "string" ? { code, message } : wrong("error.message", "a text", message);
}

const aName = "a text of at least one character";
const serverIdForm = "a lowercase UUID of version 4";

function wrong(path: string, due: string, value: CborValue | undefined): ShapeFault {
  return { path, says: `is ${kindOf(value)} where ${due} is due` };
}

export function sameTarget(a: Target, b: Target): boolean {
  return a.serverId === b.serverId && a.sessionId === b.sessionId && a.attachmentId === b.attachmentId;
}
