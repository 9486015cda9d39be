/** Where one body of an entry is kept, out of the many places that recorders use. Nothing is decoded here. */
import { type Headers, headerValue } from "../model/exchange.js";
import type { BodySizes } from "./content-coding.js";
import { cutOf } from "./entry-capture.js";
import { asArray, asObject, type Fields, field, sizeField, textField } from "./fields.js";
import { JsonText } from "./json-text.js";

export type Side = "request" | "response";

export interface BodyFields {
  readonly side: Side;
  readonly mediaType: string;
  readonly headers: Headers;
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

export function requestFields(request: Fields, headers: Headers, cuts: readonly JsonText[]): BodyFields {
  const postData = asObject(field(request, "postData"));
  const own = ownContent(request, postData);
  const params = asArray(field(postData, "params")).map(asObject);
  return {
    side: "request",
    mediaType: headerValue(headers, "content-type") ?? textField(postData, "mimeType") ?? "",
    headers,
    text: textOf(own ?? postData, cuts),
    encoding: (textField(own ?? postData, "encoding") ?? "").trim().toLowerCase(),
    file: fileOf(own) ?? fileOf(postData) ?? fileOf(request),
    params: params.flatMap((param) => {
      const name = textField(param, "name");
      return name === undefined ? [] : [[name, textField(param, "value") ?? ""] as const];
    }),
    fileParams: params.some((param) => textField(param, "fileName") !== undefined),
    sizes: { decoded: sizeField(own, "size"), wire: sizeField(request, "bodySize") },
    discarded: discardedBy(textField(request, "_requestBodyStatus"), textField(postData, "comment")),
  };
}

export function responseFields(response: Fields, headers: Headers, cuts: readonly JsonText[]): BodyFields {
  const content = asObject(field(response, "content"));
  const own = ownContent(response, content);
  return {
    side: "response",
    mediaType: headerValue(headers, "content-type") ?? textField(content, "mimeType") ?? "",
    headers,
    text: textOf(own ?? content, cuts),
    encoding: (textField(own ?? content, "encoding") ?? "").trim().toLowerCase(),
    file: fileOf(own) ?? fileOf(content) ?? fileOf(response),
    params: [],
    fileParams: false,
    sizes: {
      decoded: sizeField(own, "size") ?? sizeField(content, "size"),
      wire: sizeField(response, "bodySize"),
    },
    discarded: discardedBy(textField(response, "_responseBodyStatus"), textField(content, "comment")),
  };
}

/** HTTP Toolkit: `_content` beside postData, with text, size and encoding, for bodies that postData cannot hold. */
function ownContent(holder: Fields, content: Fields | undefined): Fields | undefined {
  for (const own of [asObject(field(holder, "_content")), asObject(field(content, "_content"))]) {
    if (textField(own, "text") !== undefined || fileOf(own) !== undefined) return own;
  }
  return undefined;
}

function textOf(content: Fields | undefined, cuts: readonly JsonText[]): JsonText | undefined {
  const text = textField(content, "text");
  return text === undefined ? undefined : (cutOf(text, cuts) ?? JsonText.of(text));
}

/** Playwright: `_file` in an attached HAR; `_sha1` in a trace, whose body files lie in `resources/`. Both may carry an extension. */
function fileOf(content: Fields | undefined): BodyFields["file"] {
  const sha1 = textField(content, "_sha1");
  const hash = sha1 === undefined ? undefined : /^[0-9a-f]{40}/i.exec(sha1)?.[0];
  const name = textField(content, "_file") ?? sha1;
  return name === undefined || name === "" ? undefined : { name, sha1: hash };
}

function discardedBy(status: string | undefined, comment: string | undefined): string | undefined {
  if (status?.startsWith("discarded")) return status.slice(0, 64);
  // Firefox: "Response bodies are not included."
  return comment !== undefined && /\bnot included\b|\bdiscarded\b|\bomitted\b|\btoo large\b/i.test(comment)
    ? comment.slice(0, 64)
    : undefined;
}
