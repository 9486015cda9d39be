/** One exchange under /api/: its envelope and what the rules need of it. kimi.md 2. */
import { placeOf } from "../../core/mark.js";
import { type Exchange, headerValue, mediaType, type ResponseHead } from "../../model/exchange.js";
import type { StreamMessage } from "../../model/message.js";
import { at, contentText, isObject, isUlid, listAt, numberAt, parseJson, textAt } from "./json.js";
import type { RestCall } from "./model.js";

export function newRestCall(exchange: Exchange): RestCall {
  const request = exchange.request;
  return {
    exchange,
    method: request?.method ?? "",
    path: request?.path ?? "",
    place: placeOf(exchange.mark, "request"),
    status: 0,
    sentRequestId: request === null ? null : (headerValue(request.headers, "x-request-id") ?? null),
    contentType: "",
    requestBytes: 0,
    responseBytes: 0,
    bodySeen: false,
    isJson: false,
    isEnvelope: false,
    unknownRoute: false,
    code: null,
    msg: null,
    requestId: null,
    dataIsNull: false,
    hasStack: false,
    items: null,
    hasMore: "absent",
    promptId: null,
    promptText: null,
    model: null,
    answeredAt: null,
    answerPlace: null,
    damaged: false,
  };
}

export function readResponseHead(call: RestCall, head: ResponseHead): void {
  call.status = head.status;
  call.contentType = mediaType(head.headers);
}

/** The request body of a prompt names text and model; other bodies are only counted. */
export function readRequestBody(call: RestCall, message: StreamMessage): void {
  call.requestBytes += message.body.length;
  if (!/\/prompts$/.test(call.path.split("?")[0]!)) return;
  const body = parseJson(message.body);
  call.promptText = contentText(at(body, "content"));
  call.model = textAt(body, "model");
}

/** code, msg, data and request_id: the envelope of kimi.md 2.1, or not. */
export function readResponseBody(call: RestCall, message: StreamMessage): void {
  call.responseBytes += message.body.length;
  call.answeredAt = message.mark.when;
  call.answerPlace = message.place;
  call.damaged = message.fault !== null;
  call.bodySeen = !call.damaged;
  const body = parseJson(message.body);
  call.isJson = body !== undefined;
  if (!isObject(body)) return;
  const keys = Object.keys(body);
  call.unknownRoute = keys.length === 3 && ["message", "error", "statusCode"].every((key) => keys.includes(key));
  const code = numberAt(body, "code");
  const msg = textAt(body, "msg");
  call.isEnvelope = code !== null && msg !== null && Object.hasOwn(body, "data") && textAt(body, "request_id") !== null;
  if (code === null) return;
  call.code = code;
  call.msg = msg;
  call.requestId = textAt(body, "request_id");
  call.dataIsNull = at(body, "data") === null;
  call.hasStack = Object.hasOwn(body, "stack");
  call.promptId = textAt(body, "data", "prompt_id");
  const data = at(body, "data");
  if (isObject(data) && Array.isArray(data["items"])) call.items = listAt(data, "items").length;
  if (isObject(data) && Object.hasOwn(data, "has_more"))
    call.hasMore = typeof data["has_more"] === "boolean" ? "boolean" : "other";
}

/** Whether this call proves that its host is a kimi server. */
export function provesServer(call: RestCall): boolean {
  return call.isEnvelope && call.requestId !== null && isUlid(call.requestId);
}
