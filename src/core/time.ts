/** Times come from the capture, never from a clock. Nanoseconds since 1970-01-01 UTC as bigint: a double loses them. */

export type Nanos = bigint;

/** When something happened. `earliest === latest` is exact (a packet's time); anything else is an interval (a HAR). */
export interface When {
  readonly earliest: Nanos;
  readonly latest: Nanos;
}

export function exactly(at: Nanos): When {
  return { earliest: at, latest: at };
}

export function isExact(when: When): boolean {
  return when.earliest === when.latest;
}

/** The capture gave no time at all (a HAR entry without a date). Order is then the file's. */
export const unknownWhen: When = Object.freeze({ earliest: 0n, latest: 0n });

export function isKnown(when: When): boolean {
  return when !== unknownWhen && when.latest !== 0n;
}

/** ISO 8601 in UTC with as many decimals as needed: none, 3, 6 or 9. */
export function isoTime(at: Nanos): string {
  let seconds = at / 1_000_000_000n;
  let rest = at % 1_000_000_000n;
  if (rest < 0n) {
    rest += 1_000_000_000n;
    seconds -= 1n;
  }
  const ms = Number(seconds) * 1000;
  if (!Number.isFinite(ms) || Math.abs(ms) > 8.64e15) return `${at} ns`;
  const base = new Date(ms).toISOString().replace(/\.\d+Z$/, "");
  if (rest === 0n) return `${base}Z`;
  let decimals = rest.toString().padStart(9, "0");
  while (decimals.endsWith("000")) decimals = decimals.slice(0, -3);
  return `${base}.${decimals}Z`;
}

/** Whole milliseconds from `from` to `to`, rounded to the nearest. */
export function millisBetween(from: Nanos, to: Nanos): number {
  return Math.round(Number(to - from) / 1e6);
}

/** Exact to the nanosecond, also for milliseconds since 1970, where a product of doubles is not. */
export function millis(ms: number): Nanos {
  const whole = Math.trunc(ms);
  return BigInt(whole) * 1_000_000n + BigInt(Math.round((ms - whole) * 1e6));
}

export function minNanos(a: Nanos, b: Nanos): Nanos {
  return a < b ? a : b;
}

export function maxNanos(a: Nanos, b: Nanos): Nanos {
  return a > b ? a : b;
}
