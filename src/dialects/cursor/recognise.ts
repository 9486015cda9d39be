/** Which exchanges are this dialect's, and how their bodies split. */
import type { Sight } from "../../model/dialect.js";
import { type Direction, type Exchange, mediaType, pathOnly, type ResponseHead } from "../../model/exchange.js";
import type { Framing } from "../../model/message.js";
import { agentFamily, type Method, methodOf } from "./paths.js";

/** undefined for anything but a call of this protocol; a CORS preflight of one is none. */
export function methodOfExchange(exchange: Exchange): Method | undefined {
  const request = exchange.request;
  if (request === null || request.method === "OPTIONS" || request.method === "HEAD") return undefined;
  return methodOf(pathOnly(request.path));
}

export function recognise(sight: Sight): number {
  return methodOfExchange(sight.exchange) === undefined ? 0 : 100;
}

/**
 * The path decides; gRPC content types are the same messages in another envelope. `text/event-stream` of RunSSE is Connect envelopes
 * all the same (protocols/cursor.md 1.2), and an error before the stream began is one JSON body (1.4).
 */
export function framing(exchange: Exchange, direction: Direction, response: ResponseHead | null): Framing {
  const method = methodOfExchange(exchange);
  if (method === undefined) return "none";
  if (method.role === "other") return "none";
  if (method.role === "append" || method.role === "upload")
    return grpcFraming(exchange, direction, response) ?? "whole-body";
  if (direction === "down") {
    if (response !== null && response.status !== 200 && response.status !== 0) return "whole-body";
    if (method.family !== agentFamily) return "none";
  } else if (method.family !== agentFamily && method.role === "run") return "none";
  return grpcFraming(exchange, direction, response) ?? "connect-envelope";
}

function grpcFraming(exchange: Exchange, direction: Direction, response: ResponseHead | null): Framing | undefined {
  const headers = direction === "up" ? exchange.request?.headers : response?.headers;
  const type = headers === undefined ? "" : mediaType(headers);
  if (type.startsWith("application/grpc-web-text")) return "grpc-web-text";
  if (type.startsWith("application/grpc-web")) return "grpc-web";
  return type.startsWith("application/grpc") ? "grpc" : undefined;
}

/** Whether a direction carries the JSON twin of the protobuf messages. */
export function isJsonTwin(headers: readonly { name: string; value: string }[] | undefined): boolean {
  if (headers === undefined) return false;
  const type = mediaType(headers);
  return type === "application/json" || type === "application/connect+json";
}
