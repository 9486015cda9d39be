/** `diagram`: Mermaid text. */
import { reportNamed } from "../../report/index.js";
import { diagramReports } from "../../report/mermaid/index.js";
import type { Call } from "../call.js";
import { runReport } from "../run-report.js";

export function run(call: Call): Promise<number> {
  return runReport(call, {
    wants: { steps: true },
    report: reportNamed(diagramReports, call.options.kind ?? "sequence"),
    extra: { kinds: false },
    showsDiagnostics: false,
  });
}
