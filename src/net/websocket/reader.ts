/**
 * One direction of a WebSocket: frames in pieces -> whole messages and control frames. RFC 6455 5. After missing bytes it goes on only
 * where a frame's length says where the next one begins.
 */
import { type Bytes, noBytes } from "../../core/bytes.js";
import type { Detail, DiagnosticCode } from "../../core/diagnostic.js";
import type { Limits } from "../../core/limits.js";
import { type Mark, spanMarks } from "../../core/mark.js";
import type { Direction, FrameFault, GapReason } from "../../model/exchange.js";
import { sideOf } from "../exchange-open.js";
import { GrowingBytes } from "../growing-bytes.js";
import { type FrameHeader, headerLength, isControl, isReserved, readHeader } from "./header.js";
import { MessageAssembler } from "./message.js";
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

export class WebSocketReader {
  private state: "header" | "payload" | "stopped" | "closed" = "header";
  private readonly header = new Uint8Array(14);
  private have = 0;
  private frame: FrameHeader | null = null;
  private frameFirst: Mark | undefined;
  private remaining = 0;
  /** The frame under way is passed over. */
  private skipping = false;
  private readonly messages: MessageAssembler;
  private readonly control = new GrowingBytes();
  private controlDamaged = false;
  private afterClose = 0;

  constructor(
    private readonly direction: Direction,
    private readonly events: FrameEvents,
    private readonly limits: Limits,
    /** Whether compressed messages refer to the ones before; null: permessage-deflate was not agreed on. */
    takeover: boolean | null,
  ) {
    this.messages = new MessageAssembler(events, limits, takeover);
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
    else this.skipping = isReserved(header.opcode) || !this.messages.begin(header, this.frameFirst ?? mark, mark);
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

  private readPayload(bytes: Bytes, at: number, mark: Mark): number {
    const count = Math.min(this.remaining, bytes.length - at);
    const whole = this.remaining === this.frame!.length && count === this.remaining;
    this.remaining -= count;
    const part = at === 0 && count === bytes.length ? bytes : bytes.subarray(at, at + count);
    if (whole) this.endFrame(part, mark);
    else {
      if (!this.skipping) this.keep(part);
      if (this.remaining === 0) this.endFrame(null, mark);
    }
    return at + count;
  }

  private keep(part: Bytes): void {
    if (isControl(this.frame!.opcode)) this.control.append(part);
    else this.messages.append(part);
  }

  /** `whole`: the frame's payload where one piece held it all, else it was gathered. */
  private endFrame(whole: Bytes | null, mark: Mark): void {
    const frame = this.frame!;
    this.state = "header";
    if (this.skipping) return;
    if (isControl(frame.opcode)) this.endControl(frame, whole, mark);
    else this.messages.end(frame, whole, mark);
  }

  private endControl(frame: FrameHeader, whole: Bytes | null, mark: Mark): void {
    if (frame.opcode === 8) this.state = "closed";
    if (this.controlDamaged) return;
    const bytes = whole === null ? this.control.take() : frame.mask === null ? whole : whole.slice();
    if (frame.mask !== null) unmask(bytes, 0, bytes.length, frame.mask);
    this.events.frame({
      opcode: frame.opcode,
      bytes,
      compressed: false,
      wireBytes: frame.length,
      fault: null,
      mark: spanMarks(this.frameFirst ?? mark, mark),
    });
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
    else if (!this.skipping) this.messages.damage();
    this.remaining -= length;
    if (this.remaining === 0) this.endFrame(null, mark);
  }

  /** The direction's bytes are over. */
  finish(mark: Mark): void {
    if (this.afterClose > 0) this.events.note("websocket.after-close", mark, { bytes: this.afterClose });
    const { openBytes } = this.messages;
    if (this.state === "payload" || this.have > 0 || openBytes !== undefined) {
      const bytes = (openBytes ?? this.frame?.length ?? 0) - this.remaining;
      this.events.note("websocket.cut", mark, { bytes: Math.max(0, bytes) });
    }
    this.state = "stopped";
  }
}
