/** Both directions of one TLS connection, and what they have to know of each other. */
import type { KeyLog } from "../../capture/keylog.js";
import { type Bytes, hex, keep, readU16BE } from "../../core/bytes.js";
import type { tlsCodes } from "../../core/codes/tls.js";
import type { Detail } from "../../core/diagnostic.js";
import { type Mark, placeOf } from "../../core/mark.js";
import type { Direction, GapReason, TlsInfo } from "../../model/exchange.js";
import type { Duplex, EndReason, LayerContext } from "../duplex.js";
import { alertName, closeNotify, endsDirection } from "./alerts.js";
import { Backlog } from "./backlog.js";
import { tls13Epochs } from "./epochs.js";
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
import { Outbox } from "./outbox.js";
import { Session } from "./session.js";
import { type Shared, sharedBy } from "./shared.js";
import { Side, type SideHost } from "./side.js";
import { type Suite, suiteOf } from "./suites.js";
import { TranscriptKeeper } from "./transcript.js";
import { type ClosedBy, type ClosedSide, closedPhrase } from "./why.js";

/** Of one direction, while the other's lag behind. */
const unpairedHellos = 16;

type TlsCode = Extract<keyof typeof tlsCodes, `tls.${string}`>;

export class Connection implements SideHost {
  private readonly up: Side = new Side("up", this);
  private readonly down: Side = new Side("down", this);
  private readonly shared: Shared;
  private readonly outbox: Outbox;
  private readonly backlog: Backlog;
  private readonly transcript: TranscriptKeeper;
  private readonly noted = new Set<TlsCode>();
  private readonly closedBy: { up: ClosedBy | null; down: ClosedBy | null } = { up: null, down: null };
  private readonly over = new Set<Direction>();
  /** Of the last handshake that has both; of the first, while it has one. */
  private hello: ClientHello | undefined;
  private server: ServerHello | undefined;
  private readonly hellos: ClientHello[] = [];
  private readonly servers: ServerHello[] = [];
  private suite: Suite | undefined;
  private session: Session | undefined;
  private extensions: EncryptedExtensions | undefined;
  private version: number | undefined;
  private alpn: string | null = null;
  private sni: string | null = null;
  private alert: string | null = null;
  /** A HelloRetryRequest was seen, and the hello that answers it was not. */
  private retrying = false;
  private retried = false;
  private early: "none" | "offered" | "taken" | "refused" = "none";
  private earlyUnreadable = false;
  private keysSeen: number;
  private recheck = false;

  constructor(
    private readonly context: LayerContext,
    private readonly keys: KeyLog,
    inner: (alpn: string | null) => Duplex,
  ) {
    this.shared = sharedBy(keys);
    this.keysSeen = keys.size;
    this.outbox = new Outbox(() => inner(this.alpn));
    this.backlog = new Backlog(this.shared.pool, context.limits.undecryptedBytesPerFlow, (mark) =>
      this.overLimit(mark),
    );
    this.transcript = new TranscriptKeeper(keys);
  }

  // The connection as the layer below sees it.

  bytes(direction: Direction, bytes: Bytes, mark: Mark): void {
    this.lookForKeys();
    const side = this[direction];
    if (side.state === "waiting") this.backlog.add({ kind: "bytes", direction, bytes: keep(bytes), mark });
    else side.bytes(bytes, mark);
    this.settle();
  }

  gap(direction: Direction, length: number | undefined, why: GapReason, mark: Mark): void {
    this.lookForKeys();
    const side = this[direction];
    if (side.state === "open" && side.gapMustWait) side.wait();
    if (side.state === "waiting") this.backlog.add({ kind: "gap", direction, length, why, mark });
    else side.gap(length, why, mark);
    this.settle();
  }

  end(direction: Direction, reason: EndReason, by: "client" | "server" | null, mark: Mark): void {
    this.lookForKeys();
    const side = this[direction];
    if (side.state === "waiting") this.backlog.add({ kind: "end", direction, reason, by, mark });
    else this.ended(side, reason, by, mark);
    this.settle();
    this.over.add(direction);
    if (this.over.size === 2) this.finish(mark);
  }

  info(): TlsInfo {
    const { up, down, version, suite } = this;
    const why = closedPhrase(this.whyClosed(up), this.whyClosed(down));
    const anyData = up.applicationRecords + down.applicationRecords > 0;
    const decrypted = anyData || (why === null && up.opened + down.opened > 0);
    return {
      version: version === undefined ? null : versionName(version),
      cipher: suite?.name ?? null,
      sni: this.sni,
      alpn: this.alpn,
      decrypted,
      why: why ?? (decrypted ? null : this.whyUnfinished()),
    };
  }

  // What the sides ask and tell.

  get tls13(): boolean {
    return this.retried || this.server?.version === 0x0304;
  }

  get agreed(): boolean {
    return this.up.epochs.length > 0;
  }

  ownHelloSeen(side: Side): boolean {
    return side === this.up ? this.hello !== undefined : this.server !== undefined;
  }

  get keepMessages(): boolean {
    return !this.tls13 && this.transcript.wanted;
  }

  refusesEarly(side: Side): boolean {
    return side === this.up && this.retrying;
  }

  helloMissing(side: Side, mark: Mark): void {
    if (this.ownHelloSeen(side)) return;
    if (this.hello === undefined && this.server === undefined) this.closeBoth("tls.joined-late", mark);
    else this.closeBoth(this.hello === undefined ? "tls.no-client-hello" : "tls.no-server-hello", mark);
  }

  message(side: Side, message: HandshakeMessage): void {
    if (side === this.up) this.clientMessage(message);
    else this.serverMessage(message);
  }

  data(side: Side, content: Bytes, mark: Mark, early: boolean): void {
    if (early && this.early === "refused") return this.earlyDropped(mark);
    this.outbox.bytes(side.direction, content, mark, early);
  }

  lost(side: Side, length: number | undefined, why: GapReason, records: number, mark: Mark): void {
    this.note("tls.records-lost", mark, { records });
    this.outbox.gap(side.direction, length, why, mark);
  }

  alerted(side: Side, level: number, description: number, mark: Mark): void {
    if (!endsDirection(this.tls13, level, description)) return;
    if (description !== closeNotify) {
      this.alert = alertName(description);
      this.note("tls.alert", mark, { alert: this.alert, by: side === this.up ? "client" : "server" });
    }
    side.state = "ended";
    this.outbox.end(side.direction, "complete", null, mark);
  }

  earlyUnread(side: Side, mark: Mark): void {
    this.earlyUnreadable = true;
    if (side.epoch?.opener() === undefined) this.noteOnce("tls.early-data-closed", mark);
  }

  earlyOver(properly: boolean): void {
    // A client that was refused goes on without an EndOfEarlyData; so does, for us, one whose early data we cannot read.
    if (properly) this.early = "taken";
    else if (this.early === "offered" && !this.earlyUnreadable) this.early = "refused";
  }

  earlyDropped(mark: Mark): void {
    this.noteOnce("tls.early-data-rejected", mark);
  }

  damaged(_side: Side, mark: Mark): void {
    this.note("tls.damaged-record", mark);
  }

  notRecords(_side: Side, head: Bytes, mark: Mark): void {
    const version = `0x${hex(head.subarray(1, 3))}`;
    this.note("tls.bad-record", mark, { type: head[0]!, version, length: readU16BE(head, 3) });
  }

  lostStep(side: Side, never: boolean, mark: Mark): void {
    if (side.at < 0 && never) return this.closeSide(side, "tls.bad-record", mark);
    this.closeSide(side, never ? "tls.wrong-secret" : "tls.lost-step", mark);
  }

  // Handshake.

  private clientMessage(message: HandshakeMessage): void {
    const { type, body } = message;
    if (type === messageType.clientHello) return this.clientHello(message);
    this.transcript.add("up", message);
    if (type === messageType.clientKeyExchange && this.suite?.keyExchange === "rsa") {
      this.session?.rsaKeyExchange(parseEncryptedPremaster(body));
    }
  }

  private serverMessage(message: HandshakeMessage): void {
    const { type, body, mark } = message;
    this.transcript.add("down", message);
    switch (type) {
      case messageType.serverHello:
        return this.serverHello(body, mark);
      case messageType.encryptedExtensions:
        if (this.down.epoch?.kind !== "handshake") return;
        this.extensions = parseEncryptedExtensions(body);
        this.alpn = this.extensions.alpn;
        if (this.early === "offered") this.early = this.extensions.earlyData ? "taken" : "refused";
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
    if (hello === undefined) {
      this.note("tls.bad-hello", mark, { what: "client" });
      return this.closeSide(this.up, "tls.bad-hello", mark);
    }
    this.hello ??= hello;
    this.sni = hello.sni ?? this.sni;
    this.transcript.begin(whole);
    if (!this.agreed) this.early = this.retried ? "refused" : hello.earlyData ? "offered" : "none";
    this.retrying = false;
    // The answer to a HelloRetryRequest repeats the random; nothing else asks twice in TLS 1.3.
    if (this.retried || this.tls13) this.hellos.length = 0;
    this.hellos.push(hello);
    this.pairHellos(mark);
  }

  private serverHello(body: Bytes, mark: Mark): void {
    const server = parseServerHello(body);
    if (server === undefined) {
      this.note("tls.bad-hello", mark, { what: "server" });
      return this.closeSide(this.down, "tls.bad-hello", mark);
    }
    this.recheck = true;
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
      this.note("tls.bad-hello", mark, { what: this.hellos.length > unpairedHellos ? "client" : "server" });
      return this.closeBoth("tls.bad-hello", mark);
    }
    const [hello] = this.hellos;
    const [server] = this.servers;
    if (hello === undefined || server === undefined) return;
    this.hellos.shift();
    this.servers.shift();
    this.hello = hello;
    this.server = server;
    this.agree(server, hello, mark);
  }

  private agree(server: ServerHello, hello: ClientHello, mark: Mark): void {
    const suite = suiteOf(server.suite);
    this.suite = suite;
    this.version = server.version;
    this.alpn = server.alpn ?? this.alpn;
    this.recheck = true;
    const tls13 = server.version === 0x0304;
    if (tls13 && this.agreed) return;
    if (!tls13 && (server.version < 0x0301 || server.version > 0x0303)) {
      return this.closeBoth("tls.unknown-version", mark);
    }
    if (suite.cipher === null || suite.tls13 !== tls13) return this.closeBoth("tls.unknown-suite", mark);
    if (!tls13 && server.compression !== 0) return this.closeBoth("tls.compressed", mark);
    if (tls13) {
      const secrets = { keys: this.keys, clientRandom: hex(hello.random), suite };
      this.up.epochs.push(...tls13Epochs(secrets, "up", this.early === "offered"));
      this.down.epochs.push(...tls13Epochs(secrets, "down", false));
      return;
    }
    this.session = new Session(hello, server, suite, this.keys, this.shared.memory, this.transcript.messages);
    this.up.epochs.push(this.session.epoch("up"));
    this.down.epochs.push(this.session.epoch("down"));
  }

  // Waiting and going on.

  private lookForKeys(): void {
    if (this.keys.size === this.keysSeen) return;
    this.keysSeen = this.keys.size;
    this.recheck = true;
    this.settle();
  }

  private settle(): void {
    while (this.recheck) {
      this.recheck = false;
      this.resume();
    }
    if (this.outbox.waiting > 0 && this.innerSettled()) this.openOutbox();
  }

  private resume(): void {
    let any = false;
    for (const side of [this.up, this.down]) {
      if (side.state !== "waiting" || !side.ready) continue;
      any = true;
      side.resume();
    }
    if (any) this.replay();
  }

  /** What has waited goes on in the order it came in. */
  private replay(): void {
    this.backlog.replay(
      (direction) => this[direction].state === "waiting",
      (event) => {
        const side = this[event.direction];
        if (event.kind === "bytes") side.bytes(event.bytes, event.mark);
        else if (event.kind === "gap") side.gap(event.length, event.why, event.mark);
        else this.ended(side, event.reason, event.by, event.mark);
      },
    );
  }

  private innerSettled(): boolean {
    if (!this.tls13) return true;
    if (this.outbox.waiting > this.context.limits.undecryptedBytesPerFlow) return true;
    if (this.extensions !== undefined) return true;
    if (this.early === "offered" && this.up.epoch?.kind === "early" && this.up.state !== "closed") return false;
    const { down } = this;
    if (down.state === "closed" || down.state === "ended" || this.over.has("down")) return true;
    return down.epochs[0]?.opener() === undefined || down.epoch?.kind === "application";
  }

  private openOutbox(): void {
    const early = this.early === "refused" ? "refused" : this.earlyUnreadable ? "unreadable" : "taken";
    const dropped = this.outbox.open(early);
    if (dropped !== undefined) this.earlyDropped(dropped);
  }

  // Ends.

  private ended(side: Side, reason: EndReason, by: "client" | "server" | null, mark: Mark): void {
    if (side.state === "open") side.over(mark);
    const loss = side.state === "open" ? side.takeLoss() : undefined;
    if (loss !== undefined) this.outbox.gap(side.direction, undefined, loss.why, loss.mark);
    this.outbox.end(side.direction, reason, by, mark);
  }

  /** Both directions are over: what has waited, waits no more. */
  private finish(mark: Mark): void {
    this.closeWaiting(mark);
    if (this.outbox.waiting > 0) this.openOutbox();
  }

  private overLimit(mark: Mark): void {
    this.noteOnce("tls.held-limit", mark, { limit: this.context.limits.undecryptedBytesPerFlow });
    this.closeWaiting(mark);
  }

  private closeWaiting(mark: Mark): void {
    for (const side of [this.up, this.down]) {
      if (side.state === "waiting") this.closeSide(side, this.waitsFor(), mark);
    }
    this.replay();
  }

  private waitsFor(): ClosedBy {
    if (this.hello === undefined) return this.server === undefined ? "tls.joined-late" : "tls.no-client-hello";
    if (!this.agreed) return "tls.no-server-hello";
    return this.keys.knows(hex(this.hello.random)) ? "tls.partial-secrets" : "tls.no-secret";
  }

  private closeBoth(code: ClosedBy, mark: Mark): void {
    this.closeSide(this.up, code, mark);
    this.closeSide(this.down, code, mark);
    this.replay();
  }

  private closeSide(side: Side, code: ClosedBy, mark: Mark): void {
    if (side.state === "closed" || side.state === "ended") return;
    this.closedBy[side.direction] = code;
    const why = side.takeLoss()?.why ?? "undecrypted";
    side.close();
    // A record that is none has its own words already.
    if (code !== "tls.bad-record" && code !== "tls.bad-hello") this.noteOnce(code, mark);
    this.outbox.gap(side.direction, undefined, why, mark);
  }

  private whyClosed(side: Side): ClosedSide {
    const by = this.closedBy[side.direction] ?? (side.state === "waiting" ? this.waitsFor() : null);
    return { by, read: side.opened > 0 };
  }

  private whyUnfinished(): string {
    return this.alert === null ? "the handshake was not finished" : `the handshake failed: ${this.alert}`;
  }

  private noteOnce(code: TlsCode, mark: Mark, detail: Detail = {}): void {
    if (this.noted.has(code)) return;
    this.noted.add(code);
    this.note(code, mark, detail);
  }

  private note(code: TlsCode, mark: Mark, detail: Detail = {}): void {
    const known: Record<string, string> = { server: this.context.flow.server };
    if (this.version !== undefined) known.version = versionName(this.version);
    if (this.suite !== undefined) known.suite = this.suite.name;
    if (this.hello !== undefined) known.clientRandom = hex(this.hello.random);
    this.context.note({ code, place: placeOf(mark), detail: { ...known, ...detail } });
  }
}
