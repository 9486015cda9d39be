/** Steps and turns as they happen, for `--follow`: without pair marks or blob types, which only the whole talk tells. */

import { epochsOf } from "./epochs.js";
import { servicesOf } from "./finish.js";
import type { Intake } from "./intake.js";
import type { DownItem, UpItem } from "./model.js";
import type { DownCall, RequestLog } from "./request-log.js";
import { RunStates } from "./states.js";
import { downStep, upStep } from "./steps.js";
import { CursorTurn, type TurnServices } from "./turn.js";

interface Following {
  readonly states: RunStates;
  /** Downlink items that were shown. */
  shown: number;
}

export class LiveSteps {
  private readonly following = new Map<RequestLog, Following>();
  private readonly reported = new Set<DownCall>();
  private services: TurnServices | null = null;
  private readonly indices = new Map<string, number>();

  constructor(private readonly intake: Intake) {}

  up(log: RequestLog, item: UpItem): void {
    const state = this.follow(log).states.up(item);
    const upChannel = item.append === null ? "Run" : "BidiAppend";
    const step = upStep({ direction: "up", item, when: item.when, until: item.when }, null, { upChannel }, state);
    this.intake.tools.emit({ kind: "step", title: title(log), step });
  }

  /** A run of deltas is shown once something else follows it. */
  down(log: RequestLog, call: DownCall, item: DownItem): void {
    if (item.fold === "") this.show(log, call);
  }

  ended(log: RequestLog, call: DownCall): void {
    this.show(log, call);
    this.following.delete(log);
    const turn = this.turnOf(log, call);
    if (turn === undefined) return;
    this.reported.add(call);
    this.intake.tools.emit({ kind: "turn-ended", title: title(log), turn });
  }

  /** Turns without a downlink end with the capture. */
  finish(turns: readonly CursorTurn[]): void {
    for (const turn of turns) {
      if (turn.call !== null && this.reported.has(turn.call)) continue;
      this.intake.tools.emit({ kind: "turn-ended", title: title(turn.epoch.log), turn });
    }
  }

  private follow(log: RequestLog): Following {
    let following = this.following.get(log);
    if (following === undefined) {
      following = { states: new RunStates(), shown: 0 };
      this.following.set(log, following);
    }
    return following;
  }

  private show(log: RequestLog, call: DownCall): void {
    const following = this.follow(log);
    const { items } = call.downlink;
    for (; following.shown < items.length; following.shown++) {
      const item = items[following.shown]!;
      const state = following.states.down(item);
      const context = { downChannel: call.channel, blobs: null, pairs: noPairs };
      const step = downStep({ direction: "down", item, when: item.when, until: item.until }, null, context, state);
      this.intake.tools.emit({ kind: "step", title: title(log), step });
    }
  }

  private turnOf(log: RequestLog, call: DownCall): CursorTurn | undefined {
    this.services ??= servicesOf(this.intake);
    const { services } = this;
    const epoch = epochsOf(log, () => {}).find((candidate) => candidate.call === call);
    if (epoch === undefined) return undefined;
    const turn = new CursorTurn(epoch, services);
    for (const op of turn.pairs.kv) if (op.ask.digest !== null) services.blobs.claim(op.blobId, op.ask.digest);
    services.blobs.graph.forgetOpen();
    const conversationId = turn.run?.conversationId ?? null;
    const key = conversationId ?? `request ${log.id}`;
    const index = this.indices.get(key) ?? 0;
    this.indices.set(key, index + 1);
    turn.settle({ conversationId, index, attempt: 0, retryOf: null });
    return turn;
  }
}

const noPairs = { kv: [], exec: [], queries: [], tools: [], stray: [], askOf: new Map() };

function title(log: RequestLog): string {
  return log.id === null ? "request without id" : `request ${log.id.slice(0, 8)}`;
}
