/** `cursor-wire.config.json`: the settings of `check` that a project keeps under version control. Schema: docs/config.schema.json. */
import type { Severity } from "../core/code-table.js";
import { CursorWireError } from "../core/errors.js";
import { isLevel, type Level } from "./levels.js";

export const configFileName = "cursor-wire.config.json";

export interface Config {
  readonly rules: readonly (readonly [string, Level])[];
  readonly failOn: Severity | null;
  readonly strict: boolean;
  readonly require: readonly string[];
  readonly allowEmpty: boolean;
  /** Paths as written: relative to the configuration file. */
  readonly baseline: string | null;
  readonly stores: readonly string[];
}

export const emptyConfig: Config = Object.freeze({
  rules: [],
  failOn: null,
  strict: false,
  require: [],
  allowEmpty: false,
  baseline: null,
  stores: [],
});

type Reader = (value: unknown, fail: (what: string) => never) => Partial<Config>;

/** One row per key; docs/config.schema.json has the same keys, and a test compares the two. */
export const configKeys: Readonly<Record<string, Reader>> = {
  $schema: (value, fail) => (typeof value === "string" ? {} : fail("a text")),
  rules: (value, fail) => {
    if (!isRecord(value)) return fail("an object of rule ids and levels");
    return {
      rules: Object.entries(value).map(
        ([id, level]) => [id, isLevel(level) ? level : fail(`off, info, warning or error for "${id}"`)] as const,
      ),
    };
  },
  failOn: (value, fail) => ({ failOn: isSeverity(value) ? value : fail("error, warning or info") }),
  strict: (value, fail) => ({ strict: typeof value === "boolean" ? value : fail("true or false") }),
  require: (value, fail) => ({ require: isTexts(value) ? value : fail("a list of rule ids") }),
  allowEmpty: (value, fail) => ({ allowEmpty: typeof value === "boolean" ? value : fail("true or false") }),
  baseline: (value, fail) => ({ baseline: typeof value === "string" ? value : fail("a path") }),
  store: (value, fail) => ({ stores: isTexts(value) ? value : fail("a list of paths") }),
};

/** Throws CursorWireError `usage.config` for text that is no JSON object, an unknown key or a wrong value. */
export function parseConfig(text: string, path: string): Config {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? `: ${error.message.split("\n")[0]}` : "";
    throw new CursorWireError("usage.config", `${path} is no JSON${why}`);
  }
  if (!isRecord(data)) throw new CursorWireError("usage.config", `${path} is no JSON object`);
  let config: Config = emptyConfig;
  for (const [key, value] of Object.entries(data)) {
    const read = Object.hasOwn(configKeys, key) ? configKeys[key] : undefined;
    if (read === undefined) {
      const known = Object.keys(configKeys).join(", ");
      throw new CursorWireError("usage.config", `${path}: unknown key "${key}"; the keys are ${known}`);
    }
    const fail = (what: string): never => {
      throw new CursorWireError("usage.config", `${path}: "${key}" must be ${what}`);
    };
    config = { ...config, ...read(value, fail) };
  }
  return config;
}

export function isSeverity(value: unknown): value is Severity {
  return value === "info" || value === "warning" || value === "error";
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
