/** Rule levels as users set them: `--rule cursor/K06=off`, or `rules` in the configuration file. */
import type { Severity } from "../core/code-table.js";
import { CursorWireError } from "../core/errors.js";
import type { Rule } from "../model/check.js";

export type Level = "off" | Severity;
/** Rule id -> level; rules that are not in it keep their own severity. */
export type Levels = ReadonlyMap<string, Level>;

export const noLevels: Levels = new Map();

const levelNames: readonly Level[] = ["off", "info", "warning", "error"];

export function isLevel(text: unknown): text is Level {
  return levelNames.some((name) => name === text);
}

export function severityRank(severity: Severity): number {
  return severity === "error" ? 2 : severity === "warning" ? 1 : 0;
}

/** Splits `ID=LEVEL`. Throws CursorWireError `usage.rule`. */
export function parseRuleSetting(setting: string): readonly [string, Level] {
  const at = setting.lastIndexOf("=");
  const level = setting.slice(at + 1);
  if (at <= 0 || !isLevel(level)) {
    throw new CursorWireError("usage.rule", `"${setting}" is no rule setting: write ID=off, info, warning or error`);
  }
  return [setting.slice(0, at), level];
}

/**
 * Settings in order, later ones win, as one map. An id may end in `*` ("kimi/*"). Throws CursorWireError `usage.rule` where an id
 * names no rule: a misspelt id would switch nothing off and nobody would notice.
 */
export function resolveLevels(settings: Iterable<readonly [string, Level]>, rules: readonly Rule[]): Levels {
  const levels = new Map<string, Level>();
  for (const [pattern, level] of settings) {
    const ids = matchingRules(pattern, rules);
    for (const id of ids) levels.set(id, level);
  }
  return levels;
}

/** Ids of the rules a pattern names. Throws CursorWireError `usage.rule` when there is none. */
export function matchingRules(pattern: string, rules: readonly Rule[]): readonly string[] {
  const prefix = pattern.endsWith("*") ? pattern.slice(0, -1) : null;
  const found = rules.filter((rule) => (prefix === null ? rule.id === pattern : rule.id.startsWith(prefix)));
  if (found.length > 0) return found.map((rule) => rule.id);
  const near = rules.filter((rule) => rule.id.toLowerCase().endsWith(pattern.toLowerCase().replace(/^.*\//, "/")));
  const hint = near.length > 0 ? `; did you mean ${near.map((rule) => rule.id).join(", ")}?` : "";
  throw new CursorWireError(
    "usage.rule",
    `no rule "${pattern}"${hint} (cursor-wire check --list-rules shows them all)`,
  );
}
