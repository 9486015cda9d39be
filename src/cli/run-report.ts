/** The way of every command that prints one report of one analysis: read, select, render, complain. */
import type { Analysis } from "../model/report.js";
import type { Report, View } from "../report/report.js";
import { selectTurns } from "../report/select.js";
import type { Call } from "./call.js";
import { readCapture, reading, type Wants } from "./capture.js";
import { complain, nothingRead } from "./complain.js";
import { openOutput } from "./output.js";
import { redactorOf, selectionOf, type ViewExtra, viewOf, withSelection } from "./view.js";

export interface ReportRun {
  readonly wants: Wants;
  readonly report: Report;
  readonly extra?: ViewExtra;
  /** The report lists the diagnostics itself. */
  readonly showsDiagnostics: boolean;
  /** Last changes to what is rendered, as `check`'s verdict. */
  prepare?(analysis: Analysis, view: View): { analysis: Analysis; view: View };
}

export async function runReport(call: Call, run: ReportRun): Promise<number> {
  const from = await reading(call, call.args);
  const redactor = redactorOf(call);
  const whole = readCapture(call, from, redactor, run.wants);
  try {
    const base = viewOf(call, redactor, run.extra);
    if (!nothingRead(whole)) {
      const selected = selectTurns(whole, selectionOf(call));
      const view = withSelection(base, call, whole.turns.length);
      const ready = run.prepare?.(selected, view) ?? { analysis: selected, view };
      writeReport(call, run.report, ready.analysis, ready.view);
    }
    return complain(call, whole, base, { diagnosticsShown: run.showsDiagnostics });
  } finally {
    whole.close();
  }
}

export function writeReport(call: Call, report: Report, analysis: Analysis, view: View): void {
  const output = openOutput(call.io, call.options.output, view.redactor, call.args);
  try {
    for (const piece of report.render(analysis, view)) {
      if (output.closed) break;
      output.write(piece);
    }
  } finally {
    output.close();
  }
}
