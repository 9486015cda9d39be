/** Rule levels and gate of `check`: the configuration file, then the command line, which wins. */
import { existsSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { type Baseline, parseBaseline } from "../check/baseline.js";
import { type Config, configFileName, emptyConfig, parseConfig } from "../check/config.js";
import type { GateOptions } from "../check/gate.js";
import type { CheckOptions } from "../check/index.js";
import { matchingRules, parseRuleSetting, resolveLevels } from "../check/levels.js";
import type { Rule } from "../model/check.js";
import { allRules } from "../pipeline/catalogue.js";
import type { Call } from "./call.js";
import { readUserFile } from "./capture.js";

export interface CheckSettings {
  readonly rules: readonly Rule[];
  readonly checks: CheckOptions;
  readonly gate: Omit<GateOptions, "baseline">;
  readonly baseline: Baseline | null;
  readonly stores: readonly string[];
}

/** Throws CursorWireError `usage.*` for a file that cannot be used and for rules that do not exist. */
export function checkSettings(call: Call): CheckSettings {
  const { options } = call;
  const { config, folder } = configOf(call);
  const rules = allRules();
  const required = [...config.require, ...(options.require ?? [])].flatMap((id) => matchingRules(id, rules));
  const baseline = options.baseline ?? inFolder(folder, config.baseline);
  return {
    rules,
    checks: { levels: resolveLevels([...config.rules, ...(options.rule ?? []).map(parseRuleSetting)], rules) },
    gate: {
      failOn: options.failOn ?? config.failOn ?? "error",
      strict: options.strict ?? config.strict,
      require: [...new Set(required)],
      allowEmpty: options.allowEmpty ?? config.allowEmpty,
    },
    baseline: baseline === null ? null : parseBaseline(textOf(call, baseline, "--baseline"), baseline),
    stores: [...config.stores.map((path) => inFolder(folder, path)!), ...(options.store ?? [])],
  };
}

function textOf(call: Call, path: string, what: string): string {
  return Buffer.from(readUserFile(call, path, what)).toString("utf8");
}

/** `--config FILE`, else the file of the fixed name in the working folder; `--no-config`: none. */
function configOf(call: Call): { config: Config; folder: string } {
  const { options, io } = call;
  if (options.config === false) return { config: emptyConfig, folder: io.cwd };
  const path = typeof options.config === "string" ? options.config : configFileName;
  const full = resolve(io.cwd, path);
  if (options.config === undefined || options.config === (true as unknown)) {
    if (!existsSync(full)) return { config: emptyConfig, folder: io.cwd };
  }
  return { config: parseConfig(textOf(call, path, "--config"), path), folder: dirname(full) };
}

function inFolder(folder: string, path: string | null): string | null {
  if (path === null || isAbsolute(path)) return path;
  return relative("", join(folder, path));
}
