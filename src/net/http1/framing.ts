/** How long the body of an HTTP/1 message is, from its head and (for a response) its request's method. RFC 9112 6.3. */
import type { Detail, DiagnosticCode } from "../../core/diagnostic.js";
import type { Headers } from "../../model/exchange.js";

export type BodyLength =
  | { readonly kind: "none" }
  | { readonly kind: "fixed"; readonly length: number }
  | { readonly kind: "chunked" }
  /** Until the connection closes. */
  | { readonly kind: "close" }
  /** What follows is another protocol. */
  | { readonly kind: "switch" };

export type Fault = (code: DiagnosticCode, detail: Detail) => void;

export function requestBody(headers: Headers, fault: Fault): BodyLength {
  const declared = declaredLength(headers, fault);
  if (declared.codings.length > 0) {
    if (declared.codings.at(-1) === "chunked") return { kind: "chunked" };
    // RFC 9112 6.3: a server must refuse this. Nothing says where the body ends.
    fault("http1.transfer-coding", { coding: declared.codings.join(", ") });
    return { kind: "close" };
  }
  return declared.length === undefined || declared.length === 0
    ? { kind: "none" }
    : { kind: "fixed", length: declared.length };
}

export function responseBody(status: number, method: string, headers: Headers, fault: Fault): BodyLength {
  if (method === "HEAD" || status === 204 || status === 304 || (status >= 100 && status < 200)) return { kind: "none" };
  const declared = declaredLength(headers, fault);
  if (declared.codings.length > 0) {
    if (declared.codings.at(-1) === "chunked") return { kind: "chunked" };
    fault("http1.transfer-coding", { coding: declared.codings.join(", ") });
    return { kind: "close" };
  }
  if (declared.length === undefined) return { kind: "close" };
  return declared.length === 0 ? { kind: "none" } : { kind: "fixed", length: declared.length };
}

function declaredLength(
  headers: Headers,
  fault: Fault,
): { readonly codings: string[]; readonly length: number | undefined } {
  const codings: string[] = [];
  const lengths: string[] = [];
  for (const { name, value } of headers) {
    if (name.length !== 17 && name.length !== 14) continue;
    const lower = name.toLowerCase();
    if (lower === "transfer-encoding")
      codings.push(...listItems(value).map((item) => item.split(";")[0]!.trim().toLowerCase()));
    else if (lower === "content-length") lengths.push(...listItems(value));
  }
  if (codings.length > 1 && codings.at(-1) === "chunked")
    fault("http1.transfer-coding", { coding: codings.join(", ") });
  if (codings.length > 0 && lengths.length > 0) fault("http1.length-and-chunked", { length: lengths[0]!.slice(0, 32) });
  if (codings.length > 0 || lengths.length === 0) return { codings, length: undefined };
  const length = /^\d{1,16}$/.test(lengths[0]!) ? Number(lengths[0]) : Number.NaN;
  if (!Number.isSafeInteger(length)) {
    fault("http1.bad-length", { value: lengths[0]!.slice(0, 32) });
    return { codings, length: undefined };
  }
  if (lengths.some((other) => other !== lengths[0]))
    fault("http1.lengths-differ", { values: lengths.slice(0, 4).map((v) => v.slice(0, 32)) });
  return { codings, length };
}

function listItems(value: string): string[] {
  if (!value.includes(",")) return value.toLowerCase() === "identity" ? [] : [value];
  return value
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "" && item.toLowerCase() !== "identity");
}
