// Turns -> a HAR file, entry by entry, in the shape of a proxy's export: responses base64, request bodies one character per byte.
import { closeSync, openSync, writeSync } from "node:fs";
import { headersOf, hosts } from "./traffic.mjs";

const list = (headers) => headers.map(([name, value]) => ({ name, value }));

function entry(at, time, path, requestHeaders, requestBody, responseHeaders, responseBody) {
  return {
    startedDateTime: new Date(at).toISOString(),
    time,
    request: {
      method: "POST",
      url: `https://${hosts.authority}${path}`,
      httpVersion: "HTTP/1.1",
      cookies: [],
      headers: list(requestHeaders),
      queryString: [],
      headersSize: -1,
      bodySize: requestBody.length,
      postData: { mimeType: requestHeaders[0][1], text: requestBody.toString("latin1") },
    },
    response: {
      status: 200,
      statusText: "OK",
      httpVersion: "HTTP/1.1",
      cookies: [],
      headers: list(responseHeaders),
      content: {
        size: responseBody.length,
        mimeType: responseHeaders[0][1],
        text: responseBody.toString("base64"),
        encoding: "base64",
      },
      redirectURL: "",
      headersSize: -1,
      bodySize: responseBody.length,
    },
    cache: {},
    timings: { send: 0, wait: 1, receive: time - 1 },
  };
}

/** Writes turns until the file has `bytes`; returns its true size. */
export function writeHar(path, turns, bytes) {
  const fd = openSync(path, "w");
  let size = 0;
  const put = (text) => {
    size += writeSync(fd, text);
  };
  put('{"log":{"version":"1.2","creator":{"name":"bench","version":"1"},"entries":[');
  let first = true;
  let at = Date.UTC(2026, 0, 1);
  const add = (value) => {
    put((first ? "" : ",") + JSON.stringify(value));
    first = false;
  };
  for (const turn of turns) {
    const headers = headersOf(turn.requestId);
    let offset = 2;
    add(
      entry(
        at,
        20_000,
        hosts.runPath,
        headers.runRequest,
        turn.run.request,
        headers.runResponse,
        Buffer.concat(turn.run.frames),
      ),
    );
    for (const body of turn.appends)
      add(
        entry(at + offset++, 2, hosts.appendPath, headers.appendRequest, body, headers.appendResponse, Buffer.alloc(0)),
      );
    at += 30_000;
    if (size >= bytes) break;
  }
  put("]}}");
  closeSync(fd);
  return size;
}
