/** One request id and epoch as a turn. Large parts are worked out when they are asked for and kept for the last few turns only. */
import type { Place } from "../../core/place.js";
import type { Printable, Words } from "../../core/printable.js";
import type { Recent } from "../../core/recent.js";
import { exactly, isExact, isKnown, unknownWhen, type When } from "../../core/time.js";
import type { Loss, OpenItem, Outcome, Step, Turn, TurnError, Usage } from "../../model/conversation.js";
import type { ProtoMessage } from "../../model/schema.js";
import { type Epoch, startOf } from "./epochs.js";
import { factsOf } from "./facts.js";
import type { Blobs } from "./ledger.js";
import type { Checkpoint, DownItem, RunFacts, UpItem } from "./model.js";
import { openItems } from "./open-items.js";
import { type Ending, endingOf, lossOf, recoveredOf } from "./outcome.js";
import { type Pairs, pairUp } from "./pairs.js";
import type { ClientFacts, DownCall } from "./request-log.js";
import { type Reading, stateOfCheckpoint } from "./server-message.js";
import { stepsOf } from "./steps.js";
import { type Entry, timeline } from "./timeline.js";
import { turnJson } from "./turn-json.js";
import { checkpointsOf, durationOf, endOf, endState, runOf, soundOf, usageOf } from "./turn-parts.js";

/** What turns share. */
export interface TurnServices {
  readonly reading: Reading;
  readonly blobs: Blobs;
  readonly views: ViewCache;
  /** Of the checkpoints that were asked for last: the rules of one turn, and those about its neighbour, ask for the same ones. */
  readonly states: Recent<Checkpoint, ProtoMessage>;
  /** Whether bytes of the capture are missing outside of any exchange: what is absent may just be unseen. */
  readonly captureLost: boolean;
}

/** What is worked out of one turn; each part when it is first asked for. */
export class TurnView {
  private entries_: readonly Entry[] | null = null;
  private steps_: readonly Step[] | null = null;

  constructor(
    readonly down: readonly DownItem[],
    readonly up: readonly UpItem[],
    readonly pairs: Pairs,
    private readonly makeEntries: () => readonly Entry[],
    private readonly makeSteps: (entries: readonly Entry[]) => readonly Step[],
  ) {}

  get entries(): readonly Entry[] {
    this.entries_ ??= this.makeEntries();
    return this.entries_;
  }

  get steps(): readonly Step[] {
    this.steps_ ??= this.makeSteps(this.entries);
    return this.steps_;
  }
}

/** The views of the last few turns. */
export class ViewCache {
  private readonly views = new Map<CursorTurn, TurnView>();

  get(turn: CursorTurn, make: () => TurnView): TurnView {
    let view = this.views.get(turn);
    // Items that were packed away meanwhile came back as others.
    if (view === undefined || view.down !== turn.down || view.up !== turn.uplink) {
      view = make();
      this.views.set(turn, view);
      if (this.views.size > 8) this.views.delete(this.views.keys().next().value!);
    }
    return view;
  }
}

export interface Placing {
  readonly conversationId: string | null;
  readonly index: number;
  readonly attempt: number;
  readonly retryOf: string | null;
}

const noItems: readonly DownItem[] = Object.freeze([]);

function refersTo(items: readonly { readonly references: readonly unknown[] }[]): boolean {
  return items.some((item) => item.references.length > 0);
}

export class CursorTurn implements Turn {
  readonly dialect = "cursor";
  readonly requestId: string | null;
  readonly epochNumber: number;
  readonly call: DownCall | null;
  /** The run_request, or the prewarm_request where none follows. */
  readonly run: RunFacts | null;
  readonly runId: string | null;
  readonly clientFacts: ClientFacts | null;
  readonly ending: Ending;
  readonly outcome: Outcome;
  readonly error: TurnError | null;
  readonly loss: readonly Loss[];
  readonly recovered: readonly string[];
  readonly start: When;
  readonly end: When;
  readonly durationMs: number | null;
  readonly usage: Usage | null;
  private readonly upCount: number;
  readonly upBytes: number;
  private readonly hasUnreadableAppends: boolean;
  /** Every message has the time of its packets. */
  readonly hasExactTimes: boolean;
  /** Some of its items name blobs. */
  readonly hasReferences: boolean;
  conversationId: string | null = null;
  index = 0;
  attempt = 0;
  retryOf: string | null = null;
  readonly checkpoints: readonly Checkpoint[];
  /** Those without faults, each distinct one once in a row. */
  readonly soundCheckpoints: readonly Checkpoint[];
  private open_: readonly OpenItem[] | null = null;

  constructor(
    readonly epoch: Epoch,
    readonly services: TurnServices,
  ) {
    this.requestId = epoch.log.id;
    this.epochNumber = epoch.epoch;
    this.call = epoch.call;
    const { uplink } = epoch;
    this.run = runOf(uplink);
    this.clientFacts = epoch.call?.client ?? epoch.log.client;
    this.runId = this.run?.runId ?? this.clientFacts?.originalRequestId ?? null;
    this.ending = endingOf(epoch);
    this.outcome = this.ending.outcome;
    this.error = this.ending.error;
    this.loss = lossOf(epoch);
    this.recovered = recoveredOf(epoch);
    this.start = startOf(epoch) ?? unknownWhen;
    this.end = endOf(epoch, this.start);
    this.durationMs = durationOf(epoch, this.end);
    this.usage = usageOf(this.down);
    this.checkpoints = checkpointsOf(this.down);
    this.soundCheckpoints = soundOf(this.checkpoints);
    this.upCount = uplink.length;
    this.upBytes = uplink.reduce((sum, item) => sum + item.bytes, 0);
    this.hasUnreadableAppends = uplink.some((item) => item.kind === "undecodable");
    this.hasExactTimes = this.exactTimes(uplink);
    this.hasReferences = refersTo(this.down) || refersTo(uplink);
  }

  /** Where it stands among the other turns, once they are all known. */
  settle(placing: Placing): void {
    this.conversationId = placing.conversationId;
    this.index = placing.index;
    this.attempt = placing.attempt;
    this.retryOf = placing.retryOf;
  }

  get down(): readonly DownItem[] {
    return this.call?.downlink.items ?? noItems;
  }

  get uplink(): readonly UpItem[] {
    return this.epoch.uplink;
  }

  /**
   * Whether a direction was lost in part, or holds messages that cannot be read: a verdict on what is absent from it rests on damaged
   * bytes.
   */
  lost(direction: "up" | "down"): boolean {
    if (this.services.captureLost || this.loss.some((loss) => loss.direction === direction)) return true;
    return direction === "down" ? this.hasUnreadableFrames : this.hasUnreadableAppends;
  }

  private get hasUnreadableFrames(): boolean {
    return (this.call?.downlink.kinds.get("undecodable") ?? 0) > 0;
  }

  get view(): TurnView {
    return this.services.views.get(this, () => this.makeView());
  }

  get pairs(): Pairs {
    return this.view.pairs;
  }

  get steps(): readonly Step[] {
    return this.view.steps;
  }

  get open(): readonly OpenItem[] {
    this.open_ ??= openItems(this.pairs, this.lost("up"), this.lost("down"));
    return this.open_;
  }

  get facts(): readonly Words[] {
    return factsOf(this);
  }

  state(checkpoint: Checkpoint): ProtoMessage {
    const { states, reading } = this.services;
    return states.get(checkpoint) ?? states.set(checkpoint, stateOfCheckpoint(checkpoint, reading));
  }

  get action(): string | null {
    return this.run === null ? null : this.run.type === "prewarm" ? "prewarm_request" : this.run.action;
  }

  get model(): string | null {
    return this.run?.model ?? null;
  }

  get prompt(): string | null {
    return this.run?.prompt ?? null;
  }

  get text(): string {
    return this.call?.downlink.text.read() ?? "";
  }

  get thinking(): string {
    return this.call?.downlink.thinking.read() ?? "";
  }

  get transport(): string {
    if (this.call === null) return "RunSSE+BidiAppend";
    return this.call.channel === "Run" ? "Run" : `${this.call.channel}+BidiAppend`;
  }

  get http(): string | null {
    return this.clientFacts?.http ?? null;
  }

  get client(): string | null {
    return this.clientFacts?.userAgent ?? null;
  }

  get messages(): number {
    return (this.call?.downlink.frames.total ?? 0) + this.upCount;
  }

  get downBytes(): number {
    return this.call?.downlink.frames.bodyBytes ?? 0;
  }

  get parentRequestId(): string | null {
    return this.clientFacts?.parentRequestId ?? null;
  }

  get place(): Place {
    return this.call?.place ?? this.uplink[0]?.place ?? this.epoch.lost[0]!.place;
  }

  json(): { readonly [key: string]: Printable } {
    return turnJson(this);
  }

  private makeView(): TurnView {
    const { down, uplink, call } = this;
    const pairs = pairUp(down, uplink);
    // While the items are at hand: mostly there is nothing to remember.
    this.open_ ??= openItems(pairs, this.lost("up"), this.lost("down"));
    return new TurnView(
      down,
      uplink,
      pairs,
      () => timeline({ down, up: uplink, pairs, exact: this.hasExactTimes, start: this.start }),
      (entries) =>
        stepsOf(
          entries,
          {
            pairs,
            blobs: this.services.blobs,
            upChannel: call?.channel === "Run" ? "Run" : "BidiAppend",
            downChannel: call?.channel ?? "RunSSE",
            upLost: this.lost("up"),
            downLost: this.lost("down"),
            exact: this.hasExactTimes,
          },
          this.endingStep(entries),
        ),
    );
  }

  private exactTimes(uplink: readonly UpItem[]): boolean {
    if (this.call?.recorder === "har") return false;
    return isKnown(this.start) && uplink.every((item) => isKnown(item.when) && isExact(item.when));
  }

  /** How a stream ended that no EndStream closes. */
  private endingStep(entries: readonly Entry[]): Step | null {
    const { call, ending } = this;
    if (ending.how === "" || call === null) return null;
    const last = entries.at(-1);
    const when = isKnown(this.end) ? exactly(this.end.latest) : (last?.until ?? unknownWhen);
    return {
      when,
      until: when,
      direction: "down",
      channel: call.channel,
      lane: "control",
      kind: "end of stream",
      count: 0,
      bytes: 0,
      chars: 0,
      flags: -1,
      says: [ending.how],
      place: last?.direction === "down" ? last.item.place : call.place,
      pair: null,
      state: endState(this.outcome),
    };
  }
}
