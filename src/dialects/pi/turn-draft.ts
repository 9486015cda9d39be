/** A turn while it grows: the frames of one connection that concern its server, or one attachment to a session. */

import type { Place } from "../../core/place.js";
import type { When } from "../../core/time.js";
import type { Step } from "../../model/conversation.js";
import type { Direction } from "../../model/exchange.js";
import type { RequestFact } from "./facts.js";
import type { Subscription } from "./subscription.js";

export class TurnDraft {
  messages = 0;
  readonly bytes: Record<Direction, number> = { up: 0, down: 0 };
  readonly kinds: Record<Direction, Map<string, number>> = { up: new Map(), down: new Map() };
  readonly steps: Step[] = [];
  readonly requests: RequestFact[] = [];
  readonly subscriptions: Subscription[] = [];
  /** Attachment turns: how it ended. */
  closedBy: "detached" | "switched" | null = null;
  place: Place | null = null;
  start: When | null = null;
  end: When | null = null;
  private run: string | null = null;

  constructor(
    /** null: the connection's own turn. */
    readonly sessionId: string | null,
    readonly requestId: string,
  ) {}

  /** A session's conversation goes over connections; what concerns a connection alone is its own conversation. */
  get conversationId(): string {
    return this.sessionId ?? this.requestId;
  }

  /** Counts one frame. `bytes`: its payload. */
  count(direction: Direction, kind: string, bytes: number, place: Place, when: When): void {
    this.messages++;
    this.bytes[direction] += bytes;
    const kinds = this.kinds[direction];
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    this.place ??= place;
    this.start ??= when;
    this.end = when;
  }

  /** `run`: steps in a row with the same run are one step that says what the last one does; null never folds. */
  addStep(step: Step, run: string | null): void {
    const last = this.steps[this.steps.length - 1];
    if (last === undefined || run === null || run !== this.run) this.steps.push(step);
    else {
      this.steps[this.steps.length - 1] = {
        ...step,
        when: last.when,
        count: last.count + 1,
        bytes: last.bytes + step.bytes,
        chars: last.chars + step.chars,
        place: last.place.through(step.place),
      };
    }
    this.run = run;
  }
}
