/** A BidiAppend's body -> one client message of its request. */

import type { Bytes } from "../../core/bytes.js";
import type { StreamMessage } from "../../model/message.js";
import type { Decoded, WireFault } from "../../model/schema.js";
import { type OuterAppend, readAppend, readJsonAppend } from "./append-body.js";
import { AppendFacts, sharedHead } from "./append-facts.js";
import { type Call, enter } from "./call.js";
import { type ClientMessage, innerDigest, readClient } from "./client-message.js";
import type { Intake } from "./intake.js";
import { compactUp, noFaults } from "./items.js";
import { branchCount } from "./kinds.js";
import { noBlobs, noDetail, noReferences, noWords, type UpItem } from "./model.js";
import { isJsonTwin } from "./recognise.js";
import { clientFacts, requestType, sentAt, timeoutMs } from "./request-log.js";
import { CLIENT } from "./types.js";

/** Takes the request body of an append. */
export function takeAppend(call: Call, message: StreamMessage, intake: Intake): void {
  const outer = readOuter(call, message, intake);
  const id = outer.requestId === "" ? call.headerId : outer.requestId;
  const log = intake.logs.of(id);
  enter(call, log);
  log.client ??= clientFacts(call.exchange);
  log.recorder ??= call.exchange.recorder;
  const facts = appendFacts(call, outer, message);
  call.facts = facts;
  const item = appendItem(call, message, outer, facts, intake);
  call.item = item;
  log.appends.push(item);
  report(outer, item, intake);
  intake.up(log, item);
}

function readOuter(call: Call, message: StreamMessage, intake: Intake): OuterAppend {
  const evidence = message.fault === "lossy" ? "lossy-utf8" : message.evidence;
  if (isJsonTwin(call.exchange.request?.headers)) {
    const twin = readJsonAppend(message.body, evidence);
    if (twin !== undefined) return twin;
  }
  // A client that wraps its unary body in an envelope: the message starts behind five bytes of header.
  const body = message.fault === "enveloped" ? message.body.subarray(5) : message.body;
  return readAppend(body, evidence, (inner) => isClientMessage(inner, intake));
}

function isClientMessage(inner: Bytes, intake: Intake): boolean {
  const { schemas } = intake.reading;
  const decoded = schemas.decode(CLIENT, inner);
  return decoded.faults.length === 0 && schemas.branch(CLIENT, decoded.value, "message") !== undefined;
}

function appendFacts(call: Call, outer: OuterAppend, message: StreamMessage): AppendFacts {
  const { exchange, headerId } = call;
  const head = sharedHead(call.log!.heads, {
    input: exchange.flow.input,
    carrier: outer.carrier,
    hexFault: outer.hexFault,
    outerFault: outer.fault,
    misframed: message.fault === "enveloped",
    method: exchange.request?.method ?? "",
    requestType: requestType(exchange),
    headerId,
    bodyId: outer.requestId === headerId ? headerId : outer.requestId,
  });
  return new AppendFacts(head, exchange.id, timeoutMs(exchange));
}

function appendItem(
  call: Call,
  message: StreamMessage,
  outer: OuterAppend,
  facts: AppendFacts,
  intake: Intake,
): UpItem {
  const when = call.exchange.recorder === "har" ? sentAt(call.exchange) : message.mark.when;
  const order = intake.logs.arrive();
  const base = {
    seqno: outer.seqno,
    seqnoFrom: outer.seqnoFrom,
    encoding: outer.carrier === "binary" ? ("binary" as const) : ("hex" as const),
    flags: -1,
    when,
    place: message.place,
    evidence: outer.evidence,
    order,
    append: facts,
  };
  const readable =
    outer.fault === null && outer.evidence !== "lossy-utf8" && (outer.inner.length > 0 || outer.carrier !== "none");
  if (!readable || outer.hexFault === "not-hex" || outer.hexFault === "odd")
    return unreadableItem(base, outer.inner, outer.fault);
  const decoded = intake.reading.schemas.decode(CLIENT, outer.inner);
  return clientItem(base, decoded, outer.inner, call, message, intake);
}

export type ItemBase = Pick<
  UpItem,
  "seqno" | "seqnoFrom" | "encoding" | "flags" | "when" | "place" | "evidence" | "order" | "append"
>;

/** The outer message is there and the inner one is not. */
export function unreadableItem(base: ItemBase, inner: Bytes, fault: string | null): UpItem {
  const client: ClientMessage = {
    kind: "undecodable",
    lane: "session",
    says: fault === null ? noWords : [fault],
    detail: noDetail,
    fold: "",
    chars: 0,
    references: noReferences,
    carried: noBlobs,
  };
  return itemOf(base, client, inner, 0, noFaults, 0);
}

/** Written out field by field: objects that are spread together take twice the memory. */
function itemOf(
  base: ItemBase,
  client: ClientMessage,
  inner: Bytes,
  branches: number,
  faults: readonly WireFault[],
  unknownFields: number,
): UpItem {
  return compactUp({
    seqno: base.seqno,
    seqnoFrom: base.seqnoFrom,
    kind: client.kind,
    encoding: base.encoding,
    bytes: inner.length,
    flags: base.flags,
    when: base.when,
    place: base.place,
    evidence: base.evidence,
    lane: client.lane,
    says: client.says,
    detail: client.detail,
    fold: client.fold,
    chars: client.chars,
    references: client.references,
    carried: client.carried,
    faults,
    branches,
    unknownFields,
    digest: innerDigest(inner),
    order: base.order,
    append: base.append,
  });
}

/** Also for the messages of a Run request. */
export function clientItem(
  base: ItemBase,
  decoded: Decoded,
  inner: Bytes,
  call: Call,
  message: StreamMessage,
  intake: Intake,
): UpItem {
  const client = readClient(decoded, inner, intake.reading);
  const { detail } = client;
  const names = detail.type === "run" || detail.type === "prewarm";
  if (names && call.log !== null) call.log.conversationId = detail.conversationId ?? call.log.conversationId;
  intake.frame({
    message,
    body: inner,
    type: CLIENT,
    kind: client.kind,
    channel: call.method.channel,
    says: client.says,
    log: call.log,
  });
  return itemOf(base, client, inner, branchCount(CLIENT, inner), decoded.faults, decoded.unknownCount);
}

function report(outer: OuterAppend, item: UpItem, intake: Intake): void {
  const { note } = intake;
  const { place } = item;
  if (outer.evidence === "lossy-utf8") {
    note({ code: "cursor.append-lost", place, detail: { seqno: outer.seqno < 0 ? "unknown" : outer.seqno } });
  } else if (outer.evidence === "salvaged") {
    note({ code: "cursor.append-salvaged", place, detail: { seqno: outer.seqno < 0 ? "unknown" : outer.seqno } });
  } else if (outer.fault !== null) note({ code: "cursor.append-undecodable", place, detail: { fault: outer.fault } });
  else if (outer.hexFault === "not-hex" || outer.hexFault === "odd") {
    note({ code: "cursor.append-undecodable", place, detail: { fault: `data is no hex text (${outer.hexFault})` } });
  } else if (outer.carrier === "none") note({ code: "cursor.append-empty", place });
}
