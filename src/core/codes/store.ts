/** Diagnostic codes of this area: severity, and one sentence where {name} stands for a value of the diagnostic's detail. */
import type { CodeTable } from "../code-table.js";

export const storeCodes = {
  "store.unreadable": {
    severity: "warning",
    text: "the store {path} {why}: it resolves no blob",
    remedy: "look at it with `cursor-wire store`",
  },
} as const satisfies CodeTable;
