/** A few words per event type, for timelines; parts that are content are marked private. */
import { privately, type Words } from "../../core/printable.js";
import type { Step } from "../../model/conversation.js";
import { at, contentText, type JsonObject, numberAt, textAt, textsAt } from "./json.js";
import { quoted } from "./turn-builder.js";

type Say = (payload: JsonObject) => Words;

const sayings: Readonly<Record<string, Say>> = {
  "turn.started": (payload) => prefixed("turn starts", textAt(payload, "prompt")),
  "turn.ended": (payload) => {
    const ms = numberAt(payload, "durationMs");
    const code = textAt(payload, "error", "code");
    return [
      `turn ended: ${textAt(payload, "reason") ?? "?"}${code === null ? "" : ` (${code})`}${ms === null ? "" : ` in ${ms} ms`}`,
    ];
  },
  "turn.step.started": (payload) => [`step ${numberAt(payload, "step") ?? "?"} starts`],
  "turn.step.completed": (payload) => {
    const output = numberAt(payload, "usage", "output");
    const reason = textAt(payload, "finishReason");
    const facts = [output === null ? "" : `${output} tokens out`, reason ?? ""].filter((fact) => fact !== "");
    return [`step ${numberAt(payload, "step") ?? "?"} done${facts.length === 0 ? "" : `: ${facts.join(", ")}`}`];
  },
  "turn.step.interrupted": (payload) => [
    `step ${numberAt(payload, "step") ?? "?"} interrupted: ${textAt(payload, "reason") ?? "?"}`,
  ],
  "turn.step.retrying": (payload) => [
    `step ${numberAt(payload, "step") ?? "?"} retries (attempt ${numberAt(payload, "nextAttempt") ?? "?"} of ${numberAt(payload, "maxAttempts") ?? "?"})`,
  ],
  "assistant.delta": (payload) => quoted(textAt(payload, "delta") ?? ""),
  "thinking.delta": (payload) => ["thinks ", ...quoted(textAt(payload, "delta") ?? "")],
  "tool.call.delta": (payload) => [`arguments of ${textAt(payload, "name") ?? textAt(payload, "toolCallId") ?? "?"}`],
  "tool.call.started": (payload) => [`${textAt(payload, "name") ?? "?"} `, ...argument(at(payload, "args"))],
  "tool.progress": (payload) => [
    `${textAt(payload, "update", "kind") ?? "output"} `,
    ...quoted(textAt(payload, "update", "text") ?? ""),
  ],
  "tool.result": (payload) => [
    at(payload, "isError") === true ? "failed " : "result ",
    ...quoted(contentText(at(payload, "output")) ?? JSON.stringify(at(payload, "output") ?? null)),
  ],
  "prompt.submitted": (payload) => prefixed("prompt accepted", contentText(at(payload, "content"))),
  "prompt.queued": (payload) => [`prompt queued (${numberAt(payload, "queueLength") ?? "?"} waiting)`],
  "prompt.completed": () => ["prompt completed"],
  "prompt.aborted": () => ["prompt aborted"],
  "agent.created": (payload) => [`agent ${textAt(payload, "agentId") ?? "?"} created`],
  "agent.status.updated": (payload) => {
    const phase = textAt(payload, "phase", "kind");
    const tokens = numberAt(payload, "contextTokens");
    return [phase !== null ? `phase ${phase}` : tokens !== null ? `context ${tokens} tokens` : "status"];
  },
  "event.session.work_changed": (payload) => {
    const waiting = textAt(payload, "pending_interaction");
    return [
      `${at(payload, "busy") === true ? "busy" : "idle"}${waiting === null || waiting === "none" ? "" : `, waits for ${waiting}`}`,
    ];
  },
  "session.meta.updated": (payload) => prefixed("session title", textAt(payload, "title")),
  "event.approval.requested": (payload) => [
    `asks to run ${textAt(payload, "tool_name") ?? "?"}: `,
    ...quoted(textAt(payload, "action") ?? ""),
  ],
  "event.approval.resolved": (payload) => [`approval ${textAt(payload, "decision") ?? "resolved"}`],
  "permission.approval.requested": (payload) => [
    `permission for ${textAt(payload, "toolName") ?? "?"}: `,
    ...quoted(textAt(payload, "action") ?? ""),
  ],
  "permission.approval.resolved": (payload) => [`permission ${textAt(payload, "decision") ?? "resolved"}`],
  "event.question.requested": () => ["asks the user a question"],
  "event.question.answered": () => ["question answered"],
  "event.question.dismissed": () => ["question dismissed"],
  "subagent.spawned": (payload) => [
    `subagent ${textAt(payload, "subagentId") ?? "?"} (${textAt(payload, "subagentName") ?? "?"}) spawned`,
  ],
  "subagent.started": (payload) => [`subagent ${textAt(payload, "subagentId") ?? "?"} starts`],
  "subagent.completed": (payload) => [
    `subagent ${textAt(payload, "subagentId") ?? "?"} done `,
    ...quoted(textAt(payload, "resultSummary") ?? ""),
  ],
  "subagent.failed": (payload) => [`subagent ${textAt(payload, "subagentId") ?? "?"} failed`],
  "context.spliced": (payload) => {
    const messages = at(payload, "messages");
    return [
      `context changed: ${Array.isArray(messages) ? messages.length : 0} in, ${numberAt(payload, "deleteCount") ?? 0} out`,
    ];
  },
  error: (payload) => [`error ${textAt(payload, "code") ?? "?"}: `, ...quoted(textAt(payload, "message") ?? "")],
  warning: (payload) => quoted(textAt(payload, "message") ?? ""),
  "transcript.ops": (payload) => {
    const ops = at(payload, "ops");
    const kinds = Array.isArray(ops) ? [...new Set(ops.map((op) => textAt(op, "op") ?? "?"))] : [];
    return [kinds.join(", ")];
  },
  server_hello: (payload) => [
    `protocol ${numberAt(payload, "protocol_version") ?? "?"}, connection ${textAt(payload, "ws_connection_id") ?? "?"}`,
  ],
  client_hello: (payload) => [`client ${textAt(payload, "client_id") ?? "?"}`],
  subscribe: (payload) => [`to ${sessions(payload)}`],
  unsubscribe: (payload) => [`from ${sessions(payload)}`],
  subscribe_v2: (payload) => [`to the transcript of ${textAt(payload, "session_id") ?? "?"}`],
  unsubscribe_v2: (payload) => [`from the transcript of ${textAt(payload, "session_id") ?? "?"}`],
  resync_required: (payload) => [
    `${textAt(payload, "session_id") ?? "?"}: ${textAt(payload, "reason") ?? "?"}, server is at seq ${numberAt(payload, "current_seq") ?? "?"}`,
  ],
};

export function saysOf(type: string, payload: JsonObject): Words {
  return Object.hasOwn(sayings, type) ? sayings[type]!(payload) : [];
}

/** An ack has no payload type of its own: what it accepted and refused. */
export function saysOfAck(code: number | null, payload: JsonObject): Words {
  const list = (key: string) => textsAt(payload, key).length;
  const parts = [
    list("accepted") + list("accepted_subscriptions") > 0
      ? `${list("accepted") + list("accepted_subscriptions")} accepted`
      : "",
    list("not_found") > 0 ? `${list("not_found")} not found` : "",
    list("resync_required") > 0 ? `${list("resync_required")} to resync` : "",
  ].filter((part) => part !== "");
  return [code === 0 || code === null ? parts.join(", ") || "ok" : `code ${code}`];
}

export function laneOf(type: string): Step["lane"] {
  if (/^(assistant|thinking)\.|^turn\.step|^tool\.call\.delta/.test(type)) return "model";
  if (/^(tool|shell|task|background|subagent)\./.test(type)) return "exec";
  if (/approval|question/.test(type)) return "interaction";
  if (/^(context|transcript|session|event\.session|agent\.status|compaction|goal)/.test(type)) return "state";
  if (/^(turn|prompt|agent)\./.test(type)) return "session";
  return "control";
}

const folded = new Set([
  "assistant.delta",
  "thinking.delta",
  "tool.call.delta",
  "tool.progress",
  "agent.status.updated",
  "transcript.ops",
  "shell.output",
  "ping",
  "pong",
]);

export function isFolded(type: string): boolean {
  return folded.has(type);
}

function prefixed(what: string, text: string | null): Words {
  return text === null || text === "" ? [what] : [`${what}: `, ...quoted(text)];
}

/** The argument that says most: a command, a path, a query. */
function argument(args: unknown): Words {
  for (const key of ["command", "path", "file_path", "pattern", "query", "url", "prompt", "description"]) {
    const value = textAt(args, key);
    if (value !== null)
      return [privately(key === "command" ? `$ ${value.replace(/\s+/g, " ").slice(0, 80)}` : value.slice(0, 80))];
  }
  return [];
}

function sessions(payload: JsonObject): string {
  const ids = textsAt(payload, "session_ids");
  return ids.length === 1 ? ids[0]! : `${ids.length} sessions`;
}
