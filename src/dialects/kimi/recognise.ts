/** Which exchanges may be kimi's. A path alone proves little: the session gives back hosts that never showed the server's marks. */
import { type Bytes, utf8 } from "../../core/bytes.js";
import type { Sight } from "../../model/dialect.js";
import { type Direction, type Exchange, headerValue, pathOnly, type ResponseHead } from "../../model/exchange.js";
import type { Framing } from "../../model/message.js";

const bearerProtocol = "kimi-code.bearer.";

export function recogniseKimi(sight: Sight): number {
  const { exchange } = sight;
  const request = exchange.request;
  if (exchange.kind !== "http") return jsonRpcScore(sight);
  if (request === null) return 0;
  const path = pathOnly(request.path);
  if ((headerValue(request.headers, "sec-websocket-protocol") ?? "").includes(bearerProtocol)) return 100;
  if (path === "/api/v1/ws" || path === "/api/v1/debug/ws") return 100;
  if (path.startsWith("/api/v1/") || path.startsWith("/api/v2/")) return 60;
  if (path === "/openapi.json" || path === "/asyncapi.json") return 0;
  if (path.startsWith("/api/")) return 40;
  return request.method === "POST" ? httpRpcScore(sight) : 0;
}

/** JSON-RPC 2.0 in a raw stream or a log: the first line each way names it. */
function jsonRpcScore({ exchange, up, down }: Sight): number {
  if (!isJsonRpc(up) && !isJsonRpc(down)) return 0;
  // Miners, wallets and editors speak JSON-RPC over TCP, too; a log was given on purpose.
  if (exchange.kind === "lines") return 90;
  const methods = [...methodsOf(up), ...methodsOf(down)];
  return methods.length === 0 || methods.some((method) => acpMethod.test(method)) ? 90 : 0;
}

/** Methods of the Agent Client Protocol; those with an underscore are its extensions. */
const acpMethod = /^(?:initialize$|authenticate$|logout$|session\/|fs\/|terminal\/|_)/;

function methodsOf(bytes: Bytes): string[] {
  return [...utf8(bytes.subarray(0, 4096)).matchAll(/"method"\s*:\s*"([^"\\]*)"/g)].map((match) => match[1]!);
}

function httpRpcScore(sight: Sight): number {
  if (sight.up.length === 0 && sight.response === null) return 1;
  return isJsonRpc(sight.up) ? 30 : 0;
}

function isJsonRpc(bytes: Bytes): boolean {
  const first = bytes[0];
  if (first !== 0x7b && first !== 0x5b) return false;
  return /"jsonrpc"\s*:\s*"2\.0"/.test(utf8(bytes.subarray(0, 4096)));
}

export function kimiFraming(exchange: Exchange, direction: Direction, response: ResponseHead | null): Framing {
  if (exchange.kind !== "http") return "json-lines";
  if (!isSocketRequest(exchange)) return "whole-body";
  // A refused upgrade answers with an ordinary body.
  if (
    direction === "down" &&
    response !== null &&
    response.status !== 101 &&
    response.status !== 0 &&
    response.status !== 200
  ) {
    return "whole-body";
  }
  return "websocket";
}

export function isSocketRequest(exchange: Exchange): boolean {
  const request = exchange.request;
  if (request === null) return false;
  if (/^wss?$/.test(request.scheme)) return true;
  if ((headerValue(request.headers, "upgrade") ?? "").toLowerCase() === "websocket") return true;
  return request.protocol === "websocket";
}
