/** Heartbeats of both sides: how many, and the smallest and largest time between two, where times are exact. */
import { isExact, isKnown, millisBetween, type Nanos } from "../../core/time.js";
import type { UpItem } from "./model.js";
import type { DownCall } from "./request-log.js";

export interface Heartbeats {
  readonly count: number;
  readonly minGapMs: number | null;
  readonly maxGapMs: number | null;
}

export function clientHeartbeats(uplink: readonly UpItem[]): Heartbeats {
  let count = 0;
  let last: Nanos | undefined;
  let min: number | null = null;
  let max: number | null = null;
  for (const item of uplink) {
    if (item.detail.type !== "heartbeat") continue;
    count++;
    if (!isKnown(item.when) || !isExact(item.when)) {
      last = undefined;
      continue;
    }
    if (last !== undefined) {
      const gap = millisBetween(last, item.when.earliest);
      min = Math.min(min ?? gap, gap);
      max = Math.max(max ?? gap, gap);
    }
    last = item.when.earliest;
  }
  return { count, minGapMs: min, maxGapMs: max };
}

export function serverHeartbeats(call: DownCall | null): Heartbeats {
  return call === null ? { count: 0, minGapMs: null, maxGapMs: null } : { ...call.downlink.heartbeats };
}
