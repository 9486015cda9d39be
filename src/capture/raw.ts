/**
 * Two dumps of one recorded byte stream, client to server and back -> neck events of one exchange. A chunk index gives times, the
 * order of the two directions, and their ends; without it both come whole, one after the other, and no time is known.
 */
import { createHash, type Hash } from "node:crypto";
import { basename } from "node:path";
import { type Bytes, latin1 } from "../core/bytes.js";
import { type Mark, placeOf } from "../core/mark.js";
import { exactly, millis, unknownWhen, type When } from "../core/time.js";
import type { Direction, Exchange, Flow } from "../model/exchange.js";
import type { ReaderContext } from "../model/reader.js";
import type { InputInfo } from "../model/report.js";
import { type IndexRow, parseIndex, rowBytes } from "./raw-index.js";
import { openSource, type Source } from "./source.js";

export interface RawFiles {
  readonly client: string;
  readonly server: string;
  readonly index?: string;
}

/**
 * `context.input`: index of the client dump among the inputs; the server dump's is the next one. Throws CursorWireError `input.*` for
 * a file that cannot be read.
 */
export function readRaw(files: RawFiles, context: ReaderContext): { readonly inputs: readonly InputInfo[] } {
  const open = (path: string, input: number) =>
    openSource(path, { input, hash: context.wantHashes, limits: context.limits, note: context.note });
  const opened: Source[] = [];
  try {
    const up = open(files.client, context.input);
    opened.push(up);
    const down = open(files.server, context.input + 1);
    opened.push(down);
    const rows = files.index === undefined ? null : readIndex(files, files.index, open, opened, context);
    new RawReader({ up, down }, context).run(rows);
    const format = ["raw", "raw", "jsonl"] as const;
    return {
      inputs: opened.map((source, i) => ({
        path: source.path,
        format: format[i]!,
        bytes: source.rawBytes,
        sha256: source.sha256(),
        producer: null,
      })),
    };
  } finally {
    for (const source of opened) source.close();
  }
}

type Open = (path: string, input: number) => Source;

function readIndex(
  files: RawFiles,
  path: string,
  open: Open,
  opened: Source[],
  context: ReaderContext,
): readonly IndexRow[] | null {
  const source = open(path, context.input + 2);
  opened.push(source);
  const { connections, badLines } = parseIndex(source.blocks());
  const mark: Mark = { input: context.input + 2, first: 0, last: 0, when: unknownWhen };
  for (const line of badLines) {
    const place = placeOf({ ...mark, first: line - 1, last: line - 1 });
    context.note({ code: "pi.index-line", place, detail: { line } });
  }
  const conn = connectionOf(files, connections, open, context);
  if (conn !== null) return connections.get(conn)!;
  const why = `none of its ${connections.size} connections has the sizes of the dumps`;
  context.note({ code: "pi.index-misfit", place: placeOf(mark), detail: { why } });
  return null;
}

/** An index may hold several connections: the one the file names number (client-3.bin), else the one of the dumps' sizes. */
function connectionOf(
  files: RawFiles,
  connections: ReadonlyMap<number, readonly IndexRow[]>,
  open: Open,
  context: ReaderContext,
): number | null {
  if (connections.size === 1) return [...connections.keys()][0]!;
  const numbers = [files.client, files.server].map((path) => /-(\d+)\.[^.]*$/.exec(basename(path))?.[1]);
  if (numbers[0] !== undefined && numbers[0] === numbers[1] && connections.has(Number(numbers[0])))
    return Number(numbers[0]);
  const sizes = { up: sizeOf(open(files.client, context.input)), down: sizeOf(open(files.server, context.input)) };
  const fits = [...connections].filter(
    ([, rows]) => rowBytes(rows, "up") === sizes.up && rowBytes(rows, "down") === sizes.down,
  );
  return fits.length === 1 ? fits[0]![0] : null;
}

function sizeOf(source: Source): number {
  let size = 0;
  for (const block of source.blocks()) size += block.length;
  source.close();
  return size;
}

/** One dump, taken in parts of any length. */
class Dump {
  taken = 0;
  chunks = 0;
  private readonly blocks: Iterator<Bytes>;
  private rest: Bytes | null = null;
  readonly digest: Hash | null;

  constructor(
    source: Source,
    readonly input: number,
    hash: boolean,
  ) {
    this.blocks = source.blocks()[Symbol.iterator]();
    this.digest = hash ? createHash("sha256") : null;
  }

  /** Up to `count` bytes, block by block; false when fewer are there. */
  take(count: number, each: (bytes: Bytes) => void): boolean {
    let left = count;
    while (left > 0) {
      const block = this.next();
      if (block === null) return false;
      const part = block.length > left ? block.subarray(0, left) : block;
      this.rest = part.length < block.length ? block.subarray(part.length) : null;
      left -= part.length;
      this.taken += part.length;
      this.digest?.update(part);
      each(part);
    }
    return true;
  }

  get isEmpty(): boolean {
    const block = this.next();
    this.rest = block;
    return block === null;
  }

  private next(): Bytes | null {
    const { rest } = this;
    if (rest !== null) {
      this.rest = null;
      return rest;
    }
    for (;;) {
      const read = this.blocks.next();
      if (read.done === true) return null;
      if (read.value.length > 0) return read.value;
    }
  }
}

class RawReader {
  private readonly dumps: Record<Direction, Dump>;
  private readonly exchange: Omit<Exchange, "opened">;
  private opened: Exchange | null = null;
  private now: When = unknownWhen;
  private readonly ended = new Set<Direction>();
  private readonly head: string;

  constructor(
    sources: Record<Direction, Source>,
    private readonly context: ReaderContext,
  ) {
    this.head = latin1(sources.up.head().subarray(0, 64));
    this.dumps = {
      up: new Dump(sources.up, context.input, context.wantHashes),
      down: new Dump(sources.down, context.input + 1, context.wantHashes),
    };
    const flow: Flow = {
      id: context.ids.flow(),
      input: context.input,
      client: "client",
      server: "server",
      rolesBy: "raw",
    };
    this.exchange = {
      kind: "bytes",
      id: context.ids.exchange(),
      flow,
      request: null,
      mark: { input: context.input, first: 0, last: 0, when: unknownWhen },
      recorder: "log",
      durationMs: null,
    };
  }

  run(rows: readonly IndexRow[] | null): void {
    for (const row of rows ?? []) this.row(row);
    this.begin();
    for (const direction of ["up", "down"] as const) {
      const dump = this.dumps[direction];
      if (dump.isEmpty) continue;
      if (rows !== null)
        this.misfit(direction, `${direction === "up" ? "client" : "server"} bytes follow the ones it lists`);
      this.chunk(direction, Number.POSITIVE_INFINITY);
    }
    for (const direction of ["up", "down"] as const) this.end(direction, "capture-ended", null);
    this.summary();
  }

  private row(row: IndexRow): void {
    // Zero stands for "no time", so the very first moment is moved by one nanosecond.
    const at = millis(row.ms);
    this.now = exactly(at === 0n ? 1n : at);
    this.begin();
    if (row.kind === "chunk") {
      if (!this.chunk(row.direction, row.length)) this.misfit(row.direction, "it lists bytes that are not there");
    } else if (row.kind === "end") {
      const first = this.ended.size === 0 ? (row.direction === "up" ? "client" : "server") : null;
      this.end(row.direction, "complete", first ?? (this.ended.has("up") ? "client" : "server"));
    }
  }

  private begin(): Exchange {
    if (this.opened !== null) return this.opened;
    const { sink } = this.context;
    const mark = { ...this.exchange.mark, when: this.now };
    this.opened = { ...this.exchange, mark, opened: this.now };
    sink({ kind: "flow", flow: this.opened.flow, mark });
    sink({ kind: "open", exchange: this.opened });
    return this.opened;
  }

  private chunk(direction: Direction, length: number): boolean {
    const exchange = this.begin();
    const dump = this.dumps[direction];
    const mark = this.mark(direction);
    dump.chunks++;
    return dump.take(length, (bytes) =>
      this.context.sink({ kind: "bytes", exchange, direction, bytes, evidence: "exact", contentDecoded: true, mark }),
    );
  }

  private mark(direction: Direction): Mark {
    const { input, chunks } = this.dumps[direction];
    return { input, first: chunks, last: chunks, when: this.now };
  }

  private end(direction: Direction, reason: "complete" | "capture-ended", by: "client" | "server" | null): void {
    if (this.ended.has(direction)) return;
    this.ended.add(direction);
    const { input, chunks } = this.dumps[direction];
    const last = Math.max(0, chunks - 1);
    const mark = { input, first: last, last, when: this.now };
    this.context.sink({ kind: "end", exchange: this.begin(), direction, reason, by, mark });
  }

  private misfit(direction: Direction, why: string): void {
    this.context.note({ code: "pi.index-misfit", place: placeOf(this.mark(direction)), detail: { why } });
  }

  private summary(): void {
    const { flow, opened } = this.begin();
    const side = ({ taken, digest }: Dump) => ({
      bytes: taken,
      sha256: digest === null ? null : digest.digest("hex"),
      gaps: [],
    });
    this.context.sink({
      kind: "flow-end",
      summary: {
        flow,
        start: opened,
        end: this.now,
        packets: 0,
        up: side(this.dumps.up),
        down: side(this.dumps.down),
        tls: null,
        protocol: this.head.includes("dtypeehello") ? "pi" : "unknown",
      },
    });
  }
}
