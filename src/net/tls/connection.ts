/** Both directions of one TLS connection: who waits for what, what is handed inward, and why something stays closed. */
import type { KeyLog } from "../../capture/keylog.js";
import { type Bytes, hex, keep, readU16BE } from "../../core/bytes.js";
import type { tlsCodes } from "../../core/codes/tls.js";
import type { Detail } from "../../core/diagnostic.js";
import { type Mark, placeOf } from "../../core/mark.js";
import type { Direction, GapReason, TlsInfo } from "../../model/exchange.js";
import type { Duplex, EndReason, LayerContext } from "../duplex.js";
import { alertName, closeNotify, endsDirection } from "./alerts.js";
import { Backlog } from "./backlog.js";
import type { Epoch } from "./epochs.js";
import { versionName } from "./handshake.js";
import type { HandshakeMessage } from "./messages.js";
import { Negotiation } from "./negotiation.js";
import { Outbox } from "./outbox.js";
import { type Shared, sharedBy } from "./shared.js";
import { Side } from "./side.js";
import type { SideHost } from "./side-host.js";
import { type ClosedBy, type ClosedSide, closedPhrase } from "./why.js";

type TlsCode = Extract<keyof typeof tlsCodes, `tls.${string}`>;

export class Connection implements SideHost {
  private readonly up: Side = new Side("up", this);
  private readonly down: Side = new Side("down", this);
  private readonly shared: Shared;
  private readonly agreement: Negotiation;
  private readonly outbox: Outbox;
  private readonly backlog: Backlog;
  private readonly noted = new Set<TlsCode>();
  private readonly closedBy: { up: ClosedBy | null; down: ClosedBy | null } = { up: null, down: null };
  private readonly over = new Set<Direction>();
  private alert: string | null = null;
  private earlyUnreadable = false;
  private keysSeen: number;

  constructor(
    private readonly context: LayerContext,
    private readonly keys: KeyLog,
    inner: (alpn: string | null) => Duplex,
  ) {
    this.shared = sharedBy(keys);
    this.keysSeen = keys.size;
    this.agreement = new Negotiation(keys, this.shared.memory, {
      addEpochs: (direction: Direction, epochs: readonly Epoch[]) => this[direction].keys.epochs.push(...epochs),
      fail: (code, directions, mark) => this.fail(code, directions, mark),
    });
    this.outbox = new Outbox(() => inner(this.agreement.alpn));
    const { undecryptedBytesPerFlow } = context.limits;
    this.backlog = new Backlog(this.shared.pool, undecryptedBytesPerFlow, (mark) => this.overLimit(mark));
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
    const { up, down } = this;
    const { version, suite, sni, alpn } = this.agreement;
    const why = closedPhrase(this.whyClosed(up), this.whyClosed(down));
    const anyData = up.applicationRecords + down.applicationRecords > 0;
    const decrypted = anyData || (why === null && up.opened + down.opened > 0);
    return {
      version: version === undefined ? null : versionName(version),
      cipher: suite?.name ?? null,
      sni,
      alpn,
      decrypted,
      why: why ?? (decrypted ? null : this.whyUnfinished()),
    };
  }

  // What the sides ask and tell.

  get tls13(): boolean {
    return this.agreement.tls13;
  }

  get agreed(): boolean {
    return this.agreement.agreed;
  }

  get keepMessages(): boolean {
    return this.agreement.keepMessages;
  }

  ownHelloSeen(side: Side): boolean {
    return this.agreement.helloSeen(side.direction);
  }

  helloMissing(side: Side, mark: Mark): void {
    if (!this.ownHelloSeen(side)) this.fail(this.waitsFor(), ["up", "down"], mark);
  }

  refusesEarly(side: Side): boolean {
    return side === this.up && this.agreement.retrying;
  }

  message(side: Side, message: HandshakeMessage): void {
    if (side === this.up) this.agreement.clientMessage(message);
    else this.agreement.serverMessage(message, side.keys.epoch?.kind);
  }

  data(side: Side, content: Bytes, mark: Mark, early: boolean): void {
    if (early && this.agreement.early === "refused") return this.earlyDropped(mark);
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
    if (side.keys.epoch?.opener() === undefined) this.noteOnce("tls.early-data-closed", mark);
  }

  earlyOver(properly: boolean): void {
    const { agreement } = this;
    // A client that was refused goes on without an EndOfEarlyData; so does, for us, one whose early data we cannot read.
    if (properly) agreement.early = "taken";
    else if (agreement.early === "offered" && !this.earlyUnreadable) agreement.early = "refused";
  }

  earlyDropped(mark: Mark): void {
    this.noteOnce("tls.early-data-rejected", mark);
  }

  damaged(mark: Mark): void {
    this.note("tls.damaged-record", mark);
  }

  notRecords(head: Bytes, mark: Mark): void {
    const version = `0x${hex(head.subarray(1, 3))}`;
    this.note("tls.bad-record", mark, { type: head[0]!, version, length: readU16BE(head, 3) });
  }

  lostStep(side: Side, never: boolean, mark: Mark): void {
    if (side.keys.at < 0 && never) return this.closeSide(side, "tls.bad-record", mark);
    this.closeSide(side, never ? "tls.wrong-secret" : "tls.lost-step", mark);
  }

  // Waiting and going on.

  private lookForKeys(): void {
    if (this.keys.size === this.keysSeen) return;
    this.keysSeen = this.keys.size;
    this.agreement.changed = true;
    this.settle();
  }

  private settle(): void {
    while (this.agreement.changed) {
      this.agreement.changed = false;
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

  /** Whether it is known which protocol is inside, and whether early data counts; or that it will not be known. */
  private innerSettled(): boolean {
    const { up, down, agreement } = this;
    if (!agreement.tls13 || agreement.extensions !== undefined) return true;
    if (this.outbox.waiting > this.context.limits.undecryptedBytesPerFlow) return true;
    if (agreement.early === "offered" && up.keys.epoch?.kind === "early" && up.state !== "closed") return false;
    if (down.state === "closed" || down.state === "ended" || this.over.has("down")) return true;
    return down.keys.epochs[0]?.opener() === undefined || down.keys.epoch?.kind === "application";
  }

  private openOutbox(): void {
    const refused = this.agreement.early === "refused";
    const dropped = this.outbox.open(refused ? "refused" : this.earlyUnreadable ? "unreadable" : "taken");
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

  /** What a direction that waits has not got. */
  private waitsFor(): ClosedBy {
    const { clientRandom, server, agreed } = this.agreement;
    if (clientRandom === null) return server === undefined ? "tls.joined-late" : "tls.no-client-hello";
    if (!agreed) return "tls.no-server-hello";
    if (this.keys.knows(clientRandom)) return "tls.partial-secrets";
    return this.keys.size > 0 ? "tls.not-in-keylog" : "tls.no-secret";
  }

  private fail(code: ClosedBy, directions: readonly Direction[], mark: Mark): void {
    if (code === "tls.bad-hello") this.note(code, mark, { what: directions[0] === "up" ? "client" : "server" });
    for (const direction of directions) this.closeSide(this[direction], code, mark);
    this.replay();
  }

  private closeSide(side: Side, code: ClosedBy, mark: Mark): void {
    if (side.state === "closed" || side.state === "ended") return;
    this.closedBy[side.direction] = code;
    const why = side.takeLoss()?.why ?? "undecrypted";
    side.close();
    // These were said with their own numbers.
    if (code !== "tls.bad-record" && code !== "tls.bad-hello") this.noteClosed(code, mark);
    this.outbox.gap(side.direction, undefined, why, mark);
  }

  /** What is known from the hello on is said at the hello. */
  private noteClosed(code: ClosedBy, mark: Mark): void {
    const at = code === "tls.lost-step" ? mark : (this.agreement.helloMark ?? mark);
    this.noteOnce(code, at, code === "tls.not-in-keylog" ? { secrets: this.keys.size } : {});
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
    const known = { server: this.context.flow.server, ...this.agreement.detail() };
    this.context.note({ code, place: placeOf(mark), detail: { ...known, ...detail } });
  }
}
