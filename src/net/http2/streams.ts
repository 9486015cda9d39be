/**
 * The streams of one HTTP/2 connection: header lists and DATA in, exchanges out. A response can be read before its request when
 * packets come in the wrong order, so it waits (bounded) until the request is there or cannot come any more; then its exchange
 * gets a request without method and path.
 */
import { type Bytes, keep } from "../../core/bytes.js";
import type { Detail, DiagnosticCode } from "../../core/diagnostic.js";
import { type Mark, placeOf } from "../../core/mark.js";
import { Recent } from "../../core/recent.js";
import type { Direction, GapReason } from "../../model/exchange.js";
import type { EndReason, LayerContext } from "../duplex.js";
import { ExchangeEvents, placeSide } from "../exchange-open.js";
import type { Block } from "./blocks.js";
import { requestOf, responseOf, type SplitHeaders, splitPseudo, unseenRequest } from "./head.js";
import { Http2Stream } from "./stream.js";
import { WaitingResponses } from "./waiting.js";

/** How the connection's bytes of a direction ended, for streams that were still open then. */
interface Finish {
  readonly reason: EndReason;
  readonly by: "client" | "server" | null;
  readonly mark: Mark;
}

/** Streams open at once: far above what servers allow. */
const openStreams = 4096;

/** Numbers of ended streams that are remembered: what still arrives for them is ignored, as RFC 9113 5.1 allows it to. */
const rememberedStreams = 4096;

export class Http2Streams {
  private readonly open = new Map<number, Http2Stream>();
  private readonly waiting: WaitingResponses;
  private readonly closed = new Recent<number, true>(rememberedStreams);
  /** Streams with something new since the last loss in that direction. */
  private readonly active: Record<Direction, Set<number>> = { up: new Set(), down: new Set() };
  /** Header blocks of that direction may be missing. */
  readonly lossy: Record<Direction, boolean> = { up: false, down: false };
  private readonly finished: Record<Direction, Finish | null> = { up: null, down: null };
  /** Highest number of a request's stream. */
  highest = 0;
  /** Streams opened so far. */
  opened = 0;
  /** Streams that ended without a response head. */
  unanswered = 0;
  pushes = false;
  /** DATA bytes for streams that were over: a receiver ignores them too. */
  private readonly ignored: Record<Direction, number> = { up: 0, down: 0 };
  /** Streams whose response head is to come: number -> order of opening, oldest first. */
  private readonly awaiting = new Map<number, number>();
  /** Streams that have their head and may get another block: gRPC's trailers. */
  private readonly trailing = new Set<number>();

  constructor(
    private readonly context: LayerContext,
    private readonly secure: boolean,
  ) {
    this.waiting = new WaitingResponses(context.limits.headBytes);
  }

  isOpen(stream: number): boolean {
    return this.open.has(stream) || this.waiting.has(stream);
  }

  /** Whether a stream other than this one, opened as one of the first `count`, still waits for its response head. */
  awaitsHead(count: number, except: number): boolean {
    for (const [id, order] of this.awaiting) if (id !== except) return order < count;
    return false;
  }

  /** Whether header blocks may come on streams that have their head. */
  get expectsTrailers(): boolean {
    return this.trailing.size > 0;
  }

  private note(direction: Direction, code: DiagnosticCode, mark: Mark, detail: Detail): void {
    this.context.note({ code, place: placeOf(mark, placeSide(direction)), detail });
  }

  /** An exchange opened elsewhere becomes stream 1 (h2c upgrade, RFC 7540 3.2): its request is complete. */
  adopt(events: ExchangeEvents, mark: Mark): void {
    const stream = new Http2Stream(1, this.context, events);
    this.open.set(1, stream);
    this.awaiting.set(1, this.opened++);
    this.highest = 1;
    stream.end("up", "complete", null, mark);
  }

  block(direction: Direction, block: Block): void {
    if (block.promised !== null) this.promise(block, block.promised);
    else if (direction === "up") this.requestBlock(block);
    else this.responseBlock(block);
  }

  private requestBlock(block: Block): void {
    const id = block.stream;
    let stream = this.open.get(id);
    if (stream !== undefined) this.trailers(stream, "up", block);
    else {
      if (this.closed.has(id)) return;
      stream = this.request(id, block);
    }
    if (block.endStream) this.end(stream, "up", block.span);
  }

  private request(id: number, block: Block): Http2Stream {
    const list = block.list === null ? null : this.split(id, "up", block);
    const known = list !== null && list.pseudo.size > 0;
    if (known && list.fault === null && !list.pseudo.has(":method") && !this.lossy.up)
      this.note("up", "http2.bad-head", block.span, { stream: id, what: "no :method" });
    if (id > this.highest) {
      // Numbers only rise: the requests of lower ones that responses wait for were lost.
      for (const lower of this.waiting.below(id)) this.unseen(lower);
      this.highest = id;
    }
    if (!known) return this.unseen(id, block);
    const stream = this.start(
      id,
      new ExchangeEvents(this.context, requestOf(list, this.secure), block.first, block.span),
    );
    this.replay(stream);
    return stream;
  }

  private start(id: number, events: ExchangeEvents): Http2Stream {
    const stream = new Http2Stream(id, this.context, events);
    this.open.set(id, stream);
    this.awaiting.set(id, this.opened++);
    this.active.up.add(id);
    this.active.down.add(id);
    if (this.open.size > openStreams) this.dropOldest(events.exchange.mark);
    return stream;
  }

  /** A capture of the client's side alone never ends its streams. */
  private dropOldest(mark: Mark): void {
    for (const stream of this.open.values()) {
      this.note("down", "http.response-lost", stream.events.exchange.mark, {});
      stream.gap("down", undefined, "not-captured", mark);
      stream.end("up", "capture-ended", null, mark);
      stream.end("down", "capture-ended", null, mark);
      this.close(stream);
      return;
    }
  }

  private split(id: number, direction: Direction, block: Block): SplitHeaders {
    const list = splitPseudo(block.list ?? []);
    if (list.fault !== null) this.note(direction, "http2.bad-head", block.span, { stream: id, what: list.fault });
    return list;
  }

  /** Opens an exchange whose request is not in the capture, and gives it what waited for it. */
  private unseen(id: number, seen?: { readonly first: Mark; readonly span: Mark }): Http2Stream {
    const first = this.waiting.get(id)?.first ?? seen?.first;
    const mark = first!;
    const stream = this.start(
      id,
      new ExchangeEvents(this.context, unseenRequest(this.secure), mark, seen?.span ?? mark),
    );
    this.note("up", "http2.request-unseen", seen?.span ?? mark, { stream: id });
    stream.gap("up", undefined, "not-captured", mark);
    this.replay(stream);
    return stream;
  }

  /** What waited for this stream to open, and the ends of the directions that were over before it did. */
  private replay(stream: Http2Stream): void {
    const { id } = stream;
    for (const step of this.waiting.take(id)?.steps ?? []) step();
    for (const direction of ["up", "down"] as const) {
      const finish = this.finished[direction];
      if (finish !== null) stream.end(direction, finish.reason, finish.by, finish.mark);
    }
    if (stream.closed) this.close(stream);
  }

  private responseBlock(block: Block): void {
    const stream = this.forResponse(block.stream, block.first, () => this.responseBlock(block));
    if (stream === undefined) return;
    this.active.down.add(stream.id);
    if (stream.responded || block.list === null) this.trailers(stream, "down", block);
    else this.response(stream, block);
    if (block.endStream) this.end(stream, "down", block.span);
  }

  private response(stream: Http2Stream, block: Block): void {
    const list = this.split(stream.id, "down", block);
    if (!list.pseudo.has(":status")) {
      // The head was lost and these are trailers, or it refers to a table entry that was.
      if (block.endStream && this.lossy.down) {
        stream.events.trailers("down", list.headers, block.span);
        return;
      }
      if (!this.lossy.down) this.note("down", "http2.bad-head", block.span, { stream: stream.id, what: "no :status" });
    }
    const head = responseOf(list);
    stream.head(head, head.status >= 100 && head.status < 200, block.span);
    if (!stream.responded) return;
    this.awaiting.delete(stream.id);
    if (stream.hasTrailers) this.trailing.add(stream.id);
  }

  private trailers(stream: Http2Stream, direction: Direction, block: Block): void {
    if (block.list === null) stream.gap(direction, undefined, "tcp-gap", block.span);
    else stream.events.trailers(direction, splitPseudo(block.list).headers, block.span);
  }

  /** The stream of something the server sent; undefined: it waits for its request, or comes for a stream that is over. */
  private forResponse(id: number, first: Mark, again: () => void, bytes = 0): Http2Stream | undefined {
    const stream = this.open.get(id);
    if (stream !== undefined) return stream;
    if (this.closed.has(id)) return undefined;
    const mayCome = id % 2 === 1 && id > this.highest && this.finished.up === null;
    if (!mayCome)
      return this.lossy.up || this.lossy.down || this.finished.up !== null
        ? this.unseen(id, { first, span: first })
        : undefined;
    this.wait(id, first, again, bytes);
    return undefined;
  }

  private wait(id: number, first: Mark, step: () => void, bytes: number): void {
    if (this.waiting.add(id, first, step, bytes)) return;
    for (const each of this.waiting.streams) this.unseen(each);
  }

  private promise(block: Block, id: number): void {
    this.pushes = true;
    if (this.open.has(id) || this.closed.has(id)) return;
    const list = block.list === null ? null : this.split(id, "down", block);
    const stream =
      list === null
        ? this.unseen(id, block)
        : this.start(id, new ExchangeEvents(this.context, requestOf(list, this.secure), block.first, block.span));
    stream.end("up", "complete", null, block.span);
    this.replay(stream);
  }

  data(direction: Direction, id: number, bytes: Bytes, mark: Mark): void {
    const stream = this.open.get(id) ?? this.unknown(direction, id, bytes, mark);
    if (stream === undefined) {
      if (!this.waiting.has(id)) this.ignored[direction] += bytes.length;
      return;
    }
    if (stream.isOver(direction)) this.ignored[direction] += bytes.length;
    this.active[direction].add(id);
    stream.bytes(direction, bytes, mark);
  }

  private unknown(direction: Direction, id: number, bytes: Bytes, mark: Mark): Http2Stream | undefined {
    if (direction === "down") {
      const mayWait = id > this.highest && !this.closed.has(id);
      const kept = mayWait ? keep(bytes) : bytes;
      return this.forResponse(id, mark, () => this.data("down", id, kept, mark), bytes.length);
    }
    if (this.closed.has(id) || !this.lossy.up) return undefined;
    this.highest = Math.max(this.highest, id);
    return this.unseen(id, { first: mark, span: mark });
  }

  dataEnd(direction: Direction, id: number, mark: Mark): void {
    const stream =
      direction === "up" ? this.open.get(id) : this.forResponse(id, mark, () => this.dataEnd(direction, id, mark));
    if (stream !== undefined) this.end(stream, direction, mark);
  }

  dataGap(direction: Direction, id: number, length: number | undefined, why: GapReason, mark: Mark): void {
    const stream =
      direction === "up"
        ? this.open.get(id)
        : this.forResponse(id, mark, () => this.dataGap(direction, id, length, why, mark));
    stream?.gap(direction, length, why, mark);
    if (length === undefined) this.active[direction].delete(id);
  }

  reset(direction: Direction, id: number, mark: Mark): void {
    const stream = this.open.get(id);
    if (stream !== undefined) {
      stream.reset(direction, mark);
      this.close(stream);
    } else if (this.waiting.has(id)) this.wait(id, mark, () => this.reset(direction, id, mark), 0);
  }

  private end(stream: Http2Stream, direction: Direction, mark: Mark): void {
    stream.end(direction, "complete", null, mark);
    if (stream.closed) this.close(stream);
  }

  private close(stream: Http2Stream): void {
    const { id } = stream;
    this.open.delete(id);
    this.trailing.delete(id);
    if (this.awaiting.delete(id)) this.unanswered++;
    this.active.up.delete(id);
    this.active.down.delete(id);
    this.closed.set(id, true);
  }

  /** Frames of any stream may be missing; said once per stream until it goes on. */
  lost(direction: Direction, why: GapReason, mark: Mark): void {
    this.lossy[direction] = true;
    for (const id of this.active[direction]) this.open.get(id)?.gap(direction, undefined, why, mark);
    this.active[direction].clear();
  }

  /** The connection's bytes of that direction are over. `by`: who closed it first. */
  finish(direction: Direction, reason: EndReason, by: "client" | "server" | null, mark: Mark): void {
    const finish = { reason: reason === "complete" ? "reset" : reason, by, mark } as const;
    this.finished[direction] = finish;
    const ignored = this.ignored[direction];
    if (ignored > 0) this.note(direction, "http2.after-end", mark, { bytes: ignored, direction });
    if (direction === "up") for (const id of this.waiting.streams) this.unseen(id);
    for (const stream of [...this.open.values()]) {
      stream.end(direction, finish.reason, by, mark);
      if (stream.closed) this.close(stream);
    }
  }
}
