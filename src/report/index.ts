/** The formats of `analyze`. The tables of the other commands: findings/index.ts, mermaid/index.ts. */
import { json } from "./json.js";
import { markdownReport } from "./markdown.js";
import type { Report } from "./report.js";
import { summary } from "./summary.js";

export const reports = [summary, json, markdownReport] as const satisfies readonly Report[];

/** The row of a table by its name; names were checked when the options were parsed. */
export function reportNamed(table: readonly Report[], name: string): Report {
  return table.find((report) => report.name === name) ?? table[0]!;
}
