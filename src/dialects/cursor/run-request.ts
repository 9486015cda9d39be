/** run_request and prewarm_request (protocols/cursor.md 2.4, 2.5), and the blobs that come along with a client message. */
import { type Bytes, hex } from "../../core/bytes.js";
import type { Words } from "../../core/printable.js";
import type { ProtoMessage } from "../../model/schema.js";
import type { ClientPart } from "./client-message.js";
import { bytesOf, deep, listOf, sub, text, textOrNull } from "./fields.js";
import { count, plural, quoted } from "./format.js";
import { type CarriedBlob, noBlobs, noReferences, type RunFacts } from "./model.js";
import { pathText, type Reference, walkReferences } from "./references.js";
import type { Reading } from "./server-message.js";
import { ACTION, PREWARM, RUN_REQUEST } from "./types.js";

/** Text of the user's message in an action; null where the action has none. */
export function promptOf(action: ProtoMessage | undefined, branch: string): string | null {
  const value = sub(action, branch);
  switch (branch) {
    case "user_message_action":
    case "start_plan_action":
      return text(sub(value, "user_message"), "text");
    case "shell_command_action":
      return text(sub(value, "shell_command"), "command");
    case "inject_context_action":
      return (
        textOrNull(deep(value, "user_context", "user_message"), "text") ?? text(sub(value, "system_context"), "content")
      );
    default:
      return null;
  }
}

export function runRequest(
  name: "run_request" | "prewarm_request",
  request: ProtoMessage,
  body: Bytes,
  reading: Reading,
): ClientPart {
  const wanted = sub(request, "action");
  const branch = wanted === undefined ? null : (reading.schemas.branch(ACTION, wanted, "action") ?? null);
  const beside = collect(name === "run_request" ? RUN_REQUEST : PREWARM, request, reading, false).carried;
  const state = sub(request, "conversation_state");
  const facts: RunFacts = {
    type: name === "run_request" ? "run" : "prewarm",
    conversationId: textOrNull(request, "conversation_id"),
    conversationGroupId: textOrNull(request, "conversation_group_id"),
    runId: textOrNull(request, "run_id"),
    agentSessionId: textOrNull(request, "agent_session_id"),
    action: branch,
    prompt: branch === null ? null : promptOf(wanted, branch),
    model: modelOf(request),
    subagentType: textOrNull(request, "subagent_type_name"),
    handle: reading.store.put(body),
    hasState: state !== undefined && Object.keys(state).length > 0,
    stateTurns: listOf(state, "turns").length,
    context: contextMode(wanted, branch),
    carried: [...prefetchedBlobs(request, reading), ...beside],
  };
  return { says: runSays(facts), detail: facts, carried: facts.carried };
}

function runSays(facts: RunFacts): Words {
  const words: (string | Words[number])[] = [];
  if (facts.prompt !== null && facts.prompt !== "")
    words.push(quoted(facts.prompt), ` (${count(facts.prompt.length)} chars)`);
  else if (facts.action !== null) words.push(facts.action.replaceAll("_", " "));
  if (facts.model !== null) words.push(`${words.length > 0 ? ", " : ""}model ${facts.model}`);
  if (facts.stateTurns > 0) words.push(`${words.length > 0 ? ", " : ""}after ${plural(facts.stateTurns, "turn")}`);
  return words;
}

function modelOf(request: ProtoMessage): string | null {
  return (
    textOrNull(sub(request, "requested_model"), "model_id") ??
    textOrNull(sub(request, "model_details"), "model_id") ??
    textOrNull(request, "dev_raw_model_slug")
  );
}

/** protocols/cursor.md 2.9: inline context, references, or both. */
function contextMode(action: ProtoMessage | undefined, branch: string | null): RunFacts["context"] {
  const value = branch === null ? undefined : sub(action, branch);
  const inline = sub(value, "request_context");
  const parts = sub(action, "request_context_parts");
  if (parts === undefined) return inline === undefined ? "none" : "legacy";
  if (sub(parts, "dynamic_context") !== undefined) return inline === undefined ? "ref_only" : "references";
  return inline === undefined ? "references" : "dual";
}

function prefetchedBlobs(request: ProtoMessage, reading: Reading): CarriedBlob[] {
  return listOf(request, "pre_fetched_blobs").map((item, i) =>
    carriedBlob(item as ProtoMessage, "prefetched", `pre_fetched_blobs[${i}]`, reading),
  );
}

/** An id with its value: PreFetchedBlob, BlobEntry. */
export function carriedBlob(entry: ProtoMessage, via: CarriedBlob["via"], path: string, reading: Reading): CarriedBlob {
  const value = bytesOf(entry, "value") ?? new Uint8Array(0);
  return {
    via,
    id: hex(bytesOf(entry, "id") ?? new Uint8Array(0)),
    digest: reading.contents.put(value),
    size: value.length,
    path,
  };
}

/** A run request names every turn of its conversation: those references are walked again when they are needed, not kept. */
export function collect(
  type: string,
  message: ProtoMessage,
  reading: Reading,
  keep = true,
): { readonly references: readonly Reference[]; readonly carried: readonly CarriedBlob[] } {
  const references: Reference[] = [];
  const carried: CarriedBlob[] = [];
  walkReferences(type, message, {
    reference: (base, key, id, target, sure, declared) => {
      if (keep) references.push({ path: pathText(base, key), id: hex(id), target, sure, declared });
    },
    beside: (path, id, data) =>
      carried.push({ via: "inline", id: hex(id), digest: reading.contents.put(data), size: data.length, path }),
  });
  return {
    references: references.length === 0 ? noReferences : references,
    carried: carried.length === 0 ? noBlobs : carried,
  };
}
