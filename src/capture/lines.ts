/**
 * JSON-lines logs of a stdio conversation -> neck events. One line is one JSON object `{"at_ms", "dir", "text"}`; `dir` is
 * `client_to_agent` (up) or `agent_to_client` (down); `text` is what one side wrote. Times are exact, in ms since 1970.
 */
import { asBuffer, type Bytes, utf8, utf8Bytes } from "../core/bytes.js";
import type { Mark } from "../core/mark.js";
import { placeOf } from "../core/mark.js";
import { exactly, millis, unknownWhen, type When } from "../core/time.js";
import type { Direction, Exchange, Flow } from "../model/exchange.js";
import type { ReaderContext } from "../model/reader.js";
import type { Source } from "./source.js";

const directions: Readonly<Record<string, Direction>> = { client_to_agent: "up", agent_to_client: "down" };

/** Whether the first line is a log line of this form. */
export function looksLikeLines(head: Bytes): boolean {
  const newline = head.indexOf(0x0a);
  const line = newline < 0 ? head : head.subarray(0, newline);
  return line.length < 16 * 1024 * 1024 && parseLine(line) !== undefined;
}

interface LogLine {
  readonly when: When;
  readonly direction: Direction;
  readonly text: string;
}

function parseLine(line: Bytes): LogLine | undefined {
  if (line.length === 0) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(utf8(line).replace(/^\uFEFF/, ""));
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { at_ms: at, dir, text } = value as { at_ms?: unknown; dir?: unknown; text?: unknown };
  if (typeof dir !== "string" || typeof text !== "string") return undefined;
  const direction = Object.hasOwn(directions, dir) ? directions[dir] : undefined;
  if (direction === undefined) return undefined;
  return { when: typeof at === "number" && Number.isFinite(at) ? exactly(millis(at)) : unknownWhen, direction, text };
}

/** Reads the whole log as one exchange of kind "lines": one piece per line, newline included. */
export function readLines(source: Source, context: ReaderContext): void {
  const log = new LogReader(context);
  for (const line of splitLines(source.blocks())) log.line(line);
  log.end();
}

class LogReader {
  private index = -1;
  private exchange: Exchange | undefined;
  private last: Mark | undefined;
  private readonly totals = { up: 0, down: 0 };

  constructor(private readonly context: ReaderContext) {}

  line(line: Bytes): void {
    this.index++;
    if (line.length === 0) return;
    const parsed = parseLine(line);
    const mark = this.mark(parsed?.when ?? this.last?.when ?? unknownWhen);
    if (parsed === undefined) {
      this.context.note({ code: "lines.bad-line", place: placeOf(mark), detail: { bytes: line.length } });
      return;
    }
    this.last = mark;
    const exchange = this.exchange ?? this.open(mark);
    const bytes = utf8Bytes(parsed.text.endsWith("\n") ? parsed.text : `${parsed.text}\n`);
    this.totals[parsed.direction] += bytes.length;
    this.context.sink({
      kind: "bytes",
      exchange,
      direction: parsed.direction,
      bytes,
      evidence: "exact",
      contentDecoded: true,
      mark,
    });
  }

  end(): void {
    const { exchange, last } = this;
    if (exchange === undefined || last === undefined) return;
    for (const direction of ["up", "down"] as const) {
      this.context.sink({ kind: "end", exchange, direction, reason: "capture-ended", by: null, mark: last });
    }
    const side = (bytes: number) => ({ bytes, sha256: null, gaps: [] });
    this.context.sink({
      kind: "flow-end",
      summary: {
        flow: exchange.flow,
        start: exchange.opened,
        end: last.when,
        packets: 0,
        up: side(this.totals.up),
        down: side(this.totals.down),
        tls: null,
        protocol: "jsonl",
      },
    });
  }

  private mark(when: When): Mark {
    return { input: this.context.input, first: this.index, last: this.index, when };
  }

  private open(mark: Mark): Exchange {
    const { context } = this;
    const flow: Flow = {
      id: context.ids.flow(),
      input: context.input,
      client: "client",
      server: "agent",
      rolesBy: "raw",
    };
    const exchange: Exchange = {
      kind: "lines",
      id: context.ids.exchange(),
      flow,
      request: null,
      opened: mark.when,
      mark,
      recorder: "log",
      durationMs: null,
    };
    this.exchange = exchange;
    context.sink({ kind: "flow", flow, mark });
    context.sink({ kind: "open", exchange });
    return exchange;
  }
}

/** Lines without their newline (CR LF too); a last line without newline counts. */
function* splitLines(blocks: Iterable<Bytes>): Generator<Bytes> {
  let rest: Bytes[] = [];
  for (const block of blocks) {
    let from = 0;
    for (let at = block.indexOf(0x0a); at >= 0; at = block.indexOf(0x0a, from)) {
      rest.push(block.subarray(from, at));
      yield withoutReturn(rest.length === 1 ? rest[0]! : asBuffer(Buffer.concat(rest)));
      rest = [];
      from = at + 1;
    }
    if (from < block.length) rest.push(block.subarray(from));
  }
  if (rest.length > 0) yield withoutReturn(Buffer.concat(rest));
}

function withoutReturn(line: Bytes): Bytes {
  return line.at(-1) === 0x0d ? line.subarray(0, -1) : line;
}
