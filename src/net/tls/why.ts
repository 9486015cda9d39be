/** Why a TLS connection stayed closed: the short phrase for its row, by the diagnostic that says it at length. */
import type { tlsCodes } from "../../core/codes/tls.js";

export type ClosedBy = Extract<
  keyof typeof tlsCodes,
  | "tls.no-secret"
  | "tls.partial-secrets"
  | "tls.wrong-secret"
  | "tls.unknown-suite"
  | "tls.unknown-version"
  | "tls.compressed"
  | "tls.joined-late"
  | "tls.no-client-hello"
  | "tls.no-server-hello"
  | "tls.bad-record"
  | "tls.bad-hello"
  | "tls.lost-step"
>;

export const phrases: Readonly<Record<ClosedBy, string>> = {
  "tls.no-secret": "no secret for this client random",
  "tls.partial-secrets": "not all secrets of this client random are known",
  "tls.wrong-secret": "the secret for this client random does not fit",
  "tls.unknown-suite": "unsupported cipher suite",
  "tls.unknown-version": "unsupported TLS version",
  "tls.compressed": "TLS compression",
  "tls.joined-late": "the capture starts after the handshake",
  "tls.no-client-hello": "the client hello is missing",
  "tls.no-server-hello": "the server hello is missing",
  "tls.bad-record": "not TLS records",
  "tls.bad-hello": "malformed hello",
  "tls.lost-step": "no way back after lost bytes",
};

/** What stayed closed in each direction; null: nothing. */
export function closedPhrase(up: ClosedBy | null, down: ClosedBy | null): string | null {
  if (up === null && down === null) return null;
  if (up === down) return phrases[up!];
  if (up === null) return `server to client: ${phrases[down!]}`;
  if (down === null) return `client to server: ${phrases[up]}`;
  return `client to server: ${phrases[up]}; server to client: ${phrases[down]}`;
}
