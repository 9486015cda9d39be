/** What comparing two captures gives. `a` is the first capture, `b` the second. */
import type { Place } from "../core/place.js";
import type { Turn } from "./conversation.js";
import type { Direction } from "./exchange.js";

export interface CaptureDiff {
  readonly same: boolean;
  /** Pairs in order of the first capture, then what only the second has. */
  readonly turns: readonly TurnDiff[];
}

export interface TurnDiff {
  /** null: the other capture has no such turn. Both null: what belongs to no turn. */
  readonly a: Turn | null;
  readonly b: Turn | null;
  readonly same: boolean;
  /** Where the talk first takes another course; null where only facts differ, or a side is missing. */
  readonly first: Divergence | null;
  /** Kinds that one side alone has, and how often. */
  readonly missing: readonly KindCount[];
  readonly extra: readonly KindCount[];
  readonly facts: readonly FactDiff[];
}

export interface KindCount {
  readonly direction: Direction;
  readonly kind: string;
  readonly count: number;
}

export interface Divergence {
  readonly direction: Direction;
  /**
   * missing: `b` lacks the message. extra: only `b` has it. order: both have both, the other way round. kind: another message stands
   * there. fields: the same kind with other fields.
   */
  readonly what: "missing" | "extra" | "order" | "kind" | "fields";
  readonly a: DivergentMessage | null;
  readonly b: DivergentMessage | null;
  /** For `fields`: paths that only one side has. */
  readonly onlyA: readonly string[];
  readonly onlyB: readonly string[];
}

export interface DivergentMessage {
  readonly kind: string;
  readonly place: Place;
}

/** A fact of the turn's JSON that differs: other length, other verdict, other presence. */
export interface FactDiff {
  /** "checkpoints[1].turns.length" */
  readonly path: string;
  readonly a: string;
  readonly b: string;
}
