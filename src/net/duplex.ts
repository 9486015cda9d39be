/**
 * How the layers of net/ stack: each takes both directions of one connection and calls the next one. Plain calls, no queues: a layer
 * that must wait keeps its own ByteQueue.
 */
import type { Bytes } from "../core/bytes.js";
import type { Note } from "../core/diagnostic.js";
import type { Limits } from "../core/limits.js";
import type { Mark } from "../core/mark.js";
import type { Direction, Flow, FlowProtocol, GapReason, Ids, NeckSink } from "../model/exchange.js";

export type EndReason = "complete" | "reset" | "capture-ended";

export interface Duplex {
  /** In-order bytes. The view may be kept, but pins its chunk: copy small parts that live long. */
  bytes(direction: Direction, bytes: Bytes, mark: Mark): void;
  /** Bytes are missing here; `length` undefined: unknown. A layer decides whether it can go on after it. */
  gap(direction: Direction, length: number | undefined, why: GapReason, mark: Mark): void;
  /** This direction is over; called once each. `by`: who ended it, for a reset. */
  end(direction: Direction, reason: EndReason, by: "client" | "server" | null, mark: Mark): void;
}

/** What every layer of one connection gets from net/index.ts. */
export interface LayerContext {
  readonly flow: Flow;
  readonly limits: Limits;
  readonly note: Note;
  readonly sink: NeckSink;
  readonly ids: Ids;
  /** Tells the flow which protocol turned out to be inside, for its summary; the last call wins. */
  protocol(name: FlowProtocol): void;
  /**
   * A fresh protocol switch for bytes that follow inside this connection (after CONNECT, SOCKS, PROXY header, TLS): finds out what
   * they are and builds the layers. `alpn` where a TLS handshake named it; `secure` inside TLS.
   */
  inner(hint: { readonly alpn: string | null; readonly secure: boolean }): Duplex;
}
