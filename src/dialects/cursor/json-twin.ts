/** The JSON twin of the protobuf messages (application/json, application/connect+json) in their binary form, so that one path reads both. */
import type { Bytes } from "../../core/bytes.js";
import type { StreamMessage } from "../../model/message.js";
import type { Call } from "./call.js";
import type { Intake } from "./intake.js";
import { isJsonTwin } from "./recognise.js";

/** The message's own body unless its head says JSON; a body that is no JSON of this type stays as it is, and is named. */
export function binaryBody(call: Call, message: StreamMessage, type: string, intake: Intake): Bytes {
  const headers = message.direction === "up" ? call.exchange.request?.headers : call.response?.headers;
  if (!isJsonTwin(headers)) return message.body;
  const twin = intake.reading.schemas.fromJson(type, message.body);
  if (twin === null) {
    intake.note({ code: "cursor.json-undecodable", place: message.place, detail: { type } });
    return message.body;
  }
  if (!twin.complete) intake.note({ code: "cursor.json-incomplete", place: message.place, detail: { type } });
  return twin.bytes;
}
