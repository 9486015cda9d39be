/** `startedDateTime` -> nanoseconds since 1970 UTC. ISO 8601 as HAR 1.2 asks for, and the forms that recorders write instead. */
import type { Nanos } from "../core/time.js";

export interface StartTime {
  readonly at: Nanos;
  /** No zone was given; UTC was assumed. */
  readonly zoneless: boolean;
}

const iso =
  /^\s*([+-]\d{6}|\d{4})-(\d{1,2})-(\d{1,2})(?:[T\s]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?)?\s*(Z|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?)?\s*$/i;

/** A number is milliseconds since 1970, or seconds where it is too small for that; smaller ones (before 1973) are no times. */
export function startTime(value: unknown): StartTime | undefined {
  if (typeof value === "number")
    return Number.isFinite(value) && value >= 1e8 && value < 1e14 ? { at: epoch(value), zoneless: false } : undefined;
  if (typeof value !== "string" || value.length > 64) return undefined;
  const usual = usualForm(value);
  if (usual !== undefined) return { at: BigInt(usual) * 1_000_000n, zoneless: false };
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

/** `2026-11-30T21:04:41.228Z`, as every browser writes it, without the cost of the general form. Milliseconds, or undefined. */
function usualForm(text: string): number | undefined {
  if (text.length !== 24 || text[23] !== "Z" || text[19] !== "." || text[10] !== "T") return undefined;
  const year = digits(text, 0, 4);
  const month = digits(text, 5, 2);
  const day = digits(text, 8, 2);
  const hour = digits(text, 11, 2);
  const minute = digits(text, 14, 2);
  const second = digits(text, 17, 2);
  const ms = digits(text, 20, 3);
  if (!(year >= 1970 && month >= 1 && month <= 12 && day >= 1 && day <= 31 && hour <= 23 && minute <= 59))
    return undefined;
  if (!(second <= 59 && ms >= 0)) return undefined;
  if (text[4] !== "-" || text[7] !== "-" || text[13] !== ":" || text[16] !== ":") return undefined;
  return Date.UTC(year, month - 1, day, hour, minute, second, ms);
}

/** NaN where these are not all digits. */
function digits(text: string, from: number, count: number): number {
  let value = 0;
  for (let i = from; i < from + count; i++) {
    const digit = text.charCodeAt(i) - 0x30;
    if (digit < 0 || digit > 9) return Number.NaN;
    value = value * 10 + digit;
  }
  return value;
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
