/**
 * The RPC paths of the protocol (protocols/cursor.md 1.1). Hosts vary, so only the path counts. For any bidirectional method X there
 * are XSSE and XPoll, and all of them share the one BidiAppend endpoint for their uplink.
 */

export type Role =
  /** Unary uplink of the split modes: one client message. */
  | "append"
  /** Server stream of the split mode, asked for with one BidiRequestId. */
  | "sse"
  /** Bidirectional stream: both directions in one exchange. */
  | "run"
  /** Server stream of the polling mode. */
  | "poll"
  | "upload"
  /** Listed, not decoded. */
  | "other";

export interface Method {
  /** As `frames` prints it: "RunSSE". */
  readonly channel: string;
  readonly role: Role;
  /** The bidirectional method it stands for: "AgentService/Run"; "" for others. Only that one carries agent messages. */
  readonly family: string;
}

export const agentFamily = "AgentService/Run";

const rpcPath = /\/(agent\.v1|aiserver\.v1)\.([A-Za-z]+Service)\/([A-Za-z0-9]+)$/;

const chatStreams = ["StreamUnifiedChatWithTools", "StreamUnifiedChatWithToolsIdempotent"];

const chatOthers: ReadonlySet<string> = new Set([
  "WarmStreamUnifiedChatWithTools",
  "StreamUnifiedChat",
  "GetConversationSummary",
  "StreamSpeculativeSummaries",
  "GetPromptDryRun",
  "StreamFullFileCmdK",
  "WarmFullFileCmdK",
  "ConvertOALToNAL",
]);

/** undefined: not a path of this protocol. `path` comes without its query. */
export function methodOf(path: string): Method | undefined {
  const match = rpcPath.exec(path);
  if (match === null) return undefined;
  const service = match[2]!;
  const name = match[3]!;
  if (match[1] === "agent.v1") return service === "AgentService" ? agentMethod(name) : undefined;
  switch (service) {
    case "BidiService":
      return name === "BidiAppend" ? { channel: name, role: "append", family: "" } : other(name);
    case "ChatService":
      return trio(service, name, chatStreams) ?? (chatOthers.has(name) ? other(name) : undefined);
    case "HealthService":
      return trio(service, name, ["StreamBidi"]);
    case "AiService":
      // Named by their shape only: which methods there are changes between releases.
      return /(SSE|Poll)$/.test(name) ? trio(service, name, [name.replace(/(SSE|Poll)$/, "")]) : undefined;
    default:
      return undefined;
  }
}

function agentMethod(name: string): Method {
  if (name === "UploadConversationBlobs") return { channel: name, role: "upload", family: "" };
  return trio("AgentService", name, ["Run"]) ?? other(name);
}

function trio(service: string, name: string, bases: readonly string[]): Method | undefined {
  for (const base of bases) {
    const family = `${service}/${base}`;
    if (name === base) return { channel: name, role: "run", family };
    if (name === `${base}SSE`) return { channel: name, role: "sse", family };
    if (name === `${base}Poll`) return { channel: name, role: "poll", family };
  }
  return undefined;
}

function other(name: string): Method {
  return { channel: name, role: "other", family: "" };
}
