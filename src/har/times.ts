/**
 * When the parts of an entry happened. A HAR knows the request's start and its duration; the phases (blocked, dns, connect, send,
 * wait, receive; ssl lies within connect) bound the rest. Bounds are never tighter than the recorder's rounding allows.
 */
import { exactly, maxNanos, millis, minNanos, unknownWhen, type When } from "../core/time.js";
import { startTime } from "./dates.js";
import { asObject, asSize, type Fields } from "./fields.js";

export interface EntryTimes {
  readonly opened: When;
  /** A request byte. */
  readonly up: When;
  /** The response head. */
  readonly head: When;
  /** A response byte. */
  readonly down: When;
  /** The last response byte. */
  readonly end: When;
  readonly durationMs: number | null;
  /** Where no start is known: what stands there instead. */
  readonly startless: boolean;
  readonly zoneless: boolean;
}

/** Beyond a year it is no duration of a request. */
const longestMs = 366 * 86_400_000;

export function entryTimes(entry: Fields): EntryTimes {
  const start = startTime(entry?.startedDateTime);
  const time = asSize(entry?.time);
  const durationMs = time !== undefined && time <= longestMs ? time : null;
  const zoneless = start?.zoneless ?? false;
  if (start === undefined) {
    const when = unknownWhen;
    return { opened: when, up: when, head: when, down: when, end: when, durationMs, startless: true, zoneless };
  }
  const opened = exactly(start.at);
  if (durationMs === null) {
    // Sent at or after the start, and nothing bounds it from above: an interval cannot say that.
    return {
      opened,
      up: opened,
      head: unknownWhen,
      down: unknownWhen,
      end: unknownWhen,
      durationMs,
      startless: false,
      zoneless,
    };
  }
  const end = start.at + millis(durationMs);
  const phases = phaseBounds(asObject(entry?.timings), durationMs);
  const firstByte = minNanos(start.at + millis(phases.waitedMs), end);
  const headBy = maxNanos(firstByte, end - millis(phases.receiveMs));
  return {
    opened,
    up: { earliest: start.at, latest: headBy },
    head: { earliest: firstByte, latest: headBy },
    down: { earliest: firstByte, latest: end },
    end: exactly(end),
    durationMs,
    startless: false,
    zoneless,
  };
}

interface Phases {
  /** At least this long after the start the response began. */
  readonly waitedMs: number;
  /** At least this long before the end it had begun. */
  readonly receiveMs: number;
}

function phaseBounds(timings: Fields | undefined, durationMs: number): Phases {
  let sum = 0;
  let rounded = 0;
  for (const given of [timings?.blocked, timings?.dns, timings?.connect, timings?.send, timings?.wait]) {
    const value = asSize(given);
    if (value === undefined) continue;
    sum += value;
    if (Number.isInteger(value) && value > 0) rounded++;
  }
  const receive = asSize(timings?.receive);
  // Phases that do not add up to the duration say nothing (Chromium writes negative ones, recorders sum differently).
  const consistent = receive !== undefined && Math.abs(sum + receive - durationMs) <= 2 + rounded;
  if (!consistent) return { waitedMs: 0, receiveMs: 0 };
  return {
    waitedMs: Math.max(0, sum - rounded),
    receiveMs: Math.max(0, receive - (Number.isInteger(receive) ? 1 : 0)),
  };
}
