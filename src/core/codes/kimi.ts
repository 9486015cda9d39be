/** Diagnostic codes of the kimi dialect. */
import type { CodeTable } from "../code-table.js";

export const kimiCodes = {
  "kimi.frame-invalid": {
    severity: "info",
    text: "a WebSocket text of {bytes} bytes is no JSON object with a string type; servers drop such frames without an answer",
  },
  "kimi.unknown-type": {
    severity: "info",
    text: "frame type {type} is not in the tables: a newer protocol; it is shown as it came",
  },
  "kimi.unknown-version": {
    severity: "warning",
    text: "server_hello names protocol version {version}; this reader knows version 2 and goes on as far as it can",
  },
  "kimi.unknown-code": { severity: "info", text: "code {code} is not in the table of error codes" },
  "kimi.turn-start-unseen": {
    severity: "warning",
    text: "turn {turn} was already running when the capture first saw it (at {first}); what came before is not in the capture",
    remedy: "start the capture before the prompt is sent",
  },
  "kimi.delta-gap": { severity: "warning", text: "text of turn {turn} is missing in front of offset {offset}" },
  "kimi.joined-late": {
    severity: "warning",
    text: "the WebSocket's beginning is not in the capture: sessions subscribed before it are unknown",
    remedy: "start the capture before the client connects",
  },
  "kimi.frames-lost": {
    severity: "warning",
    text: "frames of a WebSocket are missing ({why}): events and acks may be absent",
  },
  "kimi.body-damaged": { severity: "warning", text: "a REST body cannot be read ({fault}); its envelope is unknown" },
  "kimi.counted-once": { severity: "info", text: "a {what} is in two inputs; it counts once" },
  "kimi.rpc-invalid": { severity: "warning", text: "a message of {bytes} bytes is no JSON-RPC 2.0 object" },
} as const satisfies CodeTable;
