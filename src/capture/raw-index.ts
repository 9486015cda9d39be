/**
 * The chunk index beside two stream dumps: one JSON object per line, `{"t", "dir": "client|server", "offset", "length", "conn"}` per
 * chunk and `{"t", "event", "conn"}` per event, in time order; `t` is in ms from any moment.
 */
import { type Bytes, concat, utf8 } from "../core/bytes.js";
import type { Direction } from "../model/exchange.js";

export type IndexRow =
  | { readonly kind: "chunk"; readonly direction: Direction; readonly ms: number; readonly length: number }
  | { readonly kind: "open"; readonly ms: number }
  | { readonly kind: "end"; readonly direction: Direction; readonly ms: number };

export interface ChunkIndex {
  /** Rows by connection number, in order of appearance. */
  readonly connections: ReadonlyMap<number, readonly IndexRow[]>;
  /** 1-based numbers of lines that are neither chunk nor known event. */
  readonly badLines: readonly number[];
}

const sides: Readonly<Record<string, Direction>> = { client: "up", server: "down" };
const ends: Readonly<Record<string, Direction>> = { client_end: "up", server_end: "down" };

export function parseIndex(blocks: Iterable<Bytes>): ChunkIndex {
  const connections = new Map<number, IndexRow[]>();
  const badLines: number[] = [];
  // Bytes of a line are some 60; a whole index is far smaller than its dumps.
  const text = utf8(concat([...blocks]));
  for (const [i, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const read = readLine(line);
    if (read === null) badLines.push(i + 1);
    else if (read.row !== null) {
      const rows = connections.get(read.conn) ?? [];
      connections.set(read.conn, rows);
      rows.push(read.row);
    }
  }
  return { connections, badLines };
}

/** null: not a line of an index. `row` null: an event that says nothing here. */
function readLine(line: string): { readonly conn: number; readonly row: IndexRow | null } | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  const { t, dir, length, event, conn = 0 } = value as { [key: string]: unknown };
  if (typeof t !== "number" || !Number.isFinite(t) || typeof conn !== "number") return null;
  if (typeof dir === "string") {
    const direction = Object.hasOwn(sides, dir) ? sides[dir] : undefined;
    if (direction === undefined || typeof length !== "number" || !Number.isSafeInteger(length) || length < 0)
      return null;
    return { conn, row: { kind: "chunk", direction, ms: t, length } };
  }
  if (typeof event !== "string") return null;
  if (event === "open") return { conn, row: { kind: "open", ms: t } };
  const direction = Object.hasOwn(ends, event) ? ends[event] : undefined;
  return { conn, row: direction === undefined ? null : { kind: "end", direction, ms: t } };
}

/** Bytes of one direction that the rows account for. */
export function rowBytes(rows: readonly IndexRow[], direction: Direction): number {
  let total = 0;
  for (const row of rows) if (row.kind === "chunk" && row.direction === direction) total += row.length;
  return total;
}
