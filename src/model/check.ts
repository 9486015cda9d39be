/** Rules: what a protocol promises, and what a run of them says. Rules are about the PROTOCOL under study. */
import type { Severity } from "../core/code-table.js";
import type { Place } from "../core/place.js";
import type { Printable, Words } from "../core/printable.js";
import type { Turn } from "./conversation.js";

export interface Rule {
  /** "cursor/K06" */
  readonly id: string;
  /** "Transport", "Uplink order", "KV and blobs", … */
  readonly family: string;
  /** check: can be violated. permission: says that something odd is legal and stays silent. count: reports a number only. */
  readonly class: "check" | "permission" | "count";
  readonly severity: Severity;
  /** What must hold, in one sentence. */
  readonly statement: string;
  /** Why it matters to someone who builds a back end. */
  readonly why: string;
  /** What the capture must contain for the rule to be checkable. */
  readonly needs: string;
  /** Rules whose findings necessarily accompany this one's. */
  readonly implies: readonly string[];
  /** Protocol page and section, and how sure. */
  readonly source: string;
  readonly good: string;
  readonly bad: string;
  /** What to do about a finding; what the reference client does, where known. */
  readonly remedy: string | null;
}

export type Verdict =
  | { readonly rule: string; readonly verdict: "holds"; readonly turn: Turn | null }
  | { readonly rule: string; readonly verdict: "not-checkable"; readonly turn: Turn | null; readonly why: string }
  | Violation;

export interface Violation {
  readonly rule: string;
  readonly verdict: "violated";
  readonly turn: Turn | null;
  /** Where it differs from the rule's own. */
  readonly severity?: Severity;
  /** What is wrong, with the numbers. */
  readonly statement: Words;
  readonly places: readonly Place[];
  /** damaged: rests on bytes the capture lost or mangled. */
  readonly evidence: "exact" | "damaged";
  /** Stable subject inside the turn ("kv 3", "seqno 7"): no place, time or random id. */
  readonly subject: string;
  readonly remedy?: string;
  readonly conversationId?: string | null;
  readonly detail?: { readonly [key: string]: Printable };
}

/** Where verdicts go. Most rules hold in most turns: these two make no object each time. */
export interface VerdictSink {
  holds(rule: string, turn: Turn | null): void;
  notCheckable(rule: string, turn: Turn | null, why: string): void;
  violated(violation: Violation): void;
}

/** Hands verdicts on one by one. */
export function report(verdicts: Iterable<Verdict>, sink: VerdictSink): void {
  for (const verdict of verdicts) {
    if (verdict.verdict === "violated") sink.violated(verdict);
    else if (verdict.verdict === "holds") sink.holds(verdict.rule, verdict.turn);
    else sink.notCheckable(verdict.rule, verdict.turn, verdict.why);
  }
}

/** A verdict with its rule's data merged in, ready for any report. */
export interface Finding {
  readonly rule: string;
  readonly severity: Severity;
  readonly statement: Words;
  readonly remedy: string | null;
  readonly conversationId: string | null;
  readonly requestId: string | null;
  readonly turn: Turn | null;
  readonly places: readonly Place[];
  readonly evidence: "exact" | "damaged";
  readonly fingerprint: string;
  readonly detail: { readonly [key: string]: Printable };
}

export interface NotCheckable {
  readonly rule: string;
  readonly why: string;
  /** Indices into the analysis' turns. */
  readonly turns: readonly number[];
}
