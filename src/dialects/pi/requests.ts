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
  /** Unanswered ones by id, in order of arrival; more than one only where a live id was used again. */
  private readonly pending = new Map<string, RequestFact[]>();
  private readonly answered = new Map<string, RequestFact>();

  isLive(id: string): boolean {
    return this.pending.has(id);
  }

  wasAnswered(id: string): boolean {
    return this.answered.has(id);
  }

  open(request: RequestFact): void {
    this.all.push(request);
    const queue = this.pending.get(request.id);
    if (queue === undefined) this.pending.set(request.id, [request]);
    else queue.push(request);
  }

  /** The request this response answers; null when none with its id is live. */
  answer(id: string, error: WireError | null, at: Point): RequestFact | null {
    const queue = this.pending.get(id);
    if (queue === undefined) return null;
    // The server refuses a live id at once, so that refusal comes before the first request's own answer.
    const index = queue.length > 1 && error?.code === "invalid_request" ? 1 : 0;
    const [request] = queue.splice(index, 1) as [RequestFact];
    if (queue.length === 0) this.pending.delete(id);
    request.answer = { at, error };
    this.answered.set(id, request);
    return request;
  }

  lastAnswered(id: string): RequestFact | null {
    return this.answered.get(id) ?? null;
  }

  cancel(id: string, target: Target, at: Point): CancelOutcome {
    const queue = this.pending.get(id);
    const meant = queue?.find((request) => sameTarget(request.target, target));
    if (meant !== undefined) {
      meant.cancels.push(at);
      return { request: meant, why: null };
    }
    if (queue !== undefined) return { request: queue[0]!, why: "target", crossing: false };
    const done = this.answered.get(id);
    if (done === undefined) return { request: null, why: "unknown", crossing: false };
    return { request: done, why: "answered", crossing: mayCross(done.answer!.at.when, at.when) };
  }

  unanswered(): RequestFact[] {
    return this.all.filter((request) => request.answer === null);
  }
}
