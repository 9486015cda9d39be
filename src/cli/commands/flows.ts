/** `flows`: the transport view of any capture. */
import { flowReports } from "../../report/flows.js";
import { reportNamed } from "../../report/index.js";
import type { Call } from "../call.js";
import { runReport } from "../run-report.js";

export function run(call: Call): Promise<number> {
  return runReport(call, {
    wants: { hashes: call.options.format === "json" },
    report: reportNamed(flowReports, call.options.format),
    showsDiagnostics: true,
  });
}
