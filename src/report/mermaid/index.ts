/** The kinds of `diagram`. */
import type { Report } from "../report.js";
import { gantt } from "./gantt.js";
import { sequence } from "./sequence.js";
import { state } from "./state.js";
import { timelineDiagram } from "./timeline.js";

export const diagramReports = [sequence, gantt, timelineDiagram, state] as const satisfies readonly Report[];
