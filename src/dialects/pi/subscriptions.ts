/** All subscriptions of a connection by id: asked, live, ended. Updates find theirs here. */
import type { Words } from "../../core/printable.js";
import type { CborValue } from "../../decode/cbor.js";
import type { StreamMessage } from "../../model/message.js";
import { isFault, readSnapshot, readUpdate, type Update } from "./chord.js";
import type { Connection } from "./connection.js";
import type { Envelope } from "./envelope.js";
import type { Point, RequestFact } from "./facts.js";
import type { Told } from "./show.js";
import { type Applied, type Remark, Subscription } from "./subscription.js";
import type { TurnDraft } from "./turn-draft.js";

/** Updates held while their subscribe is unanswered. */
const earlyLimit = 1000;

export class Subscriptions {
  readonly all: Subscription[] = [];
  /** The one that owns an id now; an ended one stays until its id is used again. */
  private readonly byId = new Map<string, Subscription>();
  private readonly askedIds = new Set<string>();
  private readonly asks = new Map<RequestFact, Subscription>();
  private readonly leaving = new Set<string>();
  private readonly homes = new Map<Subscription, TurnDraft>();
  private readonly early = new Map<Subscription, { readonly update: Update; readonly at: Point }[]>();

  constructor(private readonly connection: Connection) {}

  /** In use, or reserved: the server keeps the id of a subscription that went with its attachment. */
  isTaken(id: string): boolean {
    const state = this.byId.get(id)?.state;
    return (state === "asked" || state === "live" || state === "lost") && !this.leaving.has(id);
  }

  /** Somebody subscribed under this id at some time. */
  wasAsked(id: string): boolean {
    return this.askedIds.has(id);
  }

  asked(request: RequestFact): void {
    const { control } = request;
    // A request that the server refuses before it looks at the service changes nothing.
    if (control === null || request.expected !== null) return;
    if (control.kind === "unsubscribe") this.leaving.add(control.subscriptionId);
    if (control.kind === "subscribe") this.enter(request, control);
  }

  private enter(
    request: RequestFact,
    control: Extract<NonNullable<RequestFact["control"]>, { kind: "subscribe" }>,
  ): Subscription {
    const made = new Subscription(control.subscriptionId, control.serviceId, control.mode, request.target);
    this.all.push(made);
    this.askedIds.add(made.id);
    this.byId.set(made.id, made);
    this.asks.set(request, made);
    this.homes.set(made, request.home);
    request.home.subscriptions.push(made);
    this.leaving.delete(made.id);
    return made;
  }

  /** The answer to a control call; returns words about the states it brought. `result` undefined: refused or nothing. */
  answered(request: RequestFact, result: CborValue | undefined, at: Point): Words {
    const { control } = request;
    const failed = request.answer?.error != null;
    if (control?.kind === "unsubscribe") {
      this.leaving.delete(control.subscriptionId);
      const gone = this.byId.get(control.subscriptionId);
      if (!failed && gone !== undefined) gone.state = "ended";
      return [];
    }
    if (control?.kind !== "subscribe") return [];
    const asked = this.asks.get(request);
    this.asks.delete(request);
    if (failed) {
      if (asked !== undefined) asked.state = "refused";
      return [];
    }
    // Accepted although a refusal was due: the subscription is there all the same.
    const subscription = asked ?? this.enter(request, control);
    return this.begin(subscription, request, result, at);
  }

  private begin(subscription: Subscription, request: RequestFact, result: CborValue | undefined, at: Point): Words {
    subscription.state = request.home.closedBy === null ? "live" : "lost";
    const snapshot = readSnapshot(result);
    if (isFault(snapshot)) {
      this.remark(
        { what: "snapshot", id: subscription.id, says: `${snapshot.path} ${snapshot.says}` },
        at,
        request.home,
      );
      return [];
    }
    for (const remark of subscription.begin(snapshot)) this.remark(remark, at, request.home);
    for (const held of this.early.get(subscription) ?? []) this.apply(subscription, held.update, held.at);
    this.early.delete(subscription);
    return this.connection.tools.wantSteps || this.connection.tools.wantFrames ? subscription.snapshotWords() : [];
  }

  /** The attachment is gone, and with it its session's subscriptions. */
  lose(home: TurnDraft): void {
    for (const subscription of home.subscriptions) if (subscription.state === "live") subscription.state = "lost";
  }

  update(envelope: Extract<Envelope, { type: "service_update" }>, at: Point, message: StreamMessage): Told {
    const { subscriptionId: id } = envelope;
    const subscription = this.byId.get(id) ?? this.unknown(id);
    subscription.updates++;
    const home = this.homes.get(subscription) ?? this.connection.own;
    const { state } = subscription;
    if (state !== "live" && state !== "lost" && state !== "asked") {
      this.connection.note({ what: "stray-update", id, why: state }, at, home);
      const says = [`for ${id}, which ${state === "ended" ? "was unsubscribed" : "nobody subscribed"}`];
      return { home, kind: kindOf(envelope.update), lane: "state", says };
    }
    const update = readUpdate(envelope.update);
    if (isFault(update)) {
      this.remark({ what: "update-kind", id, says: `${update.path} ${update.says}` }, at, home);
      return { home, kind: "service_update", lane: "state", says: [`${update.path} ${update.says}`] };
    }
    const kind = `service_update.${update.type}`;
    if (state === "asked") {
      this.hold(subscription, update, at, home);
      return { home, kind, lane: "state", says: [`for ${id}, before the answer to its subscribe`] };
    }
    const applied = this.apply(subscription, update, at);
    const { chars, run, secret } = applied;
    return {
      home,
      kind,
      lane: "state",
      says: applied.says,
      chars,
      run: message.direction === "down" ? run : null,
      secret,
    };
  }

  private hold(subscription: Subscription, update: Update, at: Point, home: TurnDraft): void {
    let held = this.early.get(subscription);
    if (held === undefined) {
      held = [];
      this.early.set(subscription, held);
      this.connection.note({ what: "early-update", id: subscription.id }, at, home);
    }
    if (held.length < earlyLimit) held.push({ update, at });
  }

  private apply(subscription: Subscription, update: Update, at: Point): Applied {
    const { wantSteps, wantFrames } = this.connection.tools;
    const applied = subscription.apply(update, wantSteps || wantFrames);
    const home = this.homes.get(subscription) ?? this.connection.own;
    for (const remark of applied.remarks) this.remark(remark, at, home);
    return applied;
  }

  private unknown(id: string): Subscription {
    const made = new Subscription(id, null, null, null);
    made.state = "unknown";
    this.all.push(made);
    this.connection.own.subscriptions.push(made);
    this.byId.set(id, made);
    return made;
  }

  private remark(remark: Remark, at: Point, home: TurnDraft): void {
    this.connection.note(remark, at, home);
  }
}

function kindOf(update: CborValue): string {
  const read = readUpdate(update);
  return isFault(read) ? "service_update" : `service_update.${read.type}`;
}
