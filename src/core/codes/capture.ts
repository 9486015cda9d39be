/** Diagnostic codes of this area: severity, and one sentence where {name} stands for a value of the diagnostic's detail. */
import type { CodeTable } from "../code-table.js";

export const captureCodes = {
  "lines.bad-line": {
    severity: "warning",
    text: "a line of {bytes} bytes is no log line (a JSON object with at_ms, dir and text)",
  },
} as const satisfies CodeTable;
