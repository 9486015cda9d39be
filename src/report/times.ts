/** Times inside a turn, relative to its start in seconds. An interval never becomes an instant: `<=`, `>=`, or both bounds. */
import { isExact, isKnown, isoTime, type Nanos, type When } from "../core/time.js";
import type { Turn } from "../model/conversation.js";

/** "0.012", "<= 3.294", ">= 1.200", "0.012..3.294"; "" where nothing is known beyond the turn itself. */
export function relativeTime(when: When, turn: Pick<Turn, "start" | "end">): string {
  if (!isKnown(when) || !isKnown(turn.start)) return "";
  const origin = turn.start.earliest;
  if (isExact(when)) return seconds(when.latest - origin);
  const low = when.earliest > turn.start.latest ? seconds(when.earliest - origin) : "";
  const high = !isKnown(turn.end) || when.latest < turn.end.latest ? seconds(when.latest - origin) : "";
  if (low !== "" && high !== "") return low === high ? low : `${low}..${high}`;
  if (low !== "") return `>= ${low}`;
  return high === "" ? "" : `<= ${high}`;
}

function seconds(nanos: Nanos): string {
  const negative = nanos < 0n;
  const ms = Number((negative ? -nanos : nanos) / 1_000_000n);
  const text = `${Math.floor(ms / 1000)}.${String(ms % 1000).padStart(3, "0")}`;
  return negative && ms > 0 ? `-${text}` : text;
}

/** A log that only counts milliseconds since its own start: nothing in it happened in 1970. */
export function isRelative(when: When): boolean {
  return isKnown(when) && when.earliest < 365n * 86_400_000_000_000n;
}

/** "2026-11-30 22:06:08.123Z", cut to milliseconds; "" where unknown. */
export function clock(when: When): string {
  if (!isKnown(when)) return "";
  const iso = isoTime(when.earliest);
  return iso.replace("T", " ").replace(/(\.\d{3})\d+Z$/, "$1Z");
}
