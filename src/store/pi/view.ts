/** A session store for people: facts, tables, and the entry tree. */
import { privately, type Words } from "../../core/printable.js";
import { isoTime, millis } from "../../core/time.js";
import type { StoreSession, StoreTable, StoreTreeLine } from "../../model/store.js";
import type { EntryRow, ScalarRow, StoredSession } from "./data.js";
import { depths, numbered } from "./structure.js";

/** Rows of a table that people get to see; the counts are above it. */
const rowsShown = 500;

export function sessionView(session: StoredSession): StoreSession {
  const { row, entries, usage, scalars } = session;
  const branches = branchRows(session);
  const lists = listRows(session);
  return {
    id: row.id,
    entries: entries.length,
    branches: branches.length,
    usageRows: usage.length,
    scalars: scalars.length,
    lists: lists.length,
    facts: facts(session),
    tables: [
      table(
        "branches",
        ["name", "tip", "entries"],
        branches.map(({ name, tip, length }) => [[name], [tip ?? "none"], [`${length}`]]),
      ),
      table("values", ["namespace", "key", "seq", "value"], scalars.map(scalarCells)),
      table(
        "lists",
        ["namespace", "key", "elements"],
        lists.map(({ namespace, key, count }) => [[namespace], [key], [`${count}`]]),
      ),
      table("usage", ["seq", "entry", "input", "output", "total tokens", "cost"], usage.map(usageCells)),
    ].filter((made) => made.rows.length > 0),
    tree: entryTree(session),
    more: {
      createdAt: timeOf(row.createdAt),
      parentSessionId: row.parent,
      storageVersion: Number(row.storageVersion),
      messageCount: Number(row.messageCount),
      nextSeq: Number.isNaN(row.nextSeq) ? null : row.nextSeq,
      usage: "figures" in row.usage ? Object.fromEntries(row.usage.figures) : null,
      namedBranches: branches.map(({ name, tip, length }) => ({ name, tip, entries: length })),
    },
  };
}

function facts(session: StoredSession): Words[] {
  const { row, scalars } = session;
  const out: Words[] = [];
  const name = scalars.find((scalar) => scalar.namespace === "pi.session.name")?.value;
  if (typeof name === "string") out.push(["named ", privately(name)]);
  out.push([`created ${timeOf(row.createdAt) ?? "at an unknown time"}`]);
  if (row.parent !== null) out.push([`forked from ${row.parent}`]);
  if ("figures" in row.usage) {
    const { figures } = row.usage;
    const cost = figures.get("cost.total") ?? 0;
    out.push([`${figures.get("input") ?? 0} tokens in, ${figures.get("output") ?? 0} out, cost ${rounded(cost)}`]);
  }
  const rows = numbered(session);
  out.push([`seq up to ${rows[rows.length - 1]?.seq ?? 0}, next ${row.nextSeq}`]);
  return out;
}

interface Branch {
  readonly name: string;
  readonly tip: string | null;
  readonly length: number;
}

function branchRows(session: StoredSession): Branch[] {
  const deep = depths(session);
  return session.scalars
    .filter((row) => row.namespace === "pi.branch.tip")
    .map((row) => {
      const tip = typeof row.value === "string" ? row.value : null;
      return { name: row.key, tip, length: tip === null ? 0 : (deep.get(tip) ?? 0) };
    });
}

function listRows(session: StoredSession): { namespace: string; key: string; count: number }[] {
  const lists = new Map<string, { namespace: string; key: string; count: number }>();
  for (const { namespace, key } of session.lists) {
    const id = `${namespace}\0${key}`;
    const list = lists.get(id);
    if (list === undefined) lists.set(id, { namespace, key, count: 1 });
    else list.count++;
  }
  return [...lists.values()];
}

function scalarCells(row: ScalarRow): Words[] {
  const value = row.namespace === "pi.branch.tip" ? row.text : privately(row.text);
  return [[row.namespace], [row.key], [`${row.seq}`], [value]];
}

function usageCells(row: StoredSession["usage"][number]): Words[] {
  const figure = (name: string) => ("figures" in row.usage ? (row.usage.figures.get(name) ?? 0) : Number.NaN);
  const entry = `${row.entryId ?? "none"}${row.adjustment === 1 ? " (adjustment)" : ""}`;
  const figures = [figure("input"), figure("output"), figure("totalTokens")];
  return [[`${row.seq}`], [entry], ...figures.map((value) => [`${value}`]), [rounded(figure("cost.total"))]];
}

function table(name: string, columns: readonly string[], rows: readonly (readonly Words[])[]): StoreTable {
  if (rows.length <= rowsShown) return { name, columns, rows };
  const rest: Words[] = [[`… ${rows.length - rowsShown} more`], ...columns.slice(1).map((): Words => [])];
  return { name, columns, rows: [...rows.slice(0, rowsShown), rest] };
}

/** A cost without the noise of doubles. */
function rounded(value: number): string {
  return String(Number(value.toPrecision(12)));
}

function timeOf(ms: number): string | null {
  return Number.isNaN(ms) ? null : isoTime(millis(ms));
}

/**
 * Parents before children. The first child continues its parent's line; each later one opens a side branch, drawn one step to the
 * right. Entries whose parent is missing, or that are their own ancestors, come at the end as roots of their own.
 */
function entryTree(session: StoredSession): StoreTreeLine[] {
  const children = new Map<string, EntryRow[]>();
  const roots: EntryRow[] = [];
  for (const entry of session.entries) {
    if (entry.parent === null || !session.byId.has(entry.parent)) roots.push(entry);
    else if (children.has(entry.parent)) children.get(entry.parent)!.push(entry);
    else children.set(entry.parent, [entry]);
  }
  const drawer = new TreeDrawer(children, marksOf(session));
  for (const root of roots) drawer.draw(root);
  for (const entry of session.entries) drawer.draw(entry);
  return drawer.lines;
}

/** Branch names and labels by entry. */
function marksOf(session: StoredSession): ReadonlyMap<string, Words> {
  const marks = new Map<string, (string | ReturnType<typeof privately>)[]>();
  const add = (id: string, words: (string | ReturnType<typeof privately>)[]) => {
    const before = marks.get(id);
    if (before === undefined) marks.set(id, words);
    else before.push(...words);
  };
  for (const { namespace, key, value } of session.scalars) {
    if (namespace === "pi.branch.tip" && typeof value === "string") add(value, [` [${key}]`]);
    if (namespace === "pi.entry.label" && typeof value === "string") add(key, [" (", privately(value), ")"]);
  }
  return marks;
}

class TreeDrawer {
  readonly lines: StoreTreeLine[] = [];
  private readonly drawn = new Set<string>();

  constructor(
    private readonly children: ReadonlyMap<string, readonly EntryRow[]>,
    private readonly marks: ReadonlyMap<string, Words>,
  ) {}

  /** Without recursion: a session may be one chain of very many entries. */
  draw(root: EntryRow): void {
    const stack: { readonly entry: EntryRow; readonly draw: string; readonly below: string }[] = [];
    if (!this.drawn.has(root.id)) stack.push({ entry: root, draw: "", below: "" });
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      const { entry, draw, below } = next;
      if (this.drawn.has(entry.id)) continue;
      this.drawn.add(entry.id);
      const says: Words = [`${entry.seq} ${entry.id} `, ...words(entry), ...(this.marks.get(entry.id) ?? [])];
      this.lines.push({ id: entry.id, draw, says });
      const [first, ...others] = this.children.get(entry.id) ?? [];
      // Pushed in reverse: side branches come first, then the line goes on.
      if (first !== undefined) stack.push({ entry: first, draw: below, below });
      for (const side of others.reverse()) stack.push({ entry: side, draw: `${below}├─ `, below: `${below}│  ` });
    }
  }
}

function words(entry: EntryRow): Words {
  if (entry.type === "custom") return [`custom ${entry.customType ?? ""}`];
  return entry.payload.says.length === 0 ? [entry.type] : entry.payload.says;
}
