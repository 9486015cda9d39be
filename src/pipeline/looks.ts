/** What an exchange looks like that no dialect claims, and how its bodies split. Headers decide; the bytes confirm. */
import { type Direction, type Exchange, headerValue, mediaType, type ResponseHead } from "../model/exchange.js";
import type { Framing } from "../model/message.js";

interface Look {
  readonly name: string;
  readonly matches: (type: string) => boolean;
  readonly framing: Framing;
}

const looks: readonly Look[] = [
  { name: "Connect stream", matches: (type) => type.startsWith("application/connect+"), framing: "connect-envelope" },
  { name: "gRPC-Web text", matches: (type) => type.startsWith("application/grpc-web-text"), framing: "grpc-web-text" },
  { name: "gRPC-Web", matches: (type) => type.startsWith("application/grpc-web"), framing: "grpc-web" },
  { name: "gRPC", matches: (type) => type.startsWith("application/grpc"), framing: "grpc" },
  { name: "Connect unary", matches: (type) => type === "application/proto", framing: "whole-body" },
  {
    name: "protobuf",
    matches: (type) => /^application\/(x-)?(protobuf|vnd\.google\.protobuf)$/.test(type),
    framing: "whole-body",
  },
  { name: "SSE", matches: (type) => type === "text/event-stream", framing: "sse" },
  { name: "JSON", matches: (type) => /[/+]json$/.test(type), framing: "whole-body" },
];

export function isWebSocket(exchange: Exchange): boolean {
  const head = exchange.request;
  if (head === null) return false;
  return (
    (headerValue(head.headers, "upgrade") ?? "").toLowerCase() === "websocket" || head.method === "CONNECT_WEBSOCKET"
  );
}

/** Name of what it looks like; null for plain pages, images and the like. */
export function looksLike(exchange: Exchange, response: ResponseHead | null, sawFrames: boolean): string | null {
  if (exchange.kind === "bytes") return "byte stream";
  if (exchange.kind === "lines") return "JSON lines";
  if (sawFrames || isWebSocket(exchange)) return "WebSocket";
  const down = response === null ? undefined : looks.find((look) => look.matches(mediaType(response.headers)));
  const up =
    exchange.request === null ? undefined : looks.find((look) => look.matches(mediaType(exchange.request!.headers)));
  // A streaming request type says more than its response's: Connect errors and RunSSE answer under another type.
  const best = up?.framing === "connect-envelope" ? up : (down ?? up);
  return best?.name ?? null;
}

/** Framing of an unclaimed exchange's direction; "none" only counts. */
export function unclaimedFraming(
  exchange: Exchange,
  direction: Direction,
  response: ResponseHead | null,
  sawFrames: boolean,
): Framing {
  if (exchange.kind === "bytes") return "none";
  if (exchange.kind === "lines") return "json-lines";
  if (sawFrames) return "websocket";
  const headers = direction === "up" ? exchange.request?.headers : response?.headers;
  if (headers === undefined) return "none";
  const type = mediaType(headers);
  return looks.find((look) => look.matches(type))?.framing ?? "none";
}
