/** One turn of one agent, built event by event. Deltas of one kind fold into one step; text is placed by offset. kimi.md 3.4, 4. */
import type { Place } from "../../core/place.js";
import { privately, type Words } from "../../core/printable.js";
import { isExact, isKnown, millisBetween, type When } from "../../core/time.js";
import type { Loss, Outcome, Pair, Step, TurnError, Usage } from "../../model/conversation.js";
import type { Direction } from "../../model/exchange.js";

export interface ToolCall {
  readonly id: string;
  name: string | null;
  started: When | null;
  ended: When | null;
  isError: boolean;
  /** UTF-16 text of the streamed argument parts, joined. */
  argumentParts: string;
  /** Arguments of tool.call.started, as JSON text with sorted keys. */
  args: string | null;
  results: number;
  place: Place;
}

/** What one event adds to the turn. */
export interface TurnEvent {
  readonly type: string;
  readonly when: When;
  readonly place: Place;
  readonly bytes: number;
  readonly direction: Direction;
  readonly channel: string;
  readonly lane: Step["lane"];
  readonly says: Words;
  readonly chars: number;
  readonly fold: boolean;
  readonly pair: Pair | null;
}

export interface StepText {
  text: string;
  /** Characters missing by offset. */
  missing: number;
}

const outcomes: Readonly<Record<string, Outcome>> = {
  completed: "completed",
  cancelled: "canceled",
  failed: "failed",
  blocked: "failed",
};

export class TurnBuilder {
  readonly counts = new Map<string, number>();
  readonly up = new Map<string, number>();
  readonly tools = new Map<string, ToolCall>();
  readonly steps: Step[] = [];
  readonly loss: Loss[] = [];
  readonly stepsOpen = new Map<number, Place>();
  readonly asks = new Map<
    string,
    { readonly when: When; readonly place: Place; readonly what: string; answered: boolean; readonly family: string }
  >();
  /** Frames of the transcript channel, by frame id, in order of appearance. */
  readonly frames = new Map<string, { kind: string; text: string }>();
  startSeen = false;
  start: When;
  end: When;
  endSeen = false;
  reason: string | null = null;
  error: TurnError | null = null;
  reportedMs: number | null = null;
  prompt: string | null = null;
  promptId: string | null = null;
  action: string | null = null;
  model: string | null = null;
  parentRequestId: string | null = null;
  parentToolCallId: string | null = null;
  usage: Usage | null = null;
  messages = 0;
  upBytes = 0;
  downBytes = 0;
  private text: StepText[] = [];
  private thinking: StepText[] = [];
  place: Place;

  constructor(
    readonly sessionId: string | null,
    readonly agentId: string,
    readonly turnId: string,
    first: { readonly when: When; readonly place: Place },
  ) {
    this.start = first.when;
    this.end = first.when;
    this.place = first.place;
  }

  get requestId(): string {
    return `${this.agentId}/${this.turnId}`;
  }

  /** Counts the event and adds or folds its step. */
  add(event: TurnEvent): Step {
    const counts = event.direction === "down" ? this.counts : this.up;
    counts.set(event.type, (counts.get(event.type) ?? 0) + 1);
    this.messages++;
    if (event.direction === "down") this.downBytes += event.bytes;
    else this.upBytes += event.bytes;
    if (!this.endSeen && isKnown(event.when) && event.when.latest > this.end.latest) this.end = event.when;
    return this.step(event);
  }

  private step(event: TurnEvent): Step {
    const last = this.steps.at(-1);
    if (event.fold && last !== undefined && last.kind === event.type && last.channel === event.channel) {
      const folded: Step = {
        ...last,
        until: event.when,
        count: last.count + 1,
        bytes: last.bytes + event.bytes,
        chars: last.chars + event.chars,
        place: last.place.through(event.place),
      };
      this.steps[this.steps.length - 1] = folded;
      return folded;
    }
    const made: Step = {
      when: event.when,
      until: event.when,
      direction: event.direction,
      channel: event.channel,
      lane: event.lane,
      kind: event.type,
      count: 1,
      bytes: event.bytes,
      chars: event.chars,
      flags: -1,
      says: event.says,
      place: event.place,
      pair: event.pair,
      state: null,
    };
    this.steps.push(made);
    return made;
  }

  /** A new step: offsets count from zero again, for both streams. */
  nextStep(): void {
    this.text.push({ text: "", missing: 0 });
    this.thinking.push({ text: "", missing: 0 });
  }

  /** Adds delta text at its UTF-16 offset; what is there already is not written twice. Returns how it fitted. */
  delta(stream: "text" | "thinking", piece: string, offset: number | null): "fits" | "duplicate" | "gap" {
    const parts = stream === "text" ? this.text : this.thinking;
    if (parts.length === 0) parts.push({ text: "", missing: 0 });
    const current = parts.at(-1)!;
    const length = current.text.length + current.missing;
    if (offset === null || offset === length) {
      current.text += piece;
      return "fits";
    }
    if (offset < length) {
      const fresh = piece.slice(Math.max(0, length - offset));
      current.text += fresh;
      return fresh.length === piece.length ? "fits" : "duplicate";
    }
    current.missing += offset - length;
    current.text += piece;
    return "gap";
  }

  fullText(stream: "text" | "thinking"): string {
    const parts = (stream === "text" ? this.text : this.thinking).map((part) => part.text).join("");
    if (parts !== "" || this.frames.size === 0) return parts;
    return [...this.frames.values()]
      .filter((frame) => frame.kind === stream)
      .map((frame) => frame.text)
      .join("");
  }

  tool(id: string, place: Place): ToolCall {
    let call = this.tools.get(id);
    if (call === undefined) {
      call = {
        id,
        name: null,
        started: null,
        ended: null,
        isError: false,
        argumentParts: "",
        args: null,
        results: 0,
        place,
      };
      this.tools.set(id, call);
    }
    return call;
  }

  addUsage(input: number, output: number, cacheRead: number, cacheWrite: number): void {
    const before = this.usage;
    this.usage = {
      inputTokens: (before?.inputTokens ?? 0) + input,
      outputTokens: (before?.outputTokens ?? 0) + output,
      cacheReadTokens: (before?.cacheReadTokens ?? 0) + cacheRead,
      cacheWriteTokens: (before?.cacheWriteTokens ?? 0) + cacheWrite,
    };
  }

  lose(loss: Loss): void {
    if (!this.loss.some((known) => known.direction === loss.direction && known.why === loss.why)) this.loss.push(loss);
  }

  outcome(): Outcome {
    if (this.reason === null) return "unknown";
    return Object.hasOwn(outcomes, this.reason) ? outcomes[this.reason]! : "unknown";
  }

  durationMs(): number | null {
    if (this.reportedMs !== null) return this.reportedMs;
    if (!isKnown(this.start) || !isKnown(this.end)) return null;
    return millisBetween(this.start.earliest, this.end.latest);
  }
}

/** ms from ask to answer; null unless both times are exact. */
export function afterMs(ask: When | null, answer: When): number | null {
  if (ask === null || !isExact(ask) || !isExact(answer) || !isKnown(ask)) return null;
  return millisBetween(ask.earliest, answer.earliest);
}

export function quoted(text: string, most = 60): Words {
  const flat = text.replace(/\s+/g, " ").trim();
  return [privately(`"${flat.length > most ? `${flat.slice(0, most - 1)}…` : flat}"`)];
}
