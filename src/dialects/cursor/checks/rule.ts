/** A rule of this dialect: its data, and a function that says what is wrong with one turn. Saying nothing means that it holds. */
import type { Severity } from "../../../core/code-table.js";
import type { Place } from "../../../core/place.js";
import type { Printable, Words } from "../../../core/printable.js";
import type { Rule, Violation } from "../../../model/check.js";
import type { CursorModel } from "../finish.js";
import { count } from "../format.js";
import type { UpItem } from "../model.js";
import type { CursorTurn } from "../turn.js";

/** The capture lacks what the rule needs: neither pass nor finding. */
export interface NotCheckable {
  readonly why: string;
}

export interface Violated {
  /** What is wrong, with the numbers. */
  readonly says: Words;
  readonly places: readonly Place[];
  /** Stable inside the turn: "kv 3", "seqno 7". */
  readonly subject: string;
  /** The verdict rests on bytes that the capture lost or mangled. */
  readonly damaged?: boolean;
  readonly severity?: Severity;
  readonly remedy?: string;
  readonly detail?: { readonly [key: string]: Printable };
}

export type Judgement = NotCheckable | Violated;

export interface CursorRule extends Rule {
  /** What this rule and others of its family need: why it cannot be judged, or undefined. Asked once per turn. */
  readonly gate?: (turn: CursorTurn) => string | undefined;
  /** Judges one turn that passed the gate. */
  readonly turn?: (turn: CursorTurn, model: CursorModel) => Iterable<Judgement>;
  /** Judges what belongs to no turn. */
  readonly session?: (model: CursorModel) => Iterable<Judgement>;
}

export function isViolated(judgement: Judgement): judgement is Violated {
  return "says" in judgement;
}

export function violation(rule: string, turn: CursorTurn | null, found: Violated): Violation {
  const { says, places, subject, damaged, severity, remedy, detail } = found;
  return {
    rule,
    verdict: "violated",
    turn,
    statement: says,
    places,
    evidence: damaged === true ? "damaged" : "exact",
    subject,
    ...(severity === undefined ? {} : { severity }),
    ...(remedy === undefined ? {} : { remedy }),
    ...(detail === undefined ? {} : { detail }),
  };
}

/** Why a rule that looks at the downlink cannot be judged; undefined: it can. */
export function noDownlink(turn: CursorTurn): string | undefined {
  const { call } = turn;
  if (call === null) return "the downlink of this request is not in the capture";
  if (call.httpError !== null) return "the call failed before its stream began";
  if (call.downlink.frames.total > 0 || call.downlink.faults.stream.count > 0) return undefined;
  return call.downlink.gaps.length > 0
    ? `the response is not in the capture (${call.downlink.gaps[0]!.why})`
    : undefined;
}

/** Why a rule that looks at the appends cannot be judged; undefined: it can. */
export function noAppends(turn: CursorTurn): string | undefined {
  if (turn.call?.uplink) return "a Run request has no append_seqno";
  return turn.uplink.length === 0 ? "no append of this request is in the capture" : undefined;
}

/** As people count, and as the head of a turn's block does: the first frame is frame 1. */
export function frameName(ordinal: number): string {
  return `frame ${count(ordinal + 1)}`;
}

/** Examples named in one statement. */
export function examples(values: readonly (string | number)[], limit = 8): string {
  const shown = values.slice(0, limit).join(", ");
  return values.length > limit ? `${shown} and ${values.length - limit} more` : shown;
}

/** What this item says was won back from a mangled or misframed body: a verdict on it rests on damaged bytes. */
export function isMangled(item: UpItem): boolean {
  return item.evidence === "salvaged" || item.evidence === "lossy-utf8" || item.append?.misframed === true;
}
