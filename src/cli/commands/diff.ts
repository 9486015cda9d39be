/** `diff A B`. */
import { CursorWireError } from "../../core/errors.js";
import { diffTalks } from "../../diff/index.js";
import { type Talk, TalkLog } from "../../diff/talk.js";
import type { Analysis } from "../../model/report.js";
import type { OpenAnalysis } from "../../pipeline.js";
import { diffJson, diffText } from "../../report/diff.js";
import type { Redactor } from "../../report/redact.js";
import { selectTurns } from "../../report/select.js";
import { type Call, exitCodes } from "../call.js";
import { readCapture, reading } from "../capture.js";
import { complain, nothingRead } from "../complain.js";
import { openOutput } from "../output.js";
import { redactorOf, selectionOf, viewOf } from "../view.js";

interface Side {
  readonly whole: OpenAnalysis;
  readonly analysis: Analysis;
  readonly talks: readonly (readonly Talk[])[];
}

export async function run(call: Call): Promise<number> {
  if (call.options.raw !== undefined)
    throw new CursorWireError("usage.raw", "diff compares two captures: --raw gives one");
  const redactor = redactorOf(call);
  const a = await side(call, call.args[0]!, redactor);
  const b = await side(call, call.args[1]!, redactor);
  const view = viewOf(call, redactor);
  const codes = [a, b].map(({ whole }) => complain(call, whole, view, { diagnosticsShown: false }));
  const unread = Math.max(...codes);
  if (nothingRead(a.whole) || nothingRead(b.whole)) return unread;
  const diff = diffTalks(a.talks, b.talks);
  const sides = { a: a.analysis, b: b.analysis };
  const output = openOutput(call.io, call.options.output, redactor, call.args);
  const pieces = call.options.format === "json" ? diffJson(diff, sides, view) : diffText(diff, sides, view);
  for (const piece of pieces) output.write(piece);
  output.close();
  return unread || (call.options.exitCode && !diff.same ? exitCodes.findings : exitCodes.ok);
}

async function side(call: Call, path: string, redactor: Redactor): Promise<Side> {
  const from = await reading(call, [path]);
  const log = new TalkLog();
  const { kind } = viewOf(call, redactor);
  const whole = readCapture(call, from, redactor, {
    frames: true,
    onEvent: (event) => {
      if (event.kind === "frame" && kind(event.frame.kind)) log.add(event.frame);
    },
  });
  const analysis = selectTurns(whole, selectionOf(call));
  const talks = log.talks(analysis.conversations);
  const wanted = analysis === whole ? talks : talks.filter((conversation) => conversation[0]?.turn !== null);
  whole.close();
  return { whole, analysis, talks: wanted };
}
