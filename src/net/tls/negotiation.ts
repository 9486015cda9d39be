/** What the handshake messages of both directions agree on: version, suite, names, and the keys that follow from them. */
import type { KeyLog } from "../../capture/keylog.js";
import { type Bytes, hex } from "../../core/bytes.js";
import type { Mark } from "../../core/mark.js";
import type { Direction } from "../../model/exchange.js";
import { type Epoch, tls13Epochs } from "./epochs.js";
import {
  type ClientHello,
  type EncryptedExtensions,
  messageType,
  parseClientHello,
  parseEncryptedExtensions,
  parseEncryptedPremaster,
  parseServerHello,
  parseTicket,
  type ServerHello,
  versionName,
} from "./handshake.js";
import type { HandshakeMessage } from "./messages.js";
import { Session } from "./session.js";
import type { SessionMemory } from "./shared.js";
import { type Suite, suiteOf } from "./suites.js";
import { TranscriptKeeper } from "./transcript.js";
import type { ClosedBy } from "./why.js";

export interface NegotiationHost {
  /** Keys that the direction will go through, in order. */
  addEpochs(direction: Direction, epochs: readonly Epoch[]): void;
  /** Nothing more can be read in this direction, or in both. */
  fail(code: ClosedBy, directions: readonly Direction[], mark: Mark): void;
}

/** Hellos of one direction, while the other's lag behind. */
const unpairedHellos = 16;

export class Negotiation {
  /** Of the last handshake that has both; of the first, while it has one. */
  hello: ClientHello | undefined;
  server: ServerHello | undefined;
  suite: Suite | undefined;
  extensions: EncryptedExtensions | undefined;
  version: number | undefined;
  alpn: string | null = null;
  sni: string | null = null;
  /** A HelloRetryRequest was seen, and the hello that answers it was not. */
  retrying = false;
  /** Of the first client hello. */
  helloMark: Mark | undefined;
  /** What becomes of early data. */
  early: "none" | "offered" | "taken" | "refused" = "none";
  /** Something was learnt for which a direction may have waited. */
  changed = false;
  private retried = false;
  private session: Session | undefined;
  private readonly hellos: ClientHello[] = [];
  private readonly servers: ServerHello[] = [];
  private readonly transcript: TranscriptKeeper;

  constructor(
    private readonly keys: KeyLog,
    private readonly memory: SessionMemory,
    private readonly host: NegotiationHost,
  ) {
    this.transcript = new TranscriptKeeper(keys);
  }

  get tls13(): boolean {
    return this.retried || this.server?.version === 0x0304;
  }

  get agreed(): boolean {
    return this.version !== undefined;
  }

  get keepMessages(): boolean {
    return !this.tls13 && this.transcript.wanted;
  }

  /** Hex; null: no hello. */
  get clientRandom(): string | null {
    return this.hello === undefined ? null : hex(this.hello.random);
  }

  helloSeen(direction: Direction): boolean {
    return direction === "up" ? this.hello !== undefined : this.server !== undefined;
  }

  /** What is known of the connection, for diagnostics. */
  detail(): Record<string, string> {
    const detail: Record<string, string> = {};
    if (this.version !== undefined) detail.version = versionName(this.version);
    if (this.suite !== undefined) detail.suite = this.suite.name;
    if (this.clientRandom !== null) detail.clientRandom = this.clientRandom;
    return detail;
  }

  clientMessage(message: HandshakeMessage): void {
    const { type, body } = message;
    if (type === messageType.clientHello) return this.clientHello(message);
    this.transcript.add("up", message);
    if (type === messageType.clientKeyExchange && this.suite?.keyExchange === "rsa") {
      this.session?.rsaKeyExchange(parseEncryptedPremaster(body));
    }
  }

  /** `epoch`: the kind of keys it came under; undefined: in the clear. */
  serverMessage(message: HandshakeMessage, epoch: Epoch["kind"] | undefined): void {
    const { type, body, mark } = message;
    this.transcript.add("down", message);
    switch (type) {
      case messageType.serverHello:
        return this.serverHello(body, mark);
      case messageType.encryptedExtensions:
        if (epoch === "handshake") this.encryptedExtensions(body);
        return;
      case messageType.certificate:
      case messageType.serverKeyExchange:
      case messageType.serverHelloDone:
        if (this.session !== undefined) this.session.fullHandshake = true;
        return;
      case messageType.newSessionTicket:
        if (!this.tls13) this.session?.ticketGiven(parseTicket(body));
        return;
      default:
        return;
    }
  }

  private clientHello({ body, whole, mark }: HandshakeMessage): void {
    const hello = parseClientHello(body);
    if (hello === undefined) return this.host.fail("tls.bad-hello", ["up"], mark);
    this.hello ??= hello;
    this.helloMark ??= mark;
    this.sni = hello.sni ?? this.sni;
    this.transcript.begin(whole);
    if (!this.agreed) this.early = this.retried ? "refused" : hello.earlyData ? "offered" : "none";
    this.retrying = false;
    // The answer to a HelloRetryRequest repeats the random; nothing else asks twice in TLS 1.3.
    if (this.tls13) this.hellos.length = 0;
    this.hellos.push(hello);
    this.pairHellos(mark);
  }

  private serverHello(body: Bytes, mark: Mark): void {
    const server = parseServerHello(body);
    if (server === undefined) return this.host.fail("tls.bad-hello", ["down"], mark);
    this.changed = true;
    if (server.retry) {
      this.retrying = true;
      this.retried = true;
      return;
    }
    this.server ??= server;
    this.servers.push(server);
    this.pairHellos(mark);
  }

  /** Hellos belong together in their order, each direction's own: a renegotiation brings another pair. */
  private pairHellos(mark: Mark): void {
    if (this.hellos.length > unpairedHellos || this.servers.length > unpairedHellos) {
      return this.host.fail("tls.bad-hello", ["up", "down"], mark);
    }
    const [hello] = this.hellos;
    const [server] = this.servers;
    if (hello === undefined || server === undefined) return;
    this.hellos.shift();
    this.servers.shift();
    this.agree(hello, server, mark);
  }

  private agree(hello: ClientHello, server: ServerHello, mark: Mark): void {
    const tls13 = server.version === 0x0304;
    if (tls13 && this.agreed) return;
    const suite = suiteOf(server.suite);
    this.hello = hello;
    this.server = server;
    this.suite = suite;
    this.version = server.version;
    this.alpn = server.alpn ?? this.alpn;
    this.changed = true;
    const reason = unreadable(server, suite);
    if (reason !== null) return this.host.fail(reason, ["up", "down"], mark);
    if (tls13) {
      const secrets = { keys: this.keys, clientRandom: hex(hello.random), suite };
      this.host.addEpochs("up", tls13Epochs(secrets, "up", this.early === "offered"));
      this.host.addEpochs("down", tls13Epochs(secrets, "down", false));
      return;
    }
    this.session = new Session(hello, server, suite, this.keys, this.memory, this.transcript.messages);
    this.host.addEpochs("up", [this.session.epoch("up")]);
    this.host.addEpochs("down", [this.session.epoch("down")]);
  }

  private encryptedExtensions(body: Bytes): void {
    this.extensions = parseEncryptedExtensions(body);
    this.alpn = this.extensions.alpn;
    if (this.early === "offered") this.early = this.extensions.earlyData ? "taken" : "refused";
  }
}

function unreadable(server: ServerHello, suite: Suite): ClosedBy | null {
  const tls13 = server.version === 0x0304;
  if (!tls13 && (server.version < 0x0301 || server.version > 0x0303)) return "tls.unknown-version";
  if (suite.cipher === null || suite.tls13 !== tls13) return "tls.unknown-suite";
  return !tls13 && server.compression !== 0 ? "tls.compressed" : null;
}
