/** Width and colour of the output. No terminal: 120 columns, no colour, COLUMNS ignored. */
import { Chalk } from "chalk";
import { noPaint, type Paint } from "../report/paint.js";
import type { Io } from "./io.js";

export interface Terminal {
  readonly width: number;
  readonly height: number;
  readonly paint: Paint;
}

/** `colour: false` is --no-color; NO_COLOR counts when it is set and not empty (no-color.org). */
export function terminalOf(io: Io, options: { readonly colour: boolean; readonly toFile: boolean }): Terminal {
  const tty = io.outTty && !options.toFile;
  const width = tty ? Math.max(60, Math.min(io.columns ?? 120, 400)) : 120;
  const height = tty ? Math.max(10, io.rows ?? 24) : 24;
  const colour = tty && options.colour && !io.env.NO_COLOR && io.env.TERM !== "dumb";
  return { width, height, paint: colour ? paintWith(1) : noPaint };
}

function paintWith(level: 1): Paint {
  const chalk = new Chalk({ level });
  return {
    strong: (text) => chalk.bold(text),
    dim: (text) => chalk.dim(text),
    good: (text) => chalk.green(text),
    bad: (text) => chalk.red(text),
    warn: (text) => chalk.yellow(text),
    up: (text) => chalk.cyan(text),
    down: (text) => chalk.magenta(text),
    name: (text) => chalk.bold(text),
  };
}
