/** Diagnostic codes of this area: severity, and one sentence where {name} stands for a value of the diagnostic's detail. */
import type { CodeTable } from "../code-table.js";

export const harCodes = {} as const satisfies CodeTable;
