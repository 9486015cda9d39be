/** Why a TLS connection stayed closed: the short phrase for its row, by the diagnostic that says it at length. */
import type { tlsCodes } from "../../core/codes/tls.js";

export type ClosedBy = Extract<
  keyof typeof tlsCodes,
  | "tls.no-secret"
  | "tls.not-in-keylog"
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
  "tls.not-in-keylog": "no secret for this client random",
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

export interface ClosedSide {
  /** null: it is open. */
  readonly by: ClosedBy | null;
  /** Something was read here. */
  readonly read: boolean;
}

/** What stayed closed; null: nothing. A direction without anything to read does not make the other's reason a partial one. */
export function closedPhrase(up: ClosedSide, down: ClosedSide): string | null {
  if (up.by === null && down.by === null) return null;
  if (up.by === null) return down.read || up.read ? `server to client: ${phrases[down.by!]}` : phrases[down.by!];
  if (down.by === null) return up.read || down.read ? `client to server: ${phrases[up.by]}` : phrases[up.by];
  if (phrases[up.by] === phrases[down.by]) return phrases[up.by];
  return `client to server: ${phrases[up.by]}; server to client: ${phrases[down.by]}`;
}
