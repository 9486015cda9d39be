/** TLS secrets from key log files (NSS format) and pcapng decryption-secrets blocks. */
import type { Bytes } from "../core/bytes.js";

export interface KeyLog {
  /** Secret for a client random (hex, lower case) and NSS label ("CLIENT_RANDOM", "CLIENT_TRAFFIC_SECRET_0", …). */
  find(clientRandom: string, label: string): Bytes | undefined;
  /** Whether any secret of this client random is known. */
  knows(clientRandom: string): boolean;
  /** Adds the lines of a key log text. */
  add(text: Bytes): void;
  /** Number of distinct secrets. */
  readonly size: number;
}
