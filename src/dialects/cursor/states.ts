/**
 * The run's state machine (protocols/cursor.md 7). Waiting states overlap in practice, so the state is kept as open ids and the label
 * is derived: awaiting_user > waiting_external > checkpointing > provider_running.
 */
import type { DownItem, UpItem } from "./model.js";
import { isResult } from "./pairs.js";

export type RunState =
  | "created"
  | "prewarmed"
  | "provider_running"
  | "waiting_external"
  | "awaiting_user"
  | "checkpointing"
  | "compacting"
  | "finishing"
  | "canceling"
  | "completed"
  | "dropped"
  | "failed"
  | "canceled"
  | "broken"
  | "truncated";

export class RunStates {
  private phase: RunState = "created";
  private readonly execs = new Set<number>();
  private readonly reads = new Set<number>();
  private readonly acks = new Set<number>();
  private readonly queries = new Set<number>();
  private compacting = false;
  private turnEnded = false;

  get label(): RunState {
    if (this.phase !== "provider_running") return this.phase;
    if (this.compacting) return "compacting";
    if (this.queries.size > 0) return "awaiting_user";
    if (this.execs.size + this.reads.size > 0) return "waiting_external";
    return this.acks.size > 0 ? "checkpointing" : "provider_running";
  }

  down(item: DownItem): RunState {
    const { detail } = item;
    switch (detail.type) {
      case "exec":
        this.active();
        this.execs.add(detail.id);
        break;
      case "kv":
        this.active();
        (detail.op === "get" ? this.reads : this.acks).add(detail.id);
        break;
      case "query":
        this.active();
        this.queries.add(detail.id);
        break;
      case "checkpoint":
        this.active();
        // A checkpoint in the middle of a run leads back to what was going on before it.
        this.acks.clear();
        break;
      case "summary":
        this.active();
        this.compacting = detail.event === "started" || (detail.event === "text" && this.compacting);
        break;
      case "turn-ended":
        this.turnEnded = true;
        if (this.phase !== "canceling") this.phase = "finishing";
        break;
      case "end-stream":
        this.phase = this.endOf(detail.end.error);
        break;
      case "heartbeat":
        break;
      default:
        if (item.lane === "model") this.active();
    }
    return this.label;
  }

  up(item: UpItem): RunState {
    const { detail } = item;
    switch (detail.type) {
      case "run":
        if (this.phase === "created" || this.phase === "prewarmed") this.phase = "provider_running";
        break;
      case "prewarm":
        if (this.phase === "created") this.phase = "prewarmed";
        break;
      case "kv":
        this.reads.delete(detail.id);
        this.acks.delete(detail.id);
        break;
      case "exec":
        if (isResult(item)) this.execs.delete(detail.id);
        break;
      case "control":
        if (detail.what !== "heartbeat") this.execs.delete(detail.id);
        break;
      case "response":
        this.queries.delete(detail.id);
        break;
      case "action":
        if (detail.branch === "cancel_action" && !this.over) this.phase = "canceling";
        break;
      default:
        break;
    }
    return this.label;
  }

  private get over(): boolean {
    return (
      this.phase === "completed" || this.phase === "failed" || this.phase === "canceled" || this.phase === "dropped"
    );
  }

  /** A server that works on the run has its request, even where the capture lost it. */
  private active(): void {
    if (this.phase === "created" || this.phase === "prewarmed") this.phase = "provider_running";
  }

  private endOf(error: { readonly code: string } | null): RunState {
    if (error !== null) return error.code === "canceled" ? "canceled" : "failed";
    if (this.phase === "canceling") return "canceled";
    return this.turnEnded ? "completed" : "dropped";
  }
}
