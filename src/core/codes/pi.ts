/** Diagnostic codes of this area: severity, and one sentence where {name} stands for a value of the diagnostic's detail. */
import type { CodeTable } from "../code-table.js";

export const piCodes = {
  "pi.client-frame-refused": {
    severity: "warning",
    text: "a client frame is refused, as the server would: {why}; nothing after it in that direction is read",
  },
  "pi.server-frame-refused": {
    severity: "warning",
    text: "a server frame is refused, as the client would: {why}; nothing after it in that direction is read",
  },
  "pi.frame-over-bound": {
    severity: "warning",
    text: "a frame header declares {declared} bytes, over the bound of {bound}; nothing after it in that direction is read",
  },
  "pi.stream-cut": {
    severity: "warning",
    text: "a pi stream ends inside a frame, {have} of {declared} bytes",
  },
  "pi.stream-gap": {
    severity: "warning",
    text: "bytes of a pi stream are missing ({why}); what follows in that direction cannot be framed",
    remedy: "Record without packet loss, with whole packets (snap length 0).",
  },
  "pi.joined-late": {
    severity: "warning",
    text: "the capture does not show the beginning of a pi connection: rules that need it are not judged",
    remedy: "Start recording before the client connects.",
  },
  "pi.capture-stops": {
    severity: "warning",
    text: "the capture stops before a pi connection ends; {calls} calls are open and {subscriptions} subscriptions live",
  },
  "pi.unknown-version": {
    severity: "warning",
    text: "both sides speak protocol version {version}; known is 8, so frames are read as far as they are alike",
  },
  "pi.many-oddities": {
    severity: "warning",
    text: "more than {limit} oddities on one connection; the rest are not reported one by one",
  },
  "pi.text-frame": {
    severity: "info",
    text: "a text message on a WebSocket that carries pi frames is no part of the stream",
  },
  "pi.index-misfit": {
    severity: "warning",
    text: "the chunk index does not fit the dumps ({why}); the streams are read without times",
    remedy: "Give the index that was written with these two files.",
  },
  "pi.index-line": {
    severity: "warning",
    text: "line {line} of the chunk index is no chunk or event and is skipped",
  },
} as const satisfies CodeTable;
