/** `check --format json`: findings, what was not checkable, and the gate's verdict. */
import { diagnosticJson, document, findingJson, jsonContext, lazily, notCheckableJson } from "../json.js";
import type { Report } from "../report.js";

export const checkSchema = "cursor-wire/check@1";

export const findingsJson: Report = {
  name: "json",
  help: checkSchema,
  *render(analysis, view) {
    const { gate } = view;
    yield* document(
      [
        ["schema", checkSchema],
        ["tool", { name: "cursor-wire", version: view.version }],
        ["inputs", analysis.inputs.map((input) => ({ ...input }))],
        ["passed", gate === null ? null : !gate.failed],
        ["why", gate?.why ?? null],
        ["turns", analysis.turns.length],
        ["findings", lazily(gate?.fresh ?? analysis.findings, (finding) => findingJson(finding, view))],
        ["baselined", lazily(gate?.known ?? [], (finding) => finding.fingerprint)],
        ["gone", gate?.gone ?? []],
        ["notCheckable", lazily(analysis.notCheckable, notCheckableJson)],
        ["held", Object.fromEntries([...analysis.held].map(([rule, turns]) => [rule, turns.length]))],
        ["diagnostics", lazily(analysis.diagnostics, diagnosticJson)],
      ],
      jsonContext(analysis, view),
    );
  },
};
