/**
 * Data messages of one WebSocket direction: frames in, whole messages out, within limits and inflated. RFC 6455 5.4, RFC 7692.
 * A message over a limit keeps its place and its true length; one that lost bytes is dropped.
 */
import { type Bytes, noBytes } from "../../core/bytes.js";
import type { Limits } from "../../core/limits.js";
import { type Mark, spanMarks } from "../../core/mark.js";
import type { FrameFault } from "../../model/exchange.js";
import { GrowingBytes } from "../growing-bytes.js";
import type { FrameHeader } from "./header.js";
import { MessageInflater } from "./inflate.js";
import type { FrameEvents } from "./reader.js";
import { unmask } from "./unmask.js";

/** From its first frame to the one with FIN. */
interface Message {
  readonly opcode: number;
  readonly compressed: boolean;
  fault: FrameFault | null;
  readonly first: Mark;
  /** Payload bytes of its frames so far, the one under way included. */
  wireBytes: number;
  frames: number;
  /** Some of it is missing. */
  damaged: boolean;
}

export class MessageAssembler {
  private message: Message | null = null;
  private readonly data = new GrowingBytes();
  private frameStart = 0;
  private readonly inflater: MessageInflater | null;

  constructor(
    private readonly events: FrameEvents,
    private readonly limits: Limits,
    /** null: permessage-deflate was not agreed on. */
    takeover: boolean | null,
  ) {
    this.inflater = takeover === null ? null : new MessageInflater(takeover, limits);
  }

  /** Payload bytes of the message under way, as its frames' headers say; undefined where there is none. */
  get openBytes(): number | undefined {
    return this.message?.wireBytes;
  }

  /** A data frame begins. Returns false where it belongs to no message. */
  begin(header: FrameHeader, first: Mark, mark: Mark): boolean {
    if (header.opcode !== 0) this.beginMessage(header, first);
    const { message } = this;
    if (message === null) {
      this.events.note("websocket.bad-fragment", mark, { what: "a continuation of nothing" });
      return false;
    }
    if (header.opcode === 0 && header.rsv !== 0) this.badBits(message, header.rsv, mark);
    message.frames++;
    message.wireBytes += header.length;
    this.frameStart = this.data.length;
    if (message.wireBytes > this.limits.messageBytes) this.overLimit(message, "messageBytes");
    else if (message.frames > this.limits.fragments) this.overLimit(message, "fragments");
    return true;
  }

  private beginMessage(header: FrameHeader, first: Mark): void {
    if (this.message !== null) {
      const what = "a message began inside another one, which is dropped";
      this.events.note("websocket.bad-fragment", first, { what });
      this.drop(this.message);
    }
    const compressed = (header.rsv & 4) !== 0;
    const { opcode } = header;
    this.data.clear();
    this.message = { opcode, compressed, fault: null, first, wireBytes: 0, frames: 0, damaged: false };
    const unexpected = header.rsv & (this.inflater === null ? 7 : 3);
    if (unexpected !== 0) this.badBits(this.message, unexpected, first);
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

  /** A part of the frame's payload, still masked. */
  append(part: Bytes): void {
    if (this.keeps()) this.data.append(part);
  }

  private keeps(): boolean {
    return this.message !== null && this.message.fault !== "over-limit" && !this.message.damaged;
  }

  /** Bytes of the frame under way are missing. */
  damage(): void {
    if (this.message !== null) this.message.damaged = true;
  }

  /** The frame is over. `whole`: its payload where one piece held it all, else it was appended. */
  end(frame: FrameHeader, whole: Bytes | null, mark: Mark): void {
    const message = this.message!;
    const single = frame.fin && message.frames === 1 && whole !== null;
    if (!single) {
      if (whole !== null) this.append(whole);
      if (this.keeps() && frame.mask !== null) unmask(this.data.view(), this.frameStart, this.data.length, frame.mask);
      if (!frame.fin) return;
    }
    this.message = null;
    if (message.damaged) this.drop(message);
    else if (message.fault === "over-limit") {
      if (message.compressed) this.inflater?.lose();
      this.emit(message, noBytes, mark);
    } else {
      let bytes = single ? whole! : this.data.take();
      if (single && frame.mask !== null) {
        bytes = bytes.slice();
        unmask(bytes, 0, bytes.length, frame.mask);
      }
      this.emit(message, message.compressed && message.fault === null ? this.inflate(message, bytes) : bytes, mark);
    }
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
      case "inflateRatio": {
        message.fault = "over-limit";
        const limit = this.limits[result.fault];
        this.events.note("websocket.too-long", message.first, { length: result.what, limit, name: result.fault });
        return noBytes;
      }
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
}
