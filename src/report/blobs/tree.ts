/** `blobs tree`: the graph below a checkpoint, as text, JSON and Mermaid. */
import type { Printable } from "../../core/printable.js";
import type { BlobNode } from "../../model/conversation.js";
import type { Analysis } from "../../model/report.js";
import { clip } from "../columns.js";
import { terminal } from "../escape.js";
import { document, jsonContext, lazily } from "../json.js";
import { turnLabel } from "../labels.js";
import { edgeLimit, textLimit } from "../mermaid/budget.js";
import { label } from "../mermaid/label.js";
import { byteCount, count } from "../numbers.js";
import type { Report, View } from "../report.js";
import { plain } from "../words.js";
import { shortType } from "./list.js";

/** Children of one node shown before the middle is left out. */
const childrenShown = 12;

export const blobTreeText: Report = {
  name: "text",
  help: "the graph of each turn's last checkpoint",
  *render(analysis, view) {
    const trees = analysis.blobs?.trees() ?? [];
    if (trees.length === 0) yield "no checkpoint in this capture: there is no graph to draw\n";
    for (const { turn, root } of trees) {
      yield `${view.paint.strong(turnLabel(turn, analysis))}\n`;
      for (const line of nodeLines(root, "", "", new Set(), view)) yield `${line}\n`;
      yield "\n";
    }
  },
};

export const blobTreeJson: Report = {
  name: "json",
  help: "nested nodes",
  *render(analysis, view) {
    const index = new Map(analysis.turns.map((turn, i) => [turn, i]));
    const trees = analysis.blobs?.trees() ?? [];
    yield* document(
      [
        ["schema", "cursor-wire/blob-tree@1"],
        ["trees", lazily(trees, ({ turn, root }) => ({ turn: index.get(turn) ?? null, root: nodeJson(root, view) }))],
      ],
      jsonContext(analysis, view),
    );
  },
};

export const blobTreeMermaid: Report = {
  name: "mermaid",
  help: "flowchart",
  *render(analysis, view) {
    yield flowchart(analysis, view);
  },
};

function nodeJson(node: BlobNode, view: View): Printable {
  return {
    label: node.label,
    id: node.id,
    type: node.type,
    bytes: node.bytes,
    state: node.state,
    says: plain(node.says, view.redactor),
    children: node.children.map((child) => nodeJson(child, view)),
  };
}

function* nodeLines(node: BlobNode, lead: string, below: string, seen: Set<string>, view: View): Generator<string> {
  const again = node.id !== null && node.children.length > 0 && seen.has(node.id);
  if (node.id !== null) seen.add(node.id);
  yield lead + nodeText(node, again, view.width - lead.length, view);
  if (again) return;
  const { shown, left } = fold(node.children, view.all);
  for (const [i, child] of shown.entries()) {
    const last = i === shown.length - 1 && left === 0;
    yield* nodeLines(child, below + (last ? "└ " : "├ "), below + (last ? "  " : "│ "), seen, view);
    if (left > 0 && i === childrenShown / 2 - 1) yield `${below}│ … ${count(left)} more (--all shows them)`;
  }
}

/** The middle of a long list is left out, unless something in it is wrong. */
function fold(children: readonly BlobNode[], all: boolean): { shown: readonly BlobNode[]; left: number } {
  if (all || children.length <= childrenShown) return { shown: children, left: 0 };
  const half = childrenShown / 2;
  const middle = children.slice(half, -half).filter((child) => troubled(child));
  const shown = [...children.slice(0, half), ...middle, ...children.slice(-half)];
  return { shown, left: children.length - shown.length };
}

function troubled(node: BlobNode): boolean {
  return node.state === "missing" || node.state === "mismatch" || node.children.some(troubled);
}

function nodeText(node: BlobNode, again: boolean, width: number, view: View): string {
  const id = node.id === null ? "" : ` ${terminal(node.id.slice(0, 12))}`;
  const size = node.bytes === null ? "" : ` ${byteCount(node.bytes)}`;
  const head = `${terminal(node.label)}${id} ${terminal(shortType(node.type))}${size} `;
  const state = again ? `${node.state}, as above` : node.state;
  const says = terminal(plain(node.says, view.redactor));
  const rest = clip(says, Math.max(0, width - head.length - state.length - 2));
  const bad = node.state === "missing" || node.state === "mismatch";
  const paint = bad ? view.paint.bad : node.state === "match" ? view.paint.good : view.paint.dim;
  return `${head}${paint(state)}${rest === "" ? "" : `  ${rest}`}`;
}

function flowchart(analysis: Analysis, view: View): string {
  const lines = ["flowchart LR"];
  const ids = new Map<string, string>();
  let size = lines[0]!.length;
  let edges = 0;
  let left = 0;
  const room = (line: string) => size + line.length + 1 < textLimit - 200 && edges < edgeLimit;
  const push = (line: string) => {
    lines.push(line);
    size += line.length + 1;
  };
  const visit = (node: BlobNode, key: string, parent: string | null) => {
    const name = node.id ?? key;
    const known = ids.get(name);
    const id = known ?? `n${ids.size + 1}`;
    const text = `${node.label} ${shortType(node.type)}${node.bytes === null ? "" : ` ${byteCount(node.bytes)}`} ${node.state}`;
    const declared = `  ${id}["${label(text, 60, view)}"]`;
    if (!room(`${declared}\n  ${parent} --> ${id}`)) {
      left++;
      return;
    }
    if (known === undefined) {
      ids.set(name, id);
      push(declared);
    }
    if (parent !== null) {
      push(`  ${parent} --> ${id}`);
      edges++;
    }
    if (known !== undefined) return;
    for (const [i, child] of node.children.entries()) visit(child, `${key}/${i}`, id);
  };
  for (const [i, { turn, root }] of (analysis.blobs?.trees() ?? []).entries()) {
    const id = `turn${i + 1}`;
    const declared = `  ${id}(["${label(turnLabel(turn, analysis), 40, view)}"])`;
    if (!room(declared)) break;
    push(declared);
    visit(root, `root${i}`, id);
  }
  if (lines.length === 1) push('  none["no checkpoint in this capture"]');
  if (left > 0) push(`  left["${label(`${left} more branches left out`, 60, view)}"]`);
  return `${lines.join("\n")}\n`;
}
