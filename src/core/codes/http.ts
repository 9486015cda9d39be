/** Diagnostic codes of this area: severity, and one sentence where {name} stands for a value of the diagnostic's detail. */
import type { CodeTable } from "../code-table.js";

const captureWhole =
  "Record from before the connection is opened, with a full snap length, and check the recorder's drop counter.";

export const httpCodes = {
  "http1.skipped": {
    severity: "warning",
    text: "{bytes} bytes of an HTTP/1 connection ({direction}) belong to no message that could be read.",
    remedy: captureWhole,
  },
  "http1.head-cut": {
    severity: "warning",
    text: "An HTTP/1 head is incomplete: the rest of it is not in the capture.",
    remedy: captureWhole,
  },
  "http1.head-too-long": {
    severity: "warning",
    text: "An HTTP/1 head or trailer section is longer than {limit} bytes; what follows it is not read.",
    remedy: "Raise the limit with --limit headBytes=SIZE.",
  },
  "http1.bad-header-line": {
    severity: "warning",
    text: "{lines} lines of an HTTP/1 head are no header fields and were left out.",
  },
  "http1.bad-chunk": {
    severity: "warning",
    text: "A chunk of a chunked body is malformed; the rest of the body is not read.",
  },
  "http1.bad-length": {
    severity: "warning",
    text: 'Content-Length "{value}" is no length; it was ignored.',
  },
  "http1.lengths-differ": {
    severity: "warning",
    text: "A message has several Content-Length values ({values}); the first one was used.",
  },
  "http1.length-and-chunked": {
    severity: "warning",
    text: "A message has Content-Length ({length}) and Transfer-Encoding; Transfer-Encoding was used.",
  },
  "http1.transfer-coding": {
    severity: "warning",
    text: "Transfer coding {coding}: only chunked is undone, the others are still on the body.",
  },
  "http1.response-without-request": {
    severity: "warning",
    text: "A response whose request is not in the capture; its exchange has no method and no path.",
    remedy: captureWhole,
  },
  "http.response-lost": {
    severity: "warning",
    text: "A request whose response is not in the capture.",
    remedy: captureWhole,
  },
  "http.switch-unseen": {
    severity: "warning",
    text: "The answer to an Upgrade or CONNECT is not in the capture; what the client sent next was read as if it had been granted.",
  },
  "http1.switched": {
    severity: "info",
    text: 'The connection switched to "{protocol}", which is not read further; its bytes are the body.',
  },
  "http2.joined-late": {
    severity: "info",
    text: "An HTTP/2 connection ({direction}) without its beginning: headers that refer to what was sent before are unknown.",
    remedy: captureWhole,
  },
  "http2.skipped": {
    severity: "warning",
    text: "{bytes} bytes of an HTTP/2 connection ({direction}) belong to no frame that could be read.",
    remedy: captureWhole,
  },
  "http2.frames-lost": {
    severity: "warning",
    text: "HTTP/2 frames ({direction}) are missing; which streams they belong to is unknown.",
    remedy: captureWhole,
  },
  "http2.headers-lost": {
    severity: "warning",
    text: "A header block may be among the missing bytes ({direction}): later headers that refer to the ones before are unknown.",
  },
  "http2.headers-too-long": {
    severity: "warning",
    text: "A header block is longer than {limit} bytes and was not read; later headers that refer to it are unknown.",
    remedy: "Raise the limit with --limit headBytes=SIZE.",
  },
  "http2.bad-frame": {
    severity: "warning",
    text: "A frame of type {type} with {length} bytes on stream {stream} breaks the rules of RFC 9113: {what}.",
  },
  "http2.out-of-step": {
    severity: "warning",
    text: "What should be a frame header is none (type {type}, {length} bytes, stream {stream}); the next frame is searched for.",
  },
  "http2.bad-head": {
    severity: "warning",
    text: "The head of stream {stream} is malformed: {what}.",
  },
  "http2.request-unseen": {
    severity: "warning",
    text: "Stream {stream} began before the capture or in a gap: its exchange has no method and no path.",
    remedy: captureWhole,
  },
  "http2.after-end": {
    severity: "info",
    text: "{bytes} bytes of DATA ({direction}) came for streams that were already over; they belong to no body.",
  },
  "http2.goaway": {
    severity: "info",
    text: "The {by} ended an HTTP/2 connection with GOAWAY, error {error}, last stream {stream}.",
  },
  "hpack.unknown-entry": {
    severity: "warning",
    text: "A header refers to entry {index} of the compression table, which the capture does not hold; its name is given as unknown.",
    remedy: captureWhole,
  },
  "hpack.bad-block": {
    severity: "warning",
    text: "A header block is malformed at byte {offset} ({what}); its headers up to there were kept.",
  },
  "hpack.table-size": {
    severity: "warning",
    text: "The header compression table was set to {size} bytes where the other side allows {allowed}.",
  },
  "websocket.unexpected-bits": {
    severity: "warning",
    text: "A WebSocket frame has reserved bits ({bits}) that no agreed extension explains.",
  },
  "websocket.bad-opcode": {
    severity: "warning",
    text: "A WebSocket frame has the reserved opcode {opcode}; it was passed over.",
  },
  "websocket.bad-mask": {
    severity: "warning",
    text: "A WebSocket frame of the {side} is {state}; RFC 6455 5.1 wants the client's frames masked and the server's not.",
  },
  "websocket.bad-control": {
    severity: "warning",
    text: "A WebSocket control frame is fragmented or longer than 125 bytes ({length}).",
  },
  "websocket.bad-fragment": {
    severity: "warning",
    text: "WebSocket fragments out of order: {what}.",
  },
  "websocket.bad-length": {
    severity: "warning",
    text: "A WebSocket frame's length ({length}) is not written in its shortest form.",
  },
  "websocket.too-long": {
    severity: "warning",
    text: "A WebSocket message of {length} bytes is over the limit of {limit} ({name}) and was passed over.",
    remedy: "Raise the limit with --limit {name}=SIZE.",
  },
  "websocket.bad-compression": {
    severity: "warning",
    text: "A compressed WebSocket message does not inflate: {what}.",
  },
  "websocket.context-lost": {
    severity: "warning",
    text: "A compressed WebSocket message refers to one that the capture does not hold or that did not inflate; it stays compressed.",
    remedy: captureWhole,
  },
  "websocket.out-of-step": {
    severity: "warning",
    text: "What should be a WebSocket frame is none ({direction}, opcode {opcode}); the rest of this direction is not read.",
  },
  "websocket.stopped": {
    severity: "warning",
    text: "After missing bytes the next WebSocket frame cannot be found: the rest of this direction ({direction}) is not read.",
    remedy: captureWhole,
  },
  "websocket.cut": {
    severity: "info",
    text: "The WebSocket direction ended inside a message, of which {bytes} bytes were seen.",
  },
  "websocket.after-close": {
    severity: "warning",
    text: "{bytes} bytes after a WebSocket close frame were not read.",
  },
} as const satisfies CodeTable;
