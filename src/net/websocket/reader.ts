/**
 * One direction of a WebSocket: frames in pieces -> whole messages and control frames, unmasked and inflated. RFC 6455 5, RFC 7692.
 * A message over a limit is passed over and keeps its place; after missing bytes the direction goes on only where a frame's
 * length says where the next one begins.
 */
import { type Bytes, noBytes } from "../../core/bytes.js";
import type { Detail, DiagnosticCode } from "../../core/diagnostic.js";
import type { Limits } from "../../core/limits.js";
import { type Mark, spanMarks } from "../../core/mark.js";
import type { Direction, FrameFault, GapReason } from "../../model/exchange.js";
import { sideOf } from "../exchange-open.js";
import { GrowingBytes } from "../growing-bytes.js";
import { type FrameHeader, headerLength, isControl, isReserved, readHeader } from "./header.js";
import { MessageInflater } from "./inflate.js";
import { unmask } from "./unmask.js";

export interface WholeFrame {
  readonly opcode: number;
  readonly bytes: Bytes;
  readonly compressed: boolean;
  readonly wireBytes: number;
  readonly fault: FrameFault | null;
  readonly mark: Mark;
}

export interface FrameEvents {
  frame(frame: WholeFrame): void;
  gap(length: number | undefined, why: GapReason, mark: Mark): void;
  note(code: DiagnosticCode, mark: Mark, detail?: Detail): void;
}

/** A data message under way, from its first frame to the one with FIN. */
interface Message {
  readonly opcode: number;
  readonly compressed: boolean;
  fault: FrameFault | null;
  readonly first: Mark;
  /** Payload bytes of its frames so far, the one under way included. */
  wireBytes: number;
  frames: number;
  /** Some of it is missing: it is dropped when it ends. */
  damaged: boolean;
}

export class WebSocketReader {
  private state: "header" | "payload" | "stopped" | "closed" = "header";
  private readonly header = new Uint8Array(14);
  private have = 0;
  private frame: FrameHeader | null = null;
  private frameFirst: Mark | undefined;
  private remaining = 0;
  /** Of the frame under way; a control frame is never part of a message. */
  private skipping = false;
  private message: Message | null = null;
  private readonly data = new GrowingBytes();
  private readonly control = new GrowingBytes();
  private frameStart = 0;
  private controlDamaged = false;
  private afterClose = 0;
  private readonly inflater: MessageInflater | null;

  constructor(
    private readonly direction: Direction,
    private readonly events: FrameEvents,
    private readonly limits: Limits,
    /** null: permessage-deflate was not agreed on. */
    takeover: boolean | null,
  ) {
    this.inflater = takeover === null ? null : new MessageInflater(takeover, limits);
  }

  feed(bytes: Bytes, mark: Mark): void {
    for (let at = 0; at < bytes.length; ) {
      if (this.state === "header") at = this.readHeader(bytes, at, mark);
      else if (this.state === "payload") at = this.readPayload(bytes, at, mark);
      else {
        if (this.state === "closed") this.afterClose += bytes.length - at;
        return;
      }
    }
  }

  private readHeader(bytes: Bytes, at: number, mark: Mark): number {
    if (this.have === 0) {
      this.frameFirst = mark;
      if (bytes.length - at >= 2 && bytes.length - at >= headerLength(bytes[at + 1]!)) {
        const header = readHeader(bytes, at);
        this.begin(header, mark);
        return at + header.headerBytes;
      }
    }
    const need = this.have < 2 ? 2 : headerLength(this.header[1]!);
    const count = Math.min(need - this.have, bytes.length - at);
    this.header.set(bytes.subarray(at, at + count), this.have);
    this.have += count;
    if (this.have >= 2 && this.have === headerLength(this.header[1]!)) {
      this.have = 0;
      this.begin(readHeader(this.header, 0), mark);
    }
    return at + count;
  }

  private begin(header: FrameHeader, mark: Mark): void {
    if (!this.plausible(header, mark)) {
      this.state = "stopped";
      this.events.gap(undefined, "not-captured", mark);
      return;
    }
    this.frame = header;
    this.remaining = header.length;
    this.state = "payload";
    if (isControl(header.opcode)) this.beginControl(header, mark);
    else this.beginData(header, mark);
    if (this.remaining === 0) this.endFrame(noBytes, mark);
  }

  /** One broken rule is the sender's; two at once, or a length nobody can mean, and this is no frame. */
  private plausible(header: FrameHeader, mark: Mark): boolean {
    const { opcode, rsv, length } = header;
    const wrongMask = (header.mask !== null) !== (this.direction === "up");
    const wrongBits = (rsv & 3) !== 0;
    const faults = Number(wrongMask) + Number(wrongBits) + Number(isReserved(opcode));
    if (Number.isNaN(length) || faults > 1) {
      this.events.note("websocket.out-of-step", mark, { direction: this.direction, opcode });
      return false;
    }
    if (wrongMask) {
      const state = header.mask === null ? "not masked" : "masked";
      this.events.note("websocket.bad-mask", mark, { side: sideOf(this.direction), state });
    }
    if (header.longForm) this.events.note("websocket.bad-length", mark, { length });
    if (isReserved(opcode)) this.events.note("websocket.bad-opcode", mark, { opcode });
    return true;
  }

  private beginControl(header: FrameHeader, mark: Mark): void {
    const { opcode, rsv, length } = header;
    if (!header.fin || length > 125) this.events.note("websocket.bad-control", mark, { length });
    if (rsv !== 0) this.events.note("websocket.unexpected-bits", mark, { bits: rsv });
    this.skipping = isReserved(opcode) || length > this.limits.messageBytes;
    this.controlDamaged = false;
    this.control.clear();
  }

  private beginData(header: FrameHeader, mark: Mark): void {
    const { opcode, length } = header;
    this.skipping = false;
    if (isReserved(opcode) || (opcode === 0 && this.message === null)) {
      if (opcode === 0) this.events.note("websocket.bad-fragment", mark, { what: "a continuation of nothing" });
      this.skipping = true;
      return;
    }
    if (opcode !== 0) this.beginMessage(header);
    const message = this.message!;
    if (opcode === 0 && header.rsv !== 0) this.badBits(message, header.rsv, mark);
    message.frames++;
    message.wireBytes += length;
    this.frameStart = this.data.length;
    if (message.wireBytes > this.limits.messageBytes) this.overLimit(message, "messageBytes");
    else if (message.frames > this.limits.fragments) this.overLimit(message, "fragments");
  }

  private beginMessage(header: FrameHeader): void {
    const first = this.frameFirst!;
    if (this.message !== null) {
      this.events.note("websocket.bad-fragment", first, {
        what: "a message began inside another one, which is dropped",
      });
      this.drop(this.message);
    }
    const agreed = this.inflater !== null;
    const compressed = (header.rsv & 4) !== 0;
    this.data.clear();
    const message = { opcode: header.opcode, compressed, fault: null, first, wireBytes: 0, frames: 0, damaged: false };
    this.message = message;
    const unexpected = header.rsv & (agreed ? 3 : 7);
    if (unexpected !== 0) this.badBits(message, unexpected, first);
  }

  private badBits(message: Message, bits: number, mark: Mark): void {
    this.events.note("websocket.unexpected-bits", mark, { bits });
    message.fault ??= "no-codec";
  }

  private overLimit(message: Message, name: "messageBytes" | "fragments"): void {
    if (message.fault !== "over-limit") {
      const limit = this.limits[name];
      this.events.note("websocket.too-long", message.first, { length: message.wireBytes, limit, name });
    }
    message.fault = "over-limit";
    this.data.clear();
    this.frameStart = 0;
  }

  private readPayload(bytes: Bytes, at: number, mark: Mark): number {
    const count = Math.min(this.remaining, bytes.length - at);
    const whole = this.remaining === this.frame!.length && count === this.remaining;
    this.remaining -= count;
    const part = at === 0 && count === bytes.length ? bytes : bytes.subarray(at, at + count);
    if (whole) this.endFrame(part, mark);
    else {
      if (this.keeps()) this.target().append(part);
      if (this.remaining === 0) this.endFrame(null, mark);
    }
    return at + count;
  }

  private target(): GrowingBytes {
    return isControl(this.frame!.opcode) ? this.control : this.data;
  }

  private keeps(): boolean {
    if (this.skipping) return false;
    return isControl(this.frame!.opcode) || (this.message!.fault !== "over-limit" && !this.message!.damaged);
  }

  /** `whole`: the frame's payload where one piece held it all, else it was gathered. */
  private endFrame(whole: Bytes | null, mark: Mark): void {
    const frame = this.frame!;
    this.state = "header";
    if (this.skipping) return;
    if (isControl(frame.opcode)) this.endControl(frame, whole, mark);
    else this.endData(frame, this.message!, whole, mark);
  }

  private endControl(frame: FrameHeader, whole: Bytes | null, mark: Mark): void {
    const bytes = whole === null ? this.control.take() : frame.mask === null ? whole : whole.slice();
    if (frame.mask !== null) unmask(bytes, 0, bytes.length, frame.mask);
    if (frame.opcode === 8) this.state = "closed";
    if (this.controlDamaged) return;
    this.events.frame({
      opcode: frame.opcode,
      bytes,
      compressed: false,
      wireBytes: frame.length,
      fault: null,
      mark: spanMarks(this.frameFirst ?? mark, mark),
    });
  }

  private endData(frame: FrameHeader, message: Message, whole: Bytes | null, mark: Mark): void {
    const single = frame.fin && message.frames === 1 && whole !== null;
    if (!single) {
      if (this.keeps() && whole !== null) this.data.append(whole);
      if (this.keeps() && frame.mask !== null) unmask(this.data.view(), this.frameStart, this.data.length, frame.mask);
      if (!frame.fin) return;
    }
    this.message = null;
    if (message.damaged) {
      this.drop(message);
      return;
    }
    if (message.fault === "over-limit") {
      if (message.compressed) this.inflater?.lose();
      this.emit(message, noBytes, mark);
      return;
    }
    let bytes = single ? whole! : this.data.take();
    if (single && frame.mask !== null) {
      bytes = bytes.slice();
      unmask(bytes, 0, bytes.length, frame.mask);
    }
    this.emit(message, message.compressed && message.fault === null ? this.inflate(message, bytes) : bytes, mark);
  }

  private inflate(message: Message, payload: Bytes): Bytes {
    const result = this.inflater!.inflate(payload);
    if ("bytes" in result) return result.bytes;
    switch (result.fault) {
      case "bad":
        this.events.note("websocket.bad-compression", message.first, { what: result.what });
        break;
      case "context":
        this.events.note("websocket.context-lost", message.first);
        break;
      case "inflatedBytes":
      case "inflateRatio":
        message.fault = "over-limit";
        this.events.note("websocket.too-long", message.first, {
          length: result.what,
          limit: this.limits[result.fault],
          name: result.fault,
        });
        return noBytes;
    }
    message.fault = "bad-compression";
    return payload;
  }

  private emit(message: Message, bytes: Bytes, mark: Mark): void {
    const { opcode, compressed, wireBytes, fault } = message;
    this.events.frame({ opcode, bytes, compressed, wireBytes, fault, mark: spanMarks(message.first, mark) });
  }

  private drop(message: Message): void {
    this.data.clear();
    if (message.compressed) this.inflater?.lose();
  }

  gap(length: number | undefined, why: GapReason, mark: Mark): void {
    if (this.state === "stopped") return;
    this.events.gap(length, why, mark);
    if (this.state === "closed") return;
    if (this.state === "header" || length === undefined || length > this.remaining) {
      this.state = "stopped";
      this.events.note("websocket.stopped", mark, { direction: this.direction });
      return;
    }
    if (isControl(this.frame!.opcode)) this.controlDamaged = true;
    else if (this.message !== null) this.message.damaged = true;
    this.remaining -= length;
    if (this.remaining === 0) this.endFrame(null, mark);
  }

  /** The direction's bytes are over. */
  finish(mark: Mark): void {
    if (this.afterClose > 0) this.events.note("websocket.after-close", mark, { bytes: this.afterClose });
    if (this.state === "payload" || this.have > 0 || this.message !== null) {
      const bytes = (this.message?.wireBytes ?? this.frame?.length ?? 0) - this.remaining;
      this.events.note("websocket.cut", mark, { bytes: Math.max(0, bytes) });
    }
    this.state = "stopped";
  }
}
