/** The table of turns: one row each; in a long capture the uneventful middle is folded into ranges. */
import Table from "cli-table3";
import { isKnown, isoTime } from "../core/time.js";
import type { Finding } from "../model/check.js";
import type { Turn } from "../model/conversation.js";
import type { Analysis } from "../model/report.js";
import { clip, clipMiddle, widthOf } from "./columns.js";
import { terminal } from "./escape.js";
import { countBy, findingsByTurn } from "./findings/group.js";
import { conversationLabel, outcomePaint } from "./labels.js";
import { count, duration } from "./numbers.js";
import type { View } from "./report.js";
import { type TurnRange, tellingTurns, turnRanges } from "./turn-ranges.js";

/** cli-table3 is slow above a few hundred rows, and nobody reads them. */
const rowLimit = 40;

const noBorders = {
  top: "",
  "top-mid": "",
  "top-left": "",
  "top-right": "",
  bottom: "",
  "bottom-mid": "",
  "bottom-left": "",
  "bottom-right": "",
  left: "",
  "left-mid": "",
  mid: "",
  "mid-mid": "",
  right: "",
  "right-mid": "",
  middle: "  ",
} as const;

interface Column {
  readonly title: string;
  /** Columns of a higher rank go first where the width does not suffice. */
  readonly rank: number;
  readonly right?: boolean;
  readonly most?: number;
  cell(turn: Turn, found: readonly Finding[]): string;
}

export function* turnTable(analysis: Analysis, view: View): Generator<string> {
  const byTurn = findingsByTurn(analysis.findings);
  const keep = view.all ? null : tellingTurns(analysis.turns, byTurn, rowLimit);
  const ranges = turnRanges(analysis.turns, keep);
  const shown = ranges.flatMap((range) => (range.folded ? [] : range.turns));
  const columns = fitColumns(columnsFor(analysis), shown, byTurn, view);
  const table = new Table({
    head: columns.map((column) => view.paint.dim(column.title)),
    chars: noBorders,
    style: { head: [], border: [], "padding-left": 0, "padding-right": 0 },
    colAligns: columns.map((column) => (column.right ? "right" : "left")),
  });
  for (const range of ranges) {
    if (range.folded) table.push([{ colSpan: columns.length, content: view.paint.dim(rangeText(range)) }]);
    else for (const turn of range.turns) table.push(rowOf(turn, columns, byTurn.get(turn) ?? [], view));
  }
  for (const line of table.toString().split("\n")) yield line.trimEnd();
}

export function rangeText(range: TurnRange): string {
  const outcomes = new Map<string, number>();
  for (const turn of range.turns) outcomes.set(turn.outcome, (outcomes.get(turn.outcome) ?? 0) + 1);
  const parts = [...outcomes].sort((a, b) => b[1] - a[1]).map(([outcome, n]) => `${count(n)} ${outcome}`);
  return `… ${count(range.turns.length)} more turns: ${parts.join(", ")}`;
}

function rowOf(turn: Turn, columns: readonly Column[], found: readonly Finding[], view: View): string[] {
  return columns.map((column) => {
    const text = cellText(column, turn, found, view);
    if (column.title === "outcome") return outcomePaint(turn.outcome, text, view);
    if (column.title === "findings" && found.some((finding) => finding.severity === "error"))
      return view.paint.bad(text);
    return text;
  });
}

function cellText(column: Column, turn: Turn, found: readonly Finding[], view: View): string {
  const raw = column.cell(turn, found);
  const safe = column.title === "asked" && raw !== "" ? view.redactor.content(raw) : view.redactor.scrub(raw);
  const text = terminal(safe);
  if (column.most === undefined) return text;
  return column.title === "conversation" ? clipMiddle(text, column.most) : clip(text, column.most);
}

function columnsFor(analysis: Analysis): Column[] {
  const several = analysis.conversations.length > 1;
  const columns: (Column | false)[] = [
    several && {
      title: "conversation",
      rank: 2,
      most: 24,
      cell: (turn) => conversationLabel(turn.conversationId, analysis),
    },
    { title: "turn", rank: 0, right: true, cell: (turn) => String(turn.index + 1) },
    { title: "start", rank: 4, cell: startClock },
    {
      title: "took",
      rank: 1,
      right: true,
      cell: (turn) => (turn.durationMs === null ? "" : duration(turn.durationMs)),
    },
    { title: "outcome", rank: 0, cell: (turn) => turn.outcome + (turn.error === null ? "" : ` (${turn.error.code})`) },
    { title: "model", rank: 5, most: 20, cell: (turn) => turn.model ?? "" },
    { title: "messages", rank: 3, right: true, cell: (turn) => count(turn.messages) },
    { title: "bytes up", rank: 7, right: true, cell: (turn) => count(turn.upBytes) },
    { title: "bytes down", rank: 6, right: true, cell: (turn) => count(turn.downBytes) },
    { title: "findings", rank: 1, cell: (_, found) => findingsCell(found) },
    { title: "asked", rank: 3, cell: (turn) => turn.prompt ?? turn.action ?? "" },
  ];
  return columns.filter((column): column is Column => column !== false);
}

/** Drops the least important columns until the rest fits; the prompt takes what is left. */
function fitColumns(
  all: readonly Column[],
  turns: readonly Turn[],
  byTurn: ReadonlyMap<Turn | null, readonly Finding[]>,
  view: View,
): Column[] {
  const widths = new Map<Column, number>();
  for (const column of all) {
    if (column.title === "asked") continue;
    const cells = turns.map((turn) => widthOf(cellText(column, turn, byTurn.get(turn) ?? [], view)));
    widths.set(column, Math.max(column.title.length, ...cells));
  }
  let columns = all.filter(
    (column) => column.title === "asked" || turns.some((turn) => column.cell(turn, byTurn.get(turn) ?? []) !== ""),
  );
  const asked = all.find((column) => column.title === "asked")!;
  for (;;) {
    const used = columns.reduce((sum, column) => sum + (widths.get(column) ?? 0) + 2, 0);
    const left = view.width - used;
    if (left >= 20) return columns.map((column) => (column === asked ? { ...asked, most: left } : column));
    const worst = columns.filter((column) => column !== asked && column.rank > 0);
    if (worst.length === 0) return columns.filter((column) => column !== asked);
    const drop = worst.reduce((a, b) => (b.rank > a.rank ? b : a));
    columns = columns.filter((column) => column !== drop);
  }
}

export function findingsCell(found: readonly Finding[]): string {
  const { error, warning } = countBy(found);
  const parts = [error > 0 ? `${error} error${error > 1 ? "s" : ""}` : "", warning > 0 ? `${warning} warn` : ""];
  return parts.filter((part) => part !== "").join(", ");
}

/** "22:06:08.123" */
export function startClock(turn: Turn): string {
  if (!isKnown(turn.start)) return "";
  const text = isoTime(turn.start.earliest).slice(11, -1);
  return text.length > 12 ? text.slice(0, 12) : text;
}
