/** The timeline of one turn as fixed columns: time, direction, channel, kind, size, flag, what it says, where it is. */

import { placeText } from "../core/place.js";
import { isExact, isKnown, millisBetween } from "../core/time.js";
import type { Turn } from "../model/conversation.js";
import type { Analysis } from "../model/report.js";
import { clip, clipMiddle, padEnd, padStart, widthOf } from "./columns.js";
import { terminal } from "./escape.js";
import { foldSteps, type Row } from "./fold.js";
import { count, duration } from "./numbers.js";
import type { View } from "./report.js";
import { relativeTime } from "./times.js";
import { plain } from "./words.js";

interface Cells {
  readonly row: Row;
  readonly time: string;
  readonly channel: string;
  readonly kind: string;
  readonly size: string;
  readonly flag: string;
  readonly says: string;
  readonly place: string;
}

interface Widths {
  readonly time: number;
  readonly channel: number;
  readonly kind: number;
  readonly size: number;
  readonly flag: number;
  readonly says: number;
  /** 0: no room for places. */
  readonly place: number;
  /** "↑ BidiAppend, ↓ RunSSE", where the channels are told in the head line instead of a column. */
  readonly legend: string;
}

/** Rows shown of one turn before its middle is left out. */
const headRows = 60;
const tailRows = 40;

export function* timelineLines(turn: Turn, analysis: Analysis, view: View, indent: string): Generator<string> {
  const rows = foldSteps(turn.steps, view);
  if (rows.length === 0) return;
  const cut = view.all || rows.length <= headRows + tailRows + 1 ? rows.length : headRows;
  const head = rows.slice(0, cut).map((row) => cellsOf(row, turn, analysis, view));
  const tail = cut === rows.length ? [] : rows.slice(-tailRows).map((row) => cellsOf(row, turn, analysis, view));
  const widths = widthsFor([...head, ...tail], view.width - indent.length);
  yield indent + view.paint.dim(clip(titles(widths), view.width - indent.length));
  yield* block(head, widths, view, indent);
  if (tail.length > 0) {
    const left = rows.length - cut - tailRows;
    yield `${indent}${view.paint.dim(`… ${count(left)} more rows: --turn ${turn.index + 1} --all shows them`)}`;
    yield* block(tail, widths, view, indent);
  }
}

function* block(cells: readonly Cells[], widths: Widths, view: View, indent: string): Generator<string> {
  let previous = "";
  for (const cell of cells) {
    // A repeated interval is a block of steps whose order is known and whose times are not.
    const repeats = cell.time !== "" && cell.time === previous && !isExact(cell.row.first.when);
    previous = cell.time;
    yield indent + line(cell, repeats ? "┊" : cell.time, widths, view);
  }
}

function line(cell: Cells, time: string, widths: Widths, view: View): string {
  const { paint } = view;
  const up = cell.row.first.direction === "up";
  const arrow = up ? paint.up("↑") : paint.down("↓");
  const says = clip(cell.says, widths.says);
  const parts = [
    paint.dim(padStart(time, widths.time)),
    arrow,
    ...(widths.channel > 0 ? [padEnd(cell.channel, widths.channel)] : []),
    padEnd(clipMiddle(cell.kind, widths.kind), widths.kind),
    padStart(cell.size, widths.size),
    padEnd(cell.flag, widths.flag),
  ];
  const said = cell.row.bad ? paint.bad(says) : says;
  if (widths.place === 0 || cell.place === "") return `${parts.join(" ")} ${said}`.trimEnd();
  return `${parts.join(" ")} ${said}${" ".repeat(Math.max(0, widths.says - widthOf(says)))} ${paint.dim(cell.place)}`;
}

function titles(widths: Widths): string {
  const parts = [
    padStart("s", widths.time),
    " ",
    ...(widths.channel > 0 ? [padEnd("via", widths.channel)] : []),
    padEnd("what", widths.kind),
    padStart("bytes", widths.size),
    padEnd(widths.flag > 0 ? "fl" : "", widths.flag),
    padEnd("says", widths.place > 0 ? widths.says : 0),
  ];
  const legend = widths.legend === "" ? "" : ` (${widths.legend})`;
  return `${parts.join(" ")}${widths.place > 0 ? " place" : ""}${legend}`.trimEnd();
}

function cellsOf(row: Row, turn: Turn, analysis: Analysis, view: View): Cells {
  const { first } = row;
  return {
    row,
    time: relativeTime(first.when, turn),
    channel: terminal(first.channel),
    kind: terminal(row.count > 1 ? `${shortKind(row.kind)} ×${count(row.count)}` : shortKind(row.kind)),
    size: count(row.bytes),
    flag: first.flags > 0 ? String(first.flags) : "",
    says: terminal(saysOf(row, view)),
    place: placeOfRow(row, analysis),
  };
}

/**
 * The branch inside its envelope message ("exec_server_message.read_args"): direction and channel already tell the rest. Event names
 * ("turn.started") stay whole. `frames` prints all kinds in full.
 */
export function shortKind(kind: string): string {
  const at = kind.indexOf(".");
  const isEnvelope = at > 0 && at < kind.length - 1 && kind.slice(0, at).includes("_");
  return isEnvelope ? kind.slice(at + 1) : kind;
}

export function saysOf(row: Row, view: View): string {
  const parts: string[] = [];
  if (row.mark !== "") parts.push(view.redactor.scrub(row.mark));
  const said = withoutName(plain(row.says, view.redactor), row);
  if (said !== "") parts.push(said);
  if (row.chars > 0 && !said.includes(`${count(row.chars)} char`)) parts.push(`${count(row.chars)} chars`);
  const took = spread(row);
  if (row.count > 1 && took !== "") parts.push(took);
  return parts.join(" · ");
}

/** The mark in front has already named the pair: "kv 3 → ok · set system prompt", not "kv 3 → ok · kv 3 set system prompt". */
function withoutName(said: string, row: Row): string {
  const { pair } = row.first;
  if (pair === null || row.mark === "") return said;
  const name = `${pair.family} ${pair.id}`;
  return said === name ? "" : said.startsWith(`${name} `) ? said.slice(name.length + 1) : said;
}

/** How long a folded run took, where its times are exact. */
function spread(row: Row): string {
  const { when } = row.first;
  const { until } = row.last;
  if (!isKnown(when) || !isExact(when) || !isExact(until) || until.latest <= when.earliest) return "";
  const ms = millisBetween(when.earliest, until.latest);
  return ms === 0 ? "" : `over ${duration(ms)}`;
}

/** With one input its name is the same on every line, so `#7/response@5..90` is enough; `show` takes that too. */
export function placeOfRow(row: Row, analysis: Analysis): string {
  const place = row.first === row.last ? row.first.place : row.first.place.through(row.last.place);
  const text = terminal(placeText(place, analysis.inputNames));
  return analysis.inputNames.length === 1 ? text.slice(text.lastIndexOf("#")) : text;
}

/** On a narrow terminal one channel per direction needs no column; "" where a direction has several. */
function legendOf(cells: readonly Cells[]): string {
  const names = (direction: "up" | "down") =>
    new Set(cells.filter((cell) => cell.row.first.direction === direction).map((cell) => cell.channel));
  const [up, down] = [names("up"), names("down")];
  if (up.size > 1 || down.size > 1) return "";
  return [...[...up].map((name) => `↑ ${name}`), ...[...down].map((name) => `↓ ${name}`)].join(", ");
}

function widthsFor(cells: readonly Cells[], total: number): Widths {
  const widest = (of: (cell: Cells) => string, least: number, most: number) =>
    Math.min(most, Math.max(least, ...cells.map((cell) => widthOf(of(cell)))));
  const time = widest((cell) => cell.time, 5, 17);
  const legend = total < 100 ? legendOf(cells) : "";
  const channel = legend === "" ? widest((cell) => cell.channel, 3, total < 100 ? 10 : 12) : 0;
  const size = widest((cell) => cell.size, 5, 13);
  const flag = widest((cell) => cell.flag, 0, 3);
  const wantsKind = widest((cell) => cell.kind, 4, 60);
  const place = widest((cell) => cell.place, 0, 60);
  // Six columns in front of `says`, one space behind each, one arrow.
  const rest = total - (time + channel + size + flag + 1 + (channel > 0 ? 6 : 5));
  const wantsSays = widest((cell) => cell.says, 4, 200);
  const leastSays = Math.min(30, wantsSays);
  // With places as long as there is room to say something; a long kind gives way first.
  const kindBesidePlace = Math.min(wantsKind, rest - place - 1 - leastSays);
  if (place > 0 && kindBesidePlace >= Math.min(wantsKind, 20)) {
    return {
      time,
      channel,
      kind: kindBesidePlace,
      size,
      flag,
      says: rest - place - 1 - kindBesidePlace,
      place,
      legend,
    };
  }
  const kind = Math.min(wantsKind, Math.max(16, Math.floor(rest * (total < 100 ? 0.45 : 0.5))));
  return { time, channel, kind, size, flag, says: rest - kind, place: 0, legend };
}
