/** The view a command hands to its report. */
import { Redactor } from "../report/redact.js";
import type { View } from "../report/report.js";
import { kindFilter, selects, type TurnSelection } from "../report/select.js";
import type { Call } from "./call.js";
import { redactLevel } from "./options.js";
import { version } from "./start.js";
import { terminalOf } from "./terminal.js";

export interface ViewExtra {
  /** Where `--kind` means something else (`diagram`), kinds are not filtered. */
  readonly kinds?: boolean;
  /** Values longer than this are cut in JSON where the user said nothing. */
  readonly maxBody?: number;
}

export function redactorOf(call: Call): Redactor {
  return new Redactor(redactLevel(call.options));
}

export function viewOf(call: Call, redactor: Redactor, extra: ViewExtra = {}): View {
  const { options, io } = call;
  const { width, height, paint } = terminalOf(io, { colour: options.color, toFile: options.output !== undefined });
  return {
    width,
    height,
    paint,
    redactor,
    all: options.all,
    kind: extra.kinds === false ? () => true : kindFilter(options.kind),
    maxBody: options.maxBody ?? extra.maxBody ?? Number.POSITIVE_INFINITY,
    version: version(),
    selection: null,
    gate: null,
  };
}

export function selectionOf(call: Call): TurnSelection {
  const { conversation, request, turn, last } = call.options;
  return { conversation, request, turn, last };
}

/** The view of an analysis that was cut to the selection. */
export function withSelection(view: View, call: Call, turnsBefore: number): View {
  return selects(selectionOf(call)) ? { ...view, selection: { of: turnsBefore } } : view;
}
