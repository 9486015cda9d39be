/** Everything about one turn: its head, timeline, text, what stayed open, findings. */
import { placeText } from "../core/place.js";
import { isKnown } from "../core/time.js";
import type { Finding } from "../model/check.js";
import type { Turn, Usage } from "../model/conversation.js";
import type { Analysis } from "../model/report.js";
import { wrap } from "./columns.js";
import { terminal } from "./escape.js";
import { findingLines } from "./findings/lines.js";
import { outcomePaint, turnLabel } from "./labels.js";
import { byteCount, count, duration, many } from "./numbers.js";
import type { View } from "./report.js";
import { timelineLines } from "./timeline.js";
import { clock, isRelative } from "./times.js";
import { plain } from "./words.js";

const indent = "  ";
/** Lines of prompt or answer shown before the rest is counted. */
const textLines = 6;
const openShown = 8;

export function* turnBlock(turn: Turn, found: readonly Finding[], analysis: Analysis, view: View): Generator<string> {
  yield* titleLines(turn, analysis, view);
  for (const line of factLines(turn, view)) yield indent + line;
  if (turn.prompt !== null) yield* textBlock("asks", turn.prompt, view);
  yield* timelineLines(turn, analysis, view, indent);
  if (turn.thinking !== "") yield* textBlock("thinks", turn.thinking, view, view.all ? textLines : 1);
  if (turn.text !== "") yield* textBlock("answers", turn.text, view);
  yield* openLines(turn, analysis, view);
  yield* findingLines(found, analysis.inputNames, view, indent);
  yield "";
}

function* titleLines(turn: Turn, analysis: Analysis, view: View): Generator<string> {
  const { paint, redactor } = view;
  const took = turn.durationMs === null ? "" : ` in ${duration(turn.durationMs)}`;
  const error =
    turn.error === null ? "" : `: ${turn.error.code}${turn.error.message === "" ? "" : ` "${turn.error.message}"`}`;
  const action = turn.action === null ? "" : `${terminal(turn.action)} `;
  const named = turn.outcome === "unknown" ? "outcome unknown" : turn.outcome;
  const outcome = terminal(redactor.scrub(`${named}${took}${error}`));
  const lines = wrap(`${turnLabel(turn, analysis)}  ${action}${outcome}`, view.width);
  const title = lines[0]!.replace(turn.outcome, outcomePaint(turn.outcome, turn.outcome, view));
  yield paint.strong(title);
  for (const line of lines.slice(1)) yield indent + line;
}

function factLines(turn: Turn, view: View): string[] {
  const { redactor } = view;
  const http = turn.http === null ? "" : ` over HTTP/${turn.http}`;
  const facts = turn.facts.map((fact) => plain(fact, redactor));
  const parts = [
    turn.requestId === null ? "" : `request ${turn.requestId}`,
    turn.dialect,
    `${turn.transport}${http}`,
    turn.client !== null && !facts.some((fact) => fact.includes(turn.client!)) ? turn.client : "",
    turn.model === null ? "" : `model ${turn.model}`,
    isKnown(turn.start) ? `starts ${isRelative(turn.start) ? clock(turn.start).slice(11, -1) : clock(turn.start)}` : "",
    turn.retryOf === null ? "" : `attempt ${turn.attempt + 1}, repeats ${turn.retryOf}`,
    turn.parentRequestId === null ? "" : `subagent of ${turn.parentRequestId}`,
    `${byteCount(turn.upBytes)} up, ${byteCount(turn.downBytes)} down`,
    usageText(turn.usage),
    ...facts,
    facts.some((fact) => fact.startsWith("lost:")) ? "" : lossText(turn),
    turn.recovered.length === 0 ? "" : `bytes won back whole: ${turn.recovered.join(", ")}`,
  ];
  const shown = parts.filter((fact) => fact !== "").map((fact) => terminal(redactor.scrub(fact)));
  return joinFitting(shown, " · ", view.width - indent.length).map((line) => view.paint.dim(line));
}

/** Joins with a separator and breaks only between parts where that is possible. */
export function joinFitting(parts: readonly string[], separator: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const part of parts) {
    const longer = line === "" ? part : line + separator + part;
    if (longer.length <= width || line === "") line = longer;
    else {
      lines.push(line);
      line = part;
    }
  }
  if (line !== "") lines.push(line);
  return lines.flatMap((item) => (item.length <= width ? [item] : wrap(item, width)));
}

export function usageText(usage: Usage | null): string {
  if (usage === null) return "";
  const parts = [
    usage.inputTokens === null ? "" : `${count(usage.inputTokens)} in`,
    usage.outputTokens === null ? "" : `${count(usage.outputTokens)} out`,
    usage.cacheReadTokens === null ? "" : `${count(usage.cacheReadTokens)} from cache`,
    usage.cacheWriteTokens === null ? "" : `${count(usage.cacheWriteTokens)} to cache`,
  ].filter((part) => part !== "");
  return parts.length === 0 ? "" : `tokens: ${parts.join(", ")}`;
}

function lossText(turn: Turn): string {
  if (turn.loss.length === 0) return "";
  const parts = turn.loss.map((loss) => `${loss.direction === "up" ? "uplink" : "downlink"} ${loss.why}`);
  return `lost: ${[...new Set(parts)].join(", ")}`;
}

function* textBlock(name: string, text: string, view: View, most = textLines): Generator<string> {
  const shown = view.redactor.content(text);
  const label = name.padEnd(8);
  const room = view.width - indent.length - label.length;
  // Enough for the lines shown; the whole of a long answer is in the JSON.
  const head = view.all ? shown : shown.slice(0, room * (most + 1));
  const lines = head.split(/\r?\n/).flatMap((line) => wrap(terminal(line), room));
  const cut = view.all ? lines : lines.slice(0, most);
  for (const [i, line] of cut.entries()) {
    yield `${indent}${i === 0 ? view.paint.name(label) : " ".repeat(label.length)}${line}`.trimEnd();
  }
  if (cut.length < lines.length || head.length < shown.length) {
    yield `${indent}${" ".repeat(label.length)}${view.paint.dim(`… ${many(text.length, "character")} in all`)}`;
  }
}

function* openLines(turn: Turn, analysis: Analysis, view: View): Generator<string> {
  for (const item of turn.open.slice(0, openShown)) {
    const what = terminal(view.redactor.scrub(`${item.family} ${item.id} ${item.what}`));
    const place = terminal(placeText(item.place, analysis.inputNames));
    for (const [i, line] of wrap(`${what}, never answered at ${place}`, view.width - 10).entries())
      yield `${indent}${i === 0 ? view.paint.warn("open    ") : "        "}${line}`;
  }
  if (turn.open.length > openShown) yield `${indent}open    … and ${count(turn.open.length - openShown)} more`;
}
