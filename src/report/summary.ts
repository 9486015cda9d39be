/** `analyze` as text: inputs, table of turns, one block per turn, blobs, findings, and what the capture lacks. */
import type { Finding } from "../model/check.js";
import type { Turn } from "../model/conversation.js";
import type { Analysis } from "../model/report.js";
import { blobTotals } from "./blobs/totals.js";
import { wrap } from "./columns.js";
import { terminal } from "./escape.js";
import { findingsByTurn, tally } from "./findings/group.js";
import { findingLines } from "./findings/lines.js";
import { headerLines } from "./header.js";
import { conversationLabel } from "./labels.js";
import { lackLines } from "./lacks.js";
import { count, many } from "./numbers.js";
import type { Report, View } from "./report.js";
import { turnBlock } from "./turn-block.js";
import { isTroubled } from "./turn-ranges.js";
import { turnTable } from "./turn-table.js";
import { plain } from "./words.js";

/** Turns told in full before the rest is left to the table. */
const blockLimit = 12;
const notesShown = 40;

export const summary: Report = {
  name: "text",
  help: "everything at a glance",
  *render(analysis, view) {
    for (const line of lines(analysis, view)) yield `${line}\n`;
  },
};

function* lines(analysis: Analysis, view: View): Generator<string> {
  yield* headerLines(analysis, view);
  if (view.selection !== null) {
    yield `showing ${count(analysis.turns.length)} of ${count(view.selection.of)} turns, as selected`;
  }
  yield "";
  if (analysis.turns.length > 0) {
    yield* turnTable(analysis, view);
    yield "";
    yield* turnBlocks(analysis, view);
  }
  yield* noteLines(analysis, view);
  if (analysis.blobs !== null && analysis.blobs.rows.length > 0) {
    for (const [i, line] of wrap(blobTotals(analysis.blobs), view.width - 7).entries())
      yield (i === 0 ? `${view.paint.strong("Blobs")}  ` : "       ") + line;
    yield "";
  }
  yield* findingSummary(analysis, view);
  yield* lackLines(analysis, view);
}

function* turnBlocks(analysis: Analysis, view: View): Generator<string> {
  const byTurn = findingsByTurn(analysis.findings);
  const told = toldTurns(analysis, byTurn, view);
  const several = analysis.conversations.length > 1;
  let conversation: string | null | undefined;
  for (const turn of analysis.turns) {
    if (!told.has(turn)) continue;
    if (turn.conversationId !== conversation || conversation === undefined) {
      conversation = turn.conversationId;
      const label = conversationLabel(conversation, analysis);
      const short = several && label !== conversation ? ` (${terminal(label)})` : "";
      yield view.paint.strong(
        `Conversation ${conversation === null ? "of unknown id" : terminal(conversation)}${short}`,
      );
      yield "";
    }
    yield* turnBlock(turn, byTurn.get(turn) ?? [], analysis, view);
  }
  const left = analysis.turns.length - told.size;
  if (left > 0) {
    yield view.paint.dim(
      `${count(left)} turns are not told here: --turn N, --last N, --conversation ID or --all shows them`,
    );
    yield "";
  }
}

/** All of a short capture; of a long one those that went wrong, and the last. */
function toldTurns(
  analysis: Analysis,
  byTurn: ReadonlyMap<Turn | null, readonly Finding[]>,
  view: View,
): ReadonlySet<Turn> {
  const { turns } = analysis;
  if (view.all || view.selection !== null || turns.length <= blockLimit) return new Set(turns);
  const told = new Set<Turn>(turns.slice(-2));
  for (const turn of turns) {
    if (told.size >= blockLimit / 2) break;
    if (isTroubled(turn, byTurn.get(turn) ?? [])) told.add(turn);
  }
  return told;
}

/** What belongs to no turn: REST calls, handshakes, RPC. */
function* noteLines(analysis: Analysis, view: View): Generator<string> {
  for (const result of analysis.results) {
    if (result.notes.length === 0) continue;
    yield view.paint.strong(`${terminal(result.dialect)}, outside turns`);
    const shown = view.all ? result.notes : result.notes.slice(0, notesShown);
    for (const note of shown) {
      const [first, ...rest] = wrap(terminal(plain(note, view.redactor)), view.width - 4);
      yield `  ${first}`;
      for (const line of rest) yield `    ${line}`;
    }
    const left = result.notes.length - shown.length;
    if (left > 0) yield `  ${view.paint.dim(`… ${count(left)} more (--all shows them)`)}`;
    yield "";
  }
}

function* findingSummary(analysis: Analysis, view: View): Generator<string> {
  const { findings, notCheckable } = analysis;
  const outside = findings.filter((finding) => finding.turn === null);
  const rules = new Set(notCheckable.map((row) => row.rule)).size;
  const unchecked =
    rules > 0 ? `; ${many(rules, "rule")} could not be checked everywhere (cursor-wire check says why)` : "";
  if (findings.length === 0 && unchecked === "") return;
  const lines = wrap(`Findings  ${tally(findings)}${unchecked}`, view.width);
  yield lines[0]!.replace("Findings", view.paint.strong("Findings"));
  for (const line of lines.slice(1)) yield `          ${line}`;
  yield* findingLines(outside, analysis.inputNames, view, "  ");
  yield "";
}
