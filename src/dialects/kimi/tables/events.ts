/** The event types of the WebSocket: durability, scope and payload fields. kimi.md 3.5 and 3.6. */

export interface EventType {
  /** `own`: has a counter of its own that is not the session's seq. */
  readonly durability: "durable" | "volatile" | "own";
  /** Sent to every connection, subscribed or not. */
  readonly global: boolean;
  /** Its envelope carries the pseudo-session `__global__`. */
  readonly globalSession: boolean;
  /** Not sent to a connection with a transcript grade above off. */
  readonly suppressed: boolean;
  /** Payload fields; a trailing ? marks optional ones. */
  readonly fields: readonly string[];
}

type Row = readonly [
  type: string,
  durability: EventType["durability"],
  scope: "session" | "global" | "__global__",
  suppressed: boolean,
  fields: string,
];

const rows: readonly Row[] = [
  ["agent.created", "durable", "session", false, ""],
  ["agent.disposed", "durable", "session", false, ""],
  [
    "agent.status.updated",
    "volatile",
    "session",
    true,
    "model? thinkingEffort? contextTokens? maxContextTokens? contextUsage? planMode? swarmMode? towerMode? permission? usage? phase?",
  ],
  ["assistant.delta", "volatile", "session", true, "turnId delta"],
  ["background.task.started", "durable", "session", true, "info"],
  ["background.task.terminated", "durable", "session", true, "info"],
  ["compaction.blocked", "durable", "session", true, "turnId?"],
  ["compaction.cancelled", "durable", "session", true, ""],
  ["compaction.completed", "durable", "session", true, "result"],
  ["compaction.started", "durable", "session", true, "trigger instruction?"],
  ["context.spliced", "durable", "session", true, "deleteCount messages start"],
  ["cron.fired", "durable", "session", true, "origin prompt"],
  ["error", "durable", "session", true, "code message name? details? retryable cause?"],
  [
    "event.approval.requested",
    "durable",
    "session",
    true,
    "action agent_id approval_id created_at expires_at session_id tool_call_id tool_input_display tool_name turn_id",
  ],
  ["event.approval.resolved", "durable", "session", true, "approval_id decision feedback resolved_at"],
  ["event.capability.changed", "volatile", "__global__", false, "capability_id install"],
  ["event.config.changed", "durable", "__global__", false, "changedFields config"],
  ["event.config.warning", "durable", "__global__", false, "warnings"],
  ["event.di.unit_changed", "volatile", "__global__", false, "scope token state error?"],
  ["event.fs.changed", "own", "session", false, "changes coalesced_window_ms truncated? count?"],
  ["event.model_catalog.changed", "durable", "__global__", false, "changed unchanged failed"],
  ["event.plugin.changed", "durable", "__global__", false, ""],
  ["event.question.answered", "durable", "session", true, "answers question_id resolved_at"],
  ["event.question.dismissed", "durable", "session", true, "dismissed_at question_id"],
  [
    "event.question.requested",
    "durable",
    "session",
    true,
    "agent_id created_at question_id questions session_id tool_call_id turn_id",
  ],
  ["event.session.archived", "durable", "__global__", false, "workspace_id"],
  ["event.session.created", "durable", "global", false, "session"],
  ["event.session.deleted", "durable", "__global__", false, "workspace_id"],
  ["event.session.status_changed", "durable", "global", false, "status previous_status current_prompt_id?"],
  [
    "event.session.work_changed",
    "durable",
    "global",
    false,
    "busy main_turn_active? pending_interaction? last_turn_reason?",
  ],
  ["event.workspace.created", "durable", "__global__", false, "workspace"],
  ["event.workspace.deleted", "durable", "__global__", false, "workspace_id root"],
  ["event.workspace.updated", "durable", "__global__", false, "workspace"],
  ["goal.updated", "durable", "session", true, "snapshot change?"],
  ["hook.result", "durable", "session", true, "turnId? hookEvent content blocked?"],
  ["mcp.server.status", "durable", "session", false, "server"],
  [
    "permission.approval.requested",
    "durable",
    "session",
    false,
    "action display id toolCallId toolInput toolName turnId",
  ],
  [
    "permission.approval.resolved",
    "durable",
    "session",
    false,
    "action decision display feedback id toolCallId toolInput toolName turnId",
  ],
  ["plan.revision", "durable", "session", true, ""],
  ["plugin_command.activated", "durable", "session", true, "activationId pluginId commandName commandArgs? trigger"],
  ["prompt.aborted", "durable", "session", true, "promptId abortedAt"],
  ["prompt.completed", "durable", "session", true, "promptId finishedAt reason?"],
  ["prompt.queued", "durable", "session", false, "content promptId queueLength"],
  ["prompt.started", "durable", "session", true, "promptId"],
  ["prompt.steered", "durable", "session", true, "activePromptId promptIds content steeredAt"],
  ["prompt.submitted", "durable", "session", true, "promptId userMessageId status content createdAt"],
  ["session.meta.updated", "durable", "global", false, "title? patch?"],
  ["shell.completed", "volatile", "session", true, "commandId isError taskId?"],
  ["shell.output", "volatile", "session", true, "commandId update taskId?"],
  ["shell.started", "volatile", "session", true, "commandId taskId"],
  ["skill.activated", "durable", "session", true, "activationId skillName skillArgs? trigger skillPath? skillSource?"],
  ["subagent.cancelled", "durable", "session", true, "subagentId"],
  ["subagent.completed", "durable", "session", true, "subagentId resultSummary usage? contextTokens?"],
  ["subagent.failed", "durable", "session", true, "subagentId error"],
  [
    "subagent.spawned",
    "durable",
    "session",
    true,
    "subagentId subagentName parentToolCallId parentToolCallUuid? parentAgentId? callerAgentId? description? swarmIndex? runInBackground model? thinkingEffort? taskId?",
  ],
  ["subagent.started", "durable", "session", true, "subagentId"],
  ["subagent.suspended", "durable", "session", true, "subagentId reason"],
  ["task.notified", "durable", "session", true, ""],
  ["task.started", "durable", "session", true, "info"],
  ["task.terminated", "durable", "session", true, "info"],
  ["thinking.delta", "volatile", "session", true, "turnId delta"],
  ["tool.call.delta", "volatile", "session", true, "turnId toolCallId name? argumentsPart?"],
  ["tool.call.started", "durable", "session", true, "turnId toolCallId name args description? display?"],
  ["tool.list.updated", "durable", "session", false, "reason serverName"],
  ["tool.progress", "volatile", "session", true, "turnId toolCallId update"],
  ["tool.result", "durable", "session", true, "turnId toolCallId output isError? synthetic?"],
  ["transcript.ops", "volatile", "session", false, "agent_id ops seq"],
  ["transcript.reset", "volatile", "session", false, "agent_id has_more_older seq snapshot"],
  ["turn.ended", "durable", "session", true, "turnId reason error? durationMs? interruptReason? traceId?"],
  ["turn.started", "durable", "session", true, "turnId origin prompt? promptId? promptAttachments?"],
  ["turn.steer", "durable", "session", true, ""],
  [
    "turn.step.completed",
    "durable",
    "session",
    true,
    "turnId step stepId? usage? finishReason? llmFirstTokenLatencyMs? llmStreamDurationMs? llmRequestBuildMs? llmServerFirstTokenMs? llmServerDecodeMs? llmClientConsumeMs? llmClientBlockedMs? providerFinishReason? rawFinishReason?",
  ],
  ["turn.step.interrupted", "durable", "session", true, "turnId step stepId? reason message?"],
  [
    "turn.step.retrying",
    "durable",
    "session",
    true,
    "turnId step stepId? failedAttempt nextAttempt maxAttempts delayMs errorName errorMessage statusCode?",
  ],
  ["turn.step.started", "durable", "session", true, "turnId step stepId?"],
  ["warning", "durable", "session", true, "message code?"],
];

export const eventTypes: ReadonlyMap<string, EventType> = new Map(
  rows.map(([type, durability, scope, suppressed, fields]) => [
    type,
    {
      durability,
      global: scope !== "session",
      globalSession: scope === "__global__",
      suppressed,
      fields: fields === "" ? [] : fields.split(" "),
    },
  ]),
);
