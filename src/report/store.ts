/** `store` as text and JSON: what each session store holds, and what is wrong with it. */
import type { Printable } from "../core/printable.js";
import type { Finding } from "../model/check.js";
import type { StoreFile, StoreReport, StoreSession, StoreTable } from "../model/store.js";
import { clip, padEnd, widthOf, wrap } from "./columns.js";
import { terminal } from "./escape.js";
import { tally } from "./findings/group.js";
import { findingLines } from "./findings/lines.js";
import { document, findingJson, lazily } from "./json.js";
import { count, many } from "./numbers.js";
import type { View } from "./report.js";
import { joinFitting } from "./turn-block.js";
import { plain } from "./words.js";

export const storeSchema = "cursor-wire/store@1";

export interface StoreView extends View {
  /** `--tree` */
  readonly tree: boolean;
}

const rowsShown = 12;
const treeShown = 60;

export function* storeText(report: StoreReport, view: StoreView): Generator<string> {
  for (const line of lines(report, view)) yield `${line}\n`;
}

function* lines(report: StoreReport, view: StoreView): Generator<string> {
  if (report.files.length === 0) yield "no store found there";
  for (const file of report.files) {
    yield* fileLines(file, view);
    yield "";
  }
  if (report.files.every((file) => file.fatal)) return;
  const findings = view.gate?.fresh ?? report.files.flatMap((file) => file.findings);
  const { gate } = view;
  if (gate === null) yield `found ${tally(findings)}`;
  else yield `${(gate.failed ? view.paint.bad : view.paint.good)(gate.why)} (found ${tally(findings)})`;
}

function* fileLines(file: StoreFile, view: StoreView): Generator<string> {
  const sessions = file.kind === "unreadable" ? "" : `, ${many(file.sessions.length, "session")}`;
  yield `${view.paint.strong(terminal(file.path))}  ${file.kind}${sessions}`;
  if (file.why !== null)
    for (const line of wrap(terminal(view.redactor.scrub(file.why)), view.width - 2))
      yield `  ${view.paint.warn(line)}`;
  for (const session of file.sessions) yield* sessionLines(session, view);
  const fresh = view.gate === null ? null : new Set(view.gate.fresh);
  yield* findingLines(
    file.findings.filter((finding) => fresh === null || fresh.has(finding)),
    [],
    view,
    "  ",
  );
}

function* sessionLines(session: StoreSession, view: StoreView): Generator<string> {
  const facts = [
    many(session.entries, "entry", "entries"),
    many(session.branches, "branch", "branches"),
    many(session.usageRows, "usage row"),
    many(session.scalars, "scalar"),
    many(session.lists, "list"),
    ...session.facts.map((fact) => plain(fact, view.redactor)),
  ].map((fact) => terminal(fact));
  yield `  ${view.paint.name(`session ${terminal(view.redactor.scrub(session.id))}`)}`;
  for (const line of joinFitting(facts, " · ", view.width - 4)) yield `    ${line}`;
  if (view.tree) yield* treeLines(session, view);
  else for (const table of session.tables) yield* tableLines(table, view);
}

function* treeLines(session: StoreSession, view: StoreView): Generator<string> {
  const shown = view.all ? session.tree : session.tree.slice(0, treeShown);
  for (const entry of shown) {
    const lead = `    ${terminal(entry.draw)}`;
    const says = terminal(plain(entry.says, view.redactor));
    yield lead + clip(says, Math.max(16, view.width - widthOf(lead)));
  }
  if (shown.length < session.tree.length)
    yield `    … ${count(session.tree.length - shown.length)} more entries (--all shows them)`;
}

function* tableLines(table: StoreTable, view: StoreView): Generator<string> {
  if (table.rows.length === 0) return;
  const shown = view.all ? table.rows : table.rows.slice(0, rowsShown);
  const cells = shown.map((row) => row.map((words) => terminal(plain(words, view.redactor))));
  const room = view.width - 6;
  const widths = columnWidths(table.columns, cells, room);
  const line = (row: readonly string[]) =>
    clip(
      widths
        .map((width, i) => padEnd(clip(row[i] ?? "", width), width))
        .join("  ")
        .trimEnd(),
      room,
    );
  yield `    ${view.paint.dim(table.name)}`;
  yield `      ${view.paint.dim(line(table.columns))}`;
  for (const row of cells) yield `      ${line(row)}`;
  if (shown.length < table.rows.length)
    yield `      … ${count(table.rows.length - shown.length)} more (--all shows them)`;
}

/** Each as wide as it wants and half the line at most; the last one takes what is left. */
function columnWidths(titles: readonly string[], rows: readonly (readonly string[])[], room: number): number[] {
  const widths = titles.map((title, i) =>
    Math.min(Math.floor(room / 2), Math.max(widthOf(title), ...rows.map((row) => widthOf(row[i] ?? "")))),
  );
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + 2, 0);
  return [...widths.slice(0, -1), Math.max(8, room - before)];
}

export function* storeJson(report: StoreReport, view: StoreView): Generator<string> {
  const { gate } = view;
  yield* document(
    [
      ["schema", storeSchema],
      ["tool", { name: "cursor-wire", version: view.version }],
      ["files", lazily(report.files, (file) => fileJson(file, view))],
      ["passed", gate === null ? null : !gate.failed],
      ["why", gate?.why ?? null],
    ],
    { redactor: view.redactor, names: [], maxBody: view.maxBody },
  );
}

function fileJson(file: StoreFile, view: StoreView): Printable {
  const fresh = view.gate === null ? null : new Set<Finding>(view.gate.fresh);
  return {
    path: file.path,
    kind: file.kind,
    why: file.why,
    sessions: file.sessions.map((session) => ({
      id: session.id,
      entries: session.entries,
      branches: session.branches,
      usageRows: session.usageRows,
      scalars: session.scalars,
      lists: session.lists,
      ...session.more,
      ...(view.tree
        ? { tree: session.tree.map((entry) => ({ id: entry.id, says: plain(entry.says, view.redactor) })) }
        : {}),
    })),
    findings: file.findings
      .filter((finding) => fresh === null || fresh.has(finding))
      .map((finding) => findingJson(finding, view)),
    notCheckable: file.notCheckable.map((row) => ({ ...row })),
  };
}
