/** The keys of one handshake of TLS 1.2 or before. */
import type { KeyLog } from "../../capture/keylog.js";
import { type Bytes, hex, keep } from "../../core/bytes.js";
import type { Direction } from "../../model/exchange.js";
import { aead12Opener } from "./aead.js";
import { cbcOpener } from "./cbc.js";
import { type Epoch, Lookup } from "./epochs.js";
import type { ClientHello, ServerHello } from "./handshake.js";
import { masterSecret, type SessionParameters, sessionKeys, type WriteKeys } from "./keys.js";
import type { Opener } from "./opener.js";
import type { SessionMemory } from "./shared.js";
import { macBytes, type Suite } from "./suites.js";

/** Handshake messages with their headers, each side's in order; the client hello is the first of `up`. */
export interface Transcript {
  readonly up: Bytes[];
  readonly down: Bytes[];
}

export class Session {
  /** The server has sent its certificate or key: nothing is resumed. */
  fullHandshake = false;
  private encryptedPremaster: Bytes | undefined;
  private newTicket: Bytes | undefined;
  private master: Bytes | undefined;
  private readonly parameters: SessionParameters;
  private readonly write: Lookup<{ readonly client: WriteKeys; readonly server: WriteKeys }>;

  constructor(
    private readonly hello: ClientHello,
    private readonly server: ServerHello,
    private readonly suite: Suite,
    private readonly keys: KeyLog,
    private readonly memory: SessionMemory,
    /** null where nobody keeps it. */
    private readonly transcript: Transcript | null,
  ) {
    const { version, random: serverRandom } = server;
    this.parameters = { version, hash: suite.hash, clientRandom: hello.random, serverRandom };
    this.write = new Lookup(keys, () => this.deriveKeys());
  }

  epoch(direction: Direction): Epoch {
    let opener: Opener | undefined;
    return {
      kind: "session",
      opener: () => {
        opener ??= this.opener(direction);
        return opener;
      },
      next: () => undefined,
    };
  }

  /** The encrypted premaster secret of an RSA key exchange. */
  rsaKeyExchange(encryptedPremaster: Bytes): void {
    this.encryptedPremaster = keep(encryptedPremaster.subarray(0, 8));
    this.write.forget();
  }

  /** The server gives a ticket in this handshake. */
  ticketGiven(ticket: Bytes): void {
    this.newTicket = ticket;
    this.remember();
  }

  private opener(direction: Direction): Opener | undefined {
    const both = this.write.get();
    const { cipher } = this.suite;
    if (both === undefined || cipher === null) return undefined;
    const keys = direction === "up" ? both.client : both.server;
    if (cipher.kind === "aead") return aead12Opener(cipher, keys);
    return cbcOpener(cipher, keys, this.server.version, this.server.encryptThenMac);
  }

  private deriveKeys(): { readonly client: WriteKeys; readonly server: WriteKeys } | undefined {
    const { cipher } = this.suite;
    this.master = this.findMaster();
    if (this.master === undefined || cipher === null) return undefined;
    this.remember();
    return sessionKeys(this.parameters, this.master, cipher, cipher.kind === "aead" ? 0 : macBytes[cipher.mac]);
  }

  private findMaster(): Bytes | undefined {
    const { hello, server, keys } = this;
    const logged = keys.find(hex(hello.random), "CLIENT_RANDOM") ?? this.fromPremaster();
    if (logged !== undefined) return logged;
    const bySession = server.sessionId.length === 0 ? undefined : keys.find(hex(server.sessionId), "SESSION_ID");
    return bySession ?? (this.fullHandshake ? undefined : this.resumed());
  }

  private fromPremaster(): Bytes | undefined {
    const { encryptedPremaster, server, transcript } = this;
    const premaster =
      this.keys.find(hex(this.hello.random), "PMS_CLIENT_RANDOM") ??
      (encryptedPremaster && this.keys.find(hex(encryptedPremaster), "RSA"));
    if (premaster === undefined) return undefined;
    if (!server.extendedMasterSecret) return masterSecret(this.parameters, premaster, null);
    if (transcript === null) return undefined;
    const [clientHello, ...rest] = transcript.up;
    if (clientHello === undefined) return undefined;
    return masterSecret(this.parameters, premaster, [clientHello, ...transcript.down, ...rest]);
  }

  /** A key log that was begun late may have the first connection only: its master secret serves the later ones. */
  private resumed(): Bytes | undefined {
    const { hello, server } = this;
    const sameId = server.sessionId.length > 0 && hex(server.sessionId) === hex(hello.sessionId);
    const byId = sameId ? this.memory.get("id", server.sessionId) : undefined;
    return byId ?? (hello.ticket.length > 0 ? this.memory.get("ticket", hello.ticket) : undefined);
  }

  private remember(): void {
    const { master, server, newTicket } = this;
    if (master === undefined) return;
    if (server.sessionId.length > 0) this.memory.set("id", server.sessionId, master);
    if (newTicket !== undefined && newTicket.length > 0) this.memory.set("ticket", newTicket, master);
  }
}
