/** What goes to standard error after an analysis: inputs that could not be read, captures without agent traffic, warnings. */
import type { Analysis } from "../model/report.js";
import { terminal } from "../report/escape.js";
import { talkFacts } from "../report/header.js";
import { sentenceOf } from "../report/lacks.js";
import { count } from "../report/numbers.js";
import type { View } from "../report/report.js";
import type { Call } from "./call.js";
import { exitCodes } from "./call.js";

const warningsShown = 5;

export interface Complaints {
  /** The report itself lists the diagnostics: they are not told twice. */
  readonly diagnosticsShown: boolean;
}

/** Exit code so far: 3 where an input could not be read. */
export function complain(call: Call, analysis: Analysis, view: View, complaints: Complaints): number {
  const { io, options } = call;
  for (const { message } of analysis.unreadable) io.err(`cursor-wire: ${terminal(view.redactor.scrub(message))}\n`);
  if (options.quiet) return exitOf(analysis);
  const nothing = isEmpty(analysis);
  if (nothing && analysis.unreadable.length < analysis.inputs.length) {
    const names = analysis.inputs.filter((input) => input.format !== "unreadable" && input.format !== "keylog");
    io.err(`cursor-wire: ${names.map((input) => terminal(input.path)).join(" + ")}: ${talkFacts(analysis)}\n`);
  }
  if (complaints.diagnosticsShown && !nothing) return exitOf(analysis);
  const rows = analysis.diagnostics.filter((row) => row.severity !== "info");
  for (const row of rows.slice(0, warningsShown)) {
    const times = row.count > 1 ? ` (${count(row.count)} times)` : "";
    io.err(`cursor-wire: ${row.severity}: ${sentenceOf(row, view)}${times}\n`);
  }
  if (rows.length > warningsShown) {
    io.err(
      `cursor-wire: ${count(rows.length - warningsShown)} more kinds of warnings; cursor-wire analyze lists them\n`,
    );
  }
  return exitOf(analysis);
}

/** Nothing of any input could be read: there is nothing to report. */
export function nothingRead(analysis: Analysis): boolean {
  const captures = analysis.inputs.filter((input) => input.format !== "keylog");
  return captures.length > 0 && captures.every((input) => input.format === "unreadable");
}

export function isEmpty(analysis: Analysis): boolean {
  return analysis.turns.length === 0 && [...analysis.claimed.keys()].every((dialect) => dialect === null);
}

function exitOf(analysis: Analysis): number {
  return analysis.unreadable.length > 0 ? exitCodes.unreadable : exitCodes.ok;
}
