/**
 * One direction of a TLS connection: records in, opened content out. Knows which records change the keys, goes on after a loss, and
 * waits while a hello or a secret may still come.
 */
import { type Bytes, keep } from "../../core/bytes.js";
import type { Mark } from "../../core/mark.js";
import type { Direction, GapReason } from "../../model/exchange.js";
import { messageType } from "./handshake.js";
import { type Found, KeyRing } from "./key-ring.js";
import { contentLost, type Loss, lostBytes, lostRecord } from "./loss.js";
import { type HandshakeMessage, MessageJoiner } from "./messages.js";
import { contentType, type Opened, recordHeaderBytes } from "./opener.js";
import { type Cut, RecordCutter } from "./records.js";
import type { SideHost } from "./side-host.js";

/** Records in a row that do not open before a direction is given up. */
const patience = 8;
/** Handshake records passed over where only the application secrets are known. */
const unreadHandshake = 64;

export class Side {
  state: "open" | "waiting" | "closed" | "ended" = "open";
  readonly keys = new KeyRing();
  /** Records opened. */
  opened = 0;
  /** Records of application data opened. */
  applicationRecords = 0;
  private readonly joiner = new MessageJoiner();
  private readonly cutter = new RecordCutter();
  private waitsFor = 0;
  /** New keys are due, and not agreed on yet. */
  private changing = false;
  /** Bytes before the next record are missing or were no record. */
  private broken = false;
  private failures = 0;
  private passedOver = 0;
  private padded = false;
  /** Application data was seen under the keys in use. */
  private dataInEpoch = false;
  private loss: Loss | undefined;
  private lastMark: Mark | undefined;

  constructor(
    readonly direction: Direction,
    private readonly host: SideHost,
  ) {}

  bytes(bytes: Bytes, mark: Mark): void {
    if (this.state !== "open") return;
    this.keys.earn(bytes.length);
    this.lastMark = mark;
    this.cutter.push(bytes, mark);
    this.drain();
  }

  /** Whether a loss has to wait: the way back can only be found with keys that are not there yet. */
  get gapMustWait(): boolean {
    return this.keys.at < 0 && this.host.ownHelloSeen(this) && !this.keys.canOpen();
  }

  gap(length: number | undefined, why: GapReason, mark: Mark): void {
    if (this.state !== "open") return;
    this.loss = lostBytes(this.loss, this.cutter.gap(length), why, mark);
    this.broken = true;
    this.joiner.reset();
  }

  /** Stops until keys from `epoch` on are known; events that come meanwhile are the connection's to keep. */
  wait(epoch = Math.max(this.keys.at, 0)): void {
    this.state = "waiting";
    this.waitsFor = epoch;
    this.cutter.unpin();
  }

  resume(): void {
    if (this.state !== "waiting") return;
    this.state = "open";
    if (this.changing) this.enter(this.keys.at + 1);
    this.changing = false;
    this.drain();
  }

  /** Whether what it waits for may be there. */
  get ready(): boolean {
    if (this.keys.at < 0 && !this.host.agreed) return this.host.refusesEarly(this);
    return this.keys.canOpen(this.waitsFor);
  }

  /** No more will come. Too few records may have been there to give it up before. */
  over(mark: Mark): void {
    if (this.opened === 0 && this.failures > 0) this.giveUp(mark);
  }

  close(): void {
    if (this.state !== "ended") this.state = "closed";
    this.joiner.reset();
  }

  /** What was lost last and never found an end. */
  takeLoss(): Loss | undefined {
    const { loss } = this;
    this.loss = undefined;
    return loss;
  }

  private readonly skipped = (count: number): void => {
    if (this.loss !== undefined) this.loss = lostBytes(this.loss, count, this.loss.why, this.loss.mark);
  };

  private drain(): void {
    while (this.state === "open") {
      const cut = this.cutter.next(this.skipped);
      if (cut === undefined) return;
      if (cut === "broken") this.notRecord();
      else if (this.keys.at < 0) this.plain(cut);
      else this.sealed(cut);
    }
  }

  /** Bytes that are no record. With keys that work the next record can be told from noise; without them it cannot. */
  private notRecord(): void {
    const mark = this.lastMark!;
    this.host.notRecords(this.cutter.head(), mark);
    if (this.opened === 0) return this.giveUp(mark);
    this.loss = lostBytes(this.loss, 0, "undecrypted", mark);
    this.broken = true;
    this.cutter.search();
  }

  private plain(cut: Cut): void {
    if (!cut.sure) return this.plainCandidate(cut);
    // The change of keys may be among what is lost.
    const maybeSealed = this.loss !== undefined && this.keys.hasNext && !this.host.tls13;
    if (maybeSealed && this.search(cut)) return;
    const content = cut.record.subarray(recordHeaderBytes);
    switch (cut.record[0]) {
      case contentType.handshake:
        this.joiner.push(keep(content), cut.mark, this.host.keepMessages, (message) => this.message(message));
        return;
      case contentType.changeCipherSpec:
        return this.changeCipherSpec(cut);
      case contentType.alert:
        return this.alert(content, cut.mark);
      case contentType.applicationData:
        return this.firstSealed(cut);
      default:
        return;
    }
  }

  /** Before the keys are in use a record after a loss can be told only by its looks, but for one that the keys to come do open. */
  private plainCandidate(cut: Cut): void {
    if (this.search(cut)) return;
    const [type, , minor, , length] = cut.record;
    const first = cut.record[recordHeaderBytes];
    const hello = type === contentType.handshake && first !== undefined && first > 0 && first <= messageType.finished;
    const changes = type === contentType.changeCipherSpec && length === 1 && first === 1;
    if ((hello && minor! > 0) || changes) this.plain({ ...cut, mark: this.cutter.accept(cut), sure: true });
    else this.cutter.reject(this.skipped);
  }

  private changeCipherSpec(cut: Cut): void {
    // Before any hello it tells nothing: with TLS 1.3 it may stand in front of the one that follows a retry.
    if (this.host.tls13 || !this.host.ownHelloSeen(this)) return;
    if (this.keys.hasNext) this.enter(this.keys.at + 1);
    else this.beforeKeys(cut);
  }

  private firstSealed(cut: Cut): void {
    if (this.host.refusesEarly(this)) return this.host.earlyDropped(cut.mark);
    if (!this.keys.hasNext) return this.beforeKeys(cut);
    if (this.host.tls13) this.enter(0);
    this.sealed(cut);
  }

  /** Encryption begins, and the hellos are not both known. */
  private beforeKeys(cut: Cut): void {
    this.cutter.undo(cut);
    this.wait();
    this.host.helloMissing(this, cut.mark);
  }

  private enter(at: number): void {
    this.keys.enter(at);
    this.newKeys();
  }

  private newKeys(): void {
    this.dataInEpoch = false;
    this.joiner.reset();
  }

  private sealed(cut: Cut): void {
    if (this.host.tls13 && cut.record[0] !== contentType.applicationData) return this.plainAmongSealed(cut);
    if (cut.sure && this.loss === undefined) {
      const opened = this.keys.open(cut.record);
      if (opened !== undefined) return this.took(opened, cut.mark);
    }
    if (!this.keys.canOpen()) {
      if (cut.sure) this.cutter.undo(cut);
      return this.wait();
    }
    if (!this.search(cut)) this.unopened(cut);
  }

  /** Middlebox change-cipher-spec records, and alerts of a side that has no keys yet. RFC 8446 appendix D.4 and section 6. */
  private plainAmongSealed(cut: Cut): void {
    if (!cut.sure) return this.cutter.reject(this.skipped);
    const content = cut.record.subarray(recordHeaderBytes);
    if (cut.record[0] === contentType.alert && content.length === 2) this.alert(content, cut.mark);
  }

  /** Whether the record opens with any keys and number that may be due. */
  private search(cut: Cut): boolean {
    const before = this.broken ? this.cutter.skippedLast : undefined;
    const found = this.keys.search(cut.record, this.loss, before);
    if (found === undefined) return false;
    this.arrived(found);
    this.took(found.opened, cut.sure ? cut.mark : this.cutter.accept(cut));
    return true;
  }

  /** A record opened where it was not sure to: everything before it is accounted for. */
  private arrived({ opener, left, sameKeys, missing }: Found): void {
    const { loss, dataInEpoch } = this;
    this.loss = undefined;
    this.broken = false;
    if (!sameKeys) this.newKeys();
    // Where nothing is lost, neither is the EndOfEarlyData: there was none.
    if (left?.kind === "early" && loss === undefined) this.host.earlyOver(false);
    if (loss === undefined || this.keys.epoch!.kind === "handshake") return;
    if (missing === 0 && left?.kind !== "application") return;
    this.joiner.reset();
    const perRecord = sameKeys && dataInEpoch && !this.padded ? opener.overhead : undefined;
    const length = perRecord === undefined ? undefined : contentLost(loss, missing, perRecord);
    if (length !== 0) this.host.lost(this, length, loss.why, missing, loss.mark);
  }

  private unopened(cut: Cut): void {
    if (!cut.sure) {
      if (this.keys.exhausted) return this.giveUp(cut.mark);
      return this.cutter.reject(this.skipped);
    }
    const { keys } = this;
    const early = keys.epoch?.kind === "early";
    if (early && !keys.canOpen(keys.at + 1)) {
      // It may be the first record under keys that are not there yet.
      this.cutter.undo(cut);
      return this.wait(keys.at + 1);
    }
    const opener = keys.epoch?.opener();
    opener?.passed(cut.record);
    this.broken = false;
    if (early) return this.host.earlyUnread(this, cut.mark);
    if (opener === undefined) {
      if (++this.passedOver > unreadHandshake) this.giveUp(cut.mark);
      return;
    }
    if (this.opened > 0 && this.failures === 0 && this.loss === undefined) this.host.damaged(cut.mark);
    this.loss = lostRecord(this.loss, cut.record.length, cut.mark);
    if (++this.failures >= patience || keys.exhausted) this.giveUp(cut.mark);
  }

  private giveUp(mark: Mark): void {
    const never = this.opened === 0 && (this.loss === undefined || this.loss.why === "undecrypted");
    this.host.lostStep(this, never, mark);
  }

  private took(opened: Opened, mark: Mark): void {
    this.opened++;
    this.failures = 0;
    if (opened.padded) this.padded = true;
    const { content } = opened;
    switch (opened.type) {
      case contentType.applicationData:
        this.applicationRecords++;
        this.dataInEpoch = true;
        if (content.length > 0) this.host.data(this, content, mark, this.keys.epoch!.kind === "early");
        return;
      case contentType.handshake:
        this.joiner.push(content, mark, false, (message) => this.message(message));
        return;
      case contentType.alert:
        return this.alert(content, mark);
      case contentType.changeCipherSpec:
        if (!this.host.tls13) this.renegotiated();
        return;
      default:
        return;
    }
  }

  /** The hellos went by inside the old keys; what follows is under new ones. */
  private renegotiated(): void {
    if (this.keys.hasNext) return this.enter(this.keys.at + 1);
    this.changing = true;
    this.wait(this.keys.at + 1);
  }

  private alert(content: Bytes, mark: Mark): void {
    if (content.length === 2) this.host.alerted(this, content[0]!, content[1]!, mark);
  }

  private message(message: HandshakeMessage): void {
    this.host.message(this, message);
    if (!this.host.tls13 || this.keys.at < 0) return;
    const kind = this.keys.epoch!.kind;
    if (message.type === messageType.finished && kind === "handshake") return this.enter(this.keys.at + 1);
    if (message.type === messageType.endOfEarlyData && kind === "early") {
      this.enter(this.keys.at + 1);
      return this.host.earlyOver(true);
    }
    const updates = message.type === messageType.keyUpdate && kind === "application";
    if (updates && this.keys.enterNext()) this.newKeys();
  }
}
