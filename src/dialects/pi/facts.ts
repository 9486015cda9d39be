/**
 * What a connection showed, in the order it was seen: records of requests, subscriptions and attachments, and a list of oddities.
 * Rules read them; nothing here says what is right or wrong.
 */
import type { Place } from "../../core/place.js";
import { isExact, isKnown, type When } from "../../core/time.js";
import type { CborFault, CborRemark } from "../../decode/cbor.js";
import type { Direction } from "../../model/exchange.js";
import type { ControlCall, ServiceMode } from "./chord.js";
import type { Target, WireError } from "./envelope.js";
import type { ShapeFault } from "./shape.js";
import type { TurnDraft } from "./turn-draft.js";

/** One frame as a moment: where it is, when, and its index in its direction. */
export interface Point {
  readonly place: Place;
  readonly when: When;
  readonly direction: Direction;
  readonly index: number;
}

export interface Answer {
  readonly at: Point;
  /** null: success. */
  readonly error: WireError | null;
}

/**
 * How a session target stands to the attachments published so far: the current one; one that was current within `crossingMs`
 * before; another that was published earlier; none that was ever published.
 */
export type RouteState = "server" | "current" | "crossing" | "past" | "never";

/** A refusal that the server is known to give for a broken rule. `codes` empty: any failure. */
export interface Expectation {
  readonly rule: string;
  readonly code: string | null;
}

export interface RequestFact {
  readonly id: string;
  readonly target: Target;
  /** null where the call is outside the chord grammar. */
  readonly service: string | null;
  readonly member: string | null;
  readonly control: ControlCall | null;
  /** A `$chord.service` call in none of its three shapes. */
  readonly badControl: boolean;
  readonly callFault: ShapeFault | null;
  readonly at: Point;
  readonly home: TurnDraft;
  readonly duplicate: boolean;
  /** The id of a request that was answered before. */
  readonly reused: boolean;
  readonly route: RouteState;
  /** The hello's server id, where the target names another. */
  readonly wrongServer: string | null;
  /** Its subscription id is in use. */
  readonly clash: boolean;
  /** Unsubscribes what is not subscribed. */
  readonly idle: boolean;
  readonly expected: Expectation | null;
  cancels: Point[];
  answer: Answer | null;
}

export interface SubscriptionFact {
  readonly id: string;
  /** null for an id that updates named and nobody subscribed. */
  readonly service: string | null;
  readonly mode: ServiceMode | null;
  readonly target: Target | null;
  updates: number;
  state: "asked" | "live" | "refused" | "ended" | "lost" | "unknown";
}

export interface AttachmentFact {
  readonly at: Point;
  readonly target: Target | null;
  /** When another attachment or none took its place. */
  endedBy: Point | null;
  readonly home: TurnDraft | null;
}

export interface HelloFact {
  readonly at: Point;
  readonly version: number;
  readonly serverId: string | null;
}

export type Oddity = {
  readonly at: Point;
  readonly home: TurnDraft;
} & (
  | { readonly what: "over-bound"; readonly declared: number; readonly bound: number }
  | {
      readonly what: "cut";
      readonly have: number;
      readonly declared: number | null;
      readonly end: "complete" | "reset" | "capture-ended";
    }
  | { readonly what: "empty-frame" }
  | { readonly what: "bad-cbor"; readonly fault: CborFault }
  | { readonly what: "not-shortest"; readonly remark: CborRemark; readonly type: string }
  | { readonly what: "byte-string"; readonly offset: number }
  | { readonly what: "bad-envelope"; readonly fault: ShapeFault }
  | { readonly what: "after-fatal"; readonly type: string }
  | { readonly what: "fatal"; readonly error: WireError; readonly last: Point | null }
  | { readonly what: "stray-response"; readonly id: string; readonly answered: RequestFact | null }
  | {
      readonly what: "stray-cancel";
      readonly id: string;
      readonly why: "target" | "answered" | "unknown";
      /** For an answered request: the cancel may have crossed the response. */
      readonly crossing: boolean;
    }
  | { readonly what: "attachment-server"; readonly serverId: string; readonly expected: string }
  | { readonly what: "attachment-again"; readonly attachmentId: string }
  | { readonly what: "detached-twice" }
  | { readonly what: "stray-update"; readonly id: string; readonly why: SubscriptionFact["state"] }
  | { readonly what: "early-update"; readonly id: string }
  | { readonly what: "sequence"; readonly state: string; readonly expected: number; readonly got: number }
  | { readonly what: "delta"; readonly state: string; readonly says: string; readonly sequence: number }
  | { readonly what: "empty-ops"; readonly state: string; readonly sequence: number }
  | { readonly what: "snapshot-ops"; readonly state: string; readonly says: string }
  | { readonly what: "snapshot"; readonly id: string; readonly says: string }
  | { readonly what: "update-kind"; readonly id: string; readonly says: string }
);

export type OddityOf<W extends Oddity["what"]> = Extract<Oddity, { what: W }>;

/** Frames of the two directions pass each other; this long after a change the other side may still act on the old state. */
export const crossingMs = 1000;

/** Whether `later` is so close behind `earlier` that its sender may not have known of it. Unknown times count as close. */
export function mayCross(earlier: When, later: When): boolean {
  if (!isKnown(earlier) || !isKnown(later) || !isExact(earlier) || !isExact(later)) return true;
  return later.earliest - earlier.latest <= BigInt(crossingMs) * 1_000_000n;
}
