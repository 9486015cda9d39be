/**
 * pi frames: 4-byte big-endian payload length, payload. A length of zero or above 16 MiB is fatal: the direction is dead from there on, and
 * one message with fault "over-limit" stands for all the rest (its `declared` is the length that was read). pi page, section 2.
 */
import type { Framer, FramerContext } from "./framer.js";
import { prefixedFramer } from "./prefixed.js";

const headerBytes = 4;
/** The peers' default, inclusive; a smaller `messageBytes` limit does not kill the direction but passes the message over. */
export const maxPayloadBytes = 16 * 1024 * 1024;

export function lengthPrefixFramer(context: FramerContext): Framer {
  return prefixedFramer(context, {
    headerBytes,
    maxBytes: Math.min(maxPayloadBytes, context.limits.messageBytes),
    header: (_flags, length) => (length === 0 || length > maxPayloadBytes ? "dead" : "ok"),
    finish: ({ flags, payload: body, wireBytes, declared, fault, mark, start, end }) => {
      return { flags, body, wireBytes, declared, headerBytes, codec: null, fault, mark, start, end };
    },
  });
}
