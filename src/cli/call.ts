/** One call of one command: what the user wrote, and the world it runs in. */
import type { Io } from "./io.js";
import type { Options } from "./options.js";

export interface Call {
  /** Positional arguments. */
  readonly args: readonly string[];
  readonly options: Options;
  readonly io: Io;
}

export const exitCodes = Object.freeze({ ok: 0, findings: 1, usage: 2, unreadable: 3, internal: 4 });

export type Run = (call: Call) => number | Promise<number>;
