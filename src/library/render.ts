/** `render`: an analysis as the text that the command line prints. */
import { createRequire } from "node:module";
import type { Printable, Words } from "../core/printable.js";
import type { Analysis } from "../model/report.js";
import { blobListJson, blobListText } from "../report/blobs/list.js";
import { blobTreeJson, blobTreeMermaid, blobTreeText } from "../report/blobs/tree.js";
import { brief } from "../report/brief.js";
import { findingsGithub } from "../report/findings/github.js";
import { findingsJson } from "../report/findings/json.js";
import { findingsJunit } from "../report/findings/junit.js";
import { findingsSarif } from "../report/findings/sarif.js";
import { findingsText } from "../report/findings/text.js";
import { flowsJson, flowsText } from "../report/flows.js";
import type { Gate } from "../report/gate.js";
import { json } from "../report/json.js";
import { jsonText } from "../report/json-text.js";
import { markdownReport } from "../report/markdown.js";
import { gantt } from "../report/mermaid/gantt.js";
import { sequence } from "../report/mermaid/sequence.js";
import { state } from "../report/mermaid/state.js";
import { timelineDiagram } from "../report/mermaid/timeline.js";
import { noPaint } from "../report/paint.js";
import type { RedactLevel } from "../report/redact.js";
import type { Report, View } from "../report/report.js";
import { kindFilter } from "../report/select.js";
import { summary } from "../report/summary.js";
import { plain } from "../report/words.js";
import { redactorFor } from "./secrets.js";

/** A new report is a row. */
const reports = {
  text: summary,
  brief,
  json,
  markdown: markdownReport,
  sequence,
  gantt,
  timeline: timelineDiagram,
  state,
  findings: findingsText,
  "findings-json": findingsJson,
  junit: findingsJunit,
  sarif: findingsSarif,
  github: findingsGithub,
  blobs: blobListText,
  "blobs-json": blobListJson,
  "blob-tree": blobTreeText,
  "blob-tree-json": blobTreeJson,
  "blob-tree-mermaid": blobTreeMermaid,
  flows: flowsText,
  "flows-json": flowsJson,
} as const satisfies Readonly<Record<string, Report>>;

export type ReportName = keyof typeof reports;

export const reportNames = Object.keys(reports) as readonly ReportName[];

export interface RenderOptions {
  /** What is hidden. Default "secrets". */
  readonly redact?: RedactLevel;
  /** Columns of texts. Default 120. */
  readonly width?: number;
  /** Nothing is folded or left out. */
  readonly all?: boolean;
  /** Which message kinds timelines show: globs, separated by commas. */
  readonly kind?: string;
  /** In JSON, longer values become `{"$bytes": n}`. Default: none is too long. */
  readonly maxBody?: number;
  /** Verdict of `gate`: the findings reports then list what it calls fresh. */
  readonly gate?: Gate;
}

/** Throws CursorWireError `usage.analysis` for an analysis that this library did not make. */
export function render(analysis: Analysis, report: ReportName, options: RenderOptions = {}): string {
  return [...reports[report].render(analysis, viewOf([analysis], options))].join("");
}

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** A value of the model as plain JSON: places as printed, bytes as base64, 64-bit integers as text, secrets hidden. */
export function toJson(
  value: Printable,
  analysis: Analysis,
  options: Pick<RenderOptions, "redact" | "maxBody"> = {},
): JsonValue {
  const { redactor, maxBody } = viewOf([analysis], options);
  return JSON.parse(jsonText(value, { redactor, names: analysis.inputNames, maxBody })) as JsonValue;
}

/** A phrase of the model (the statement of a finding, what a step says) as text. Not escaped for terminals. */
export function toText(words: Words, analysis: Analysis, options: Pick<RenderOptions, "redact"> = {}): string {
  return plain(words, redactorFor([analysis], options.redact ?? "secrets"));
}

/** One width, no colour, no selection: what a report is given outside of a terminal. */
export function viewOf(analyses: readonly Analysis[], options: RenderOptions): View {
  return {
    width: options.width ?? 120,
    height: 24,
    paint: noPaint,
    redactor: redactorFor(analyses, options.redact ?? "secrets"),
    all: options.all ?? false,
    kind: kindFilter(options.kind),
    maxBody: options.maxBody ?? Number.POSITIVE_INFINITY,
    version: version(),
    selection: null,
    gate: options.gate ?? null,
  };
}

/** Of this package; src/library and dist/library lie equally deep. */
export function version(): string {
  return (createRequire(import.meta.url)("../../package.json") as { version: string }).version;
}
