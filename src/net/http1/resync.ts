/** Finds the place to go on in an HTTP/1 direction that is out of step, and counts what was passed over. */
import { type Bytes, concat, keep, noBytes } from "../../core/bytes.js";
import type { Detail, DiagnosticCode } from "../../core/diagnostic.js";
import { type Mark, spanMarks } from "../../core/mark.js";
import type { Direction } from "../../model/exchange.js";
import { findSizeLine } from "./chunk.js";
import { type FoundStart, findStartLine, mayBeginStartLine } from "./head.js";

export interface ResyncPoint {
  /** true: a start line; false: a chunk-size line of the message under way. */
  readonly start: boolean;
  /** Where to read on: the piece, or the piece with the beginning of its line in front. */
  readonly bytes: Bytes;
  readonly at: number;
  readonly mark: Mark;
}

const LF = 10;
/** The longest beginning of a start line that is held while its end has not arrived. */
const heldLineBytes = 8192;

export class Resync {
  private held: Bytes = noBytes;
  private heldMark: Mark | undefined;
  private skipped = 0;
  private firstMark: Mark | undefined;
  chunked = false;

  constructor(
    private readonly direction: Direction,
    private readonly note: (code: DiagnosticCode, mark: Mark, detail: Detail) => void,
  ) {}

  begin(chunked: boolean): void {
    this.passed(this.held.length);
    this.held = noBytes;
    this.chunked = chunked;
  }

  /** Bytes that turned out to be no head. */
  skip(count: number, mark: Mark): void {
    if (count > 0) this.firstMark ??= mark;
    this.passed(count);
  }

  /** The next place to go on at or after `from`; a piece's first byte counts as a possible start (a segment boundary). */
  search(piece: Bytes, from: number, mark: Mark): ResyncPoint | undefined {
    this.firstMark ??= mark;
    const own = from === 0 ? piece : piece.subarray(from);
    const start = findStartLine(own, this.direction, from === 0);
    const chunk = this.chunked ? findSizeLine(piece, from, from === 0) : -1;
    if (chunk >= 0 && (start === undefined || chunk - from <= start.at)) {
      this.passed(this.held.length + chunk - from);
      return this.found({ start: false, bytes: piece, at: chunk, mark });
    }
    const atFirst = start?.at === 0 && start.whole;
    if (this.held.length > 0 && !atFirst) return this.searchJoined(own, mark);
    if (start === undefined) return this.hold(own, from === 0, mark);
    this.passed(this.held.length + start.at);
    if (!start.whole) return this.keepLine(own.subarray(start.at), mark);
    return this.found({ start: true, bytes: piece, at: from + start.at, mark });
  }

  /** A held beginning of a line, with the piece that goes on with it. */
  private searchJoined(own: Bytes, mark: Mark): ResyncPoint | undefined {
    const joined = concat([this.held, own]);
    const span = spanMarks(this.heldMark ?? mark, mark);
    this.held = noBytes;
    const start: FoundStart | undefined = findStartLine(joined, this.direction, true);
    if (start === undefined) return this.hold(joined, true, span);
    this.passed(start.at);
    if (!start.whole) return this.keepLine(joined.subarray(start.at), span);
    return this.found({ start: true, bytes: joined, at: start.at, mark: span });
  }

  private hold(bytes: Bytes, atStart: boolean, mark: Mark): undefined {
    const line = bytes.lastIndexOf(LF) + 1;
    const tail = line > 0 || atStart ? bytes.subarray(line) : noBytes;
    const keeps = tail.length > 0 && tail.length <= heldLineBytes && mayBeginStartLine(tail, this.direction);
    this.passed(bytes.length - (keeps ? tail.length : 0));
    return keeps ? this.keepLine(tail, mark) : undefined;
  }

  private keepLine(line: Bytes, mark: Mark): undefined {
    if (line.length > heldLineBytes) this.passed(line.length);
    else {
      this.held = keep(line);
      this.heldMark = mark;
    }
    return undefined;
  }

  private passed(count: number): void {
    this.skipped += count;
  }

  private found(point: ResyncPoint): ResyncPoint {
    this.held = noBytes;
    this.report(point.mark);
    return point;
  }

  finish(mark: Mark): void {
    this.passed(this.held.length);
    this.held = noBytes;
    this.report(mark);
  }

  private report(mark: Mark): void {
    if (this.skipped > 0) {
      const span = spanMarks(this.firstMark ?? mark, mark);
      this.note("http1.skipped", span, { bytes: this.skipped, direction: this.direction });
    }
    this.skipped = 0;
    this.firstMark = undefined;
  }
}
