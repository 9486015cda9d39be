/** Diagnostic codes of this area: severity, and one sentence where {name} stands for a value of the diagnostic's detail. */
import type { CodeTable } from "../code-table.js";

export const captureCodes = {
  "capture.read-error": {
    severity: "error",
    text: "reading {file} failed at byte {offset} ({error}); what came before is used",
  },
  "capture.compressed-cut": {
    severity: "warning",
    text: "the {compression} file {file} ends before its data does; what it holds is used",
    remedy: "copy the file again, or let the recorder finish before compressing",
  },
  "capture.compressed-damaged": {
    severity: "error",
    text: "the {compression} file {file} is damaged ({why}); what could be unpacked before is used",
    remedy: "copy the file again and compare checksums",
  },
  "capture.compressed-trailing": {
    severity: "warning",
    text: "{file} has other bytes behind its {compression} data; they are ignored",
  },
  "lines.bad-line": {
    severity: "warning",
    text: "a line of {bytes} bytes is no log line (a JSON object with at_ms, dir and text)",
  },
} as const satisfies CodeTable;
