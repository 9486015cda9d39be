/**
 * One direction of a TLS connection: records in, opened content out. Knows which keys are due, finds the way back after a loss by
 * trying sequence numbers, and waits while a hello or a secret may still come.
 */
import { type Bytes, keep } from "../../core/bytes.js";
import type { Mark } from "../../core/mark.js";
import type { Direction, GapReason } from "../../model/exchange.js";
import type { Epoch } from "./epochs.js";
import { messageType } from "./handshake.js";
import { type HandshakeMessage, MessageJoiner } from "./messages.js";
import { contentType, type Opened, type Opener, recordHeaderBytes } from "./opener.js";
import { type Cut, RecordCutter } from "./records.js";

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
  damaged(side: Side, mark: Mark): void;
  notRecords(side: Side, head: Bytes, mark: Mark): void;
  /** Nothing more can be read here. `never`: nothing ever was, though nothing is missing. */
  lostStep(side: Side, never: boolean, mark: Mark): void;
}

interface Loss {
  /** Whole records that did not open. */
  records: number;
  /** Bytes beside them, in which any number of records may have been; undefined: unknown. */
  bytes: number | undefined;
  /** All bytes lost; undefined: unknown. */
  total: number | undefined;
  readonly why: GapReason;
  readonly mark: Mark;
}

/** Records in a row that do not open before a direction is given up. */
const patience = 8;
/** Handshake records passed over where only the application secrets are known. */
const unreadHandshake = 64;
/** Trial decryptions that one direction may spend on finding its way, beside one for each so many bytes it brings. */
const freeTrials = 65_536;
const bytesPerTrial = 256;

export class Side {
  state: "open" | "waiting" | "closed" | "ended" = "open";
  /** Position in `epochs`; -1: in the clear. */
  at = -1;
  /** Records opened. */
  opened = 0;
  /** Records of application data opened. */
  applicationRecords = 0;
  readonly epochs: Epoch[] = [];
  readonly joiner = new MessageJoiner();
  private readonly cutter = new RecordCutter();
  private waitsFor = 0;
  /** New keys are due, and not agreed on yet. */
  private changing = false;
  private sequence = 0;
  private trials = freeTrials;
  /** Bytes before the next record are missing or were no record. */
  private broken = false;
  private failures = 0;
  private passedOver = 0;
  private padded = false;
  private dataInEpoch = false;
  private loss: Loss | undefined;
  private lastMark: Mark | undefined;

  constructor(
    readonly direction: Direction,
    private readonly host: SideHost,
  ) {}

  get epoch(): Epoch | undefined {
    return this.epochs[this.at];
  }

  /** Bytes of a record whose end has not come. */
  get unfinished(): number {
    return this.cutter.waiting;
  }

  bytes(bytes: Bytes, mark: Mark): void {
    if (this.state !== "open") return;
    this.trials += bytes.length / bytesPerTrial;
    this.lastMark = mark;
    this.cutter.push(bytes, mark);
    this.drain();
  }

  /** Whether a loss has to wait: the way back can only be found with keys that are not there yet. */
  get gapMustWait(): boolean {
    return this.at < 0 && this.host.ownHelloSeen(this) && !this.canOpen();
  }

  gap(length: number | undefined, why: GapReason, mark: Mark): void {
    if (this.state !== "open") return;
    const lost = this.cutter.gap(length);
    this.broken = true;
    this.addLoss(lost, why, mark);
    this.joiner.reset();
  }

  /** Stops until keys from `epoch` on are known; events that come meanwhile are the connection's to keep. */
  wait(epoch = Math.max(this.at, 0)): void {
    this.state = "waiting";
    this.waitsFor = epoch;
    this.cutter.unpin();
  }

  resume(): void {
    if (this.state !== "waiting") return;
    this.state = "open";
    if (this.changing) this.enter(this.at + 1);
    this.changing = false;
    this.drain();
  }

  /** Whether what it waits for may be there. */
  get ready(): boolean {
    if (this.at < 0 && !this.host.agreed) return this.host.refusesEarly(this);
    return this.canOpen(this.waitsFor);
  }

  /** Whether any of the keys from here on are known. */
  canOpen(from = Math.max(this.at, 0)): boolean {
    for (let i = from; i < this.epochs.length; i++) {
      if (this.epochs[i]!.opener() !== undefined) return true;
    }
    return false;
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
  takeLoss(): { readonly why: GapReason; readonly mark: Mark } | undefined {
    const { loss } = this;
    this.loss = undefined;
    return loss;
  }

  private readonly skippedBytes = (count: number): void => {
    if (this.loss === undefined) return;
    if (this.loss.bytes !== undefined) this.loss.bytes += count;
    if (this.loss.total !== undefined) this.loss.total += count;
  };

  private drain(): void {
    while (this.state === "open") {
      const cut = this.cutter.next(this.skippedBytes);
      if (cut === undefined) return;
      if (cut === "broken") this.notRecord();
      else if (this.at < 0) this.plain(cut);
      else this.sealed(cut);
    }
  }

  /** Bytes that are no record. With keys that work the next record can be told from noise; without them it cannot. */
  private notRecord(): void {
    const mark = this.lastMark!;
    this.host.notRecords(this, this.cutter.head(), mark);
    if (this.opened === 0) return this.giveUp(mark);
    this.addLoss(0, "undecrypted", mark);
    this.broken = true;
    this.cutter.search();
  }

  private plain(cut: Cut): void {
    if (!cut.sure) return this.plainCandidate(cut);
    if (this.loss !== undefined && this.epochs.length > 0 && !this.host.tls13) {
      // The change of keys may be among what is lost.
      const opened = this.search(cut.record);
      if (opened !== undefined) return this.took(opened, cut.mark);
    }
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
    const opened = this.search(cut.record);
    if (opened !== undefined) return this.took(opened, this.cutter.accept(cut));
    const [type, , , , length] = cut.record;
    const first = cut.record[recordHeaderBytes];
    const hello = type === contentType.handshake && first !== undefined && first > 0 && first <= messageType.finished;
    const changes = type === contentType.changeCipherSpec && length === 1 && first === 1;
    if ((hello && cut.record[2]! > 0) || changes) this.plain({ ...cut, mark: this.cutter.accept(cut), sure: true });
    else this.cutter.reject(this.skippedBytes);
  }

  private changeCipherSpec(cut: Cut): void {
    // Before any hello it tells nothing: with TLS 1.3 it may stand in front of the one that follows a retry.
    if (this.host.tls13 || !this.host.ownHelloSeen(this)) return;
    if (this.epochs[this.at + 1] === undefined) return this.beforeKeys(cut);
    this.enter(this.at + 1);
  }

  private firstSealed(cut: Cut): void {
    if (this.host.refusesEarly(this)) return this.host.earlyDropped(cut.mark);
    if (this.epochs.length === 0) return this.beforeKeys(cut);
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
    this.at = at;
    this.sequence = 0;
    this.dataInEpoch = false;
    this.joiner.reset();
  }

  private sealed(cut: Cut): void {
    const { record } = cut;
    if (this.host.tls13 && record[0] !== contentType.applicationData) return this.plainAmongSealed(cut);
    const opener = this.epochs[this.at]?.opener();
    let opened = opener?.open(record, this.sequence);
    if (opened !== undefined && cut.sure && this.loss === undefined) {
      this.sequence++;
      this.failures = 0;
      opener!.passed(record);
      return this.took(opened, cut.mark);
    }
    if (opener === undefined && !this.canOpen()) {
      if (cut.sure) this.cutter.undo(cut);
      return this.wait();
    }
    if (opened === undefined) opened = this.search(record);
    else this.found(this.at, this.sequence, opener!, record);
    if (opened === undefined) return this.unopened(cut);
    this.took(opened, cut.sure ? cut.mark : this.cutter.accept(cut));
  }

  /** Middlebox change-cipher-spec records, and alerts of a side that has no keys yet. RFC 8446 appendix D.4 and section 6. */
  private plainAmongSealed(cut: Cut): void {
    if (!cut.sure) return this.cutter.reject(this.skippedBytes);
    const content = cut.record.subarray(recordHeaderBytes);
    if (cut.record[0] === contentType.alert && content.length === 2) this.alert(content, cut.mark);
  }

  /** Tries the keys that may be due and the sequence numbers that the loss leaves open. */
  private search(record: Bytes): Opened | undefined {
    const first = Math.max(this.at, 0);
    for (let i = first; i <= first + 2; i++) {
      const epoch = this.epochs[i] ?? (this.loss === undefined ? undefined : this.epochs[i - 1]?.next());
      if (epoch === undefined) return undefined;
      const opener = epoch.opener();
      const opened = opener && this.trySequences(i, epoch, opener, record);
      if (opened !== undefined) return opened;
      const passable = epoch.kind === "early" || opener === undefined || this.loss !== undefined;
      if (!passable) return undefined;
    }
    return undefined;
  }

  private trySequences(index: number, epoch: Epoch, opener: Opener, record: Bytes): Opened | undefined {
    const from = index === this.at ? this.sequence : 0;
    if (this.broken) opener.lost(this.cutter.skippedLast);
    const spread = this.spread(opener);
    const hint = index === this.at ? opener.missingBefore(record) : 0;
    if (hint > 0 && this.trials >= 1) {
      const opened = this.tryOne(opener, record, from + hint);
      if (opened !== undefined) return this.arrive(index, epoch, from + hint, opener, record, opened);
    }
    for (let missing = 0; missing <= spread && this.trials >= 1; missing++) {
      const opened = this.tryOne(opener, record, from + missing);
      if (opened !== undefined) return this.arrive(index, epoch, from + missing, opener, record, opened);
    }
    return undefined;
  }

  private tryOne(opener: Opener, record: Bytes, sequence: number): Opened | undefined {
    this.trials--;
    return opener.open(record, sequence);
  }

  private arrive(index: number, epoch: Epoch, sequence: number, opener: Opener, record: Bytes, opened: Opened): Opened {
    this.epochs[index] ??= epoch;
    this.found(index, sequence, opener, record);
    return opened;
  }

  /** How many records may be missing. */
  private spread(opener: Opener): number {
    if (this.loss === undefined) return 0;
    const { records, bytes } = this.loss;
    return bytes === undefined ? Number.POSITIVE_INFINITY : records + Math.ceil(bytes / opener.smallest);
  }

  /** A record opened: everything before it is accounted for. */
  private found(index: number, sequence: number, opener: Opener, record: Bytes): void {
    const sameKeys = index === this.at;
    const missing = sameKeys ? sequence - this.sequence : sequence;
    const left = this.epoch;
    const exact = sameKeys && this.dataInEpoch && !this.padded ? opener.overhead : undefined;
    if (!sameKeys) this.enter(index);
    if (left?.kind === "early" && !sameKeys) this.host.earlyOver(false);
    this.sequence = sequence + 1;
    this.failures = 0;
    this.broken = false;
    opener.passed(record);
    const { loss } = this;
    this.loss = undefined;
    const kind = this.epoch!.kind;
    if (loss === undefined || kind === "handshake") return;
    const crossed = !sameKeys && left?.kind === "application";
    if (missing === 0 && !crossed) return;
    const length = exact === undefined || loss.total === undefined ? undefined : loss.total - missing * exact;
    this.joiner.reset();
    if (length === 0) return;
    this.host.lost(this, length === undefined || length < 0 ? undefined : length, loss.why, missing, loss.mark);
  }

  private unopened(cut: Cut): void {
    if (!cut.sure) {
      if (this.trials < 1) return this.giveUp(cut.mark);
      return this.cutter.reject(this.skippedBytes);
    }
    const { epoch } = this;
    if (epoch?.kind === "early" && !this.canOpen(this.at + 1)) {
      // It may be the first record under keys that are not there yet.
      this.cutter.undo(cut);
      return this.wait(this.at + 1);
    }
    const opener = epoch?.opener();
    opener?.passed(cut.record);
    this.broken = false;
    if (epoch?.kind === "early") return this.host.earlyUnread(this, cut.mark);
    if (opener === undefined) {
      if (++this.passedOver > unreadHandshake) this.giveUp(cut.mark);
      return;
    }
    if (this.opened > 0 && this.failures === 0 && this.loss === undefined) this.host.damaged(this, cut.mark);
    this.addLoss(0, "undecrypted", cut.mark);
    this.loss!.records++;
    if (this.loss!.total !== undefined) this.loss!.total += cut.record.length;
    if (++this.failures >= patience || this.trials < 1) this.giveUp(cut.mark);
  }

  private addLoss(bytes: number | undefined, why: GapReason, mark: Mark): void {
    const { loss } = this;
    if (loss === undefined) {
      this.loss = { records: 0, bytes, total: bytes, why, mark };
      return;
    }
    loss.bytes = add(loss.bytes, bytes);
    loss.total = add(loss.total, bytes);
  }

  private giveUp(mark: Mark): void {
    this.host.lostStep(this, this.opened === 0 && (this.loss === undefined || this.loss.why === "undecrypted"), mark);
  }

  private took(opened: Opened, mark: Mark): void {
    this.opened++;
    if (opened.padded) this.padded = true;
    const { content } = opened;
    switch (opened.type) {
      case contentType.applicationData:
        this.applicationRecords++;
        this.dataInEpoch = true;
        if (content.length > 0) this.host.data(this, content, mark, this.epoch!.kind === "early");
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
    if (this.epochs[this.at + 1] !== undefined) return this.enter(this.at + 1);
    this.changing = true;
    this.wait(this.at + 1);
  }

  private alert(content: Bytes, mark: Mark): void {
    if (content.length === 2) this.host.alerted(this, content[0]!, content[1]!, mark);
  }

  private message(message: HandshakeMessage): void {
    this.host.message(this, message);
    if (!this.host.tls13 || this.at < 0) return;
    const kind = this.epoch!.kind;
    if (message.type === messageType.finished && kind === "handshake") return this.enter(this.at + 1);
    if (message.type === messageType.endOfEarlyData && kind === "early") {
      this.enter(this.at + 1);
      return this.host.earlyOver(true);
    }
    if (message.type !== messageType.keyUpdate || kind !== "application") return;
    const next = this.epoch!.next();
    if (next === undefined) return;
    this.epochs[this.at + 1] ??= next;
    this.enter(this.at + 1);
  }
}

function add(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a + b;
}
