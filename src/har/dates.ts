/** `startedDateTime` -> nanoseconds since 1970 UTC. ISO 8601 as HAR 1.2 asks for, and the forms that recorders write instead. */
import type { Nanos } from "../core/time.js";

export interface StartTime {
  readonly at: Nanos;
  /** No zone was given; UTC was assumed. */
  readonly zoneless: boolean;
}

const iso =
  /^\s*([+-]\d{6}|\d{4})-(\d{1,2})-(\d{1,2})(?:[T\s]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?)?\s*(Z|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?)?\s*$/i;

/** A number is milliseconds since 1970, or seconds where it is too small for that. */
export function startTime(value: unknown): StartTime | undefined {
  if (typeof value === "number")
    return Number.isFinite(value) && value > 0 ? { at: epoch(value), zoneless: false } : undefined;
  if (typeof value !== "string" || value.length > 64) return undefined;
  const match = iso.exec(value);
  if (match === null) return fromDate(value);
  const [, year, month, day, hour = "0", minute = "0", second = "0", decimals = "", zone] = match;
  const parts = [Number(year), Number(month), Number(day), Number(hour), Number(minute), Number(second)] as const;
  if (
    parts[1] < 1 ||
    parts[1] > 12 ||
    parts[2] < 1 ||
    parts[2] > 31 ||
    parts[3] > 24 ||
    parts[4] > 59 ||
    parts[5] > 60
  ) {
    return undefined;
  }
  const ms = Date.UTC(parts[0], parts[1] - 1, parts[2], parts[3], parts[4], parts[5]);
  if (!Number.isFinite(ms) || (parts[0] >= 0 && parts[0] < 100)) return undefined;
  const nanos = BigInt(decimals.slice(0, 9).padEnd(9, "0"));
  return { at: BigInt(ms - zoneMinutes(zone) * 60_000) * 1_000_000n + nanos, zoneless: zone === undefined };
}

function zoneMinutes(zone: string | undefined): number {
  const match = /^([+-])(\d{1,2}):?(\d{2})?$/.exec(zone ?? "");
  if (match === null) return 0;
  const minutes = Number(match[2]) * 60 + Number(match[3] ?? 0);
  return match[1] === "-" ? -minutes : minutes;
}

function epoch(value: number): Nanos {
  const ms = value < 1e11 ? value * 1000 : value;
  return BigInt(Math.round(ms * 1000)) * 1000n;
}

/** RFC 2822 and the like ("Mon, 30 Nov 2026 20:57:45 GMT"): only where the zone is in the text, since Date would take the machine's. */
function fromDate(value: string): StartTime | undefined {
  const text = value.trim();
  if (!/[a-z]{3}/i.test(text)) return undefined;
  const zoned = /(?:\bZ|GMT|UTC|[+-]\d{4})(?:\s*\([^)]*\))?$/.test(text);
  const ms = Date.parse(zoned ? text : `${text} UTC`);
  return Number.isFinite(ms) ? { at: BigInt(Math.round(ms)) * 1_000_000n, zoneless: !zoned } : undefined;
}
