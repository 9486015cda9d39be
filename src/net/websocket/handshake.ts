/** What client and server agreed on for their WebSocket, from the response's Sec-WebSocket-Extensions. RFC 6455 9.1, RFC 7692 7.1. */
import type { Direction, Headers } from "../../model/exchange.js";

export interface WebSocketAgreement {
  /** null: no permessage-deflate. */
  readonly deflate: DeflateAgreement | null;
}

export interface DeflateAgreement {
  /** Whether a message of that direction may refer to the ones before it. */
  readonly takeover: Readonly<Record<Direction, boolean>>;
  /** log2 of the window, 8 to 15. Inflating needs no more than the largest, so this is information only. */
  readonly windowBits: Readonly<Record<Direction, number>>;
}

export function websocketAgreement(headers: Headers): WebSocketAgreement {
  for (const { name, value } of headers) {
    if (name.toLowerCase() !== "sec-websocket-extensions") continue;
    for (const extension of splitOutside(value, ",")) {
      const [token = "", ...parameters] = splitOutside(extension, ";");
      if (token.toLowerCase() === "permessage-deflate") return { deflate: deflateAgreement(parameters) };
    }
  }
  return { deflate: null };
}

function deflateAgreement(parameters: readonly string[]): DeflateAgreement {
  const given = new Map<string, string>();
  for (const parameter of parameters) {
    const at = parameter.indexOf("=");
    const name = (at < 0 ? parameter : parameter.slice(0, at)).trim().toLowerCase();
    given.set(
      name,
      at < 0
        ? ""
        : parameter
            .slice(at + 1)
            .trim()
            .replace(/^"(.*)"$/, "$1"),
    );
  }
  const bits = (name: string) => {
    const value = given.get(name) ?? "";
    return /^([89]|1[0-5])$/.test(value) ? Number(value) : 15;
  };
  return {
    takeover: { up: !given.has("client_no_context_takeover"), down: !given.has("server_no_context_takeover") },
    windowBits: { up: bits("client_max_window_bits"), down: bits("server_max_window_bits") },
  };
}

/** Splits at `separator` where it is not inside quotes. */
function splitOutside(text: string, separator: string): string[] {
  const parts: string[] = [];
  let quoted = false;
  let from = 0;
  for (let at = 0; at <= text.length; at++) {
    const char = text[at];
    if (char === '"') quoted = !quoted;
    else if (at === text.length || (char === separator && !quoted)) {
      parts.push(text.slice(from, at).trim());
      from = at + 1;
    }
  }
  return parts;
}
