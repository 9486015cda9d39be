/** What the capture lacks, and what the reader made of it: diagnostics with their sentence, places and remedy. */
import { codeRow, type DiagnosticRow, diagnosticText } from "../core/diagnostic.js";
import { placeText } from "../core/place.js";
import type { Analysis } from "../model/report.js";
import { wrap } from "./columns.js";
import { terminal } from "./escape.js";
import { severityPaint } from "./findings/lines.js";
import { count } from "./numbers.js";
import type { View } from "./report.js";

const placesShown = 3;
const ranks = { error: 0, warning: 1, info: 2 } as const;

export function* lackLines(analysis: Analysis, view: View): Generator<string> {
  const rows = [...analysis.diagnostics].sort((a, b) => ranks[a.severity] - ranks[b.severity]);
  const grave = rows.filter((row) => row.severity !== "info");
  const notes = rows.filter((row) => row.severity === "info");
  if (grave.length > 0) {
    yield view.paint.strong("What the capture lacks");
    for (const row of grave) yield* lackOf(row, analysis, view);
    yield "";
  }
  if (notes.length > 0) {
    yield view.paint.strong("How it was read");
    for (const row of notes) yield* lackOf(row, analysis, view);
    yield "";
  }
}

function* lackOf(row: DiagnosticRow, analysis: Analysis, view: View): Generator<string> {
  const times = row.count > 1 ? ` ×${count(row.count)}` : "";
  const sentence = sentenceOf(row, view);
  const lines = wrap(`${row.severity.padEnd(7)} ${row.code}${times}  ${sentence}`, view.width - 10);
  yield `  ${severityPaint(row.severity, view)(lines[0]!)}`;
  for (const line of lines.slice(1)) yield `          ${line}`;
  const places = row.places.slice(0, placesShown).map((place) => terminal(placeText(place, analysis.inputNames)));
  if (places.length > 0) {
    const more = row.count - places.length;
    const text = `at ${places.join(", ")}${more > 0 ? ` and ${count(more)} more` : ""}`;
    for (const line of wrap(text, view.width - 10)) yield `          ${view.paint.dim(line)}`;
  }
  const { remedy } = codeRow(row.code);
  if (remedy !== undefined) for (const line of wrap(`do: ${remedy}`, view.width - 10)) yield `          ${line}`;
}

/** The code's sentence with its numbers, ready for a terminal. */
export function sentenceOf(row: DiagnosticRow, view: View): string {
  return terminal(view.redactor.scrub(diagnosticText(row.code, row.detail)));
}
