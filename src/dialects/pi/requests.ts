/** Requests of one connection and their answers. Pairing by id, where a refused second use of a live id answers the second one. */
import { sameTarget, type Target, type WireError } from "./envelope.js";
import { mayCross, type Point, type RequestFact } from "./facts.js";

export type CancelOutcome =
  | { readonly request: RequestFact; readonly why: null }
  | {
      readonly request: RequestFact | null;
      readonly why: "target" | "answered" | "unknown";
      readonly crossing: boolean;
    };

export class RequestBook {
  readonly all: RequestFact[] = [];
  /** Those for which the server owes a refusal, or whose route crossed a change: few, and most rules look at them alone. */
  readonly notable: RequestFact[] = [];
  private readonly pending = new Map<string, Pending>();
  private readonly answered = new Map<string, RequestFact>();

  isLive(id: string): boolean {
    return this.pending.has(id);
  }

  wasAnswered(id: string): boolean {
    return this.answered.has(id);
  }

  open(request: RequestFact): void {
    this.all.push(request);
    if (request.expected !== null || request.route === "crossing" || request.reused) this.notable.push(request);
    const pending = this.pending.get(request.id);
    if (pending === undefined) this.pending.set(request.id, { first: request, again: [], refused: 0 });
    else pending.again.push(request);
  }

  /** The request this response answers; null when none with its id is live. */
  answer(id: string, error: WireError | null, at: Point): RequestFact | null {
    const pending = this.pending.get(id);
    if (pending === undefined) return null;
    const request = takeFrom(pending, error?.code === "invalid_request");
    if (pending.first === null && pending.refused === pending.again.length) this.pending.delete(id);
    request.answer = { at, error };
    this.answered.set(id, request);
    return request;
  }

  lastAnswered(id: string): RequestFact | null {
    return this.answered.get(id) ?? null;
  }

  cancel(id: string, target: Target, at: Point): CancelOutcome {
    const pending = this.pending.get(id);
    if (pending !== undefined) {
      // With several live ones only the first and the newest can be meant.
      const newest = pending.refused < pending.again.length ? pending.again[pending.again.length - 1]! : null;
      const live = [pending.first, newest].filter((request) => request !== null);
      const meant = live.find((request) => sameTarget(request.target, target));
      if (meant === undefined) return { request: live[0]!, why: "target", crossing: false };
      if (meant.cancels.length === 0) meant.cancels = [at];
      else meant.cancels.push(at);
      return { request: meant, why: null };
    }
    const done = this.answered.get(id);
    if (done === undefined) return { request: null, why: "unknown", crossing: false };
    return { request: done, why: "answered", crossing: mayCross(done.answer!.at.when, at.when) };
  }

  unanswered(): RequestFact[] {
    return this.all.filter((request) => request.answer === null);
  }
}

/** Live requests of one id: more than one only where it was used again. */
interface Pending {
  first: RequestFact | null;
  readonly again: RequestFact[];
  /** How many of `again` are answered, from its front. */
  refused: number;
}

/** The server refuses a live id at once, so that refusal comes before the first request's own answer. */
function takeFrom(pending: Pending, refusal: boolean): RequestFact {
  const { first } = pending;
  const next = pending.again[pending.refused];
  if (first !== null && (!refusal || next === undefined)) {
    pending.first = null;
    return first;
  }
  pending.refused++;
  return next!;
}
