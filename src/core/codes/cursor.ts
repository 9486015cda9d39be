/** Diagnostic codes of this area: severity, and one sentence where {name} stands for a value of the diagnostic's detail. */
import type { CodeTable } from "../code-table.js";

export const cursorCodes = {
  "cursor.append-lost": {
    severity: "warning",
    text: "a BidiAppend body went through a lossy text decoding and its message cannot be won back (seqno {seqno})",
    remedy:
      "record with a tool that writes binary request bodies as base64 (mitmproxy, HTTP Toolkit), or capture packets",
  },
  "cursor.append-salvaged": {
    severity: "info",
    text: "a BidiAppend body went through a lossy text decoding; its message is plain hex text and was won back whole (seqno {seqno})",
  },
  "cursor.append-undecodable": {
    severity: "warning",
    text: "the body of a BidiAppend is no BidiAppendRequest: {fault}",
  },
  "cursor.append-empty": {
    severity: "warning",
    text: "a BidiAppend carries no client message: neither data nor data_binary is there",
  },
  "cursor.append-missing-body": {
    severity: "warning",
    text: "the capture does not hold the body of a BidiAppend ({why})",
  },
  "cursor.append-without-request-id": {
    severity: "warning",
    text: "a BidiAppend names no request id, neither in its body nor in x-request-id: it stands as a turn of its own",
  },
  "cursor.seqno-inferred": {
    severity: "warning",
    text: "append_seqno of {count} appends of request {request} is damaged; their order of sending decides ({seqnos})",
  },
  "cursor.seqno-unknown": {
    severity: "warning",
    text: "append_seqno of {count} appends of request {request} is damaged and cannot be told from their order",
  },
  "cursor.client-message-unreadable": {
    severity: "warning",
    text: "a message of a Run request cannot be read: {fault}",
  },
  "cursor.frame-unreadable": {
    severity: "warning",
    text: "the payload of a downlink envelope cannot be read: {fault}",
  },
  "cursor.request-not-enveloped": {
    severity: "warning",
    text: "a stream was asked for with a bare message where one envelope is due",
  },
  "cursor.json-undecodable": {
    severity: "warning",
    text: "the head says JSON, and the body is no JSON of {type}",
  },
  "cursor.json-incomplete": {
    severity: "warning",
    text: "a JSON message holds keys or enum values that {type} does not have: they were left out",
    remedy: "give the newer schema with --descriptors or --proto",
  },
  "cursor.poll-encoding": {
    severity: "warning",
    text: "BidiPollResponse.data is no hex text (seqno {seqno}); it was read as base64",
    remedy: "the encoding of this field is not established: please check the decoded messages",
  },
  "cursor.poll-repeated": {
    severity: "info",
    text: "a poll response was sent again (seqno {seqno}) and counts once",
  },
  "cursor.downlink-missing": {
    severity: "warning",
    text: "RunSSE of request {request} is not in the capture: {appends}, and nothing of what the server sent",
    remedy:
      "some exporters leave out responses that had not finished: export after the turn has ended, or capture packets",
  },
  "cursor.uplink-missing": {
    severity: "warning",
    text: "no BidiAppend of request {request} is in the capture: nothing of what the client sent is known",
  },
  "cursor.inner-type-guessed": {
    severity: "info",
    text: "no downlink of request {request} is in the capture: its appends were read as AgentClientMessage",
  },
  "cursor.other-family": {
    severity: "warning",
    text: "{appends} of request {request} carry messages of {method}, which are not decoded",
  },
  "cursor.unknown-branch": {
    severity: "warning",
    text: "a message of kind {kind} has a branch that the schema does not know: a newer protocol",
    remedy: "give the newer schema with --descriptors or --proto",
  },
  "cursor.unknown-fields": {
    severity: "info",
    text: "{count} messages hold fields that the schema does not know; `frames` prints them",
  },
  "cursor.undecodable": {
    severity: "warning",
    text: "a message does not decode as {type}: {fault}",
  },
  "cursor.seen-twice": {
    severity: "info",
    text: "{what} of request {request} is in two inputs and counts once",
  },
  "cursor.answer-without-ask": {
    severity: "warning",
    text: "{family} {id} is answered, and what asked for it is not in the capture",
  },
} as const satisfies CodeTable;
