/** UploadConversationBlobs: blobs that the client sends outside of any run (protocols/cursor.md 2.13). */
import type { Place } from "../../core/place.js";
import type { StreamMessage } from "../../model/message.js";
import type { ProtoMessage } from "../../model/schema.js";
import type { Call } from "./call.js";
import { listOf, textOrNull } from "./fields.js";
import { plural } from "./format.js";
import type { Intake } from "./intake.js";
import { binaryBody } from "./json-twin.js";
import type { CarriedBlob } from "./model.js";
import { carriedBlob } from "./run-request.js";
import { UPLOAD } from "./types.js";

export interface UploadedBlob {
  readonly blob: CarriedBlob;
  readonly conversationId: string | null;
  readonly requestId: string | null;
  readonly place: Place;
  readonly damaged: boolean;
}

export function takeUpload(call: Call, message: StreamMessage, intake: Intake): UploadedBlob[] {
  if (message.fault !== null && message.fault !== "enveloped") return [];
  const body = message.fault === "enveloped" ? message.body.subarray(5) : binaryBody(call, message, UPLOAD, intake);
  const decoded = intake.reading.schemas.decode(UPLOAD, body);
  const conversationId = textOrNull(decoded.value, "conversation_id");
  const blobs = listOf(decoded.value, "blobs");
  intake.frame({
    message,
    body,
    type: UPLOAD,
    kind: "upload",
    channel: call.method.channel,
    says: [plural(blobs.length, "blob")],
    log: null,
  });
  return blobs.map((entry, i) => ({
    blob: carriedBlob(entry as ProtoMessage, "upload", `blobs[${i}]`, intake.reading),
    conversationId,
    requestId: call.headerId === "" ? null : call.headerId,
    place: message.place,
    damaged: message.evidence === "lossy-utf8",
  }));
}
