/** Who is the client of a connection whose handshake was not captured. */
import type { Bytes } from "../core/bytes.js";
import { startsHttpRequest, startsHttpResponse, startsPreface } from "./sniff.js";

/** Ports from here on are handed out to clients (Linux's default range; IANA's begins at 49,152). */
const firstEphemeral = 32_768;

export interface Roles {
  /** 0: the sender of the bytes looked at is the client. */
  readonly client: 0 | 1;
  readonly by: "tls" | "port";
}

/**
 * From the first bytes of either side. A TLS hello names its sender; so do a request and a response, whatever the ports. Else the
 * lower port is the server's; where both are equal, the first to speak is the client.
 */
export function rolesFrom(first: Bytes, senderPort: number, otherPort: number): Roles {
  if (first.length >= 6 && first[0] === 0x16 && first[1] === 3) {
    if (first[5] === 1) return { client: 0, by: "tls" };
    if (first[5] === 2) return { client: 1, by: "tls" };
  }
  if (startsHttpRequest(first) === "yes" || startsPreface(first) === "yes") return { client: 0, by: "port" };
  if (startsHttpResponse(first) === "yes") return { client: 1, by: "port" };
  return { client: clientByPort(senderPort, otherPort), by: "port" };
}

function clientByPort(senderPort: number, otherPort: number): 0 | 1 {
  const sender = senderPort >= firstEphemeral;
  const other = otherPort >= firstEphemeral;
  if (sender !== other) return sender ? 0 : 1;
  return senderPort >= otherPort ? 0 : 1;
}
