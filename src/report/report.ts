/** What every report is: an analysis in, pieces of text out. Reports are pure; a piece never splits a line. */
import type { Analysis } from "../model/report.js";
import type { Gate } from "./gate.js";
import type { Paint } from "./paint.js";
import type { Redactor } from "./redact.js";

export interface View {
  /** Terminal cells. */
  readonly width: number;
  /** Terminal rows: what "a screen" is. */
  readonly height: number;
  readonly paint: Paint;
  readonly redactor: Redactor;
  /** Nothing is folded or left out. */
  readonly all: boolean;
  /** Which message kinds are shown (`--kind`). */
  readonly kind: (kind: string) => boolean;
  /** Texts and bytes longer than this become `{"$bytes": n}` in JSON. */
  readonly maxBody: number;
  /** Of this tool. */
  readonly version: string;
  /** Of the capture before turns were selected, where a selection is in force. */
  readonly selection: Selection | null;
  /** Verdict of `check`. */
  readonly gate: Gate | null;
}

export interface Selection {
  /** Turns of the capture before the selection. */
  readonly of: number;
}

export interface Report {
  /** What the user writes: `--format` or `--kind`. */
  readonly name: string;
  readonly help: string;
  render(analysis: Analysis, view: View): Iterable<string>;
}
