/** Handshake content of one direction -> whole handshake messages. A record may hold many, a message may span many records. */

import { ByteQueue } from "../../core/byte-queue.js";
import { type Bytes, noBytes } from "../../core/bytes.js";
import type { Mark } from "../../core/mark.js";
import { messageType } from "./handshake.js";

export interface HandshakeMessage {
  readonly type: number;
  /** Without the header; empty for a message that nobody reads. */
  readonly body: Bytes;
  /** With the header; empty where `body` is. */
  readonly whole: Bytes;
  readonly mark: Mark;
}

const headerBytes = 4;
/** Of a message that is kept whole. Post-quantum key shares make hellos of some KiB. */
const keptBytes = 128 * 1024;

const unread: readonly number[] = [messageType.certificate, messageType.serverKeyExchange];
const read: ReadonlySet<number> = new Set(Object.values(messageType).filter((type) => !unread.includes(type)));

export class MessageJoiner {
  private queue = new ByteQueue();
  /** Bytes of the message in hand that are still to be thrown away. */
  private skipping = 0;
  private skipped = 0;

  /** `keepAll`: certificates and the like are wanted too, for a hash over them. */
  push(content: Bytes, mark: Mark, keepAll: boolean, each: (message: HandshakeMessage) => void): void {
    this.queue.push(content, mark);
    for (;;) {
      if (this.skipping > 0) {
        const part = Math.min(this.skipping, this.queue.length);
        this.queue.skip(part);
        this.skipping -= part;
        if (this.skipping > 0) return;
        each({ type: this.skipped, body: noBytes, whole: noBytes, mark });
      }
      if (this.queue.length < headerBytes) return;
      const head = this.queue.peek(headerBytes);
      const type = head[0]!;
      const length = (head[1]! << 16) | (head[2]! << 8) | head[3]!;
      if (length > keptBytes || !(keepAll || read.has(type))) {
        this.skipping = headerBytes + length;
        this.skipped = type;
        continue;
      }
      const taken = this.queue.take(headerBytes + length);
      if (taken === undefined) return;
      const { bytes: whole, mark: from } = taken;
      each({ type, body: whole.subarray(headerBytes), whole, mark: from });
    }
  }

  /** Forgets a message that was begun: its rest is lost. */
  reset(): void {
    this.queue = new ByteQueue();
    this.skipping = 0;
  }
}
