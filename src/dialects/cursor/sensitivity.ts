/** Which message fields are secrets, and which are content that a shared report hides (protocols/cursor.md 1.3). */
import type { Sensitivity } from "../../core/printable.js";

const secrets: ReadonlySet<string> = new Set([
  "agent.v1.ApiKeyCredentials.api_key",
  "agent.v1.AzureCredentials.api_key",
  "agent.v1.BedrockCredentials.access_key",
  "agent.v1.BedrockCredentials.secret_key",
  "agent.v1.BedrockCredentials.session_token",
  "agent.v1.ClientLlmGatewayCredential.bearer_token",
  "agent.v1.AgentConversationTurnStructure.encrypted_model",
  "agent.v1.ConversationAction.triggering_auth_id",
  "agent.v1.TriggeringUserInfo.auth_id",
  "agent.v1.TriggeringUserInfo.user_id",
  // Arguments and states of an MCP sign-in carry its credentials; the types are known by name only.
  "agent.v1.InteractionQuery.mcp_auth_request_query",
  "agent.v1.InteractionResponse.mcp_auth_request_response",
  "agent.v1.ToolCall.mcp_auth_tool_call",
]);

/** Fields with content of the user's or the model's, by name, whatever message they stand in. */
const contentFields: ReadonlySet<string> = new Set(
  `active_branch_name additional_info admin_command_denylist after_full_file_content agent_conversation_notes_folder
  agent_shared_notes_folder agent_skills agent_transcripts_folder aliases annotations_json append args args_text_delta artifacts_folder
  attachments before_full_file_content blob_data branch_name button_label button_url cloud_base_branch cloud_rule command
  commit_attribution_message communicate_update_completed_subtitle communicate_update_final_summary completed_subtitle content
  content_path conversation_notes_listing custom_subagents custom_system_prompt cwd data data_binary description detail diff_content
  diff_string directory_tree_root display_name disabled_team_rules durable_skill_blocks error extra_context file_bytes
  file_content_after_write file_contents file_path file_states file_states_v2 file_text filename files final_message final_summary
  folder_path git_repos glob glob_pattern hook_message hooks_additional_context hooks_config ignore init_description initial_content
  inline_content input_schema input_schema_json interleaved_output job label mcp_descriptors mcp_instructions message name
  negative_title non_file_rules objective os_version output_head output_path output_schema_json output_tail path pattern pdf_content
  pending_tool_calls plan plan_file_content plan_file_path plan_file_uri plan_title pr_attribution_message pr_url
  previous_workspace_uris process_working_directory project_folder project_layouts prompt read_paths reason related_cursor_rule_paths
  related_cursor_rules repo_path repository_info replace result_suffix rich_text rules sandbox_network_explicit_allowlist shell
  shared_notes_listing simple_commands skill_options stack_trace stderr stdout step stream_content stream_content_delta
  structured_content subagent_system_reminder suggestion summary summary_json system_reminder target_directory terminals_folder text
  title tools tracked_git_repo_branches transcript_path url user_intent_summary value working_directory workspace_paths
  workspace_project_dir workspace_results`.split(/\s+/),
);

/** Messages that only carry such names as branches or plain marks. */
const notContent: ReadonlySet<string> = new Set([
  "agent.v1.InteractionUpdate.summary",
  "agent.v1.BidiAppendRequest.data",
  "agent.v1.ToolRequestsListedUpdate.call_count",
  "agent.v1.GetBlobResult.error",
  "agent.v1.SetBlobResult.error",
  "aiserver.v1.ErrorDetails.error",
]);

export type SensitivityOf = typeof sensitivity;

/** Fields that hold a whole blob as bytes. */
const blobFields: ReadonlySet<string> = new Set([
  "agent.v1.SetBlobArgs.blob_data",
  "agent.v1.GetBlobResult.blob_data",
  "agent.v1.PreFetchedBlob.value",
  "agent.v1.BlobEntry.value",
]);

/** For a message with blobs in it: where one of them holds a secret of its own, its bytes are secret as a whole. */
export function sensitivityWithBlobs(hasSecretBlob: () => boolean): SensitivityOf {
  let known: boolean | undefined;
  return (type, field) => {
    if (!blobFields.has(`${type}.${field}`)) return sensitivity(type, field);
    known ??= hasSecretBlob();
    return known ? "secret" : "private";
  };
}

export function sensitivity(type: string, field: string): Sensitivity | undefined {
  const full = `${type}.${field}`;
  if (secrets.has(full)) return "secret";
  return contentFields.has(field) && !notContent.has(full) ? "private" : undefined;
}
