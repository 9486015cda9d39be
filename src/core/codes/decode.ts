/** Diagnostic codes of this area: severity, and one sentence where {name} stands for a value of the diagnostic's detail. */
import type { CodeTable } from "../code-table.js";

export const decodeCodes = {
  "decode.unary-under-streaming": {
    severity: "warning",
    text: "unary framing under a streaming type: a bare message stands at offset {offset} where envelopes are due (first byte {first}; read as an envelope it would be {length} bytes long)",
    remedy:
      "The peer sent a message without its 5-byte envelope, or a wrong Content-Type; the whole body is shown as one message.",
  },
  "decode.envelope-under-unary": {
    severity: "warning",
    text: "envelope under a unary type: the body of {bytes} bytes is wrapped in a 5-byte envelope (first byte {first})",
    remedy:
      "The peer used the streaming framing for a unary call, or a wrong Content-Type; the body is shown as it is.",
  },
  "decode.message-too-long": {
    severity: "warning",
    text: "a message of {bytes} bytes is over the limit of {limit} and was passed over",
    remedy: "Raise it with --limit messageBytes=SIZE.",
  },
  "decode.bad-length": {
    severity: "warning",
    text: "a frame declares a length of {bytes} bytes (1 to {limit} are possible): nothing behind it in this direction can be framed",
  },
  "decode.message-cut": {
    severity: "warning",
    text: "the direction ends inside a message: {bytes} of {declared} bytes are there",
  },
  "decode.body-cut": {
    severity: "warning",
    text: "the body ends before its time: {bytes} bytes are there",
  },
  "decode.lost-step": {
    severity: "warning",
    text: "bytes are missing before offset {offset}, and a message header with them: the rest of this direction cannot be framed",
  },
  "decode.bad-base64": {
    severity: "warning",
    text: "the gRPC-Web text is no base64 at offset {offset}: the rest of this direction cannot be framed",
  },
  "decode.no-codec": {
    severity: "warning",
    text: "a message is marked as compressed, but its codec ({codec}) is not known or not named",
    remedy:
      "The codec is named by Connect-Content-Encoding or grpc-encoding; gzip, deflate, br and zstd are known (zstd needs the optional package fzstd).",
  },
  "decode.bad-compression": {
    severity: "warning",
    text: "{bytes} compressed bytes do not decompress as {codec}",
  },
  "decode.inflate-limit": {
    severity: "warning",
    text: "{bytes} bytes of {codec} expand beyond {limit} bytes or {ratio} times their size: given up",
    remedy:
      "Raise the bounds with --limit inflatedBytes=SIZE or --limit inflateRatio=N if this is no decompression bomb.",
  },
  "decode.unknown-coding": {
    severity: "warning",
    text: "Content-Encoding {coding} is not known: the body is shown as it is",
  },
  "decode.bad-content-coding": {
    severity: "warning",
    text: "the body does not decompress as {coding} ({why}): what came before the fault is shown",
  },
  "decode.not-encoded": {
    severity: "info",
    text: "the head says Content-Encoding {coding}, the recorded body is not encoded",
  },
} as const satisfies CodeTable;
