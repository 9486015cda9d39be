/** The sets of keys that a direction goes through, each found in the key log when it is first asked for. */
import type { KeyLog } from "../../capture/keylog.js";
import type { Bytes } from "../../core/bytes.js";
import type { Direction } from "../../model/exchange.js";
import { aead13Opener } from "./aead.js";
import { nextTrafficSecret, trafficKeys } from "./keys.js";
import type { Opener } from "./opener.js";
import { hashBytes, type Suite } from "./suites.js";

export interface Epoch {
  /** session: TLS 1.2 and before. */
  readonly kind: "early" | "handshake" | "application" | "session";
  /** Undefined while its secret is not known. */
  opener(): Opener | undefined;
  /** After a KeyUpdate. */
  next(): Epoch | undefined;
}

/** Looks something up again only when the key log has grown. */
export class Lookup<T> {
  private found: T | undefined;
  private askedAt = -1;

  constructor(
    private readonly keys: KeyLog,
    private readonly find: () => T | undefined,
  ) {}

  get(): T | undefined {
    if (this.found === undefined && this.askedAt !== this.keys.size) {
      this.askedAt = this.keys.size;
      this.found = this.find();
    }
    return this.found;
  }

  /** Something else it depends on has changed. */
  forget(): void {
    this.askedAt = -1;
  }
}

export interface Tls13Secrets {
  readonly keys: KeyLog;
  /** Hex, lower case. */
  readonly clientRandom: string;
  readonly suite: Suite;
}

/** `early`: the client has offered early data. */
export function tls13Epochs(secrets: Tls13Secrets, direction: Direction, early: boolean): Epoch[] {
  const who = direction === "up" ? "CLIENT" : "SERVER";
  const epochs: Epoch[] = [
    new Tls13Epoch("handshake", secrets, `${who}_HANDSHAKE_TRAFFIC_SECRET`),
    new Tls13Epoch("application", secrets, `${who}_TRAFFIC_SECRET_`, 0),
  ];
  return early ? [new Tls13Epoch("early", secrets, "CLIENT_EARLY_TRAFFIC_SECRET"), ...epochs] : epochs;
}

class Tls13Epoch implements Epoch {
  private readonly secret: Lookup<Bytes>;
  private readonly lookup: Lookup<Opener>;

  constructor(
    readonly kind: Epoch["kind"],
    private readonly secrets: Tls13Secrets,
    private readonly label: string,
    private readonly generation?: number,
    previous?: Tls13Epoch,
  ) {
    const { keys, clientRandom, suite } = secrets;
    this.secret = new Lookup(keys, () => {
      const logged = keys.find(clientRandom, generation === undefined ? label : `${label}${generation}`);
      // A secret of another length is one of another suite, or half a line of a log that is being written.
      if (logged?.length === hashBytes[suite.hash]) return logged;
      const before = previous?.secret.get();
      return before && nextTrafficSecret(suite.hash, before);
    });
    this.lookup = new Lookup(keys, () => {
      const secret = this.secret.get();
      const { cipher } = suite;
      if (secret === undefined || cipher?.kind !== "aead") return undefined;
      return aead13Opener(cipher, trafficKeys(suite.hash, secret, cipher.keyBytes));
    });
  }

  opener(): Opener | undefined {
    return this.lookup.get();
  }

  next(): Epoch | undefined {
    if (this.generation === undefined) return undefined;
    return new Tls13Epoch(this.kind, this.secrets, this.label, this.generation + 1, this);
  }
}
