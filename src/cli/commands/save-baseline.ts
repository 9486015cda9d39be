/** `--write-baseline FILE`. */
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { writeBaseline } from "../../check/baseline.js";
import { CursorWireError } from "../../core/errors.js";
import type { Finding } from "../../model/check.js";
import { many } from "../../report/numbers.js";
import type { Call } from "../call.js";
import { reason } from "../reason.js";

export function saveBaseline(call: Call, path: string, findings: readonly Finding[]): void {
  try {
    writeFileSync(resolve(call.io.cwd, path), writeBaseline(findings));
  } catch (error) {
    throw new CursorWireError("usage.output", `cannot write ${path}: ${reason(error)}`, { cause: error });
  }
  if (!call.options.quiet) call.io.err(`cursor-wire: ${path} accepts ${many(findings.length, "finding")}\n`);
}
