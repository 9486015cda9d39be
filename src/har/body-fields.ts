/** Where one body of an entry is kept, out of the many places that recorders use. Nothing is decoded here. */
import type { BodySizes } from "./content-coding.js";
import { cutOf } from "./entry-capture.js";
import { asArray, asObject, asSize, asText, type Fields } from "./fields.js";
import type { KnownHeaders } from "./heads.js";
import { JsonText } from "./json-text.js";

export type Side = "request" | "response";

export interface BodyFields {
  readonly side: Side;
  readonly mediaType: string;
  readonly known: KnownHeaders;
  /** undefined: there is no text; an empty one is a text. */
  readonly text: JsonText | undefined;
  /** As written, lower case; "" where nothing is. */
  readonly encoding: string;
  readonly file: { readonly name: string; readonly sha1: string | undefined } | undefined;
  readonly params: readonly (readonly [string, string])[];
  /** Parts that are files: their content is not in the parameters. */
  readonly fileParams: boolean;
  readonly sizes: BodySizes;
  /** The recorder says in words that it left the body out. */
  readonly discarded: string | undefined;
}

export function requestFields(request: Fields, known: KnownHeaders, cuts: readonly JsonText[]): BodyFields {
  const postData = asObject(request?.postData);
  const own = ownContent(request, postData);
  const params = asArray(postData?.params);
  return {
    side: "request",
    mediaType: known["content-type"] ?? asText(postData?.mimeType) ?? "",
    known,
    text: textOf(own ?? postData, cuts),
    encoding: encodingOf(own ?? postData),
    file: fileOf(own) ?? fileOf(postData) ?? fileOf(request),
    params: params.length === 0 ? none : params.flatMap(pairOf),
    fileParams: params.some((param) => asText(asObject(param)?.fileName) !== undefined),
    sizes: { decoded: asSize(own?.size), wire: asSize(request?.bodySize) },
    discarded: discardedBy(asText(request?._requestBodyStatus), asText(postData?.comment)),
  };
}

export function responseFields(response: Fields, known: KnownHeaders, cuts: readonly JsonText[]): BodyFields {
  const content = asObject(response?.content);
  const own = ownContent(response, content);
  return {
    side: "response",
    mediaType: known["content-type"] ?? asText(content?.mimeType) ?? "",
    known,
    text: textOf(own ?? content, cuts),
    encoding: encodingOf(own ?? content),
    file: fileOf(own) ?? fileOf(content) ?? fileOf(response),
    params: [],
    fileParams: false,
    sizes: {
      decoded: asSize(own?.size) ?? asSize(content?.size),
      wire: asSize(response?.bodySize),
    },
    discarded: discardedBy(asText(response?._responseBodyStatus), asText(content?.comment)),
  };
}

const none: BodyFields["params"] = [];

function pairOf(value: unknown): (readonly [string, string])[] {
  const param = asObject(value);
  const name = asText(param?.name);
  return name === undefined ? [] : [[name, asText(param?.value) ?? ""]];
}

/** HTTP Toolkit: `_content` beside postData, with text, size and encoding, for bodies that postData cannot hold. */
function ownContent(holder: Fields, content: Fields | undefined): Fields | undefined {
  const own = asObject(holder?._content) ?? asObject(content?._content);
  return own !== undefined && (asText(own?.text) !== undefined || fileOf(own) !== undefined) ? own : undefined;
}

function encodingOf(content: Fields | undefined): string {
  const encoding = asText(content?.encoding);
  return encoding === undefined || encoding === "base64" ? (encoding ?? "") : encoding.trim().toLowerCase();
}

function textOf(content: Fields | undefined, cuts: readonly JsonText[]): JsonText | undefined {
  const text = asText(content?.text);
  return text === undefined ? undefined : (cutOf(text, cuts) ?? JsonText.of(text));
}

/** Playwright: `_file` in an attached HAR; `_sha1` in a trace, whose body files lie in `resources/`. Both may carry an extension. */
function fileOf(content: Fields | undefined): BodyFields["file"] {
  const sha1 = asText(content?._sha1);
  const hash = sha1 === undefined ? undefined : /^[0-9a-f]{40}/i.exec(sha1)?.[0];
  const name = asText(content?._file) ?? sha1;
  return name === undefined || name === "" ? undefined : { name, sha1: hash };
}

function discardedBy(status: string | undefined, comment: string | undefined): string | undefined {
  if (status?.startsWith("discarded")) return status.slice(0, 64);
  // Firefox: "Response bodies are not included."
  return comment !== undefined && /\bnot included\b|\bdiscarded\b|\bomitted\b|\btoo large\b/i.test(comment)
    ? comment.slice(0, 64)
    : undefined;
}
