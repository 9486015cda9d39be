/** What a blob is, in a few words: "system prompt JSON", "thinking step", "tool step: shell". */
import { utf8 } from "../../core/bytes.js";
import { privately, type Words } from "../../core/printable.js";
import type { BlobGraph } from "./blob-graph.js";
import { emptyDigest } from "./contents.js";
import { listOf, sub, text } from "./fields.js";
import { plural, quoted, shortened } from "./format.js";
import { toolLabel } from "./labels.js";
import { JSON_MESSAGE, RAW_BYTES, STATE, STEP, TOOL_CALL, TURN, UNKNOWN_TYPE, USER_MESSAGE } from "./types.js";

/** Larger JSON blobs are named without looking inside. */
const jsonBytes = 4 * 1024 * 1024;

/** Without content. */
export function blobName(graph: BlobGraph, id: string, type: string): string {
  switch (type) {
    case JSON_MESSAGE:
      return jsonName(graph, id);
    case STEP:
      return stepName(graph, id);
    case TURN:
      return "turn";
    case STATE:
      return "earlier state";
    case USER_MESSAGE:
      return "user message";
    case RAW_BYTES:
      return "bytes";
    case UNKNOWN_TYPE:
      return "blob";
    default:
      return plainName(type);
  }
}

/** `agent.v1.RequestContextMcpsPart` -> "context part mcps", `agent.v1.TodoItem` -> "todo item" */
function plainName(type: string): string {
  const name = type.split(".").pop() ?? type;
  const part = /^RequestContext(\w+)Part$/.exec(name);
  if (part !== null) return `context part ${part[1]!.toLowerCase()}`;
  return name.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
}

function jsonName(graph: BlobGraph, id: string): string {
  const role = jsonMessage(graph, id)?.["role"];
  if (role === "system") return "system prompt JSON";
  return role === "user" || role === "assistant" || role === "tool" ? `${role} message JSON` : "JSON";
}

/** The model message of a JSON blob; undefined where it is no JSON object. */
export function jsonMessage(graph: BlobGraph, id: string): { readonly [key: string]: unknown } | undefined {
  const bytes = (graph.size(id) ?? 0) > jsonBytes ? undefined : graph.content(id);
  if (bytes === undefined) return undefined;
  try {
    const value = JSON.parse(utf8(bytes)) as unknown;
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as { [key: string]: unknown })
      : undefined;
  } catch {
    return undefined;
  }
}

function stepName(graph: BlobGraph, id: string): string {
  const step = graph.message(id, STEP);
  if (step === undefined) return "step";
  if (step["assistant_message"] !== undefined) return "assistant step";
  if (step["thinking_message"] !== undefined) return "thinking step";
  const call = sub(step, "tool_call");
  if (call === undefined) return "step";
  const tool = graph.reading.schemas.branch(TOOL_CALL, call, "tool") ?? "";
  return `tool step ${tool.replace(/_tool_call$/, "").replaceAll("_", " ")}`.trimEnd();
}

/** The beginning of its content, marked as content; empty where there is nothing short to say. */
export function blobSays(graph: BlobGraph, id: string, type: string): Words {
  if (id === emptyDigest) return ["empty"];
  switch (type) {
    case JSON_MESSAGE: {
      const content = jsonMessage(graph, id)?.["content"];
      return typeof content === "string"
        ? [quoted(content)]
        : Array.isArray(content)
          ? [plural(content.length, "part")]
          : [];
    }
    case USER_MESSAGE: {
      const said = text(graph.message(id, type), "text");
      return said === "" ? [] : [quoted(said)];
    }
    case STEP:
      return stepSays(graph, id);
    case TURN: {
      const turn = sub(graph.message(id, type), "agent_conversation_turn");
      return turn === undefined ? [] : [plural(listOf(turn, "steps").length, "step")];
    }
    case STATE:
      return [plural(listOf(graph.message(id, type), "turns").length, "turn")];
    default:
      return [];
  }
}

function stepSays(graph: BlobGraph, id: string): Words {
  const step = graph.message(id, STEP);
  const said = text(sub(step, "assistant_message"), "text") || text(sub(step, "thinking_message"), "text");
  if (said !== "") return [privately(`"${shortened(said)}"`)];
  const call = sub(step, "tool_call");
  const tool = call === undefined ? "" : (graph.reading.schemas.branch(TOOL_CALL, call, "tool") ?? "");
  return call === undefined ? [] : toolLabel(tool, sub(call, tool));
}
