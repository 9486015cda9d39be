/** What a turn works out of its epoch once: request, times, usage, checkpoints. */
import { isKnown, millisBetween, unknownWhen, type When } from "../../core/time.js";
import type { Outcome, Usage } from "../../model/conversation.js";
import type { Epoch } from "./epochs.js";
import type { Checkpoint, DownItem, RunFacts, UpItem } from "./model.js";

export function endState(outcome: Outcome): string {
  switch (outcome) {
    case "canceled":
    case "failed":
    case "completed":
    case "dropped":
      return outcome;
    case "truncated":
      return "broken";
    case "unknown":
      return "truncated";
  }
}

export function checkpointsOf(down: readonly DownItem[]): readonly Checkpoint[] {
  const found: Checkpoint[] = [];
  for (const { detail } of down) if (detail.type === "checkpoint") found.push(detail.checkpoint);
  // A list that was pushed to keeps room for sixteen more.
  return found.length === 0 ? noCheckpoints : found.slice();
}

export function soundOf(checkpoints: readonly Checkpoint[]): readonly Checkpoint[] {
  const isSound = ({ digest, faulty }: Checkpoint, i: number) => digest !== checkpoints[i - 1]?.digest && !faulty;
  return checkpoints.every(isSound) ? checkpoints : checkpoints.filter(isSound);
}

const noCheckpoints: readonly Checkpoint[] = Object.freeze([]);

/** The run_request, else the first prewarm_request. */
export function runOf(uplink: readonly UpItem[]): RunFacts | null {
  let prewarm: RunFacts | null = null;
  for (const { detail } of uplink) {
    if (detail.type === "run") return detail;
    if (detail.type === "prewarm") prewarm ??= detail;
  }
  return prewarm;
}

export function endOf(epoch: Epoch, start: When): When {
  const { call } = epoch;
  const at = call?.downlink.end?.when;
  if (call === null || at === undefined || !isKnown(at)) return lastKnown(epoch, start);
  if (call.recorder !== "har") return call.downlink.end!.reason === "complete" ? at : lastFrame(epoch, at);
  // A HAR's end is its start plus a rounded duration.
  return isKnown(start) && at.latest !== start.earliest ? { earliest: start.earliest, latest: at.latest } : at;
}

/** The last response byte, where no end of the body was seen. */
function lastFrame(epoch: Epoch, fallback: When): When {
  return epoch.call?.downlink.items.at(-1)?.until ?? fallback;
}

function lastKnown(epoch: Epoch, start: When): When {
  let last = unknownWhen;
  for (const item of epoch.uplink) if (isKnown(item.when) && item.when.latest > last.latest) last = item.when;
  const frame = epoch.call?.downlink.items.at(-1)?.until;
  if (frame !== undefined && isKnown(frame) && frame.latest > last.latest) last = frame;
  return isKnown(last) && isKnown(start) ? { earliest: start.earliest, latest: last.latest } : unknownWhen;
}

export function durationOf(epoch: Epoch, end: When): number | null {
  const { call } = epoch;
  if (call === null) return null;
  if (call.recorder === "har") return call.durationMs === null ? null : Math.round(call.durationMs);
  return isKnown(call.opened) && isKnown(end) ? millisBetween(call.opened.earliest, end.latest) : null;
}

export function usageOf(down: readonly DownItem[]): Usage | null {
  for (let i = down.length - 1; i >= 0; i--) {
    const { detail } = down[i]!;
    if (detail.type === "turn-ended") return detail.usage;
  }
  return null;
}
