/** Header lists of HTTP/2 -> request and response heads. RFC 9113 8.3, RFC 8441 4. */
import { type Header, type Headers, headerValue, type RequestHead, type ResponseHead } from "../../model/exchange.js";

import { unknownName } from "../hpack.js";

export interface SplitHeaders {
  /** Value by pseudo-header name with its colon; of repeated ones the first. */
  readonly pseudo: ReadonlyMap<string, string>;
  readonly headers: Headers;
  /** What is wrong with the list; null where nothing is. */
  readonly fault: string | null;
}

export function splitPseudo(list: readonly Header[]): SplitHeaders {
  const pseudo = new Map<string, string>();
  const headers: Header[] = [];
  let fault: string | null = null;
  let behind = false;
  for (const header of list) {
    if (!header.name.startsWith(":")) {
      headers.push(header);
      // An unknown name may well be a pseudo-header's.
      behind ||= header.name !== unknownName;
    } else if (pseudo.has(header.name)) fault ??= `${header.name} is there twice`;
    else {
      if (behind) fault ??= `${header.name} stands behind other headers`;
      pseudo.set(header.name, header.value);
    }
  }
  return { pseudo, headers, fault };
}

export function requestOf(list: SplitHeaders, secure: boolean): RequestHead {
  const { pseudo, headers } = list;
  const protocol = pseudo.get(":protocol");
  const head: RequestHead = {
    method: pseudo.get(":method") ?? "",
    authority: pseudo.get(":authority") ?? headerValue(headers, "host") ?? "",
    scheme: pseudo.get(":scheme") ?? (secure ? "https" : "http"),
    path: pseudo.get(":path") ?? "",
    version: "2",
    headers,
  };
  return protocol === undefined ? head : { ...head, protocol };
}

export function responseOf(list: SplitHeaders): ResponseHead {
  const status = list.pseudo.get(":status") ?? "";
  return { status: /^\d{3}$/.test(status) ? Number(status) : 0, version: "2", headers: list.headers };
}

/** An exchange whose request the capture does not hold. */
export function unseenRequest(secure: boolean): RequestHead {
  return { method: "", authority: "", scheme: secure ? "https" : "http", path: "", version: "2", headers: [] };
}
