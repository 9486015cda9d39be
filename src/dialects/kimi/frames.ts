/** A WebSocket text frame -> its class and the fields every kind of frame has. kimi.md 3.2. */
import type { Bytes } from "../../core/bytes.js";
import type { StreamMessage } from "../../model/message.js";
import { at, boolAt, digest, isObject, type JsonObject, numberAt, parseJson, textAt } from "./json.js";
import type { FrameClass, KimiFrame } from "./model.js";
import { eventTypes } from "./tables/events.js";
import { frameTypes } from "./tables/frames.js";

const systemTypes = new Set(["server_hello", "ping", "resync_required"]);
const shortText = 300;

export interface ParsedFrame {
  readonly class: FrameClass;
  readonly type: string;
  readonly value: JsonObject;
  readonly payload: JsonObject;
}

const none: JsonObject = Object.freeze({});

/** Never throws: what is no JSON object with a string `type` is "invalid". */
export function parseFrame(body: Bytes): ParsedFrame {
  const value = parseJson(body);
  const type = textAt(value, "type");
  if (!isObject(value) || type === null) return { class: "invalid", type: "invalid", value: none, payload: none };
  const payload = at(value, "payload");
  return { class: classOf(value, type), type, value, payload: isObject(payload) ? payload : none };
}

function classOf(value: JsonObject, type: string): FrameClass {
  if (type === "ack") return "ack";
  if (systemTypes.has(type)) return "system";
  if (numberAt(value, "seq") !== null) return "event";
  const known = frameTypes.get(type);
  if (known !== undefined) return known.class === "event" ? "event" : known.class;
  return eventTypes.has(type) ? "event" : "control";
}

/** Whether the type is a volatile event by the table. Unknown types answer null. */
export function isVolatileType(type: string): boolean | null {
  if (type.startsWith("transcript.")) return true;
  const known = eventTypes.get(type);
  return known === undefined || known.durability === "own" ? null : known.durability === "volatile";
}

/** The record that is kept of a frame. */
export function keepFrame(message: StreamMessage, parsed: ParsedFrame, ordinal: number): KimiFrame {
  const { value, payload } = parsed;
  const event = parsed.class === "event";
  const delta = textAt(payload, "delta");
  return {
    ordinal,
    direction: message.direction,
    class: parsed.class,
    type: parsed.type,
    id: textAt(value, "id"),
    when: message.mark.when,
    place: message.place,
    bytes: message.body.length,
    seq: event ? numberAt(value, "seq") : null,
    epoch: event ? textAt(value, "epoch") : null,
    volatile: event ? boolAt(value, "volatile") : null,
    offset: event ? numberAt(value, "offset") : null,
    sessionId: event ? textAt(value, "session_id") : textAt(payload, "session_id"),
    code: parsed.class === "ack" ? numberAt(value, "code") : null,
    msg: parsed.class === "ack" ? textAt(value, "msg") : null,
    payload: event ? scalars(payload) : payload,
    digest: event && boolAt(value, "volatile") !== true ? digest(payload) : null,
    deltaLength: delta === null ? null : delta.length,
  };
}

/** Only what the rules read of an event: numbers, booleans and short strings of the top level. */
function scalars(payload: JsonObject): JsonObject {
  const out: Record<string, unknown> = Object.create(null);
  for (const [key, value] of Object.entries(payload)) {
    if (typeof value === "number" || typeof value === "boolean") out[key] = value;
    else if (typeof value === "string" && value.length <= shortText && key !== "delta") out[key] = value;
  }
  return out;
}
