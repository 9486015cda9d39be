/**
 * Connect streaming, gRPC and gRPC-Web envelopes: flags, 4-byte big-endian length, payload. Flags are tested by bits: 0x01 compressed,
 * 0x02 end of stream (Connect), 0x80 trailers (gRPC-Web). Connect protocol, "Streaming RPCs"; gRPC over HTTP/2, "Length-Prefixed-Message".
 */
import { type Bytes, readU32BE } from "../../core/bytes.js";
import type { Mark } from "../../core/mark.js";
import type { Framing, MessageFault } from "../../model/message.js";
import { type Codec, inflate } from "../compression.js";
import { rawFields } from "../wire-fields.js";
import type { Framed, Framer, FramerContext } from "./framer.js";
import { type Prefixed, prefixedFramer } from "./prefixed.js";
import { wholeFramer } from "./whole.js";

export const COMPRESSED = 0x01;
export const END_STREAM = 0x02;
export const TRAILERS = 0x80;

export const envelopeHeaderBytes = 5;

/** No protobuf message and no text begins with a byte below this: its flags then have reserved bits. */
const lowestBareByte = 8;

type EnvelopeFraming = Extract<Framing, "connect-envelope" | "grpc" | "grpc-web" | "grpc-web-text">;

const reservedBits: Readonly<Record<EnvelopeFraming, number>> = {
  "connect-envelope": 0xfc,
  grpc: 0xfe,
  "grpc-web": 0x7e,
  "grpc-web-text": 0x7e,
};

export interface EnvelopeOptions {
  readonly framing: EnvelopeFraming;
  /** null: none named. undefined: one that is not known here. */
  readonly codec: Codec | null | undefined;
  readonly codecName: string | null;
}

export function envelopeFramer(context: FramerContext, options: EnvelopeOptions): Framer {
  const reserved = reservedBits[options.framing];
  const maxBytes = context.limits.messageBytes;
  return prefixedFramer(context, {
    headerBytes: envelopeHeaderBytes,
    maxBytes,
    header: (flags, length, first) =>
      first && (flags & reserved) >= lowestBareByte && length > maxBytes ? "bare" : "ok",
    looksBare: (body, flags) =>
      (flags & reserved) >= lowestBareByte && rawFields(body, 0, body.length, context.limits.nesting, 0).faultAt < 0,
    bare: (first, mark) => bareFramer(context, first, mark),
    finish: (message) => finishEnvelope(context, options, message),
  });
}

/** Whether a direction's first bytes are an envelope: known flags, a length in reason, and known flags again where the next one begins. */
export function looksEnveloped(prefix: Bytes): boolean {
  let at = 0;
  for (let seen = 0; seen < 4 && prefix.length - at >= envelopeHeaderBytes; seen++) {
    const flags = prefix[at]! & 0x7f;
    const length = readU32BE(prefix, at + 1);
    if (flags > 3 || length > 64 * 1024 * 1024) return false;
    at += envelopeHeaderBytes + length;
  }
  return at > 0 && (at >= prefix.length || (prefix[at]! & 0x7f) <= 3);
}

function bareFramer(context: FramerContext, first: Bytes, mark: Mark): Framer {
  const detail = {
    first: `0x${first[0]!.toString(16).padStart(2, "0")}`,
    offset: 0,
    length: first.length >= envelopeHeaderBytes ? readU32BE(first, 1) : 0,
  };
  context.note({ code: "decode.unary-under-streaming", place: context.place(mark, 0, first.length), detail });
  const whole = wholeFramer(context, { judge: () => "not-enveloped" });
  whole.push(first, mark);
  return whole;
}

function finishEnvelope(context: FramerContext, options: EnvelopeOptions, message: Prefixed): Framed {
  const { flags, payload, mark, start, end } = message;
  if ((flags & COMPRESSED) === 0 || message.fault === "over-limit")
    return framed(message, payload, null, message.fault);
  const { codec } = options;
  if (codec === null || codec === undefined) {
    const detail = { codec: options.codecName ?? "none" };
    context.note({ code: "decode.no-codec", place: context.place(mark, start, end), detail });
    return framed(message, payload, null, message.fault ?? "no-codec");
  }
  // A compressed payload of zero bytes is what some encoders write for an empty message.
  if (payload.length === 0) return framed(message, payload, codec, message.fault);
  const { bytes, fault } = inflate(codec, payload, context.limits);
  if (message.fault === null && fault !== null) noteInflate(context, codec, fault, message);
  const body = fault === "no-codec" ? payload : bytes;
  return framed(message, body, codec, message.fault ?? inflateFault(fault));
}

function framed(message: Prefixed, body: Bytes, codec: Codec | null, fault: MessageFault | null): Framed {
  const { flags, wireBytes, declared, mark, start, end } = message;
  return { flags, body, wireBytes, declared, headerBytes: envelopeHeaderBytes, codec, fault, mark, start, end };
}

function inflateFault(fault: ReturnType<typeof inflate>["fault"]): MessageFault | null {
  // The envelope is whole: a compressed stream that ends early inside it is broken, not cut.
  return fault === "truncated" ? "bad-compression" : fault;
}

function noteInflate(context: FramerContext, codec: Codec, fault: string, message: Prefixed): void {
  const place = context.place(message.mark, message.start, message.end);
  const detail = { codec, bytes: message.wireBytes };
  if (fault === "over-limit") {
    const limit = context.limits.inflatedBytes;
    context.note({
      code: "decode.inflate-limit",
      place,
      detail: { ...detail, limit, ratio: context.limits.inflateRatio },
    });
  } else if (fault === "no-codec") context.note({ code: "decode.no-codec", place, detail });
  else context.note({ code: "decode.bad-compression", place, detail });
}
