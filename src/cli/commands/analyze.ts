/** `analyze`: everything at a glance. */
import { CursorWireError } from "../../core/errors.js";
import { brief } from "../../report/brief.js";
import { reportNamed, reports } from "../../report/index.js";
import type { Call } from "../call.js";
import { checkSettings } from "../check-settings.js";
import { runReport } from "../run-report.js";
import { follow } from "./follow.js";

export async function run(call: Call): Promise<number> {
  const { options } = call;
  if (options.brief && options.format !== "text") {
    throw new CursorWireError("usage.brief", "--brief is a text: it does not go with --format");
  }
  const settings = checkSettings(call);
  if (options.follow) return follow(call, settings);
  return runReport(call, {
    wants: {
      hashes: options.format === "json",
      steps: options.format !== "json" && !options.brief,
      checks: settings.checks,
    },
    report: options.brief ? brief : reportNamed(reports, options.format),
    showsDiagnostics: true,
  });
}
