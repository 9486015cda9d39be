/** The exchanges that carry the downlink: RunSSE, Run and RunPoll. */
import { type Bytes, fromHex, noBytes } from "../../core/bytes.js";
import { Place } from "../../core/place.js";
import { headerValue, type StreamEvent } from "../../model/exchange.js";
import type { StreamMessage } from "../../model/message.js";
import { type Call, enter } from "./call.js";
import { Downlink } from "./downlink.js";
import { endStreamValue, readUnaryError } from "./end-stream.js";
import { appended, flag, int, sub, text } from "./fields.js";
import type { Intake } from "./intake.js";
import { clientItem, type ItemBase, unreadableItem } from "./intake-append.js";
import { binaryBody } from "./json-twin.js";
import type { UpItem } from "./model.js";
import { agentFamily } from "./paths.js";
import { clientFacts, type DownCall, type RequestLog, requestType, responseTypeOf, timeoutMs } from "./request-log.js";
import { readServer } from "./server-message.js";
import { CLIENT, POLL_REQUEST, POLL_RESPONSE, REQUEST_ID, SERVER } from "./types.js";

type Head = Extract<StreamEvent, { kind: "head" }>;
type End = Extract<StreamEvent, { kind: "end" }>;

/** Whether a message holds a whole, decompressed payload. */
function isWhole(message: StreamMessage): boolean {
  return message.fault === null;
}

function isEndStream(message: StreamMessage): boolean {
  return message.framing === "connect-envelope" && message.flags >= 0 && (message.flags & 2) !== 0;
}

/** A frame was there, though its payload cannot be read. */
function wasFrame(message: StreamMessage): boolean {
  return message.fault === "no-codec" || message.fault === "bad-compression" || message.fault === "over-limit";
}

export function takeRequestMessage(call: Call, message: StreamMessage, intake: Intake): void {
  if (call.method.role === "run") takeRunMessage(call, message, intake);
  else if (call.method.role === "sse") takeRequestId(call, message, intake);
  else takePollRequest(call, message, intake);
}

function takeRequestId(call: Call, message: StreamMessage, intake: Intake): void {
  call.upMessages++;
  const readable = isWhole(message) || message.fault === "not-enveloped";
  const body = readable && !isEndStream(message) ? binaryBody(call, message, REQUEST_ID, intake) : null;
  const decoded = body === null ? null : intake.reading.schemas.decode(REQUEST_ID, body);
  const id = decoded === null ? "" : text(decoded.value, "request_id");
  const down = attach(call, id, intake);
  if (down === null) return;
  down.requestFrames++;
  if (isEndStream(message)) down.requestEnds++;
  if (id !== "") down.bodyIds = appended(down.bodyIds, id);
  if (message.fault === "not-enveloped") intake.note({ code: "cursor.request-not-enveloped", place: message.place });
  if (body !== null) frame(call, message, body, REQUEST_ID, "request", intake);
}

function takePollRequest(call: Call, message: StreamMessage, intake: Intake): void {
  call.upMessages++;
  const body = binaryBody(call, message, POLL_REQUEST, intake);
  const decoded = intake.reading.schemas.decode(POLL_REQUEST, body);
  const id = text(sub(decoded.value, "request_id"), "request_id");
  const down = attachPoll(call, id, flag(decoded.value, "start_request"), intake);
  if (down === null) return;
  down.requestFrames++;
  if (id !== "") down.bodyIds = appended(down.bodyIds, id);
  frame(call, message, body, POLL_REQUEST, "poll", intake);
}

function takeRunMessage(call: Call, message: StreamMessage, intake: Intake): void {
  const down = attach(call, "", intake);
  if (down === null || down.uplink === null) return;
  down.requestFrames++;
  if (isEndStream(message)) {
    down.requestEnds++;
    return;
  }
  const seqno = down.uplink.items.length;
  const base = {
    seqno,
    seqnoFrom: -1,
    encoding: "stream" as const,
    flags: message.flags,
    when: message.mark.when,
    place: message.place,
    evidence: message.evidence,
    order: intake.logs.arrive(),
    append: null,
  };
  if (!isWhole(message)) {
    intake.note({ code: "cursor.client-message-unreadable", place: message.place, detail: { fault: message.fault! } });
    if (!wasFrame(message)) return;
  }
  const item = isWhole(message) ? runItem(call, base, message, intake) : unreadableItem(base, noBytes, message.fault);
  down.uplink.items.push(item);
  intake.up(call.log!, item);
}

function runItem(call: Call, base: ItemBase, message: StreamMessage, intake: Intake): UpItem {
  const body = binaryBody(call, message, CLIENT, intake);
  return clientItem(base, intake.reading.schemas.decode(CLIENT, body), body, call, message, intake);
}

export function takeResponseHead(call: Call, event: Head, intake: Intake): void {
  call.response = event.head;
  const down = ensureDown(call, intake);
  if (down === null) return;
  down.responseSeen = true;
  down.status = event.head.status;
  down.responseType = responseTypeOf(event.head.headers);
  down.responseCodec = (headerValue(event.head.headers, "connect-content-encoding") ?? "").toLowerCase();
}

export function takeResponseMessage(call: Call, message: StreamMessage, intake: Intake): void {
  const down = ensureDown(call, intake);
  if (down === null) return;
  const { downlink } = down;
  if (message.framing === "whole-body") {
    const status = down.status ?? 0;
    if (message.body.length === 0) return;
    down.httpError = readUnaryError(status, message.body, intake.reading.schemas);
    jsonFrame(call, message, "error", intake);
    return;
  }
  if (wasFrame(message)) {
    downlink.unreadable(message);
    intake.note({ code: "cursor.frame-unreadable", place: message.place, detail: { fault: message.fault! } });
  } else if (!isWhole(message) && message.fault !== "lossy") downlink.broken(message);
  else if (isEndStream(message)) {
    downlink.endStream(message);
    jsonFrame(call, message, "EndStream", intake);
  } else if (call.method.role === "poll") takePollResponse(call, down, message, intake);
  else takeServerMessage(call, down, message, binaryBody(call, message, SERVER, intake), intake);
}

function takeServerMessage(call: Call, down: DownCall, message: StreamMessage, body: Bytes, intake: Intake): void {
  const decoded = intake.reading.schemas.decode(SERVER, body);
  const server = readServer(decoded, body, intake.reading);
  const item = down.downlink.message(message, body, decoded, server);
  intake.frame({
    message,
    body,
    type: SERVER,
    kind: server.kind,
    channel: call.method.channel,
    says: server.says,
    log: call.log,
  });
  intake.down(call.log!, down, item);
}

/** `data` is most likely lowercase hex, as in BidiAppendRequest (protocols/cursor.md 1.1): the message says so when it is not. */
function takePollResponse(call: Call, down: DownCall, message: StreamMessage, intake: Intake): void {
  const body = binaryBody(call, message, POLL_RESPONSE, intake);
  const decoded = intake.reading.schemas.decode(POLL_RESPONSE, body);
  const data = text(decoded.value, "data");
  if (flag(decoded.value, "eof")) down.eof = true;
  if (data === "") {
    frame(call, message, body, POLL_RESPONSE, "poll", intake);
    return;
  }
  const seqno = int(decoded.value, "seqno");
  const hex = data.length % 2 === 0 && /^[0-9a-f]*$/i.test(data);
  if (!hex) intake.note({ code: "cursor.poll-encoding", place: message.place, detail: { seqno } });
  takeServerMessage(call, down, message, hex ? fromHex(data) : new Uint8Array(Buffer.from(data, "base64")), intake);
}

export function takeGap(call: Call, event: Extract<StreamEvent, { kind: "gap" }>, intake: Intake): void {
  const down = ensureDown(call, intake);
  const { mark, why, length } = event;
  const place = new Place(mark.input, mark.first, mark.last, event.direction === "up" ? "request" : "response");
  const gap = { why, length: length ?? null, place };
  if (down === null) return;
  if (event.direction === "up") down.upGaps = appended(down.upGaps, { ...gap, after: call.upMessages });
  else down.downlink.gap(gap);
}

export function takeEnd(call: Call, event: End, intake: Intake): void {
  const down = ensureDown(call, intake);
  if (down === null) return;
  const { reason, by, mark } = event;
  if (event.direction === "up") {
    down.upEnd = { reason, by, when: mark.when };
    return;
  }
  down.downlink.close({ reason, by, when: mark.when });
  if (call.log !== null) intake.ended(call.log, down);
}

/** The downlink of a call, under the id of its header where no body named one. */
function ensureDown(call: Call, intake: Intake): DownCall | null {
  if (call.down !== null) return call.down;
  return call.method.role === "poll" ? attachPoll(call, "", false, intake) : attach(call, "", intake);
}

function attach(call: Call, bodyId: string, intake: Intake): DownCall | null {
  if (call.down !== null) return call.down;
  const log = intake.logs.of(bodyId === "" ? call.headerId : bodyId);
  enter(call, log);
  if (call.method.family !== agentFamily) {
    log.foreign.add(call.method.channel);
    return null;
  }
  return open(call, log, intake);
}

/** Polls of one run follow each other; one that starts, or comes after the end, begins another. */
function attachPoll(call: Call, bodyId: string, starts: boolean, intake: Intake): DownCall | null {
  if (call.down !== null) return call.down;
  const log = intake.logs.of(bodyId === "" ? call.headerId : bodyId);
  enter(call, log);
  if (call.method.family !== agentFamily) {
    log.foreign.add(call.method.channel);
    return null;
  }
  const before = log.calls.filter((known) => known.channel === "RunPoll").at(-1);
  if (before === undefined || before.eof || (starts && before.polls > 0)) return open(call, log, intake);
  before.polls++;
  call.down = before;
  return before;
}

function open(call: Call, log: RequestLog, intake: Intake): DownCall {
  const { exchange } = call;
  const facts = clientFacts(exchange);
  if (log.client === null || log.calls.length === 0) log.client = facts;
  log.recorder ??= exchange.recorder;
  const run = call.method.role === "run";
  const down: DownCall = {
    channel: run ? "Run" : call.method.role === "poll" ? "RunPoll" : "RunSSE",
    input: exchange.flow.input,
    exchange: exchange.id,
    order: intake.logs.arrive(),
    opened: exchange.opened,
    recorder: exchange.recorder,
    durationMs: exchange.durationMs,
    method: exchange.request?.method ?? "",
    headerId: call.headerId,
    requestType: requestType(exchange),
    timeoutMs: timeoutMs(exchange),
    client: facts,
    place: new Place(exchange.mark.input, exchange.mark.first, exchange.mark.last),
    downlink: new Downlink(intake.reading, log.box),
    uplink: run ? log.box.add() : null,
    bodyIds: none,
    requestFrames: 0,
    requestEnds: 0,
    upGaps: none,
    upEnd: null,
    responseSeen: false,
    status: null,
    responseType: "",
    responseCodec: "",
    httpError: null,
    eof: false,
    polls: 1,
  };
  call.down = down;
  log.calls.push(down);
  return down;
}

const none: readonly never[] = Object.freeze([]);

function frame(call: Call, message: StreamMessage, body: Bytes, type: string, kind: string, intake: Intake): void {
  intake.frame({ message, body, type, kind, channel: call.method.channel, says: [], log: call.log });
}

function jsonFrame(call: Call, message: StreamMessage, kind: string, intake: Intake): void {
  if (!intake.tools.wantFrames) return;
  intake.line({
    message,
    dialect: "cursor",
    conversationId: call.log?.conversationId ?? null,
    requestId: call.log?.id ?? null,
    channel: call.method.channel,
    type: "json",
    kind,
    says: [],
    value: () => endStreamValue(message.body),
    unknown: () => [],
  });
}
