/** How a gRPC call ended: its trailers, which gRPC-Web carries as text in a frame with flag 0x80. gRPC over HTTP/2, "Responses". */
import { type Bytes, latin1, utf8 } from "../core/bytes.js";
import { type Header, type Headers, headerValue } from "../model/exchange.js";
import { type ConnectCode, connectCodes } from "./connect-error.js";

export interface GrpcStatus {
  /** 0 is success. */
  readonly status: number;
  /** Name of the status as Connect spells it, "ok" for 0, "unknown" for one outside 0..16. */
  readonly code: ConnectCode | "ok";
  readonly message: string;
  /** A google.rpc.Status message. */
  readonly details: Bytes | null;
}

/** Index: number of the status; Connect has the same codes in the same order. */
const statusNames: readonly (ConnectCode | "ok")[] = ["ok", ...connectCodes];

/** null: these headers hold no grpc-status. In a trailers-only response it stands in the head. */
export function grpcStatus(headers: Headers): GrpcStatus | null {
  const text = headerValue(headers, "grpc-status");
  if (text === undefined) return null;
  const status = /^\d{1,9}$/.test(text.trim()) ? Number(text) : 2;
  const details = headerValue(headers, "grpc-status-details-bin");
  return {
    status,
    code: statusNames[status] ?? "unknown",
    message: percentDecoded(headerValue(headers, "grpc-message") ?? ""),
    details: details === undefined ? null : new Uint8Array(Buffer.from(details, "base64")),
  };
}

/** Percent-encoded UTF-8; a percent sign without two hex digits stands for itself. */
function percentDecoded(text: string): string {
  if (!text.includes("%")) return text;
  const bytes = Buffer.from(
    text.replace(/%([0-9a-fA-F]{2})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16))),
    "latin1",
  );
  return utf8(bytes);
}

/** Lines `name: value` of a gRPC-Web trailers frame. */
export function webTrailers(body: Bytes): Header[] {
  return latin1(body)
    .split(/\r?\n/)
    .flatMap((line) => {
      const colon = line.indexOf(":");
      return colon > 0
        ? [{ name: line.slice(0, colon).trim().toLowerCase(), value: line.slice(colon + 1).trim() }]
        : [];
    });
}
