/** `analyze --format markdown`: the same story for an issue or a review, with a sequence diagram. */
import { diagnosticText } from "../core/diagnostic.js";
import { placeText } from "../core/place.js";
import type { Finding } from "../model/check.js";
import type { Turn } from "../model/conversation.js";
import type { Analysis } from "../model/report.js";
import { blobTotals } from "./blobs/totals.js";
import { clip } from "./columns.js";
import { markdown, markdownCode } from "./escape.js";
import { findingsByTurn, tally } from "./findings/group.js";
import { foldSteps, type Row } from "./fold.js";
import { captureFacts, talkFacts } from "./header.js";
import { turnLabel } from "./labels.js";
import { sequence } from "./mermaid/sequence.js";
import { byteCount, count, duration, many } from "./numbers.js";
import type { Report, View } from "./report.js";
import { placeOfRow, saysOf, shortKind } from "./timeline.js";
import { relativeTime } from "./times.js";
import { tellingTurns, turnRanges } from "./turn-ranges.js";
import { rangeText } from "./turn-table.js";
import { plain } from "./words.js";

const rowsShown = 40;
const textShown = 1000;
const tableRows = 60;
const blocksShown = 12;

export const markdownReport: Report = {
  name: "markdown",
  help: "for an issue or a review",
  *render(analysis, view) {
    for (const line of lines(analysis, view)) yield `${line}\n`;
  },
};

function* lines(analysis: Analysis, view: View): Generator<string> {
  const names = analysis.inputs.map((input) => markdownCode(input.path)).join(" + ");
  yield `# ${names}`;
  yield "";
  yield `${markdown(captureFacts(analysis))}  `;
  yield markdown(talkFacts(analysis));
  yield "";
  const byTurn = findingsByTurn(analysis.findings);
  if (analysis.turns.length > 0) {
    yield* turnTable(analysis, byTurn, view);
    yield "```mermaid";
    yield [...sequence.render(analysis, view)].join("").trimEnd();
    yield "```";
    yield "";
  }
  const told = view.all || view.selection !== null ? analysis.turns : analysis.turns.slice(0, blocksShown);
  for (const turn of told) yield* turnSection(turn, byTurn.get(turn) ?? [], analysis, view);
  if (told.length < analysis.turns.length) {
    yield `${many(analysis.turns.length - told.length, "more turn")} left out (\`--turn\`, \`--last\` or \`--all\` show them).`;
    yield "";
  }
  yield* notes(analysis, view);
  if (analysis.blobs !== null && analysis.blobs.rows.length > 0) {
    yield `**Blobs:** ${markdown(blobTotals(analysis.blobs))}`;
    yield "";
  }
  yield `## Findings: ${tally(analysis.findings)}`;
  yield "";
  const outside = byTurn.get(null) ?? [];
  for (const finding of outside) yield findingLine(finding, analysis, view);
  if (outside.length > 0) yield "";
  yield* lacks(analysis, view);
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

function* turnTable(
  analysis: Analysis,
  byTurn: ReadonlyMap<Turn | null, readonly Finding[]>,
  view: View,
): Generator<string> {
  const keep = view.all ? null : tellingTurns(analysis.turns, byTurn, tableRows);
  yield row(["turn", "outcome", "took", "model", "messages", "findings", "asked"]);
  yield "|---|---|---:|---|---:|---|---|";
  for (const range of turnRanges(analysis.turns, keep)) {
    if (range.folded) yield row([markdown(rangeText(range)), "", "", "", "", "", ""]);
    else for (const turn of range.turns) yield turnRow(turn, byTurn.get(turn) ?? [], analysis, view);
  }
  yield "";
}

function turnRow(turn: Turn, found: readonly Finding[], analysis: Analysis, view: View): string {
  const asked = turn.prompt === null ? (turn.action ?? "") : clip(view.redactor.content(turn.prompt), 120);
  const cells = [
    turnLabel(turn, analysis),
    turn.outcome,
    turn.durationMs === null ? "" : duration(turn.durationMs),
    turn.model ?? "",
    count(turn.messages),
    found.length === 0 ? "" : tally(found),
    asked,
  ];
  return row(cells.map((cell) => markdown(view.redactor.scrub(cell))));
}

function* turnSection(turn: Turn, found: readonly Finding[], analysis: Analysis, view: View): Generator<string> {
  const took = turn.durationMs === null ? "" : ` in ${duration(turn.durationMs)}`;
  yield `## ${markdown(turnLabel(turn, analysis))}: ${turn.outcome}${took}`;
  yield "";
  const facts = [
    turn.requestId === null ? "" : `request ${markdownCode(turn.requestId)}`,
    markdown(`${turn.transport}${turn.http === null ? "" : ` over HTTP/${turn.http}`}`),
    markdown(`${byteCount(turn.upBytes)} up, ${byteCount(turn.downBytes)} down`),
    ...turn.facts.map((fact) => markdown(plain(fact, view.redactor))),
    turn.error === null ? "" : `error ${markdown(`${turn.error.code}: ${turn.error.message}`)}`,
  ];
  yield facts.filter((fact) => fact !== "").join(" · ");
  yield "";
  yield* quoted("asks", turn.prompt ?? "", view);
  yield* timeline(turn, analysis, view);
  yield* quoted("answers", turn.text, view);
  for (const item of turn.open) {
    const what = view.redactor.scrub(`${item.family} ${item.id} ${item.what}`);
    yield `- never answered: ${markdown(what)} at ${markdownCode(placeText(item.place, analysis.inputNames))}`;
  }
  for (const finding of found) yield findingLine(finding, analysis, view);
  if (turn.open.length + found.length > 0) yield "";
}

function* timeline(turn: Turn, analysis: Analysis, view: View): Generator<string> {
  const rows = foldSteps(turn.steps, view);
  if (rows.length === 0) return;
  yield row(["s", "", "via", "what", "bytes", "says", "place"]);
  yield "|---:|---|---|---|---:|---|---|";
  const shown = view.all ? rows : rows.slice(0, rowsShown);
  for (const item of shown) yield timelineRow(item, turn, analysis, view);
  if (shown.length < rows.length)
    yield row(["", "", "", `… ${many(rows.length - shown.length, "more row")}`, "", "", ""]);
  yield "";
}

function timelineRow(item: Row, turn: Turn, analysis: Analysis, view: View): string {
  const times = item.count > 1 ? ` ×${count(item.count)}` : "";
  return row([
    markdown(relativeTime(item.first.when, turn)),
    item.first.direction === "up" ? "↑" : "↓",
    markdown(item.first.channel),
    markdown(shortKind(item.kind) + times),
    count(item.bytes),
    markdown(clip(saysOf(item, view), 160)),
    markdownCode(placeOfRow(item, analysis)),
  ]);
}

function* quoted(name: string, text: string, view: View): Generator<string> {
  if (text === "") return;
  const shown = view.redactor.content(text);
  const cut = view.all || shown.length <= textShown ? shown : `${shown.slice(0, textShown)}…`;
  yield `> **${name}** ${cut.split(/\r?\n/).map(markdown).join("  \n> ")}`;
  yield "";
}

function findingLine(finding: Finding, analysis: Analysis, view: View): string {
  const places = finding.places.slice(0, 3).map((place) => markdownCode(placeText(place, analysis.inputNames)));
  const damaged = finding.evidence === "damaged" ? " (on damaged evidence)" : "";
  const at = places.length === 0 ? "" : ` at ${places.join(", ")}`;
  const remedy = finding.remedy === null ? "" : ` — ${markdown(finding.remedy)}`;
  return `- **${finding.severity} ${markdown(finding.rule)}** ${markdown(plain(finding.statement, view.redactor))}${damaged}${at}${remedy}`;
}

function* notes(analysis: Analysis, view: View): Generator<string> {
  for (const result of analysis.results) {
    if (result.notes.length === 0) continue;
    yield `## ${markdown(result.dialect)}, outside turns`;
    yield "";
    const shown = view.all ? result.notes : result.notes.slice(0, rowsShown);
    for (const note of shown) yield `- ${markdown(plain(note, view.redactor))}`;
    if (shown.length < result.notes.length) yield `- … ${many(result.notes.length - shown.length, "more line")}`;
    yield "";
  }
}

function* lacks(analysis: Analysis, view: View): Generator<string> {
  if (analysis.diagnostics.length === 0) return;
  yield "## What the capture lacks, and how it was read";
  yield "";
  for (const item of analysis.diagnostics) {
    const sentence = markdown(view.redactor.scrub(diagnosticText(item.code, item.detail)));
    const times = item.count > 1 ? ` (${count(item.count)} times)` : "";
    const places = item.places.slice(0, 3).map((place) => markdownCode(placeText(place, analysis.inputNames)));
    yield `- ${item.severity} ${markdownCode(item.code)}${times} ${sentence}${places.length > 0 ? ` at ${places.join(", ")}` : ""}`;
  }
  yield "";
}
