/**
 * Entries that are certainly valid HAR 1.2: each test here is at least as strict as the schema's. Nearly every entry passes, so that the
 * general validator, which takes longer to set up than a small file takes to read, is needed for the odd ones only.
 */
import { asObject, type Fields } from "./fields.js";

const time = /^\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;
const url = /^(?:https?|wss?):\/\/\S*$/;
const octet = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const ipv4 = new RegExp(`^${octet}(?:\\.${octet}){3}$`);

/** False: it may be valid or not. */
export function isUsual(entry: Fields): boolean {
  const { startedDateTime, serverIPAddress, timings } = entry;
  return (
    isTime(startedDateTime) &&
    typeof entry.time === "number" &&
    isRequest(asObject(entry.request)) &&
    isResponse(asObject(entry.response)) &&
    isCache(asObject(entry.cache)) &&
    isTimings(asObject(timings)) &&
    (serverIPAddress === undefined || (typeof serverIPAddress === "string" && ipv4.test(serverIPAddress))) &&
    isText(entry.pageref) &&
    isText(entry.connection) &&
    isText(entry.comment)
  );
}

function isRequest(request: Fields | undefined): boolean {
  return (
    request !== undefined &&
    typeof request.method === "string" &&
    typeof request.url === "string" &&
    url.test(request.url) &&
    isMessage(request) &&
    isPairs(request.queryString) &&
    (request.postData === undefined || isPostData(asObject(request.postData)))
  );
}

function isResponse(response: Fields | undefined): boolean {
  return (
    response !== undefined &&
    Number.isInteger(response.status) &&
    typeof response.statusText === "string" &&
    typeof response.redirectURL === "string" &&
    isMessage(response) &&
    isContent(asObject(response.content))
  );
}

/** What requests and responses have in common. */
function isMessage(message: Fields): boolean {
  return (
    typeof message.httpVersion === "string" &&
    isPairs(message.headers) &&
    isCookies(message.cookies) &&
    Number.isInteger(message.headersSize) &&
    Number.isInteger(message.bodySize) &&
    isText(message.comment)
  );
}

function isPostData(data: Fields | undefined): boolean {
  return data !== undefined && typeof data.mimeType === "string" && isText(data.text) && isParams(data);
}

function isParams(data: Fields): boolean {
  return (data.params === undefined || Array.isArray(data.params)) && isText(data.comment);
}

function isContent(content: Fields | undefined): boolean {
  return (
    content !== undefined &&
    Number.isInteger(content.size) &&
    typeof content.mimeType === "string" &&
    (content.compression === undefined || Number.isInteger(content.compression)) &&
    isText(content.text) &&
    isText(content.encoding) &&
    isText(content.comment)
  );
}

function isCache(cache: Fields | undefined): boolean {
  return (
    cache !== undefined &&
    cache.beforeRequest === undefined &&
    cache.afterRequest === undefined &&
    isText(cache.comment)
  );
}

const phases = ["dns", "connect", "blocked", "ssl"] as const;

function isTimings(timings: Fields | undefined): boolean {
  if (timings === undefined || !isText(timings.comment)) return false;
  for (const phase of phases) if (timings[phase] !== undefined && typeof timings[phase] !== "number") return false;
  return typeof timings.send === "number" && typeof timings.wait === "number" && typeof timings.receive === "number";
}

/** Headers and parameters of the query. */
function isPairs(list: unknown): boolean {
  return isListOf(list, isPair);
}

function isCookies(list: unknown): boolean {
  return isListOf(list, isCookie);
}

function isListOf(list: unknown, isOne: (item: unknown) => boolean): boolean {
  if (!Array.isArray(list)) return false;
  for (const item of list) if (!isOne(item)) return false;
  return true;
}

function isPair(item: unknown): boolean {
  if (typeof item !== "object" || item === null || Array.isArray(item)) return false;
  const { name, value, comment } = item as Fields;
  return typeof name === "string" && typeof value === "string" && isText(comment);
}

function isCookie(item: unknown): boolean {
  if (!isPair(item)) return false;
  const { path, domain, expires, httpOnly, secure } = item as Fields;
  const dated = expires === undefined || expires === null || isTime(expires);
  return dated && isText(path) && isText(domain) && isFlag(httpOnly) && isFlag(secure);
}

function isTime(value: unknown): boolean {
  return typeof value === "string" && time.test(value);
}

function isText(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}

function isFlag(value: unknown): boolean {
  return value === undefined || typeof value === "boolean";
}
