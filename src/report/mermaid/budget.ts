/**
 * Mermaid refuses diagrams of more than 50,000 characters (`maxTextSize`) and flowcharts of more than 500 edges (`maxEdges`). Every
 * diagram here stays inside both, whatever its kind: it is built tighter and tighter until it fits.
 */

export const textLimit = 48_000;
export const edgeLimit = 480;

export interface Detail {
  /** Turns drawn one by one; the middle ones are folded into a note. */
  readonly turns: number;
  /** Rows drawn of one turn; the middle ones are folded into a note. */
  readonly rows: number;
  /** Characters of a label, before escaping. */
  readonly label: number;
}

const details: readonly Detail[] = [
  { turns: 250, rows: 400, label: 66 },
  { turns: 120, rows: 120, label: 60 },
  { turns: 60, rows: 40, label: 54 },
  { turns: 24, rows: 20, label: 48 },
  { turns: 12, rows: 12, label: 40 },
  { turns: 6, rows: 8, label: 32 },
  { turns: 2, rows: 6, label: 24 },
];

export interface Drawing {
  readonly lines: readonly string[];
  /** Arrows, tasks, transitions. */
  readonly edges: number;
}

/** The most detailed drawing that fits. The last one always does: its size does not depend on the capture. */
export function fitting(draw: (detail: Detail) => Drawing): string {
  let text = "";
  for (const detail of details) {
    const drawing = draw(detail);
    text = `${drawing.lines.join("\n")}\n`;
    if (text.length <= textLimit && drawing.edges <= edgeLimit) break;
  }
  return text;
}

/** Head and tail of a list that is too long, and how many are left out between them. */
export function ends<T>(items: readonly T[], most: number): { head: readonly T[]; left: number; tail: readonly T[] } {
  if (items.length <= most) return { head: items, left: 0, tail: [] };
  const head = Math.ceil(most / 2);
  return { head: items.slice(0, head), left: items.length - most, tail: items.slice(items.length - (most - head)) };
}
