/** Which framer splits which framing: one row each. */
import type { Bytes } from "../core/bytes.js";
import { readU32BE } from "../core/bytes.js";
import { assertNever } from "../core/errors.js";
import { type Exchange, type Headers, headerValue, mediaType } from "../model/exchange.js";
import type { Framing, MessageFault } from "../model/message.js";
import { codecOf } from "./compression.js";
import { type EnvelopeOptions, envelopeFramer, envelopeHeaderBytes } from "./framing/envelope.js";
import type { Framer, FramerContext } from "./framing/framer.js";
import { lengthPrefixFramer } from "./framing/length-prefix.js";
import { linesFramer } from "./framing/lines.js";
import { sseFramer } from "./framing/sse-blocks.js";
import { webTextFramer } from "./framing/web-text.js";
import { wholeFramer } from "./framing/whole.js";

export interface FramingChoice {
  readonly framing: Framing;
  readonly exchange: Exchange;
  readonly headers: Headers;
}

export function framerFor(context: FramerContext, choice: FramingChoice): Framer {
  const { framing, headers } = choice;
  switch (framing) {
    case "connect-envelope":
    case "grpc":
    case "grpc-web":
      return envelopeFramer(context, envelopeOptions(framing, headers));
    case "grpc-web-text":
      return webTextFramer(context, (inner) => envelopeFramer(inner, envelopeOptions(framing, headers)));
    case "length-prefix":
      return lengthPrefixFramer(context);
    case "json-lines":
      return linesFramer(context, { piecewise: choice.exchange.kind === "lines" });
    case "sse":
      return sseFramer(context);
    case "whole-body":
      return wholeFramer(context, { judge: (body) => judgeWhole(mediaType(headers), body) });
    case "websocket":
    case "none":
      return nothing;
    default:
      return assertNever(framing);
  }
}

function envelopeOptions(framing: EnvelopeOptions["framing"], headers: Headers): EnvelopeOptions {
  const name = framing === "connect-envelope" ? "connect-content-encoding" : "grpc-encoding";
  const codecName = headerValue(headers, name)?.trim().toLowerCase() ?? null;
  const named = codecName !== null && codecName !== "" && codecName !== "identity";
  return { framing, codecName, codec: named ? codecOf(codecName) : null };
}

/** WebSocket messages come whole, as frame events; bytes beside them, and those nobody frames, are only counted. */
const nothing: Framer = {
  push: () => {},
  gap: () => {},
  end: () => {},
};

const unaryTypes = /^application\/(?:proto|protobuf|x-protobuf|json|.*\+json|grpc-status)$/;

/**
 * An envelope where a bare message is due. Neither a protobuf tag nor JSON begins with a byte below 4, so that flags and a length which fits
 * the body settle it.
 */
function judgeWhole(type: string, body: Bytes): MessageFault | null {
  if (!unaryTypes.test(type) || body.length < envelopeHeaderBytes || body[0]! > 3) return null;
  return readU32BE(body, 1) <= body.length - envelopeHeaderBytes ? "enveloped" : null;
}
