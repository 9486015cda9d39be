/** `cursor-wire/analysis@1`. One array element per line, so that a large document is written in pieces and still diffs well. */
import type { DiagnosticRow } from "../core/diagnostic.js";
import type { Printable } from "../core/printable.js";
import { isKnown, isoTime, type When } from "../core/time.js";
import type { Finding, NotCheckable } from "../model/check.js";
import type { BlobRow } from "../model/conversation.js";
import type { Analysis } from "../model/report.js";
import { type JsonContext, jsonText } from "./json-text.js";
import type { Report, View } from "./report.js";
import { plain } from "./words.js";

export const analysisSchema = "cursor-wire/analysis@1";

export const json: Report = {
  name: "json",
  help: analysisSchema,
  *render(analysis, view) {
    const context = jsonContext(analysis, view);
    const turnNumber = new Map(analysis.turns.map((turn, index) => [turn, index]));
    yield* document(
      [
        ["schema", analysisSchema],
        ["tool", { name: "cursor-wire", version: view.version }],
        ["inputs", analysis.inputs.map((input) => ({ ...input }))],
        ["capture", captureJson(analysis)],
        [
          "conversations",
          analysis.conversations.map(({ dialect, id, turns }) => ({
            dialect,
            id,
            turns: turns.flatMap((turn) => turnNumber.get(turn) ?? []),
          })),
        ],
        ["turns", lazily(analysis.turns, (turn) => turn.json())],
        ["blobs", lazily(analysis.blobs?.rows ?? [], blobJson)],
        ...(analysis.blobs === null ? [] : [["blobTotals", { ...analysis.blobs.totals() }] as const]),
        ...extras(analysis),
        ["findings", lazily(analysis.findings, (finding) => findingJson(finding, view))],
        ["diagnostics", lazily(analysis.diagnostics, diagnosticJson)],
      ],
      context,
    );
  },
};

export type JsonMember = readonly [string, Printable | Iterable<Printable>];

/** Members in order; iterables (not arrays) are written element by element. */
export function* document(members: readonly JsonMember[], context: JsonContext): Generator<string> {
  yield "{\n";
  for (const [i, [key, value]] of members.entries()) {
    const comma = i === members.length - 1 ? "" : ",";
    if (isStream(value)) {
      let first = true;
      for (const item of value) {
        yield `${first ? `  ${JSON.stringify(key)}: [\n    ` : ",\n    "}${jsonText(item, context)}`;
        first = false;
      }
      yield first ? `  ${JSON.stringify(key)}: []${comma}\n` : `\n  ]${comma}\n`;
    } else yield `  ${JSON.stringify(key)}: ${jsonText(value, context)}${comma}\n`;
  }
  yield "}\n";
}

function isStream(value: Printable | Iterable<Printable>): value is Iterable<Printable> {
  return (
    typeof value === "object" &&
    value !== null &&
    Symbol.iterator in value &&
    !Array.isArray(value) &&
    !(value instanceof Uint8Array)
  );
}

export function lazily<T>(items: readonly T[], make: (item: T) => Printable): Iterable<Printable> {
  return {
    *[Symbol.iterator]() {
      for (const item of items) yield make(item);
    },
  };
}

export function jsonContext(analysis: Pick<Analysis, "inputNames">, view: View): JsonContext {
  return { redactor: view.redactor, names: analysis.inputNames, maxBody: view.maxBody };
}

export function isoOrNull(when: When): string | null {
  return isKnown(when) ? isoTime(when.earliest) : null;
}

function captureJson(analysis: Analysis): Printable {
  const { start, end, packets, flows, exchanges, messages } = analysis.capture;
  return {
    start: isoOrNull(start),
    end: isKnown(end) ? isoTime(end.latest) : null,
    packets,
    flows,
    exchanges,
    messages,
  };
}

export function blobJson(row: BlobRow): Printable {
  return {
    blobId: row.id,
    bytes: row.bytes,
    hash: row.hash,
    type: row.type,
    sources: row.sources.map((source) => ({ ...source })),
    referrers: row.referrers,
    timesSent: row.timesSent,
  };
}

/** Top-level keys of the dialects (`pi`, `kimi`): only where something was seen. */
function extras(analysis: Analysis): JsonMember[] {
  return analysis.results.flatMap((result) => Object.entries(result.extra));
}

export function findingJson(finding: Finding, view: View): Printable {
  return {
    rule: finding.rule,
    severity: finding.severity,
    statement: plain(finding.statement, view.redactor),
    remedy: finding.remedy,
    conversationId: finding.conversationId,
    requestId: finding.requestId,
    places: finding.places,
    evidence: finding.evidence,
    fingerprint: finding.fingerprint,
    detail: finding.detail,
  };
}

export function diagnosticJson(row: DiagnosticRow): Printable {
  return { code: row.code, severity: row.severity, count: row.count, places: row.places, detail: row.detail };
}

export function notCheckableJson(row: NotCheckable): Printable {
  return { rule: row.rule, why: row.why, turns: row.turns };
}
