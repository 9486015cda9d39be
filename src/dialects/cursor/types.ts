/** Full names of the message types this dialect looks into. */

export const CLIENT = "agent.v1.AgentClientMessage";
export const SERVER = "agent.v1.AgentServerMessage";
export const APPEND = "aiserver.v1.BidiAppendRequest";
export const REQUEST_ID = "aiserver.v1.BidiRequestId";
export const POLL_REQUEST = "aiserver.v1.BidiPollRequest";
export const POLL_RESPONSE = "aiserver.v1.BidiPollResponse";
export const UPLOAD = "agent.v1.UploadConversationBlobsRequest";
export const ERROR_DETAILS = "aiserver.v1.ErrorDetails";
export const STATE = "agent.v1.ConversationStateStructure";
export const TURN = "agent.v1.ConversationTurnStructure";
export const STEP = "agent.v1.ConversationStep";
export const USER_MESSAGE = "agent.v1.UserMessage";
export const RUN_REQUEST = "agent.v1.AgentRunRequest";
export const PREWARM = "agent.v1.PrewarmRequest";
export const ACTION = "agent.v1.ConversationAction";
export const UPDATE = "agent.v1.InteractionUpdate";
export const TOOL_CALL = "agent.v1.ToolCall";
export const EXEC_SERVER = "agent.v1.ExecServerMessage";
export const EXEC_CLIENT = "agent.v1.ExecClientMessage";

/** Types of blobs that are no protobuf message. */
export const JSON_MESSAGE = "json";
export const RAW_BYTES = "bytes";
export const UNKNOWN_TYPE = "unknown";
