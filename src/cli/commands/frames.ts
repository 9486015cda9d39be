/**
 * `frames`: messages as they come. Inputs that can be read twice are: the first pass learns conversation ids, selections, unknown
 * fields and secrets, the second prints. Standard input is printed in one pass.
 */
import { CursorWireError } from "../../core/errors.js";
import { inputNames } from "../../core/place.js";
import type { FrameLine } from "../../model/message.js";
import type { OpenAnalysis } from "../../pipeline.js";
import { type FramesContext, frameJson, frameText } from "../../report/frames.js";
import type { Redactor } from "../../report/redact.js";
import { selects, selectTurns } from "../../report/select.js";
import type { Call } from "../call.js";
import { type Reading, readCapture, reading } from "../capture.js";
import { complain } from "../complain.js";
import { openOutput } from "../output.js";
import { redactorOf, selectionOf, viewOf } from "../view.js";

const defaultMaxBody = 1024 * 1024;

interface Known {
  readonly conversations: ReadonlyMap<string, string | null>;
  /** Request ids that are shown; null: all. */
  readonly requests: ReadonlySet<string> | null;
}

export async function run(call: Call): Promise<number> {
  const from = await reading(call, call.args);
  const redactor = redactorOf(call);
  const known = from.paths.includes("-") ? onePass(call) : firstPass(call, from, redactor);
  const view = viewOf(call, redactor, { maxBody: defaultMaxBody });
  const context: FramesContext = { names: namesOf(call, from), view, conversations: known.conversations };
  const output = openOutput(call.io, call.options.output, redactor, call.args);
  const write = call.options.format === "ndjson" ? frameJson : frameText;
  let n = 0;
  const analysis = readCapture(call, from, redactor, {
    frames: true,
    onEvent: (event) => {
      if (event.kind !== "frame") return;
      n++;
      if (output.closed || !isSelected(event.frame, known, call) || !view.kind(event.frame.kind)) return;
      output.write(write(event.frame, n, context));
    },
  });
  try {
    // A reader of the output must be able to tell "nothing was there" from "nothing arrived".
    if (n === 0 && analysis.unreadable.length === 0) output.write(emptyLine(call.options.format === "ndjson"));
    output.close();
    return complain(call, analysis, view, { diagnosticsShown: false });
  } finally {
    analysis.close();
  }
}

function emptyLine(ndjson: boolean): string {
  return ndjson ? `${JSON.stringify({ n: 0, kind: "none", frames: 0 })}\n` : "no message of a known protocol\n";
}

function namesOf(call: Call, from: Reading): readonly string[] {
  if (call.options.raw === undefined) return inputNames(from.paths);
  // The pipeline lists the files of --raw behind the paths.
  const raw = call.options.raw.split(",").map((part) => part.slice(part.indexOf("=") + 1));
  return inputNames([...from.paths, ...raw]);
}

function isSelected(frame: FrameLine, known: Known, call: Call): boolean {
  if (known.requests !== null) return frame.requestId !== null && known.requests.has(frame.requestId);
  const { request, conversation } = call.options;
  if (request !== undefined && !(frame.requestId ?? "").startsWith(request)) return false;
  return conversation === undefined || (frame.conversationId ?? "").startsWith(conversation);
}

function onePass(call: Call): Known {
  if (call.options.turn !== undefined || call.options.last !== undefined) {
    throw new CursorWireError(
      "usage.selection",
      "--turn and --last need to read the capture twice: save standard input to a file first",
    );
  }
  return { conversations: new Map(), requests: null };
}

function firstPass(call: Call, from: Reading, redactor: Redactor): Known {
  const learns = call.options.format === "ndjson";
  const analysis = readCapture(call, from, redactor, {
    frames: learns,
    onEvent: (event) => {
      if (learns && event.kind === "frame") event.frame.unknown();
    },
  });
  try {
    return { conversations: conversationsOf(analysis), requests: selectedRequests(call, analysis) };
  } finally {
    analysis.close();
  }
}

function conversationsOf(analysis: OpenAnalysis): ReadonlyMap<string, string | null> {
  const map = new Map<string, string | null>();
  for (const turn of analysis.turns) if (turn.requestId !== null) map.set(turn.requestId, turn.conversationId);
  return map;
}

function selectedRequests(call: Call, analysis: OpenAnalysis): ReadonlySet<string> | null {
  const selection = selectionOf(call);
  if (!selects(selection)) return null;
  const { turns } = selectTurns(analysis, selection);
  return new Set(turns.flatMap((turn) => (turn.requestId === null ? [] : [turn.requestId])));
}
