/**
 * The exchanges of one HTTP/1 connection: opens them, pairs responses with requests, and says when the connection becomes another
 * protocol. A response whose request the capture does not hold opens an exchange with the method "".
 */
import type { Bytes } from "../../core/bytes.js";
import type { Detail, DiagnosticCode } from "../../core/diagnostic.js";
import { type Mark, placeOf } from "../../core/mark.js";
import { type Direction, type GapReason, type Headers, headerValue, type RequestHead } from "../../model/exchange.js";
import type { Duplex, EndReason, LayerContext } from "../duplex.js";
import { ExchangeEvents, placeSide } from "../exchange-open.js";
import { type BodyLength, requestBody, responseBody } from "./framing.js";
import { type HeadText, requestHead, responseHead } from "./head.js";
import { type Match, Pairing, type Slot, type SwitchKind } from "./pairing.js";
import type { MessageEvents } from "./reader.js";
import { turnedInto } from "./switch.js";

export interface ConnectionState {
  /** How a direction's bytes ended; null while they go on. */
  over(direction: Direction): EndOfBytes | null;
  inStep(direction: Direction): boolean;
  /** The layer that reads what the connection became; null while it is HTTP/1. */
  inner(): Duplex | null;
  /** The client's bytes are `inner`'s from the next message on. */
  upTurned(inner: Duplex): void;
  /** Both directions are, since the response that says so was seen. */
  turned(inner: Duplex): void;
}

export class Http1Exchanges {
  private readonly pairing = new Pairing();
  /** The request after which the client's bytes wait for the response, because it asked for another protocol. */
  turning: Slot | null = null;
  /** So many response bytes waited that no request for them is expected before the next one is seen. */
  noRequests = false;
  private asking: Slot | null = null;
  private answering: Slot | null = null;
  private informational = false;
  private match: Match = "wait";
  /** Why bytes were missing last. */
  lossWhy: GapReason = "not-captured";
  readonly up: MessageEvents;
  readonly down: MessageEvents;

  constructor(
    private readonly context: LayerContext,
    private readonly secure: boolean,
    private readonly state: ConnectionState,
  ) {
    this.up = this.requests();
    this.down = this.responses();
  }

  private note(direction: Direction, code: DiagnosticCode, mark: Mark, detail: Detail = {}): void {
    this.context.note({ code, place: placeOf(mark, placeSide(direction)), detail });
  }

  private requests(): MessageEvents {
    return {
      ready: () => this.turning === null && this.state.inner() === null,
      head: (head, first, span, cut) => this.requestHead(head, first, span, cut),
      done: (mark) => this.requestDone(mark),
      resumable: () => this.asking !== null && !this.asking.answered,
      ...this.common("up", () => this.asking),
    };
  }

  private responses(): MessageEvents {
    return {
      ready: (mark) => {
        const lonely = this.noRequests || this.state.over("up") !== null;
        this.match = this.pairing.match(mark, this.state.inStep("down"), lonely);
        return this.match !== "wait";
      },
      head: (head, first, span) => this.responseHead(head, first, span),
      done: (mark) => {
        if (this.informational || this.answering === null) return;
        this.answering.answered = true;
        this.answering.events.end("down", "complete", null, mark);
      },
      resumable: (mark) => !this.pairing.hasBefore(mark),
      ...this.common("down", () => this.answering),
    };
  }

  private common(direction: Direction, current: () => Slot | null) {
    return {
      bytes: (bytes: Bytes, mark: Mark) => current()?.events.bytes(direction, bytes, mark),
      gap: (length: number | undefined, why: GapReason, mark: Mark) => {
        current()?.events.gap(direction, length, why, mark);
      },
      trailers: (headers: Headers, mark: Mark) => current()?.events.trailers(direction, headers, mark),
      broken: (mark: Mark) => current()?.events.end(direction, "capture-ended", null, mark),
      note: (code: DiagnosticCode, mark: Mark, detail?: Detail) => this.note(direction, code, mark, detail),
    };
  }

  private requestHead(text: HeadText, first: Mark, span: Mark, cut: boolean): BodyLength | undefined {
    const head = requestHead(text, this.secure);
    if (head === undefined) return undefined;
    this.context.protocol("http1");
    const turns = cut ? null : askedSwitch(head);
    const slot: Slot = {
      events: new ExchangeEvents(this.context, head, first, span),
      method: head.method,
      first,
      inStep: this.state.inStep("up"),
      turns,
      requestDone: null,
      answered: false,
    };
    this.asking = slot;
    this.noRequests = false;
    if (turns !== null) this.turning = slot;
    this.await(slot, span);
    if (head.method === "CONNECT") return { kind: "none" };
    return requestBody(head.headers, (code, detail) => this.note("up", code, span, detail));
  }

  private await(slot: Slot, mark: Mark): void {
    const over = this.state.over("down");
    if (over !== null) slot.events.end("down", cutShort(over.reason), over.by, over.mark);
    const dropped = over === null ? this.pairing.add(slot) : undefined;
    if (dropped !== undefined) this.lostAnswer(dropped, mark);
  }

  private requestDone(mark: Mark): void {
    const slot = this.asking;
    if (slot === null) return;
    slot.requestDone = mark;
    // After a request for another protocol the client's frames or bytes may still belong to this exchange.
    if (slot !== this.turning || slot.turns === "h2c") slot.events.end("up", "complete", null, mark);
  }

  private responseHead(text: HeadText, first: Mark, span: Mark): BodyLength | undefined {
    const head = responseHead(text);
    if (head === undefined || this.match === "wait") return undefined;
    this.context.protocol("http1");
    const slot = this.match === "orphan" ? this.orphan(first, span) : this.match.slot;
    if (this.match !== "orphan") for (const skipped of this.match.skipped) this.lostAnswer(skipped, span);
    this.answering = slot;
    const turned = head.status === 101 || (slot.method === "CONNECT" && head.status >= 200 && head.status < 300);
    const kind = turned ? switchOf(slot, headerValue(head.headers, "upgrade")) : null;
    this.informational = head.status >= 100 && head.status < 200 && (!turned || kind === "h2c");
    slot.events.head(head, this.informational, span);
    if (this.informational && !turned) return { kind: "none" };
    this.pairing.answer(slot);
    if (kind !== null) return this.turn(slot, kind, head.headers, span);
    this.settleRequest(slot, span);
    return responseBody(head.status, slot.method, head.headers, (code, detail) =>
      this.note("down", code, span, detail),
    );
  }

  private turn(slot: Slot, kind: SwitchKind, headers: Headers, mark: Mark): BodyLength {
    slot.answered = true;
    this.turning = null;
    const inner = this.state.inner() ?? turnedInto(kind, this.context, this.secure, slot.events, headers, mark);
    this.state.turned(inner);
    return { kind: "switch" };
  }

  /** The final head came and the connection stays HTTP/1: the request's end may be told. */
  private settleRequest(slot: Slot, mark: Mark): void {
    if (slot === this.turning) this.turning = null;
    if (slot.method === "") {
      slot.events.gap("up", undefined, "not-captured", mark);
      slot.events.end("up", "capture-ended", null, mark);
    } else if (slot.requestDone !== null) slot.events.end("up", "complete", null, slot.requestDone);
  }

  private orphan(first: Mark, span: Mark): Slot {
    const request: RequestHead = {
      method: "",
      authority: "",
      scheme: this.secure ? "https" : "http",
      path: "",
      version: null,
      headers: [],
    };
    const events = new ExchangeEvents(this.context, request, first, span);
    const slot: Slot = { events, method: "", first, inStep: true, turns: null, requestDone: null, answered: false };
    this.note("down", "http1.response-without-request", span);
    this.pairing.addFront(slot);
    return slot;
  }

  /** A request whose response the capture does not hold. */
  private lostAnswer(slot: Slot, mark: Mark): void {
    this.pairing.answer(slot);
    this.note("down", "http.response-lost", slot.first);
    this.settleRequest(slot, mark);
    slot.events.gap("down", undefined, this.lossWhy, mark);
    slot.events.end("down", "capture-ended", null, mark);
  }

  /**
   * The client's bytes waited for a response that does not come. They tell: another request, or what the client asked to switch to.
   */
  turnUnseen(next: { readonly request: boolean; readonly mark: Mark } | null): void {
    const slot = this.turning;
    if (slot === null) return;
    this.turning = null;
    if (next !== null && !next.request && slot.turns !== null) {
      this.note("up", "http.switch-unseen", next.mark);
      const offered = slot.events.exchange.request?.headers ?? [];
      this.state.upTurned(turnedInto(slot.turns, this.context, this.secure, slot.events, offered, next.mark));
    } else if (slot.requestDone !== null) slot.events.end("up", "complete", null, slot.requestDone);
  }

  /** A direction's bytes are over; `state` as its reader says. `lost`: the reader was out of step. */
  finish(direction: Direction, state: "idle" | "open" | "complete", lost: boolean, end: EndOfBytes): void {
    const { reason, by, mark } = end;
    const cut = cutShort(reason);
    const current = direction === "up" ? this.asking : this.answering;
    if (direction === "up" && current !== null && current.requestDone !== null)
      current.events.end("up", "complete", null, current.requestDone);
    current?.events.end(direction, state === "complete" ? reason : cut, by, mark);
    if (direction === "up") return;
    for (const { events } of this.pairing.rest()) {
      if (lost) events.gap("down", undefined, this.lossWhy, mark);
      events.end("down", cut, by, mark);
    }
  }
}

export interface EndOfBytes {
  readonly reason: EndReason;
  /** Who closed the connection first. */
  readonly by: "client" | "server" | null;
  readonly mark: Mark;
}

/** How a message ended that its connection's end cut short. */
function cutShort(reason: EndReason): EndReason {
  return reason === "complete" ? "reset" : reason;
}

function askedSwitch(head: RequestHead): SwitchKind | null {
  if (head.method === "CONNECT") return "connect";
  const wanted = headerValue(head.headers, "upgrade");
  return wanted === undefined ? null : upgradeKind(wanted);
}

function upgradeKind(value: string): SwitchKind {
  const names = value.split(",").map((item) => item.trim().split("/")[0]!.toLowerCase());
  return names.includes("websocket") ? "websocket" : names.includes("h2c") ? "h2c" : "other";
}

function switchOf(slot: Slot, upgrade: string | undefined): SwitchKind {
  if (slot.method === "CONNECT") return "connect";
  return upgrade === undefined ? (slot.turns ?? "other") : upgradeKind(upgrade);
}
