/** Control, system and ack frames of the WebSocket. kimi.md 3.2. */

export interface FrameType {
  readonly from: "client" | "server";
  readonly class: "system" | "control" | "ack" | "event";
  /** A server of version 2.1.0 answers it with an ack. */
  readonly acked: boolean;
  readonly fields: string;
}

const rows: readonly (readonly [
  type: string,
  from: FrameType["from"],
  frameClass: FrameType["class"],
  acked: boolean,
  fields: string,
])[] = [
  [
    "server_hello",
    "server",
    "system",
    false,
    "ws_connection_id protocol_version heartbeat_ms? max_event_buffer_size capabilities{event_batching compression}",
  ],
  ["ping", "server", "system", false, "nonce"],
  ["resync_required", "server", "system", false, "session_id reason current_seq epoch?"],
  ["error", "server", "system", false, "code msg fatal request_id? details?"],
  [
    "client_hello",
    "client",
    "control",
    true,
    "client_id subscriptions? cursors? agent_filter? (token? accepted, undocumented)",
  ],
  ["subscribe", "client", "control", true, "session_ids cursors? agent_filter? (watch_fs? in August schema, not read)"],
  ["unsubscribe", "client", "control", true, "session_ids"],
  [
    "subscribe_v2",
    "client",
    "control",
    true,
    "session_id transcript{agent|*: off|turn|block|delta} transcript_since{agent|*: seq}?",
  ],
  ["unsubscribe_v2", "client", "control", true, "session_id agent_ids?"],
  ["watch_fs_add", "client", "control", false, "session_id runtime_id? paths recursive?"],
  ["watch_fs_remove", "client", "control", false, "session_id runtime_id? paths"],
  ["abort", "client", "control", false, "session_id prompt_id"],
  ["terminal_attach", "client", "control", false, "session_id terminal_id since_seq?"],
  ["terminal_detach", "client", "control", false, "session_id terminal_id"],
  ["terminal_input", "client", "control", false, "session_id terminal_id data"],
  ["terminal_resize", "client", "control", false, "session_id terminal_id cols rows"],
  ["terminal_close", "client", "control", false, "session_id terminal_id"],
  ["pong", "client", "control", false, "nonce"],
  ["ack", "server", "ack", false, "per control frame"],
  ["transcript.reset", "server", "event", false, "type agent_id snapshot has_more_older seq?"],
  ["transcript.ops", "server", "event", false, "type agent_id ops[] seq?"],
  ["terminal_output", "server", "event", false, "data"],
  ["terminal_exit", "server", "event", false, "exit_code?"],
];

export const frameTypes: ReadonlyMap<string, FrameType> = new Map(
  rows.map(([type, from, frameClass, acked, fields]) => [type, { from, class: frameClass, acked, fields }]),
);
