/**
 * One downlink (a RunSSE or Run response, or the polls of one run) as it arrives: frames counted, deltas folded, texts gathered.
 * Times are the messages' own; what a HAR knows better is worked out when the turn is built.
 */

import type { Bytes } from "../../core/bytes.js";
import type { Place } from "../../core/place.js";
import { privately, type Words } from "../../core/printable.js";
import { isExact, isKnown, millisBetween, type When } from "../../core/time.js";
import type { Evidence } from "../../model/exchange.js";
import type { StreamMessage } from "../../model/message.js";
import type { Decoded } from "../../model/schema.js";
import { readEndStream } from "./end-stream.js";
import { appended, flat } from "./fields.js";
import { shortened } from "./format.js";
import { compactDown } from "./items.js";
import { branchCount } from "./kinds.js";
import {
  type DownDetail,
  type DownItem,
  type EndStream,
  type GapFact,
  noDetail,
  noReferences,
  noWords,
} from "./model.js";
import { checkpointOf, type Reading, type ServerMessage } from "./server-message.js";
import type { Box, BoxList } from "./shelf.js";
import { StreamFaults } from "./stream-faults.js";
import { SpilledText } from "./texts.js";
import { SERVER } from "./types.js";

/** Characters of text that a folded run of deltas shows. */
export const leadChars = 60;

export interface Frames {
  total: number;
  readonly byFlags: Map<number, number>;
  wireBytes: number;
  bodyBytes: number;
}

/** How the server's side of the talk came to an end. */
export interface StreamEnd {
  readonly reason: "complete" | "reset" | "capture-ended";
  readonly by: "client" | "server" | null;
  readonly when: When;
}

export class Downlink {
  readonly frames: Frames = { total: 0, byFlags: new Map(), wireBytes: 0, bodyBytes: 0 };
  /** Messages by kind; EndStream is none. */
  readonly kinds = new Map<string, number>();
  readonly gaps: GapFact[] = [];
  readonly faults = new StreamFaults();
  readonly text: SpilledText;
  readonly thinking: SpilledText;
  /** How the bytes of its frames were recovered. */
  evidence: readonly Evidence[] = [];
  /** Every EndStream, with the ordinal of its frame. */
  ends: readonly { readonly ordinal: number; readonly end: EndStream; readonly place: Place }[] = [];
  end: StreamEnd | null = null;
  /** Heartbeats and silences, where every frame has its own time. */
  readonly heartbeats = { count: 0, minGapMs: null as number | null, maxGapMs: null as number | null };
  readonly silence = { maxMs: null as number | null, place: null as Place | null };
  /** Frames whose messages differ from their schema. */
  unknownFields = 0;
  /** Of all frames so far: tells two recordings of one stream from two streams. */
  private signature = 0;
  private lastHeartbeat: When | null = null;
  private lastFrame: When | null = null;
  /** Open folds of the current run of deltas, by fold key. */
  private folds: Map<string, DownItem> | null = null;
  private stepId: number | null = null;

  private readonly itemList: BoxList<DownItem>;

  constructor(
    private readonly reading: Reading,
    box: Box,
  ) {
    this.itemList = box.add();
    this.text = new SpilledText(reading.store);
    this.thinking = new SpilledText(reading.store);
  }

  /** One per message or run of the same delta. */
  get items(): DownItem[] {
    return this.itemList.items;
  }

  get mark(): string {
    return `${this.frames.total} ${this.frames.bodyBytes} ${this.signature}`;
  }

  /** One envelope that carries a server message; `body` is its binary form (of a JSON twin or a poll not the payload itself). */
  message(message: StreamMessage, body: Bytes, decoded: Decoded, server: ServerMessage): DownItem {
    const ordinal = this.counted(message);
    const faulty = decoded.faults.some((fault) => fault.what !== "bad-utf8");
    this.faults.message(message, body, decoded, branchCount(SERVER, body), server.kind, ordinal);
    this.unknownFields += decoded.unknownCount;
    this.kinds.set(server.kind, (this.kinds.get(server.kind) ?? 0) + 1);
    this.gather(server);
    return this.keep(message, body, server, ordinal, faulty);
  }

  /** A client of an exchange that failed before its stream began gets no frames. */
  endStream(message: StreamMessage): EndStream {
    const ordinal = this.counted(message);
    const end = readEndStream(message.body, this.reading.schemas);
    this.ends = appended(this.ends, { ordinal, end, place: message.place });
    this.folds?.clear();
    this.items.push(compactDown(this.item(message, endStreamPart(end), ordinal, false, { type: "end-stream", end })));
    return end;
  }

  /** A frame whose payload cannot be read: counted, and named. */
  unreadable(message: StreamMessage): void {
    const ordinal = this.counted(message);
    this.faults.add({ what: message.fault ?? "truncated", place: message.place, ordinal, ...lengthsOf(message) });
    this.kinds.set("undecodable", (this.kinds.get("undecodable") ?? 0) + 1);
    this.folds?.clear();
    this.items.push(this.item(message, { kind: "undecodable", says: noWords }, ordinal, true, noDetail));
  }

  /** Bytes that are no whole envelope: no frame, but a fault of the stream. */
  broken(message: StreamMessage): void {
    this.faults.add({
      what: message.fault ?? "truncated",
      place: message.place,
      ordinal: this.frames.total,
      ...lengthsOf(message),
    });
  }

  gap(gap: Omit<GapFact, "after">): void {
    this.gaps.push({ ...gap, after: this.frames.total });
    this.lastHeartbeat = null;
    this.lastFrame = null;
  }

  close(end: StreamEnd): void {
    this.end = end;
    this.folds = null;
    this.text.close();
    this.thinking.close();
  }

  private counted(message: StreamMessage): number {
    const { frames } = this;
    const ordinal = frames.total++;
    frames.byFlags.set(message.flags, (frames.byFlags.get(message.flags) ?? 0) + 1);
    frames.wireBytes += message.wireBytes;
    frames.bodyBytes += message.body.length;
    if (!this.evidence.includes(message.evidence)) this.evidence = appended(this.evidence, message.evidence);
    this.sign(message);
    this.tick(message);
    this.faults.frame(message, ordinal);
    return ordinal;
  }

  /** Samples are enough: two streams of one request id differ in ids, texts and lengths. */
  private sign(message: StreamMessage): void {
    const { body } = message;
    let value = Math.imul(this.signature ^ message.flags, 0x01000193) ^ body.length;
    const stride = Math.max(1, body.length >> 5);
    for (let i = 0; i < body.length; i += stride) value = Math.imul(value ^ body[i]!, 0x01000193);
    this.signature = value >>> 0;
  }

  private tick(message: StreamMessage): void {
    const { when } = message.mark;
    if (!isKnown(when) || !isExact(when)) return;
    if (this.lastFrame !== null) {
      const gap = millisBetween(this.lastFrame.earliest, when.earliest);
      if (this.silence.maxMs === null || gap > this.silence.maxMs) {
        this.silence.maxMs = gap;
        this.silence.place = message.place;
      }
    }
    this.lastFrame = when;
  }

  private gather(server: ServerMessage): void {
    const { detail } = server;
    if (server.text !== "" && !server.notice) {
      if (server.kind === "interaction_update.text_delta") this.text.add(server.text, this.stepId);
      else if (server.kind === "interaction_update.thinking_delta") this.thinking.add(server.text, this.stepId);
    } else if (detail.type === "step") this.stepId = detail.event === "started" ? detail.stepId : null;
  }

  private keep(message: StreamMessage, body: Bytes, server: ServerMessage, ordinal: number, faulty: boolean): DownItem {
    if (server.detail.type === "heartbeat") this.heartbeat(message.mark.when);
    const open = server.fold === "" ? undefined : this.folds?.get(server.fold);
    if (open !== undefined && open.kind === server.kind) {
      fold(open, message, server, ordinal);
      return open;
    }
    if (server.fold === "") this.folds?.clear();
    const detail: DownDetail =
      server.detail.type === "checkpoint-bytes"
        ? {
            type: "checkpoint",
            checkpoint: checkpointOf(server.detail.state, body, this.reading, {
              ordinal,
              when: message.mark.when,
              place: message.place,
              faulty,
            }),
          }
        : server.detail;
    const item = compactDown(this.item(message, server, ordinal, faulty, detail));
    this.items.push(item);
    if (server.fold !== "") {
      this.folds ??= new Map();
      this.folds.set(server.fold, item);
    }
    return item;
  }

  private heartbeat(when: When): void {
    const beats = this.heartbeats;
    beats.count++;
    if (!isKnown(when) || !isExact(when)) return;
    if (this.lastHeartbeat !== null) {
      const gap = millisBetween(this.lastHeartbeat.earliest, when.earliest);
      beats.minGapMs = Math.min(beats.minGapMs ?? gap, gap);
      beats.maxGapMs = Math.max(beats.maxGapMs ?? gap, gap);
    }
    this.lastHeartbeat = when;
  }

  private item(message: StreamMessage, part: ItemPart, ordinal: number, faulty: boolean, detail: DownDetail): DownItem {
    return {
      kind: part.kind,
      first: ordinal,
      last: ordinal,
      count: 1,
      bytes: message.body.length,
      chars: part.text?.length ?? 0,
      tokens: part.tokens ?? 0,
      flags: message.flags,
      when: message.mark.when,
      until: message.mark.when,
      place: message.place,
      lastPlace: message.place,
      lane: part.lane ?? "session",
      says: part.says,
      lead: leadOf(part.text ?? ""),
      detail,
      nested: part.nested ?? null,
      references: part.references ?? noReferences,
      fold: part.fold ?? "",
      faulty,
    };
  }
}

type ItemPart = { readonly kind: string; readonly says: Words } & Partial<
  Pick<ServerMessage, "lane" | "fold" | "text" | "tokens" | "nested" | "references">
>;

function endStreamPart(end: EndStream): ItemPart {
  const { error } = end;
  const said: Words = error === null ? ["success"] : [`${error.code}: `, privately(shortened(error.message))];
  const details: Words = end.details === "" ? [] : [" (", privately(shortened(end.details)), ")"];
  return { kind: "EndStream", lane: "control", says: [...said, ...details] };
}

function fold(item: DownItem, message: StreamMessage, server: ServerMessage, ordinal: number): void {
  item.last = ordinal;
  item.count++;
  item.bytes += message.body.length;
  item.until = message.mark.when;
  item.lastPlace = message.place;
  item.tokens += server.tokens;
  if (server.text === "") return;
  // The beginning of a text comes in pieces: they are joined until a line is full.
  if (item.lead.length < leadChars) item.lead = leadOf(item.lead + server.text);
  item.chars += server.text.length;
}

/** A short copy of its own: the delta's text is kept elsewhere. */
const leadOf = (text: string): string => (text === "" ? "" : flat(text.slice(0, leadChars * 2)));

function lengthsOf(message: StreamMessage): { declared: number; got: number } {
  return { declared: message.declared, got: message.wireBytes };
}
