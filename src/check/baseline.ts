/**
 * Baselines: findings that are known and accepted, by fingerprint and count. Only what exceeds the count is new.
 * Text in, text out; the file is JSON so that a review can read its diff.
 */
import { CursorWireError } from "../core/errors.js";
import type { Finding } from "../model/check.js";

export const baselineSchema = "cursor-wire/baseline@1";

/** Fingerprint -> how many findings of it are accepted. */
export type Baseline = ReadonlyMap<string, number>;

export function writeBaseline(findings: readonly Finding[]): string {
  const counts = new Map<string, { rule: string; count: number }>();
  for (const finding of findings) {
    const row = counts.get(finding.fingerprint);
    if (row === undefined) counts.set(finding.fingerprint, { rule: finding.rule, count: 1 });
    else row.count++;
  }
  const rows = [...counts]
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([fingerprint, { rule, count }]) => ({ rule, fingerprint, count }));
  return `${JSON.stringify({ schema: baselineSchema, findings: rows }, null, 2)}\n`;
}

/** Throws CursorWireError `usage.baseline` for anything that `writeBaseline` would not write. */
export function parseBaseline(text: string, path: string): Baseline {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    throw bad(path, "is no JSON");
  }
  if (!isRecord(data) || data.schema !== baselineSchema) throw bad(path, `does not say "schema": "${baselineSchema}"`);
  if (!Array.isArray(data.findings)) throw bad(path, "has no list of findings");
  const counts = new Map<string, number>();
  for (const row of data.findings as unknown[]) {
    if (!isRecord(row) || typeof row.fingerprint !== "string" || !Number.isSafeInteger(row.count)) {
      throw bad(path, "has a row without fingerprint and count");
    }
    counts.set(row.fingerprint, (counts.get(row.fingerprint) ?? 0) + Number(row.count));
  }
  return counts;
}

export interface Compared {
  /** Not covered by the baseline. */
  readonly fresh: readonly Finding[];
  readonly known: readonly Finding[];
  /** Fingerprints of the baseline that nothing matched: the baseline can shrink. */
  readonly gone: readonly string[];
}

export function compareWithBaseline(findings: readonly Finding[], baseline: Baseline): Compared {
  const left = new Map(baseline);
  const fresh: Finding[] = [];
  const known: Finding[] = [];
  for (const finding of findings) {
    const allowed = left.get(finding.fingerprint) ?? 0;
    if (allowed > 0) {
      left.set(finding.fingerprint, allowed - 1);
      known.push(finding);
    } else fresh.push(finding);
  }
  const gone = [...left].filter(([key, count]) => count > 0 && count === baseline.get(key)).map(([key]) => key);
  return { fresh, known, gone: gone.sort() };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function bad(path: string, why: string): CursorWireError {
  return new CursorWireError("usage.baseline", `${path} ${why}: write one with --write-baseline`);
}
