/** Whether a recorder left the Content-Encoding on a body that it stored. Most undo it; their headers say the coding all the same. */
import { brotliDecompressSync, constants, inflateRawSync } from "node:zlib";
import { type Bytes, concat, strictUtf8 } from "../core/bytes.js";
import { type BodyKind, envelopeShape, looksLikeJson, looksLikeProto, sizeOf } from "./shapes.js";

export interface BodySizes {
  /** Size after content decoding, as the producer says. */
  readonly decoded: number | undefined;
  /** Size on the wire, as the producer says. */
  readonly wire: number | undefined;
}

/** The outermost coding of a Content-Encoding header, or undefined. */
export function contentCoding(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const codings = header
    .split(",")
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== "" && coding !== "identity");
  return codings.at(-1);
}

const trialBytes = 64 * 1024;

/** true: `pieces` still carry `coding`. */
export function stillEncoded(
  coding: string,
  pieces: readonly Bytes[],
  kind: BodyKind,
  mediaType: string,
  sizes: BodySizes,
): boolean {
  const total = sizeOf(pieces);
  if (total === 0) return false;
  const [a = -1, b = -1, c = -1, d = -1] = pieces[0]!;
  switch (coding) {
    case "gzip":
    case "x-gzip":
      // A .gz file sent with gzip on top looks encoded once it is decoded: then only the sizes can tell.
      if (a !== 0x1f || b !== 0x8b || c !== 0x08) return false;
      return !/gzip|tgz/.test(mediaType) || sizes.decoded !== total;
    case "zstd":
      return a === 0x28 && b === 0xb5 && c === 0x2f && d === 0xfd;
    case "deflate":
      if ((a & 0x0f) === 8 && ((a << 8) | b) % 31 === 0 && !makesSense(pieces, kind)) return true;
      return !makesSense(pieces, kind) && inflates(pieces, (bytes, options) => inflateRawSync(bytes, options));
    case "br":
      if (sizes.decoded !== undefined && sizes.decoded !== total && sizes.wire === total) return true;
      return !makesSense(pieces, kind) && inflates(pieces, brotli);
    default:
      return false;
  }
}

function makesSense(pieces: readonly Bytes[], kind: BodyKind): boolean {
  switch (kind) {
    case "envelope":
    case "event-stream":
      return envelopeShape(pieces).shape !== "no" || isText(pieces);
    case "proto":
      return looksLikeProto(concat(pieces));
    case "json":
      return looksLikeJson(pieces);
    default:
      return isText(pieces);
  }
}

function isText(pieces: readonly Bytes[]): boolean {
  return strictUtf8(concat(pieces)) !== undefined;
}

interface TrialOptions {
  readonly maxOutputLength: number;
  readonly finishFlush: number;
}

function brotli(bytes: Bytes, options: TrialOptions): Buffer {
  return brotliDecompressSync(bytes, { ...options, finishFlush: constants.BROTLI_OPERATION_FLUSH });
}

/** Whether the front of the body decompresses to more than nothing. */
function inflates(pieces: readonly Bytes[], inflate: (bytes: Bytes, options: TrialOptions) => Buffer): boolean {
  const front = concat(pieces).subarray(0, trialBytes);
  try {
    return inflate(front, { maxOutputLength: 64 * 1024 * 1024, finishFlush: constants.Z_SYNC_FLUSH }).length > 0;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
  }
}
