/**
 * Which fields hold blob ids, and what each blob is (protocols/cursor.md 4): the id carries no type, so the referring field decides.
 * Walks a decoded message along a table and reports every reference, also those inside inline messages.
 */
import { type Bytes, hex } from "../../core/bytes.js";
import type { ProtoMessage, ProtoValue } from "../../model/schema.js";
import { isMessage } from "./fields.js";
import { JSON_MESSAGE, RAW_BYTES, STATE, STEP, TURN, USER_MESSAGE } from "./types.js";

export interface Reference {
  /** "turns[3]", "agent_conversation_turn.steps[0]" from the message it stands in. */
  readonly path: string;
  /** Hex, of any length. */
  readonly id: string;
  readonly target: string;
  /** False where the protocol page says that the bytes may be inline or of another kind. */
  readonly sure: boolean;
  /** Length the referring message declares; null where it declares none. */
  readonly declared: number | null;
}

interface FieldRule {
  /** A blob id (or a list or map of them) of this type… */
  readonly target?: string;
  readonly sure?: boolean;
  /** …with its length in this sibling field… */
  readonly length?: string;
  /** …or an inline message (or a list or map of them) to look into. */
  readonly inline?: string;
}

type Rules = Readonly<Record<string, FieldRule>>;

const blob = (target: string, sure = true): FieldRule => ({ target, sure });
const part = (name: string, length: string): FieldRule => ({
  target: `agent.v1.RequestContext${name}Part`,
  sure: true,
  length,
});
const into = (type: string): FieldRule => ({ inline: `agent.v1.${type}` });

const media: Rules = { blob_id: blob(RAW_BYTES, false), blob_id_with_data: { inline: "media" } };
const attachment: Rules = { blob_id: blob(RAW_BYTES, false) };

const table: Readonly<Record<string, Rules>> = {
  [STATE]: {
    root_prompt_messages_json: blob(JSON_MESSAGE),
    turns: blob(TURN),
    todos: blob("agent.v1.TodoItem"),
    summary: blob("agent.v1.ConversationSummary"),
    plan: blob("agent.v1.ConversationPlan", false),
    summary_archive: blob("agent.v1.ConversationSummaryArchive", false),
    summary_archives: blob("agent.v1.ConversationSummaryArchive"),
    file_states: blob(RAW_BYTES, false),
    file_states_v2: into("FileStateStructure"),
    subagent_state_refs: blob("agent.v1.SubagentPersistedState"),
    subagent_states: into("SubagentPersistedState"),
    token_details: into("ConversationTokenDetails"),
  },
  "agent.v1.FileStateStructure": { content: blob(RAW_BYTES, false), initial_content: blob(RAW_BYTES, false) },
  "agent.v1.SubagentPersistedState": { conversation_state: { inline: STATE } },
  "agent.v1.ConversationTokenDetails": {
    prompt_context_usage_snapshot_blob_id: blob("agent.v1.PromptContextUsageSnapshot"),
  },
  "agent.v1.PromptContextUsageSnapshot": { root_prompt_messages_json: blob(JSON_MESSAGE) },
  "agent.v1.ConversationSummaryArchive": {
    summarized_messages: blob(JSON_MESSAGE),
    summary_message: blob(JSON_MESSAGE, false),
  },
  [TURN]: {
    agent_conversation_turn: into("AgentConversationTurnStructure"),
    shell_conversation_turn: into("ShellConversationTurnStructure"),
  },
  "agent.v1.AgentConversationTurnStructure": { user_message: blob(USER_MESSAGE), steps: blob(STEP) },
  "agent.v1.ShellConversationTurnStructure": {
    shell_command: blob("agent.v1.ShellCommand"),
    shell_output: blob("agent.v1.ShellOutput"),
  },
  [USER_MESSAGE]: {
    conversation_state_blob_id: blob(STATE),
    text_blob_id: blob(RAW_BYTES, false),
    rich_text_blob_id: blob(RAW_BYTES, false),
    selected_context: into("SelectedContext"),
  },
  "agent.v1.SelectedContext": {
    selected_images: { inline: "media" },
    selected_videos: { inline: "media" },
    selected_documents: { inline: "media" },
    external_links: { inline: "attachment" },
    selected_pull_requests: { inline: "attachment" },
    git_pr_diff_selections: { inline: "attachment" },
    extra_context_entries: { inline: "attachment" },
    invocation_context: { inline: "attachment" },
  },
  media,
  attachment,
  [STEP]: { tool_call: into("ToolCall") },
  "agent.v1.ToolCall": {
    read_tool_call: into("ReadToolCall"),
    truncated_tool_call: into("TruncatedToolCall"),
    task_tool_call: into("TaskToolCall"),
  },
  "agent.v1.ReadToolCall": { result: into("ReadToolResult") },
  "agent.v1.ReadToolResult": { success: into("ReadToolSuccess") },
  "agent.v1.ReadToolSuccess": { data_blob_id: blob(RAW_BYTES, false), content_blob_id: blob(RAW_BYTES, false) },
  "agent.v1.TruncatedToolCall": { original_step_blob_id: blob(STEP) },
  "agent.v1.TaskToolCall": { result: into("TaskResult") },
  "agent.v1.TaskResult": { success: into("TaskSuccess") },
  "agent.v1.TaskSuccess": { conversation_steps: { inline: STEP } },
  "agent.v1.AgentRunRequest": { conversation_state: { inline: STATE }, action: into("ConversationAction") },
  "agent.v1.PrewarmRequest": { conversation_state: { inline: STATE } },
  "agent.v1.ConversationAction": {
    user_message_action: into("UserMessageAction"),
    start_plan_action: into("StartPlanAction"),
    subscription_notification_action: into("SubscriptionNotificationAction"),
    inject_context_action: into("InjectContextAction"),
    request_context_parts: into("RequestContextPartReferences"),
  },
  "agent.v1.UserMessageAction": {
    user_message: { inline: USER_MESSAGE },
    prepend_user_messages: { inline: USER_MESSAGE },
  },
  "agent.v1.StartPlanAction": { user_message: { inline: USER_MESSAGE } },
  "agent.v1.SubscriptionNotificationAction": { notifications: { inline: USER_MESSAGE } },
  "agent.v1.InjectContextAction": { user_context: into("UserContextInjection") },
  "agent.v1.UserContextInjection": { user_message: { inline: USER_MESSAGE } },
  "agent.v1.RequestContextPartReferences": {
    rules_blob_id: part("Rules", "rules_byte_length"),
    skills_blob_id: part("Skills", "skills_byte_length"),
    subagents_blob_id: part("Subagents", "subagents_byte_length"),
    mcps_blob_id: part("Mcps", "mcps_byte_length"),
  },
  "agent.v1.InteractionUpdate": {
    user_message_appended: into("UserMessageAppendedUpdate"),
    tool_call_started: into("ToolCallStartedUpdate"),
    tool_call_completed: into("ToolCallCompletedUpdate"),
  },
  "agent.v1.UserMessageAppendedUpdate": { user_message: { inline: USER_MESSAGE } },
  "agent.v1.ToolCallStartedUpdate": { tool_call: into("ToolCall") },
  "agent.v1.ToolCallCompletedUpdate": { tool_call: into("ToolCall") },
  "agent.v1.ExecClientMessage": { read_result: into("ReadResult"), redacted_read_result: into("ReadResult") },
  "agent.v1.ReadResult": { success: into("ReadSuccess") },
  "agent.v1.ReadSuccess": { output_blob_id: blob(RAW_BYTES, false) },
};

/** Every row of the table: type, field, what it refers to ("" where it is only looked into). */
export function referenceFields(): { type: string; field: string; target: string; length: string }[] {
  return Object.entries(table).flatMap(([type, rules]) =>
    Object.entries(rules).map(([field, rule]) => ({
      type,
      field,
      target: rule.target ?? "",
      length: rule.length ?? "",
    })),
  );
}

/** Whether blobs of this type can refer to other blobs. */
export function refers(type: string): boolean {
  return Object.hasOwn(table, type);
}

/** Where a reference stands: field path, and the index or key in its last list or map. Joined only when somebody prints it. */
export type PathKey = number | string | null;

export function pathText(base: string, key: PathKey): string {
  return key === null ? base : typeof key === "number" ? `${base}[${key}]` : `${base}[${JSON.stringify(key)}]`;
}

export interface ReferenceSink {
  reference(base: string, key: PathKey, id: Bytes, target: string, sure: boolean, declared: number | null): void;
  /** An inline blob beside its id (`blob_id_with_data`): both stand in the message, so the hash can be checked. */
  beside?(path: string, id: Bytes, data: Bytes): void;
}

/** Inline states nest (subagents of subagents); the decoder has bounded that already. */
export function walkReferences(type: string, message: ProtoMessage, sink: ReferenceSink, prefix = ""): void {
  const rules = Object.hasOwn(table, type) ? table[type]! : undefined;
  if (rules === undefined) return;
  for (const field in message) {
    const rule = Object.hasOwn(rules, field) ? rules[field]! : undefined;
    if (rule === undefined) continue;
    const declared = rule.length === undefined ? null : declaredLength(message, rule.length);
    each(message[field]!, (value, key) => {
      if (rule.inline !== undefined) {
        if (isMessage(value)) inline(rule.inline, value, sink, pathText(prefix + field, key));
      } else if (value instanceof Uint8Array) {
        sink.reference(prefix + field, key, value, rule.target!, rule.sure !== false, declared);
      }
    });
  }
}

function inline(type: string, message: ProtoMessage, sink: ReferenceSink, path: string): void {
  const { blob_id: id, data } = message;
  if (type === "media" && id instanceof Uint8Array && data instanceof Uint8Array) sink.beside?.(path, id, data);
  walkReferences(type, message, sink, `${path}.`);
}

function declaredLength(message: ProtoMessage, field: string): number {
  const value = message[field];
  return typeof value === "number" ? value : 0;
}

function each(value: ProtoValue, take: (value: ProtoValue, key: PathKey) => void): void {
  if (Array.isArray(value)) for (let i = 0; i < value.length; i++) take(value[i]!, i);
  else if (value instanceof Map) for (const [key, item] of value) take(item, String(key));
  else take(value, null);
}

/** All references of one message as a list. */
export function referencesOf(type: string, message: ProtoMessage): Reference[] {
  const out: Reference[] = [];
  walkReferences(type, message, {
    reference: (base, key, id, target, sure, declared) =>
      out.push({ path: pathText(base, key), id: hex(id), target, sure, declared }),
  });
  return out;
}
