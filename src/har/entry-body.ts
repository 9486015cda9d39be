/** One side of an entry -> the bytes of its body, what is missing of it and why, with a diagnostic for everything that was not plain. */
import type { Sibling, SiblingReader } from "../capture/sibling.js";
import type { Bytes } from "../core/bytes.js";
import type { Detail, DiagnosticCode } from "../core/diagnostic.js";
import type { Limits } from "../core/limits.js";
import type { Evidence, GapReason } from "../model/exchange.js";
import { fromBase64, fromParams, fromText, type Recovered } from "./body.js";
import type { BodyFields } from "./body-fields.js";
import { judgeSize } from "./body-size.js";
import { utf8OfText } from "./characters.js";
import { contentCoding, stillEncoded } from "./content-coding.js";
import { type BodyKind, bodyKind, looksLikeJson, sizeOf } from "./shapes.js";

export interface EntryBody {
  readonly pieces: readonly Bytes[];
  readonly size: number;
  readonly evidence: Evidence;
  /** The producer has undone the Content-Encoding. */
  readonly contentDecoded: boolean;
  /** What is missing after the bytes. */
  readonly gap: { readonly length: number | undefined; readonly why: GapReason } | undefined;
}

export interface BodyTools {
  readonly siblings: SiblingReader;
  readonly limits: Limits;
  note(code: DiagnosticCode, detail: Detail): void;
}

/** What is known when a body is not there at all. */
export interface Absence {
  /** A body was due on the wire, as far as method, status and headers tell. */
  readonly due: boolean;
  why(): GapReason;
}

const noBody: EntryBody = { pieces: [], size: 0, evidence: "exact", contentDecoded: true, gap: undefined };

export function readBody(fields: BodyFields, absence: Absence, tools: BodyTools): EntryBody {
  const kind = bodyKind(fields.mediaType);
  const { side, text } = fields;
  if (text !== undefined && text.overLimit > 0) {
    tools.note("har.body-too-large", { side, bytes: text.overLimit, limit: tools.limits.harBodyBytes });
    return missing(declaredSize(fields), "not-captured");
  }
  let recovered = recover(fields, kind, tools);
  if (recovered === undefined && fields.file !== undefined) return missing(declaredSize(fields), "missing-file");
  recovered ??= rebuilt(fields, tools);
  if (recovered === undefined || sizeOf(recovered.pieces) === 0) return absent(fields, absence, tools);
  return finished(fields, kind, recovered, tools);
}

/** Steps 1 to 7 of the decision (body.ts). undefined: there is no text and no file. */
function recover(fields: BodyFields, kind: BodyKind, tools: BodyTools): Recovered | undefined {
  const { side, text, encoding, file } = fields;
  const hasText = text !== undefined && !text.empty;
  if (hasText && isBase64(encoding)) return declaredBase64(fields, kind, tools);
  if (file !== undefined) {
    const sibling = readSibling(file, tools);
    if (sibling.ok) return { pieces: sibling.bytes.length === 0 ? [] : [sibling.bytes], evidence: "exact" };
    tools.note("har.sibling-refused", { side, file: file.name.slice(0, 256), why: sibling.why });
    if (!hasText) return undefined;
  }
  if (!hasText) return undefined;
  if (!textEncodings.has(encoding)) tools.note("har.unknown-encoding", { side, encoding: encoding.slice(0, 64) });
  if (!text.utf8) tools.note("har.entry-not-utf8", {});
  return fromText(text, kind, declaredSize(fields));
}

const textEncodings: ReadonlySet<string> = new Set(
  "|utf-8|utf8|text|plain|string|none|identity|ascii|us-ascii|latin1|iso-8859-1|windows-1252|binary|8bit|7bit".split(
    "|",
  ),
);

function isBase64(encoding: string): boolean {
  return encoding === "base64" || encoding === "base64url" || encoding === "base-64";
}

function declaredBase64(fields: BodyFields, kind: BodyKind, tools: BodyTools): Recovered {
  const text = fields.text!;
  const decoded = fromBase64(text);
  const fault = decoded.base64Fault;
  if (fault === undefined) return decoded;
  tools.note("har.bad-base64", { side: fields.side, character: fault.character, what: fault.what });
  // Some write the word and leave the text as it was.
  const asText = fromText(text, kind, declaredSize(fields));
  const isItself = sizeOf(decoded.pieces) === 0 || looksLikeJson(asText.pieces);
  return isItself ? asText : decoded;
}

function readSibling(file: NonNullable<BodyFields["file"]>, tools: BodyTools): Sibling {
  const here = tools.siblings.read(file.name, file.sha1);
  if (here.ok || file.sha1 === undefined) return here;
  const inTrace = tools.siblings.read(`resources/${file.name}`, file.sha1);
  return inTrace.ok ? inTrace : here;
}

function rebuilt(fields: BodyFields, tools: BodyTools): Recovered | undefined {
  const { side, params, fileParams, mediaType, sizes } = fields;
  if (params.length === 0 || fileParams || /multipart\//i.test(mediaType)) return undefined;
  tools.note("har.params-only", { side });
  return fromParams(params, sizes.wire);
}

function declaredSize({ side, sizes }: BodyFields): number | undefined {
  return side === "response" ? sizes.decoded : (sizes.decoded ?? sizes.wire);
}

// ---- bodies that are there ----

function finished(fields: BodyFields, kind: BodyKind, recovered: Recovered, tools: BodyTools): EntryBody {
  const { side, mediaType, sizes, text } = fields;
  const { pieces, evidence, replaced } = recovered;
  noteRecovery(side, recovered, tools);
  const coding = contentCoding(fields.known["content-encoding"]);
  const encoded = coding !== undefined && stillEncoded(coding, pieces, kind, mediaType, sizes);
  if (encoded) tools.note("har.body-kept-encoded", { side, encoding: coding });
  const size = sizeOf(pieces);
  const body = (gap: EntryBody["gap"]): EntryBody => ({ pieces, size, evidence, contentDecoded: !encoded, gap });
  if (recovered.base64Fault !== undefined && evidence === "exact") {
    const declared = declaredSize(fields);
    const length = declared !== undefined && declared > size ? declared - size : undefined;
    return body({ length, why: "truncated-by-producer" });
  }
  const verdict = judgeSize({
    pieces,
    kind: encoded || replaced !== undefined ? "binary" : kind,
    side,
    declared: comparableSize(fields, encoded, coding !== undefined),
    textSizes: () => {
      if (text === undefined || text.plain || isBase64(fields.encoding)) return [];
      const utf8 = utf8OfText(text);
      return [utf8.bytes, utf8.units];
    },
  });
  if (verdict.kind === "whole") return body(undefined);
  const { seen, declared } = verdict;
  if (verdict.kind === "differs") {
    tools.note("har.body-size-differs", { side, seen, declared: verdict.declared });
    return body(undefined);
  }
  tools.note("har.body-cut", { side, seen, declared: declared ?? "an unknown number of" });
  return body({ length: declared === undefined ? undefined : declared - seen, why: "truncated-by-producer" });
}

/** The producer's size for what was stored, where it can be told which of its sizes that is. */
function comparableSize(fields: BodyFields, encoded: boolean, hasCoding: boolean): number | undefined {
  const { decoded, wire } = fields.sizes;
  if (encoded) return wire;
  // mitmproxy gives the encoded size twice.
  if (hasCoding && fields.side === "response" && decoded === wire) return undefined;
  return hasCoding && fields.side === "request" ? decoded : declaredSize(fields);
}

function noteRecovery(side: BodyFields["side"], recovered: Recovered, tools: BodyTools): void {
  const { evidence, replaced } = recovered;
  if (evidence === "base64-guessed") tools.note("har.base64-guessed", { side });
  if (replaced === undefined) return;
  const { count, character, byte } = replaced;
  if (evidence === "lossy-utf8") tools.note("har.lossy-text", { side, count, character, byte });
  else tools.note("har.replacement-in-text", { side, count, character });
}

// ---- bodies that are not ----

function absent(fields: BodyFields, absence: Absence, tools: BodyTools): EntryBody {
  const { side, text, sizes, discarded } = fields;
  const size = absentSize(fields);
  if (!absence.due || size === 0) return noBody;
  const emptyText = text !== undefined;
  if (size === undefined && (emptyText || side === "request") && discarded === undefined) return noBody;
  const why = discarded !== undefined ? "discarded-by-producer" : size === undefined ? "not-captured" : absence.why();
  if (side === "request" && emptyText && sizes.wire !== undefined)
    tools.note("har.body-empty", { side, bytes: sizes.wire });
  else tools.note("har.body-absent", { side, why: discarded ?? why, bytes: size ?? "an unknown number of" });
  return missing(size, why);
}

/** Bytes that were on the wire and are not in the file; 0: none, undefined: not known. */
function absentSize({ side, sizes, known }: BodyFields): number | undefined {
  const { decoded, wire } = sizes;
  // Recorders count frame headers and the like into bodySize: the content's own size goes first.
  if (side === "response" && decoded !== undefined) return decoded;
  if (decoded !== undefined && decoded > 0) return decoded;
  if (wire !== undefined && (side === "response" || wire > 0)) return wire;
  const length = known["content-length"]?.trim() ?? "";
  if (/^\d{1,15}$/.test(length)) return Number(length);
  return wire ?? decoded;
}

function missing(length: number | undefined, why: GapReason): EntryBody {
  return { ...noBody, gap: { length, why } };
}
