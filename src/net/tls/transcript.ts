/** Handshake messages kept for the extended master secret (RFC 7627): only where the key log has premaster secrets to use them for. */
import type { KeyLog } from "../../capture/keylog.js";
import { type Bytes, keep } from "../../core/bytes.js";
import type { Direction } from "../../model/exchange.js";
import { messageType } from "./handshake.js";
import type { HandshakeMessage } from "./messages.js";
import type { Transcript } from "./session.js";

const limitBytes = 256 * 1024;

export class TranscriptKeeper {
  private kept: Transcript | null = null;
  private bytes = 0;
  private readonly complete = new Set<Direction>();

  constructor(private readonly keys: KeyLog) {}

  get wanted(): boolean {
    return this.keys.premasters > 0 && this.complete.size < 2;
  }

  get messages(): Transcript | null {
    return this.kept;
  }

  /** A client hello begins a handshake. */
  begin(hello: Bytes): void {
    this.complete.clear();
    this.bytes = hello.length;
    this.kept = this.wanted ? { up: [keep(hello)], down: [] } : null;
  }

  /** The hash covers all messages up to and with the ClientKeyExchange. */
  add(direction: Direction, message: HandshakeMessage): void {
    const { kept } = this;
    if (kept === null || this.complete.has(direction)) return;
    this.bytes += message.whole.length;
    if (message.whole.length === 0 || this.bytes > limitBytes) {
      this.kept = null;
      return;
    }
    kept[direction].push(keep(message.whole));
    const last = direction === "up" ? messageType.clientKeyExchange : messageType.serverHelloDone;
    if (message.type === last) this.complete.add(direction);
  }
}
