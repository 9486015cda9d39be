/** One finding as lines of text: severity, rule and statement, where, what to do. */
import type { Severity } from "../../core/code-table.js";
import { placeText } from "../../core/place.js";
import type { Finding } from "../../model/check.js";
import { wrap } from "../columns.js";
import { terminal } from "../escape.js";
import { count } from "../numbers.js";
import type { View } from "../report.js";
import { plain } from "../words.js";

/** Findings of one rule shown in one turn before they are only counted. */
const sameRuleShown = 3;
const placesShown = 3;

export function* findingLines(
  findings: readonly Finding[],
  names: readonly string[],
  view: View,
  indent: string,
): Generator<string> {
  const seen = new Map<string, number>();
  for (const finding of findings) {
    const times = (seen.get(finding.rule) ?? 0) + 1;
    seen.set(finding.rule, times);
    if (view.all || times <= sameRuleShown) yield* one(finding, names, view, indent, lastShown(times, view));
  }
  for (const [rule, times] of seen) {
    if (view.all || times <= sameRuleShown) continue;
    yield `${indent}${view.paint.dim(`… and ${count(times - sameRuleShown)} more of ${terminal(rule)} (--all shows them)`)}`;
  }
}

/** The remedy of a rule is told once, at its first finding. */
function lastShown(times: number, view: View): boolean {
  return view.all || times === 1;
}

function* one(
  finding: Finding,
  names: readonly string[],
  view: View,
  indent: string,
  remedy: boolean,
): Generator<string> {
  const { paint } = view;
  const damaged = finding.evidence === "damaged" ? " (on damaged evidence)" : "";
  const head = `${finding.severity.padEnd(7)} ${terminal(finding.rule)}  `;
  const statement = terminal(plain(finding.statement, view.redactor)) + damaged;
  const room = view.width - indent.length;
  const hang = " ".repeat(8);
  const lines = wrap(head + statement, room - hang.length);
  yield indent + severityPaint(finding.severity, view)(lines[0]!);
  for (const line of lines.slice(1)) yield indent + hang + line;
  const places = placesText(finding, names);
  if (places !== "") for (const line of wrap(`at ${places}`, room - hang.length)) yield indent + hang + paint.dim(line);
  if (!remedy || finding.remedy === null) return;
  for (const [i, line] of wrap(`do: ${finding.remedy}`, room - hang.length - 4).entries()) {
    yield indent + hang + (i === 0 ? line : `    ${line}`);
  }
}

export function placesText(finding: Pick<Finding, "places">, names: readonly string[]): string {
  const shown = finding.places.slice(0, placesShown).map((place) => terminal(placeText(place, names)));
  const more = finding.places.length - shown.length;
  return shown.join(", ") + (more > 0 ? ` and ${count(more)} more` : "");
}

export function severityPaint(severity: Severity, view: View): (text: string) => string {
  return severity === "error" ? view.paint.bad : severity === "warning" ? view.paint.warn : view.paint.dim;
}
