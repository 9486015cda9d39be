/** What the two directions of a TLS connection need of each other. */
import type { Bytes } from "../../core/bytes.js";
import type { Mark } from "../../core/mark.js";
import type { GapReason } from "../../model/exchange.js";
import type { HandshakeMessage } from "./messages.js";
import type { Side } from "./side.js";

/** What a direction asks of and tells its connection. */
export interface SideHost {
  /** TLS 1.3 is agreed on, or asked for by a retry. */
  readonly tls13: boolean;
  /** Both hellos are known, so epochs are there. */
  readonly agreed: boolean;
  ownHelloSeen(side: Side): boolean;
  /** All handshake messages are wanted whole. */
  readonly keepMessages: boolean;
  /** This side's own hello should have come before what has come now. */
  helloMissing(side: Side, mark: Mark): void;
  /** Encrypted bytes before the hello that follows a HelloRetryRequest: refused early data. */
  refusesEarly(side: Side): boolean;
  message(side: Side, message: HandshakeMessage): void;
  data(side: Side, content: Bytes, mark: Mark, early: boolean): void;
  lost(side: Side, length: number | undefined, why: GapReason, records: number, mark: Mark): void;
  alerted(side: Side, level: number, description: number, mark: Mark): void;
  /** A record of early data that no key opens. */
  earlyUnread(side: Side, mark: Mark): void;
  /** `properly`: with an EndOfEarlyData. */
  earlyOver(properly: boolean): void;
  /** Early data that the server refuses. */
  earlyDropped(mark: Mark): void;
  damaged(mark: Mark): void;
  notRecords(head: Bytes, mark: Mark): void;
  /** Nothing more can be read here. `never`: nothing ever was, though nothing is missing. */
  lostStep(side: Side, never: boolean, mark: Mark): void;
}
