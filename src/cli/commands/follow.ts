/** `analyze --follow`: turns as they happen, then what a report says at the end. */

import { CursorWireError } from "../../core/errors.js";
import { inputNames, placeText } from "../../core/place.js";
import { isExact, isKnown } from "../../core/time.js";
import type { Step, Turn } from "../../model/conversation.js";
import type { SessionEvent } from "../../model/dialect.js";
import { clip, padEnd, padStart } from "../../report/columns.js";
import { terminal } from "../../report/escape.js";
import { tally } from "../../report/findings/group.js";
import { findingLines } from "../../report/findings/lines.js";
import { outcomePaint } from "../../report/labels.js";
import { lackLines } from "../../report/lacks.js";
import { count, duration } from "../../report/numbers.js";
import type { View } from "../../report/report.js";
import { selects } from "../../report/select.js";
import { shortKind } from "../../report/timeline.js";
import { clock } from "../../report/times.js";
import { plain } from "../../report/words.js";
import type { Call } from "../call.js";
import { readCapture, reading } from "../capture.js";
import type { CheckSettings } from "../check-settings.js";
import { complain } from "../complain.js";
import { type Output, openOutput } from "../output.js";
import { redactorOf, selectionOf, viewOf } from "../view.js";

export async function follow(call: Call, settings: CheckSettings): Promise<number> {
  if (call.options.format !== "text") throw new CursorWireError("usage.follow", "--follow prints text only");
  if (selects(selectionOf(call))) {
    throw new CursorWireError(
      "usage.follow",
      "--follow prints every turn as it comes: it takes no selection but --kind",
    );
  }
  const from = await reading(call, call.args);
  const redactor = redactorOf(call);
  const view = viewOf(call, redactor);
  const output = openOutput(call.io, call.options.output, redactor, call.args);
  const names = inputNames(from.paths);
  const analysis = readCapture(call, from, redactor, {
    steps: true,
    live: true,
    checks: settings.checks,
    onEvent: (event) => {
      for (const line of eventLines(event, names, view)) output.write(`${line}\n`);
      output.flush();
    },
  });
  try {
    writeEnd(output, [
      `Findings  ${tally(analysis.findings)}`,
      ...findingLines(analysis.findings, analysis.inputNames, view, "  "),
      "",
      ...lackLines(analysis, view),
    ]);
    output.close();
    return complain(call, analysis, view, { diagnosticsShown: true });
  } finally {
    analysis.close();
  }
}

function writeEnd(output: Output, lines: readonly string[]): void {
  for (const line of lines) output.write(`${line}\n`);
}

function* eventLines(event: SessionEvent, names: readonly string[], view: View): Generator<string> {
  switch (event.kind) {
    case "step":
      if (view.kind(event.step.kind)) yield stepLine(event.title, event.step, names, view);
      return;
    case "turn-ended":
      yield turnLine(event.title, event.turn, view);
      return;
    case "frame":
      return;
  }
}

function stepLine(title: string, step: Step, names: readonly string[], view: View): string {
  const { paint, redactor } = view;
  const time = isKnown(step.when) ? clock(step.when).slice(11, 23) : "";
  const mark = time !== "" && !isExact(step.when) ? `>= ${time}` : time;
  const up = step.direction === "up";
  const times = step.count > 1 ? ` ×${count(step.count)}` : "";
  const pair =
    step.pair === null
      ? ""
      : `${step.pair.family} ${step.pair.id}${step.pair.result === null ? "" : ` ${step.pair.result}`} `;
  const says = terminal(redactor.scrub(pair) + plain(step.says, redactor));
  const lead = `${padStart(mark, 12)} ${up ? "↑" : "↓"} ${padEnd(clip(terminal(redactor.scrub(title)), 16), 16)} `;
  const what = `${padEnd(clip(terminal(shortKind(step.kind)) + times, 28), 28)} ${padStart(count(step.bytes), 9)}  `;
  const full = terminal(placeText(step.place, names));
  const place = names.length === 1 ? full.slice(full.lastIndexOf("#")) : full;
  const room = view.width - lead.length - what.length;
  const line = (up ? paint.up : paint.down)(lead) + what;
  const withPlace = room - place.length - 2;
  return withPlace >= 20
    ? `${line}${padEnd(clip(says, withPlace), withPlace)}  ${paint.dim(place)}`
    : (line + clip(says, room)).trimEnd();
}

function turnLine(title: string, turn: Turn, view: View): string {
  const took = turn.durationMs === null ? "" : ` in ${duration(turn.durationMs)}`;
  const open = turn.open.length > 0 ? `, ${count(turn.open.length)} unanswered` : "";
  const outcome = outcomePaint(turn.outcome, turn.outcome, view);
  return `${view.paint.strong(terminal(view.redactor.scrub(title)))} ${outcome}${took}, ${count(turn.messages)} messages${open}`;
}
