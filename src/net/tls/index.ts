/**
 * TLS inside one connection: both directions' bytes in, the plaintext out. Secrets come from a key log that may still grow; ciphertext
 * waits for them within limits. RFC 8446, RFC 5246.
 */
import type { KeyLog } from "../../capture/keylog.js";
import type { TlsInfo } from "../../model/exchange.js";
import type { Duplex, LayerContext } from "../duplex.js";
import { Connection } from "./connection.js";

export interface TlsLayer extends Duplex {
  /** What is known so far; final once both directions have ended. */
  info(): TlsInfo;
}

/** `inner` is called once, when there is plaintext to hand on; `alpn` is what the server chose, null where that is not known. */
export function tlsLayer(context: LayerContext, keys: KeyLog, inner: (alpn: string | null) => Duplex): TlsLayer {
  return new Connection(context, keys, inner);
}
