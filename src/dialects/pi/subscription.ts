/** One subscription: its live instances, their states rebuilt from deltas, and what did not fit. The pi page, section 8. */
import type { Words } from "../../core/printable.js";
import type { CborArray, CborValue } from "../../decode/cbor.js";
import type { Address, Instance, ServiceMode, Snapshot, Update } from "./chord.js";
import { DeltaDecoder, isBatchOfText, type Op, opsText, pathText, Replica, type ReplicaValue } from "./delta.js";
import type { Target } from "./envelope.js";
import type { OddityOf, SubscriptionFact } from "./facts.js";
import { isArray } from "./shape.js";
import { brief, isSecretPath } from "./value.js";

type Told = "sequence" | "delta" | "empty-ops" | "snapshot-ops" | "snapshot" | "update-kind";
/** An oddity without the moment, which its caller knows. */
export type Remark = { [W in Told]: Omit<OddityOf<W>, "at" | "home"> }[Told];

export interface Applied {
  readonly remarks: readonly Remark[];
  /** What happened and what the state became. */
  readonly says: Words;
  /** Text appended, in UTF-16 units. */
  readonly chars: number;
  /** Equal for updates that only let one text grow; null for others. */
  readonly run: string | null;
  /** An operation touches a credential: its values are not shown. */
  readonly secret: boolean;
}

interface StateTrack {
  sequence: number;
  readonly decoder: DeltaDecoder;
  readonly replica: Replica;
  /** The value is not known any more until a batch starts afresh. */
  lost: boolean;
}

interface LiveInstance {
  readonly address: Address | null;
  readonly states: Map<string, StateTrack>;
}

export class Subscription implements SubscriptionFact {
  updates = 0;
  state: SubscriptionFact["state"] = "asked";
  private readonly live = new Map<string, LiveInstance>();
  private readonly generations = new Map<string, number>();
  private available = true;
  private remarks: Remark[] = [];

  constructor(
    readonly id: string,
    readonly service: string | null,
    readonly mode: ServiceMode | null,
    readonly target: Target | null,
  ) {}

  /** The subscribe call's result. */
  begin(snapshot: Snapshot): readonly Remark[] {
    this.remarks = [];
    if (snapshot.serviceId !== this.service) {
      this.remark({ what: "snapshot", id: this.id, says: `is of ${snapshot.serviceId}, not ${this.service}` });
    }
    if (snapshot.mode !== this.mode) {
      this.remark({ what: "snapshot", id: this.id, says: `is ${snapshot.mode}, not ${this.mode}` });
    }
    if (this.mode === "singleton" && snapshot.instances.length !== 1) {
      const says = `has ${snapshot.instances.length} instances, and a singleton has exactly one`;
      this.remark({ what: "snapshot", id: this.id, says });
    }
    for (const instance of snapshot.instances) {
      const says = this.addressFault(instance.address);
      if (says !== null) this.remark({ what: "snapshot", id: this.id, says: `holds an instance that ${says}` });
      this.enter(instance);
    }
    return this.remarks;
  }

  apply(update: Update, wantWords: boolean): Applied {
    this.remarks = [];
    const told = this.change(update, wantWords);
    return {
      remarks: this.remarks,
      says: told?.says ?? [],
      chars: told?.chars ?? 0,
      run: told?.run ?? null,
      secret: told?.secret ?? false,
    };
  }

  /** Every state with its last sequence and value (undefined: not known), in order of appearance. */
  *values(): Generator<{
    readonly state: string;
    readonly sequence: number;
    readonly value: ReplicaValue | undefined;
    /** The value with all its texts joined. */
    whole(): CborValue | undefined;
  }> {
    for (const instance of this.live.values()) {
      for (const [name, { lost, replica, sequence }] of instance.states) {
        const value = lost ? undefined : replica.value;
        const whole = () => (lost ? undefined : replica.whole());
        yield { state: this.label(instance.address, name), sequence, value, whole };
      }
    }
  }

  private change(update: Update, wantWords: boolean): Partial<Applied> | null {
    switch (update.type) {
      case "state":
        return this.onState(update, wantWords);
      case "unavailable":
        this.fits("singleton", update.type);
        this.available = false;
        this.live.clear();
        return { says: [`${this.service} has no provider any more`] };
      case "replaced":
        this.fits("singleton", update.type);
        this.available = true;
        this.live.clear();
        this.introduce(update.snapshot, update.type);
        return { says: [`${this.service} has a new provider`, ...this.firstValues(update.snapshot, wantWords)] };
      case "spawned":
        this.fits("keyed", update.type);
        this.introduce(update.instance, update.type);
        return { says: [`${name(update.instance.address)} appeared`, ...this.firstValues(update.instance, wantWords)] };
      case "closed":
        this.fits("keyed", update.type);
        if (this.find(update.address, update.type) !== null) this.live.delete(update.address.key);
        return { says: [`${name(update.address)} ended`] };
    }
  }

  private onState(update: Extract<Update, { type: "state" }>, wantWords: boolean): Partial<Applied> | null {
    const says = this.addressFault(update.address);
    if (says !== null) {
      this.remark({ what: "update-kind", id: this.id, says: `a state update ${says}` });
      return null;
    }
    if (!this.available) {
      this.remark({ what: "update-kind", id: this.id, says: "a state update while the provider is unavailable" });
      return null;
    }
    const instance = this.find(update.address, update.type);
    if (instance === null) return null;
    const label = this.label(update.address, update.member);
    const track = instance.states.get(update.member);
    if (track === undefined) {
      const fault = "the snapshot named no such state";
      this.remark({ what: "delta", state: label, says: fault, sequence: update.sequence });
      return null;
    }
    return this.advance(track, update, label, wantWords);
  }

  private advance(
    track: StateTrack,
    update: Extract<Update, { type: "state" }>,
    label: string,
    wantWords: boolean,
  ): Partial<Applied> {
    if (update.sequence !== track.sequence + 1) {
      this.remark({ what: "sequence", state: label, expected: track.sequence + 1, got: update.sequence });
      track.lost = true;
    }
    track.sequence = update.sequence;
    if (isArray(update.ops) && update.ops.length === 0) {
      this.remark({ what: "empty-ops", state: label, sequence: update.sequence });
    }
    // A consumer that lost the value can take it up again only from a whole one.
    if (track.lost && !isBase(update.ops)) return { says: [`${label} #${update.sequence}, its value not known`] };
    track.lost = false;
    const decoded = track.decoder.decode(update.ops);
    if ("fault" in decoded) return this.lose(track, label, update.sequence, decoded.fault);
    const fault = track.replica.apply(decoded.ops);
    if (fault !== null) return this.lose(track, label, update.sequence, fault);
    return this.told(track, label, decoded.ops, wantWords);
  }

  private lose(track: StateTrack, label: string, sequence: number, says: string): Partial<Applied> {
    track.lost = true;
    this.remark({ what: "delta", state: label, says, sequence });
    return { says: [`${label} #${sequence} cannot be applied: ${says}`] };
  }

  private told(track: StateTrack, label: string, ops: readonly Op[], wantWords: boolean): Partial<Applied> {
    const secret = ops.some((op) => op.verb !== "r" && isSecretPath(op.path));
    if (!wantWords) return { secret };
    const text = isBatchOfText(ops);
    const says: Words = [`${label} #${track.sequence}: ${opsText(ops)}; now `, ...brief(track.replica.value, 70)];
    return {
      says,
      secret,
      chars: text?.chars ?? 0,
      run: text === null ? null : `${this.id} ${label} ${pathText(text.path)}`,
    };
  }

  private introduce(instance: Instance, kind: "replaced" | "spawned"): void {
    const says = this.addressFault(instance.address);
    if (says !== null)
      this.remark({ what: "update-kind", id: this.id, says: `"${kind}" brings an instance that ${says}` });
    const { address } = instance;
    if (address !== null) {
      const before = this.generations.get(address.key);
      if (before !== undefined && address.generation <= before) {
        const fault = `${name(address)} follows generation ${before} of the same key`;
        this.remark({ what: "update-kind", id: this.id, says: fault });
      }
    }
    this.enter(instance);
  }

  private enter(instance: Instance): void {
    const states = new Map<string, StateTrack>();
    const { address } = instance;
    if (address !== null) this.generations.set(address.key, address.generation);
    for (const member of instance.members) {
      if (member.kind === "method") continue;
      const track = { sequence: member.sequence, decoder: new DeltaDecoder(), replica: new Replica(), lost: false };
      states.set(member.name, track);
      const label = this.label(address, member.name);
      const decoded = track.decoder.decode(member.ops);
      const fault = "fault" in decoded ? decoded.fault : track.replica.apply(decoded.ops);
      track.lost = fault !== null;
      if (fault !== null) this.remark({ what: "snapshot-ops", state: label, says: fault });
      else if (!isBase(member.ops) || (member.ops as CborArray).length !== 1) {
        this.remark({ what: "snapshot-ops", state: label, says: `are ${(member.ops as CborArray).length} operations` });
      }
    }
    this.live.set(address?.key ?? "", { address, states });
  }

  private find(address: Address | null, kind: string): LiveInstance | null {
    const instance = this.live.get(address?.key ?? "");
    const generation = instance?.address?.generation ?? null;
    if (instance !== undefined && generation === (address?.generation ?? null)) return instance;
    this.remark({ what: "update-kind", id: this.id, says: `"${kind}" names ${name(address)}, which is not live` });
    return null;
  }

  private fits(mode: ServiceMode, kind: string): void {
    if (this.mode === mode) return;
    this.remark({ what: "update-kind", id: this.id, says: `"${kind}" on a ${this.mode} service` });
  }

  private addressFault(address: Address | null): string | null {
    if (this.mode === "singleton") return address === null ? null : "has an instance address, on a singleton service";
    return address === null ? "has no instance address, on a keyed service" : null;
  }

  private firstValues(instance: Instance, wantWords: boolean): Words {
    if (!wantWords) return [];
    const states = this.live.get(instance.address?.key ?? "")?.states ?? new Map<string, StateTrack>();
    return [...states].flatMap(([member, track]) => [
      `; ${member} #${track.sequence} `,
      ...brief(track.replica.value, 40),
    ]);
  }

  /** The states a snapshot brought, for the step of the subscribe response. */
  snapshotWords(): Words {
    const states = [...this.values()];
    return states.flatMap(({ state, sequence, value }, i) =>
      i < 3 ? [`; ${state} #${sequence} `, ...brief(value, 50)] : i === 3 ? [`; ${states.length - 3} more`] : [],
    );
  }

  private label(address: Address | null, member: string): string {
    return address === null ? `${this.service}.${member}` : `${this.service}[${address.key}].${member}`;
  }

  private remark(remark: Remark): void {
    this.remarks.push(remark);
  }
}

function name(address: Address | null): string {
  return address === null ? "the only instance" : `instance ${address.key}, generation ${address.generation}`;
}

/** Whether the batch starts with a whole value. */
function isBase(ops: CborValue): boolean {
  return isArray(ops) && isArray(ops[0]) && ops[0][0] === "r";
}
