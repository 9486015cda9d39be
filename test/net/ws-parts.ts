/** The inner parts of the ws package that its types leave out. */
import { createRequire } from "node:module";
import type { Duplex } from "node:stream";

interface Deflate {
  accept(offers: readonly Record<string, readonly (string | boolean)[]>[]): unknown;
}
interface FrameReceiver {
  on(event: "message", handler: (data: Buffer, binary: boolean) => void): void;
  on(event: "ping", handler: (data: Buffer) => void): void;
  write(data: Buffer, done: () => void): void;
}
interface FrameSender {
  send(
    data: Uint8Array,
    options: { fin: boolean; binary: boolean; mask: boolean; compress: boolean },
    done: (error?: Error | null) => void,
  ): void;
}
interface Parts {
  PerMessageDeflate: new (options: { threshold: number; isServer: boolean }) => Deflate;
  Receiver: new (options: { isServer: boolean; allowSynchronousEvents: boolean }) => FrameReceiver;
  Sender: new (socket: Duplex, extensions: Record<string, Deflate>) => FrameSender;
}

export const { PerMessageDeflate, Receiver, Sender } = createRequire(import.meta.url)("ws") as Parts;
