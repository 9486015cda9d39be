/** Whether a message carries a blob with a secret inside: the one blob type that has one is the turn (protocols/cursor.md 1.3, 2.15). */
import type { Bytes } from "../../core/bytes.js";
import type { ProtoMessage, Schemas } from "../../model/schema.js";
import { bytesOf, deep, listOf, text } from "./fields.js";
import { CLIENT, SERVER, TURN, UPLOAD } from "./types.js";

export function hasSecretBlob(schemas: Schemas, type: string, body: Bytes): boolean {
  return blobsIn(type, schemas.decode(type, body).value).some((blob) => {
    const turn = schemas.decode(TURN, blob);
    return turn.faults.length === 0 && text(deep(turn.value, "agent_conversation_turn"), "encrypted_model") !== "";
  });
}

function blobsIn(type: string, message: ProtoMessage): Bytes[] {
  const found: (Bytes | undefined)[] = [];
  const values = (holder: ProtoMessage | undefined, field: string) => {
    for (const entry of listOf(holder, field)) found.push(bytesOf(entry as ProtoMessage, "value"));
  };
  if (type === SERVER) found.push(bytesOf(deep(message, "kv_server_message", "set_blob_args"), "blob_data"));
  else if (type === UPLOAD) values(message, "blobs");
  else if (type === CLIENT) {
    found.push(bytesOf(deep(message, "kv_client_message", "get_blob_result"), "blob_data"));
    values(deep(message, "run_request"), "pre_fetched_blobs");
    values(deep(message, "prewarm_request"), "pre_fetched_blobs");
  }
  return found.filter((bytes) => bytes !== undefined);
}
