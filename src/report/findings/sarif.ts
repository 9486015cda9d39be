/** `check --format sarif`: SARIF 2.1.0. A place is a location: the capture as artifact, the printed place as its name. */
import type { Severity } from "../../core/code-table.js";
import { type Place, placeText } from "../../core/place.js";
import type { Printable } from "../../core/printable.js";
import type { Finding, Rule } from "../../model/check.js";
import type { Analysis } from "../../model/report.js";
import type { Gate } from "../gate.js";
import { jsonContext, lazily } from "../json.js";
import { jsonText } from "../json-text.js";
import type { Report, View } from "../report.js";
import { plain } from "../words.js";

const schemaUri = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
const levels: Readonly<Record<Severity, string>> = { error: "error", warning: "warning", info: "note" };

export const findingsSarif: Report = {
  name: "sarif",
  help: "SARIF 2.1.0",
  *render(analysis, view) {
    const context = jsonContext(analysis, view);
    const rules = analysis.rules.filter((rule) => rule.class !== "permission");
    const index = new Map(rules.map((rule, i) => [rule.id, i]));
    const findings = view.gate === null ? analysis.findings : [...view.gate.fresh, ...view.gate.known];
    const head = { $schema: schemaUri, version: "2.1.0" };
    yield `${jsonText(head, context).slice(0, -1)},"runs":[{\n"tool":${jsonText(tool(rules, view), context)},\n`;
    yield `"artifacts":${jsonText(artifacts(analysis), context)},\n"columnKind":"utf16CodeUnits",\n"results":[`;
    let first = true;
    for (const result of lazily(findings, (finding) => resultOf(finding, analysis, view, index))) {
      yield `${first ? "\n" : ",\n"}${jsonText(result, context)}`;
      first = false;
    }
    yield "\n]}]}\n";
  },
};

function tool(rules: readonly Rule[], view: View): Printable {
  return {
    driver: {
      name: "cursor-wire",
      semanticVersion: view.version,
      rules: rules.map((rule) => ({
        id: rule.id,
        shortDescription: { text: rule.statement },
        fullDescription: { text: rule.why },
        help: { text: help(rule) },
        defaultConfiguration: { level: levels[rule.severity] },
        properties: { family: rule.family, class: rule.class, source: rule.source, needs: rule.needs },
      })),
    },
  };
}

function help(rule: Rule): string {
  const remedy = rule.remedy === null ? "" : `\nDo: ${rule.remedy}`;
  return `${rule.statement}\n${rule.why}\nGood: ${rule.good}\nBad: ${rule.bad}${remedy}`;
}

function artifacts(analysis: Analysis): Printable {
  return analysis.inputs.map((input) => ({
    location: { uri: uriOf(input.path) },
    ...(input.bytes > 0 ? { length: input.bytes } : {}),
    ...(input.sha256 === null ? {} : { hashes: { "sha-256": input.sha256 } }),
  }));
}

function resultOf(
  finding: Finding,
  analysis: Analysis,
  view: View,
  index: ReadonlyMap<string, number>,
): { [key: string]: Printable } {
  const ruleIndex = index.get(finding.rule);
  const damaged = finding.evidence === "damaged" ? " (on damaged evidence)" : "";
  return {
    ruleId: finding.rule,
    ...(ruleIndex === undefined ? {} : { ruleIndex }),
    level: levels[finding.severity],
    message: { text: `${plain(finding.statement, view.redactor)}${damaged}` },
    locations: finding.places.map((place) => locationOf(place, analysis)),
    partialFingerprints: { "cursorWire/v1": finding.fingerprint },
    ...baselineState(finding, view.gate),
    properties: {
      evidence: finding.evidence,
      conversationId: finding.conversationId,
      requestId: finding.requestId,
      detail: finding.detail,
      ...(finding.remedy === null ? {} : { remedy: finding.remedy }),
    },
  };
}

function baselineState(finding: Finding, gate: Gate | null): { [key: string]: Printable } {
  if (gate === null || gate.known.length + gate.gone.length === 0) return {};
  return { baselineState: gate.known.includes(finding) ? "unchanged" : "new" };
}

function locationOf(place: Place, analysis: Analysis): Printable {
  const text = placeText(place, analysis.inputNames);
  const path = analysis.inputs[place.input]?.path ?? "";
  return {
    physicalLocation: { artifactLocation: { uri: uriOf(path), index: place.input } },
    logicalLocations: [{ fullyQualifiedName: text, kind: "resource" }],
    message: { text },
  };
}

/** A relative or file URI of a path as given. */
export function uriOf(path: string): string {
  const slashes = path.replace(/\\/g, "/");
  const encoded = slashes.split("/").map(encodeSegment).join("/");
  return slashes.startsWith("/") ? `file://${encoded}` : encoded.replace(/^([^/]*):/, "$1%3A");
}

function encodeSegment(segment: string): string {
  // Lone surrogates in a name would make encodeURIComponent throw.
  return encodeURIComponent(segment.replace(/[\ud800-\udfff]/gu, "\ufffd"));
}
