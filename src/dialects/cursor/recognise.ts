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
 * The path decides. `text/event-stream` of RunSSE is Connect envelopes all the same (protocols/cursor.md 1.2), and an error before the
 * stream began is one JSON body (1.4).
 */
export function framing(exchange: Exchange, direction: Direction, response: ResponseHead | null): Framing {
  const method = methodOfExchange(exchange);
  if (method === undefined || method.role === "other") return "none";
  if (method.role === "append" || method.role === "upload") return "whole-body";
  const mine = method.family === agentFamily;
  if (direction === "up") return mine || method.role !== "run" ? "connect-envelope" : "none";
  if (response !== null && response.status !== 200 && response.status !== 0) return "whole-body";
  return mine ? "connect-envelope" : "none";
}

/** Whether a direction carries the JSON twin of the protobuf messages. */
export function isJsonTwin(headers: readonly { name: string; value: string }[] | undefined): boolean {
  if (headers === undefined) return false;
  const type = mediaType(headers);
  return type === "application/json" || type === "application/connect+json";
}
