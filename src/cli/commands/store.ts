/** `store FILE|FOLDER…`: session stores on disk. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { judge } from "../../check/gate.js";
import { CursorWireError } from "../../core/errors.js";
import { allRules } from "../../pipeline/catalogue.js";
import { terminal } from "../../report/escape.js";
import { storeJson, storeText } from "../../report/store.js";
import { readStores } from "../../store/index.js";
import { type Call, exitCodes } from "../call.js";
import { checkSettings } from "../check-settings.js";
import { openOutput } from "../output.js";
import { redactorOf, viewOf } from "../view.js";
import { saveBaseline } from "./save-baseline.js";

export function run(call: Call): number {
  const { options, io, args } = call;
  const settings = checkSettings(call);
  for (const path of args) {
    if (!existsSync(resolve(io.cwd, path))) {
      throw new CursorWireError("input.not-found", `${path}: no such file or directory`);
    }
  }
  const paths = io.cwd === process.cwd() ? args : args.map((path) => resolve(io.cwd, path));
  const report = readStores(paths, { levels: settings.checks.levels });
  const findings = report.files.flatMap((file) => file.findings);
  const unread = report.files.filter((file) => file.fatal);
  if (options.writeBaseline !== undefined) saveBaseline(call, options.writeBaseline, findings);
  const held = new Map(report.files.some((file) => file.sessions.length > 0) ? [["store", [0]] as const] : []);
  const notCheckable = report.files.flatMap((file) =>
    file.notCheckable.map(({ rule, why }) => ({ rule, why, turns: [] })),
  );
  const gate = judge(
    { turns: [], findings, notCheckable, held, rules: allRules() },
    {
      ...settings.gate,
      allowEmpty: true,
      baseline: options.writeBaseline === undefined ? settings.baseline : accepted(findings),
    },
  );
  const redactor = redactorOf(call);
  const view = { ...viewOf(call, redactor), gate, tree: options.tree ?? false };
  const output = openOutput(io, options.output, redactor, args);
  for (const piece of options.format === "json" ? storeJson(report, view) : storeText(report, view))
    output.write(piece);
  output.close();
  for (const file of unread) io.err(`cursor-wire: ${terminal(file.why ?? `${file.path} could not be read`)}\n`);
  if (unread.length > 0) return exitCodes.unreadable;
  return gate.failed ? exitCodes.findings : exitCodes.ok;
}

function accepted(findings: readonly { readonly fingerprint: string }[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { fingerprint } of findings) counts.set(fingerprint, (counts.get(fingerprint) ?? 0) + 1);
  return counts;
}
