/** Which keys of a direction are due, and for which record; finds both again after a loss by trying. */
import type { Bytes } from "../../core/bytes.js";
import type { Epoch } from "./epochs.js";
import type { Loss } from "./loss.js";
import type { Opened, Opener } from "./opener.js";

/** Where a record opened. */
export interface Found {
  readonly opened: Opened;
  readonly opener: Opener;
  /** Keys before it, when they are others. */
  readonly left: Epoch | undefined;
  readonly sameKeys: boolean;
  /** Records before it under these keys that were not seen. */
  readonly missing: number;
}

/** Trial decryptions that one direction may spend on finding its way, beside one for each so many bytes it brings. */
const freeTrials = 65_536;
const bytesPerTrial = 256;

export class KeyRing {
  readonly epochs: Epoch[] = [];
  /** Position in `epochs`; -1: in the clear. */
  at = -1;
  private sequence = 0;
  private trials = freeTrials;

  get epoch(): Epoch | undefined {
    return this.epochs[this.at];
  }

  get hasNext(): boolean {
    return this.epochs[this.at + 1] !== undefined;
  }

  /** No trials are left. */
  get exhausted(): boolean {
    return this.trials < 1;
  }

  /** `bytes` have come in: they pay for trials. */
  earn(bytes: number): void {
    this.trials += bytes / bytesPerTrial;
  }

  enter(at: number): void {
    this.at = at;
    this.sequence = 0;
  }

  /** After a KeyUpdate. */
  enterNext(): boolean {
    const next = this.epochs[this.at + 1] ?? this.epoch?.next();
    if (next === undefined) return false;
    this.epochs[this.at + 1] = next;
    this.enter(this.at + 1);
    return true;
  }

  /** Whether any of the keys from here on are known. */
  canOpen(from = Math.max(this.at, 0)): boolean {
    for (let i = from; i < this.epochs.length; i++) {
      if (this.epochs[i]!.opener() !== undefined) return true;
    }
    return false;
  }

  /** Opens the record that is due. */
  open(record: Bytes): Opened | undefined {
    const opener = this.epoch?.opener();
    const opened = opener?.open(record, this.sequence);
    if (opened === undefined) return undefined;
    this.sequence++;
    opener!.passed(record);
    return opened;
  }

  /**
   * Tries the keys that may be due and the sequence numbers that `loss` leaves open. `before`: what was last skipped without being
   * records, where anything was.
   */
  search(record: Bytes, loss: Loss | undefined, before: Bytes | undefined): Found | undefined {
    const first = Math.max(this.at, 0);
    for (let i = first; i <= first + 2; i++) {
      const epoch = this.epochs[i] ?? (loss === undefined ? undefined : this.epochs[i - 1]?.next());
      if (epoch === undefined) return undefined;
      const opener = epoch.opener();
      if (opener !== undefined && before !== undefined) opener.lost(before);
      const found = opener && this.trySequences(i, opener, record, loss);
      if (found !== undefined) {
        this.epochs[i] ??= epoch;
        return found;
      }
      if (epoch.kind !== "early" && opener !== undefined && loss === undefined) return undefined;
    }
    return undefined;
  }

  private trySequences(index: number, opener: Opener, record: Bytes, loss: Loss | undefined): Found | undefined {
    const sameKeys = index === this.at;
    const hint = sameKeys ? opener.missingBefore(record) : 0;
    if (hint > 0) {
      const found = this.tryOne(index, opener, record, hint);
      if (found !== undefined) return found;
    }
    const most = mostMissing(opener, loss);
    for (let missing = 0; missing <= most && !this.exhausted; missing++) {
      const found = this.tryOne(index, opener, record, missing);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  private tryOne(index: number, opener: Opener, record: Bytes, missing: number): Found | undefined {
    this.trials--;
    const sameKeys = index === this.at;
    const sequence = (sameKeys ? this.sequence : 0) + missing;
    const opened = opener.open(record, sequence);
    if (opened === undefined) return undefined;
    const left = sameKeys ? undefined : this.epoch;
    this.at = index;
    this.sequence = sequence + 1;
    opener.passed(record);
    return { opened, opener, left, sameKeys, missing };
  }
}

function mostMissing(opener: Opener, loss: Loss | undefined): number {
  if (loss === undefined) return 0;
  return loss.bytes === undefined ? Number.POSITIVE_INFINITY : loss.records + Math.ceil(loss.bytes / opener.smallest);
}
