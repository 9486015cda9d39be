/**
 * Is a body cut by its producer? Recorders keep only so much of a body (Firefox 1 MiB, others 40 kB to 10 MB), and most give the true
 * size beside it. But sizes are also counted in UTF-16 units, in UTF-8 bytes of the text, before and after content decoding: a size that
 * differs proves nothing alone. A body counts as cut where the size says more than any way of counting gives, and its own framing does not
 * show it whole; or where it breaks off inside a message at a length that is a limit rather than an accident.
 */
import { asBuffer, type Bytes, concat } from "../core/bytes.js";
import { type BodyKind, envelopeShape, looksLikeJson, looksLikeProto, sizeOf } from "./shapes.js";

export interface SizeQuestion {
  readonly pieces: readonly Bytes[];
  readonly kind: BodyKind;
  readonly side: "request" | "response";
  /** The size that the producer gives for what `pieces` hold. */
  readonly declared: number | undefined;
  /** The body as text in other units: UTF-8 bytes and UTF-16 units. Asked for only when it matters. */
  textSizes(): readonly number[];
}

export type SizeVerdict =
  | { readonly kind: "whole" }
  /** Nothing shows whether it is cut. */
  | { readonly kind: "differs"; readonly seen: number; readonly declared: number }
  | { readonly kind: "cut"; readonly seen: number; readonly declared: number | undefined };

const whole: SizeVerdict = { kind: "whole" };

export function judgeSize(question: SizeQuestion): SizeVerdict {
  const { pieces, kind, declared } = question;
  const seen = sizeOf(pieces);
  if (seen === 0) return whole;
  if (declared === undefined) return breaksOffAtLimit(question, seen) ? { kind: "cut", seen, declared } : whole;
  if (declared <= seen || question.textSizes().some((size) => declared <= size)) {
    const left = declared > seen ? declared : undefined;
    return breaksOffAtLimit(question, seen) ? { kind: "cut", seen, declared: left } : whole;
  }
  if (isComplete(question)) return whole;
  const tellsItsEnd = kind !== "text" && kind !== "binary" && kind !== "unknown";
  if (tellsItsEnd || isLimit(seen) || question.textSizes().some(isLimit)) return { kind: "cut", seen, declared };
  return { kind: "differs", seen, declared };
}

function breaksOffAtLimit({ pieces, kind, textSizes }: SizeQuestion, seen: number): boolean {
  if (kind !== "envelope" && kind !== "event-stream") return false;
  return envelopeShape(pieces).shape === "partial" && (isLimit(seen) || textSizes().some(isLimit));
}

/** Sizes at which recorders cut: whole KiB or hundreds of kB, not small. */
function isLimit(size: number): boolean {
  return size >= 4096 && (size % 1024 === 0 || size % 100_000 === 0);
}

const joinedBytes = 64 * 1024 * 1024;

function isComplete({ pieces, kind, side }: SizeQuestion): boolean {
  switch (kind) {
    case "envelope":
    case "event-stream": {
      const shape = envelopeShape(pieces);
      // A client's stream has no EndStream envelope.
      if (shape.shape === "whole") return shape.closed || side === "request";
      return shape.shape === "no" && kind === "event-stream" && endsWithBlankLine(pieces);
    }
    case "proto":
      return sizeOf(pieces) <= joinedBytes && looksLikeProto(concat(pieces));
    case "json":
      return looksLikeJson(pieces);
    default:
      return false;
  }
}

function endsWithBlankLine(pieces: readonly Bytes[]): boolean {
  const last = asBuffer(pieces[pieces.length - 1]!);
  return /\n\r?\n\s*$|\r\r\s*$/.test(last.toString("latin1", Math.max(0, last.length - 8)));
}
