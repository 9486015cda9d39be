/**
 * One body of a HAR entry -> its bytes, with how they were won. The decision, first that applies:
 *
 * 1. `_content` beside or inside postData / content (HTTP Toolkit) takes the place of the text.
 * 2. `encoding: "base64"` (in content and in postData): line breaks, URL alphabet and missing padding are fine.
 * 3. A sibling file named by `_file` / `_sha1`.
 * 4. Text that is ASCII without an escape: the same bytes by any reading. Under a type that cannot hold such text it is taken as
 *    base64 only if it is so to the letter, and decoded it frames or parses, and as it stands it does not ("base64-guessed").
 * 5. Text under a textual type (JSON, text/*, XML, scripts, forms) without controls: its UTF-8 bytes ("re-encoded").
 * 6. Text under any other type: if every character stands for one byte (ISO 8859-1, or windows-1252 as Chromium exports an event
 *    stream), two candidates are left, those bytes and the UTF-8 bytes. Framing decides: envelopes for streaming types, outermost
 *    protobuf fields for protobuf, JSON. If that leaves both or none, the size that the producer gives; then the byte reading for
 *    binary types (they have no other way to show a high byte), the UTF-8 reading otherwise.
 * 7. U+FFFD under a type that is not textual: the producer replaced bytes, the body is lossy. Under a textual type it is lossy only
 *    where the size says that the text was shorter on the wire.
 * 8. Parameters without text (forms): the body is rebuilt.
 * A text that is empty or missing although a size says otherwise is a loss, never an empty message.
 */
import { type Bytes, concat, latin1, utf8Bytes } from "../core/bytes.js";
import type { Evidence } from "../model/exchange.js";
import { type Base64Fault, Base64Reader, isStrictBase64 } from "./base64.js";
import { bytePerCharacter, type Utf8Text, utf8OfText } from "./characters.js";
import type { JsonText } from "./json-text.js";
import { type BodyKind, envelopeShape, looksLikeJson, looksLikeProto, sizeOf } from "./shapes.js";

export interface Recovered {
  readonly pieces: readonly Bytes[];
  readonly evidence: Evidence;
  /** Set where U+FFFD occurred: lossy, or (`genuine`) sent so. */
  readonly replaced?: Utf8Text["replaced"];
  readonly base64Fault?: Base64Fault | undefined;
  /** UTF-16 units of the text, where sizes may count those. */
  readonly units?: number;
}

export function fromBase64(text: JsonText): Recovered {
  const reader = new Base64Reader();
  if (text.plain && text.parsed === undefined) {
    for (const piece of text.takePieces()) {
      reader.pushBytes(piece);
      if (reader.failed) break;
    }
  } else for (const chunk of text.chunks()) reader.push(chunk);
  const { pieces, fault } = reader.end();
  return { pieces, evidence: "exact", base64Fault: fault };
}

/** Text without an encoding. `declared`: the size in bytes that the producer gives, if any. */
export function fromText(text: JsonText, kind: BodyKind, declared: number | undefined): Recovered {
  if (text.plain) return fromAscii(text.bytes, kind, declared);
  if (kind === "text" || kind === "json") {
    const utf8 = utf8OfText(text);
    if (!utf8.controls || utf8.replaced !== undefined) return fromUtf8(utf8, declared, true);
  }
  const bytes = bytePerCharacter(text);
  if (bytes === undefined) return fromUtf8(utf8OfText(text), declared, kind === "event-stream");
  if (bytes.ascii) return fromAscii(bytes.pieces, kind, declared);
  const evidence = bytes.windows1252 ? "windows-1252" : "latin1";
  const asBytes: Recovered = { pieces: joined(bytes.pieces, kind), evidence };
  if (kind === "envelope" || kind === "proto" || kind === "event-stream") {
    // By far the commonest case: the byte reading fits, and the other one need not be made.
    if (fits(asBytes.pieces, kind)) return asBytes;
  }
  const utf8 = utf8OfText(text);
  return isByteReading(asBytes.pieces, utf8, kind, declared) ? asBytes : reEncoded(utf8);
}

function fromAscii(pieces: readonly Bytes[], kind: BodyKind, declared: number | undefined): Recovered {
  const asText: Recovered = { pieces, evidence: "exact" };
  const size = sizeOf(pieces);
  if (kind === "text" || size < 4 || !isStrictBase64(pieces) || fits(pieces, kind)) return asText;
  // An unknown type proves less: there the producer's size may speak for the text.
  if ((kind === "unknown" || kind === "binary") && declared === size) return asText;
  const reader = new Base64Reader();
  for (const piece of pieces) reader.push(latin1(piece));
  const decoded = joined(reader.end().pieces, kind);
  return fits(decoded, kind) ? { pieces: decoded, evidence: "base64-guessed" } : asText;
}

/** Messages that fill their body are looked at whole, here and later: they are joined once. */
function joined(pieces: readonly Bytes[], kind: BodyKind): readonly Bytes[] {
  return kind === "proto" && pieces.length > 1 && sizeOf(pieces) <= joinedBytes ? [concat(pieces)] : pieces;
}

function fromUtf8(utf8: Utf8Text, declared: number | undefined, textual: boolean): Recovered {
  const { replaced } = utf8;
  if (replaced === undefined) return reEncoded(utf8);
  const sentSo =
    textual && !utf8.controls && (declared === undefined || declared >= utf8.bytes || declared === utf8.units);
  if (sentSo) return { ...reEncoded(utf8), replaced };
  return { pieces: utf8.pieces, evidence: "lossy-utf8", replaced, units: utf8.units };
}

function reEncoded(utf8: Utf8Text): Recovered {
  return { pieces: utf8.pieces, evidence: utf8.ascii ? "exact" : "re-encoded", units: utf8.units };
}

/** One byte per character rather than UTF-8? */
function isByteReading(bytes: readonly Bytes[], utf8: Utf8Text, kind: BodyKind, declared: number | undefined): boolean {
  const one = fits(bytes, kind);
  const other = fits(utf8.pieces, kind) || (kind !== "json" && looksLikeJson(utf8.pieces));
  if (one !== other) return one;
  if (kind === "event-stream") return utf8.controls;
  const size = sizeOf(bytes);
  if (declared === size) return true;
  if (declared === utf8.bytes && !utf8.controls) return false;
  return kind === "envelope" || kind === "proto" || kind === "binary" || utf8.controls;
}

const joinedBytes = 64 * 1024 * 1024;

/** Whether the bytes are what their type says, as far as that can be told cheaply. */
function fits(pieces: readonly Bytes[], kind: BodyKind): boolean {
  switch (kind) {
    case "envelope":
    case "event-stream":
      return envelopeShape(pieces).shape !== "no";
    case "proto":
      return sizeOf(pieces) <= joinedBytes && looksLikeProto(concat(pieces));
    case "json":
      return looksLikeJson(pieces);
    case "binary":
    case "unknown":
      return envelopeShape(pieces).shape === "whole" || isGzip(pieces);
    case "text":
      return true;
  }
}

function isGzip(pieces: readonly Bytes[]): boolean {
  const [a, b, c] = pieces[0] ?? [];
  return a === 0x1f && b === 0x8b && c === 0x08;
}

/** `application/x-www-form-urlencoded` from name/value pairs, encoded as forms are (WHATWG URL, section 5). */
export function fromParams(params: readonly (readonly [string, string])[], declared: number | undefined): Recovered {
  const asIs = utf8Bytes(params.map(([name, value]) => `${name}=${value}`).join("&"));
  const encoded = new URLSearchParams(params.map(([name, value]): [string, string] => [name, value])).toString();
  // Chromium lists the parameters still encoded.
  return { pieces: [declared === asIs.length ? asIs : utf8Bytes(encoded)], evidence: "re-encoded" };
}
