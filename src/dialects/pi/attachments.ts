/** Which session a connection is attached to, over time: published by attachment frames alone. The pi page, section 7. */
import type { Target } from "./envelope.js";
import { type AttachmentFact, mayCross, type Point, type RouteState } from "./facts.js";
import type { TurnDraft } from "./turn-draft.js";

export class Attachments {
  readonly all: AttachmentFact[] = [];
  current: AttachmentFact | null = null;
  private readonly byId = new Map<string, AttachmentFact>();

  /** Returns the attachment that ends with this frame, if one does. */
  publish(target: Target | null, at: Point, home: TurnDraft | null): AttachmentFact | null {
    const before = this.current;
    if (before !== null) before.endedBy = at;
    const fact: AttachmentFact = { at, target, endedBy: null, home };
    this.all.push(fact);
    this.current = target === null ? null : fact;
    if (target?.attachmentId != null) this.byId.set(target.attachmentId, fact);
    return before;
  }

  /** Published before under this id, whatever its session. */
  seen(attachmentId: string): boolean {
    return this.byId.has(attachmentId);
  }

  /** The attachment that a session target means, current or not. */
  meant(target: Target): AttachmentFact | null {
    const fact = target.attachmentId === null ? undefined : this.byId.get(target.attachmentId);
    return fact !== undefined && fact.target?.sessionId === target.sessionId ? fact : null;
  }

  route(target: Target, at: Point): RouteState {
    if (target.sessionId === null) return "server";
    const meant = this.meant(target);
    if (meant === null) return "never";
    if (meant === this.current) return "current";
    return meant.endedBy !== null && mayCross(meant.endedBy.when, at.when) ? "crossing" : "past";
  }
}
