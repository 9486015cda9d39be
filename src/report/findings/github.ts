/** `check --format github`: workflow commands, one annotation per finding. */
import type { Finding } from "../../model/check.js";
import { githubData, githubProperty } from "../escape.js";
import type { Report, View } from "../report.js";
import { plain } from "../words.js";
import { tally } from "./group.js";
import { placesText } from "./lines.js";

/** GitHub shows ten annotations of a kind per step; the rest would only fill the log. */
const annotationLimit = 50;

export const findingsGithub: Report = {
  name: "github",
  help: "GitHub workflow commands",
  *render(analysis, view) {
    const findings = view.gate?.fresh ?? analysis.findings;
    for (const finding of findings.slice(0, annotationLimit)) yield annotation(finding, analysis.inputNames, view);
    const left = findings.length - annotationLimit;
    if (left > 0) yield `::notice title=cursor-wire::${left} more findings are not annotated\n`;
    const why = view.gate === null ? `found ${tally(findings)}` : view.gate.why;
    yield `${view.gate?.failed ? "::error" : "::notice"} title=cursor-wire::${githubData(why)}\n`;
  },
};

const commands = { error: "error", warning: "warning", info: "notice" } as const;

function annotation(finding: Finding, names: readonly string[], view: View): string {
  const damaged = finding.evidence === "damaged" ? " (on damaged evidence)" : "";
  const places = placesText(finding, names);
  const at = places === "" ? "" : ` at ${places}`;
  const remedy = finding.remedy === null ? "" : `. ${finding.remedy}`;
  const text = `${plain(finding.statement, view.redactor)}${damaged}${at}${remedy}`;
  return `::${commands[finding.severity]} title=${githubProperty(finding.rule)}::${githubData(text)}\n`;
}
