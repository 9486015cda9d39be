/** Messages of the claimed exchanges in, conversations out. Order of input is the capture's; nothing here depends on it. */
import { Place } from "../../core/place.js";
import { isKnown, maxNanos } from "../../core/time.js";
import type { DialectResult, Session, SessionTools } from "../../model/dialect.js";
import type { Exchange, StreamEvent } from "../../model/exchange.js";
import type { FrameLine, SessionInput, StreamMessage } from "../../model/message.js";
import type { Call } from "./call.js";
import { contents } from "./contents.js";
import { finishSession } from "./finish.js";
import type { Intake, SeenFrame } from "./intake.js";
import { takeAppend } from "./intake-append.js";
import { takeEnd, takeGap, takeRequestMessage, takeResponseHead, takeResponseMessage } from "./intake-stream.js";
import { LiveSteps } from "./live.js";
import { Logs } from "./logs.js";
import type { DownItem, UpItem } from "./model.js";
import { methodOfExchange } from "./recognise.js";
import { clientFacts, type DownCall, headerId, type RequestLog, responseTypeOf, sentAt } from "./request-log.js";
import { hasSecretBlob } from "./secret-blobs.js";
import { sensitivityWithBlobs } from "./sensitivity.js";
import type { Reading } from "./server-message.js";
import { Shelf } from "./shelf.js";
import { takeUpload, type UploadedBlob } from "./upload.js";

export function cursorSession(tools: SessionTools): Session {
  return new CursorSession(tools);
}

/** Of `conversationBytes`: what items may take before they are packed, beside the bodies. */
const itemShare = 1;

class CursorSession implements Session, Intake {
  readonly reading: Reading;
  readonly logs: Logs;
  readonly note: SessionTools["note"];
  private readonly calls = new Map<number, Call>();
  private readonly uploads: UploadedBlob[] = [];
  /** Calls that are listed and not decoded, by method. */
  private readonly others = new Map<string, number>();
  private readonly live: LiveSteps | null;
  private order = 0;

  constructor(readonly tools: SessionTools) {
    this.note = tools.note;
    this.reading = {
      schemas: tools.schemas,
      contents: contents(tools.blobs, (id) => tools.stored?.(id)),
      store: tools.blobs,
    };
    // What is shown while it is read is shown item by item: it must stay in place.
    const bytes = tools.follows ? Number.POSITIVE_INFINITY : itemShare * tools.limits.conversationBytes;
    this.logs = new Logs(new Shelf(tools.blobs, bytes));
    this.live = tools.follows ? new LiveSteps(this) : null;
  }

  push(input: SessionInput): void {
    if (input.kind === "open") {
      this.open(input.exchange);
      return;
    }
    const exchange = input.kind === "message" ? input.message.exchange : input.exchange;
    const call = this.calls.get(exchange.id);
    if (call === undefined) return;
    switch (call.method.role) {
      case "append":
        this.append(call, input);
        break;
      case "sse":
      case "run":
      case "poll":
        this.stream(call, input);
        break;
      case "upload":
        if (input.kind === "message" && input.message.direction === "up")
          this.uploads.push(...takeUpload(call, input.message, this));
        break;
      case "other":
        break;
    }
    if (input.kind === "end") this.end(call, input);
  }

  finish(): DialectResult {
    for (const call of this.calls.values()) {
      this.abandon(call);
      call.log?.box.leave();
    }
    this.calls.clear();
    return finishSession(this, { uploads: this.uploads, others: this.others, live: this.live });
  }

  frame(seen: SeenFrame): void {
    if (!this.tools.wantFrames) return;
    const { schemas } = this.reading;
    const { type, body } = seen;
    const marks = sensitivityWithBlobs(() => hasSecretBlob(schemas, type, body));
    this.line({
      message: seen.message,
      dialect: "cursor",
      conversationId: seen.log?.conversationId ?? null,
      requestId: seen.log?.id ?? null,
      channel: seen.channel,
      ...(body === seen.message.body ? {} : { decoded: body }),
      type,
      kind: seen.kind,
      says: seen.says,
      value: () => schemas.json(type, body, marks),
      unknown: () => schemas.unknown(type, body, marks),
    });
  }

  line(line: FrameLine): void {
    if (this.tools.wantFrames) this.tools.emit({ kind: "frame", frame: line });
  }

  up(log: RequestLog, item: UpItem): void {
    this.live?.up(log, item);
  }

  down(log: RequestLog, call: DownCall, item: DownItem): void {
    this.live?.down(log, call, item);
  }

  ended(log: RequestLog, call: DownCall): void {
    this.live?.ended(log, call);
  }

  private open(exchange: Exchange): void {
    const method = methodOfExchange(exchange);
    if (method === undefined) return;
    if (method.role === "other") {
      this.others.set(method.channel, (this.others.get(method.channel) ?? 0) + 1);
      return;
    }
    this.calls.set(exchange.id, {
      exchange,
      method,
      order: this.order++,
      headerId: headerId(exchange),
      response: null,
      log: null,
      down: null,
      item: null,
      facts: null,
      upGaps: [],
      downGaps: [],
      upMessages: 0,
      ended: { up: false, down: false },
    });
  }

  private stream(call: Call, input: SessionInput): void {
    switch (input.kind) {
      case "head":
        if (!input.informational) takeResponseHead(call, input, this);
        return;
      case "message":
        if (input.message.direction === "up") takeRequestMessage(call, input.message, this);
        else takeResponseMessage(call, input.message, this);
        return;
      case "gap":
        takeGap(call, input, this);
        return;
      case "end":
        takeEnd(call, input, this);
        return;
      default:
        return;
    }
  }

  private append(call: Call, input: SessionInput): void {
    switch (input.kind) {
      case "head":
        if (input.informational) return;
        call.response = input.head;
        if (call.facts !== null) {
          call.facts.status = input.head.status;
          call.facts.responseType = responseTypeOf(input.head.headers);
        }
        return;
      case "message":
        if (input.message.direction === "up") this.appendBody(call, input.message);
        else if (call.facts !== null) call.facts.responseBytes += input.message.body.length;
        return;
      case "gap":
        if (input.direction === "down") {
          if (call.facts !== null) call.facts.responseLost = true;
          return;
        }
        call.upGaps.push({
          why: input.why,
          length: input.length ?? null,
          place: placeOf(input),
          after: call.upMessages,
        });
        return;
      default:
        return;
    }
  }

  private appendBody(call: Call, message: StreamMessage): void {
    // What is left of a body that has a hole or was cut is no message; it is named when the exchange is over.
    const lossy = message.fault === "lossy" || message.evidence === "lossy-utf8";
    const cut = message.fault === "truncated" || (call.upGaps.length > 0 && !lossy);
    if (cut || (message.body.length === 0 && message.fault === null && message.ordinal > 0)) return;
    if (call.upMessages > 0) return;
    if (message.fault !== null && !lossy && message.fault !== "enveloped") {
      this.note({ code: "cursor.client-message-unreadable", place: message.place, detail: { fault: message.fault } });
      return;
    }
    call.upMessages++;
    takeAppend(call, message, this);
    if (call.facts !== null && call.response !== null) {
      call.facts.status = call.response.status;
      call.facts.responseType = responseTypeOf(call.response.headers);
    }
  }

  private end(call: Call, event: Extract<StreamEvent, { kind: "end" }>): void {
    call.ended[event.direction] = true;
    if (call.method.role === "append") {
      if (event.direction === "up") this.missing(call);
      else if (call.facts !== null && event.reason === "complete") this.answered(call, event);
    }
    if (!call.ended.up || !call.ended.down) return;
    this.calls.delete(call.exchange.id);
    call.log?.box.leave();
  }

  private answered(call: Call, event: Extract<StreamEvent, { kind: "end" }>): void {
    const { when } = event.mark;
    if (call.facts === null || !isKnown(when)) return;
    const opened = call.exchange.opened;
    call.facts.answered = isKnown(opened) ? maxNanos(when.latest, opened.latest) : when.latest;
  }

  /** An append whose body the capture does not hold still belongs to the request its header names. */
  private missing(call: Call): void {
    if (call.item !== null) return;
    const gap = call.upGaps[0];
    const why = gap?.why ?? "not-captured";
    const log = this.logs.of(call.headerId);
    log.client ??= clientFacts(call.exchange);
    const place =
      gap?.place ?? new Place(call.exchange.mark.input, call.exchange.mark.first, call.exchange.mark.last, "request");
    log.lost.push({ why, place, when: sentAt(call.exchange), order: this.logs.arrive(), length: gap?.length ?? null });
    this.note({ code: "cursor.append-missing-body", place, detail: { why } });
  }

  /** The capture ended before the exchange did. */
  private abandon(call: Call): void {
    const { role } = call.method;
    if (role === "append" && !call.ended.up) this.missing(call);
    if ((role === "sse" || role === "run" || role === "poll") && !call.ended.down) {
      takeEnd(
        call,
        {
          kind: "end",
          exchange: call.exchange,
          direction: "down",
          reason: "capture-ended",
          by: null,
          mark: call.exchange.mark,
        },
        this,
      );
    }
  }
}

function placeOf(event: Extract<StreamEvent, { kind: "gap" }>): Place {
  const { mark } = event;
  return new Place(mark.input, mark.first, mark.last, event.direction === "up" ? "request" : "response");
}
