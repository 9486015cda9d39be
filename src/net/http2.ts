/**
 * HTTP/2 on one connection: both directions' bytes in, exchanges out. RFC 9113, with RFC 7541 (HPACK), RFC 8441 (WebSocket) and the
 * h2c upgrade of RFC 7540 3.2. A connection joined in the middle and one with gaps still give frames; headers that refer to what
 * was not seen are said to be unknown.
 */
import { type Bytes, readU32BE } from "../core/bytes.js";
import type { Detail, DiagnosticCode } from "../core/diagnostic.js";
import { type Mark, placeOf } from "../core/mark.js";
import { type Direction, type GapReason, headerValue } from "../model/exchange.js";
import type { Duplex, EndReason, LayerContext } from "./duplex.js";
import { type ExchangeEvents, otherDirection, placeSide, sideOf } from "./exchange-open.js";
import { HeaderBlocks } from "./http2/blocks.js";
import { type FrameHead, frameFlag, frameType } from "./http2/frame.js";
import { FrameReader, frameLimit } from "./http2/reader.js";
import { readSettings, type Settings, settingsFromHeader } from "./http2/settings.js";
import { Http2Streams } from "./http2/streams.js";

export interface Http2Options {
  /** Inside TLS. */
  readonly secure: boolean;
  /** The HTTP/1.1 exchange that asked for h2c: it becomes stream 1. */
  readonly upgraded?: ExchangeEvents;
}

export function http2Layer(context: LayerContext, options: Http2Options): Duplex {
  return new Http2(context, options);
}

interface Side {
  readonly reader: FrameReader;
  readonly blocks: HeaderBlocks;
  over: boolean;
  /** At the last loss whose effect is not known yet: what must not have been among the missing frames. */
  doubt: Doubt | null;
}

interface Doubt {
  /** Highest stream number at the first of the losses. */
  readonly highest: number;
  /** Streams opened up to the last of them. */
  readonly opened: number;
  /** Streams that had ended without a response head at the first. */
  readonly unanswered: number;
  /** Blocks may have been lost that nothing tells of. */
  readonly hopeless: boolean;
}

class Http2 implements Duplex {
  private readonly streams: Http2Streams;
  private readonly sides: Record<Direction, Side>;
  private closedBy: "client" | "server" | null = null;

  constructor(
    private readonly context: LayerContext,
    options: Http2Options,
  ) {
    this.streams = new Http2Streams(context, options.secure);
    this.sides = { up: this.side("up"), down: this.side("down") };
    context.protocol("http2");
    if (options.upgraded !== undefined) this.adopt(options.upgraded);
  }

  private adopt(events: ExchangeEvents): void {
    this.streams.adopt(events, events.exchange.mark);
    const settings = headerValue(events.exchange.request?.headers ?? [], "http2-settings");
    if (settings !== undefined) this.settings("up", settingsFromHeader(settings));
  }

  private side(direction: Direction): Side {
    const { limits } = this.context;
    const note = (code: DiagnosticCode, mark: Mark, detail: Detail = {}) =>
      this.context.note({ code, place: placeOf(mark, placeSide(direction)), detail });
    const blocks = new HeaderBlocks(
      direction,
      {
        block: (block) => this.streams.block(direction, block),
        survived: (stream) => this.survived(direction, stream),
        note,
      },
      limits,
    );
    const { streams } = this;
    const reader = new FrameReader(
      direction,
      {
        data: (stream, bytes, mark) => {
          blocks.interrupted(mark);
          streams.data(direction, stream, bytes, mark);
        },
        dataEnd: (stream, endStream, mark) => {
          if (endStream) streams.dataEnd(direction, stream, mark);
        },
        dataGap: (stream, length, why, mark) => streams.dataGap(direction, stream, length, why, mark),
        frame: (head, payload, first, mark) => this.frame(direction, head, payload, first, mark),
        late: (mark) => this.late(direction, mark),
        lost: (why, mark) => this.lost(direction, why, mark),
        note,
      },
      limits.headBytes,
      streams,
    );
    return { reader, blocks, over: false, doubt: null };
  }

  bytes(direction: Direction, bytes: Bytes, mark: Mark): void {
    if (!this.sides[direction].over) this.sides[direction].reader.feed(bytes, mark);
  }

  gap(direction: Direction, length: number | undefined, why: GapReason, mark: Mark): void {
    if (length !== 0 && !this.sides[direction].over) this.sides[direction].reader.gap(length, why, mark);
  }

  end(direction: Direction, reason: EndReason, by: "client" | "server" | null, mark: Mark): void {
    const side = this.sides[direction];
    if (side.over) return;
    if (reason !== "capture-ended") this.closedBy ??= by ?? sideOf(direction);
    side.reader.finish(mark);
    side.over = true;
    this.streams.finish(direction, reason, reason === "capture-ended" ? null : this.closedBy, mark);
  }

  private frame(direction: Direction, head: FrameHead, payload: Bytes | null, first: Mark, mark: Mark): void {
    const { blocks } = this.sides[direction];
    switch (head.type) {
      case frameType.headers:
      case frameType.push:
      case frameType.continuation:
        blocks.frame(head, payload, first, mark);
        return;
      case frameType.reset:
        blocks.interrupted(mark);
        this.streams.reset(direction, head.stream, mark);
        return;
      case frameType.settings:
        if ((head.flags & frameFlag.ack) === 0)
          this.settings(direction, payload === null ? null : readSettings(payload));
        return;
      case frameType.goaway:
        if (payload !== null) this.goaway(direction, payload, mark);
        return;
      default:
        // PRIORITY, PING and WINDOW_UPDATE say nothing about exchanges.
        blocks.interrupted(mark);
    }
  }

  /** What one side announces binds the other one's encoder. null: lost, so anything may be allowed. */
  private settings(direction: Direction, settings: Settings | null): void {
    const { reader, blocks } = this.sides[otherDirection(direction)];
    if (settings === null) {
      reader.maxFrame = null;
      blocks.hpack.allowed = null;
      return;
    }
    const { headerTableSize: table, maxFrameSize: frame } = settings;
    // A lower value binds only once it is acknowledged, so the higher one is what counts as allowed.
    if (table !== null && blocks.hpack.allowed !== null) blocks.hpack.allowed = Math.max(blocks.hpack.allowed, table);
    if (frame !== null && reader.maxFrame !== null) reader.maxFrame = Math.max(reader.maxFrame, frameLimit(frame));
  }

  private goaway(direction: Direction, payload: Bytes, mark: Mark): void {
    const error = readU32BE(payload, 4);
    if (error === 0) return;
    const detail = { by: sideOf(direction), error, stream: readU32BE(payload, 0) & 0x7fff_ffff };
    this.context.note({ code: "http2.goaway", place: placeOf(mark, placeSide(direction)), detail });
  }

  private late(direction: Direction, mark: Mark): void {
    const { blocks } = this.sides[direction];
    this.context.note({ code: "http2.joined-late", place: placeOf(mark, placeSide(direction)), detail: { direction } });
    blocks.late();
    this.streams.lossy[direction] = true;
    // The other side's encoder is bound by SETTINGS that were not seen.
    this.settings(direction, null);
  }

  private lost(direction: Direction, why: GapReason, mark: Mark): void {
    const side = this.sides[direction];
    const { streams } = this;
    const before = side.doubt;
    const moreBlocks = direction === "down" && (streams.pushes || streams.expectsTrailers);
    side.doubt = {
      highest: before?.highest ?? streams.highest,
      opened: streams.opened,
      unanswered: before?.unanswered ?? streams.unanswered,
      hopeless: moreBlocks || (before?.hopeless ?? false),
    };
    streams.lost(direction, why, mark);
    side.blocks.lost(mark);
    this.context.note({ code: "http2.frames-lost", place: placeOf(mark, placeSide(direction)), detail: { direction } });
  }

  /**
   * Whether the header blocks all came through a loss. Requests: clients number their streams 1, 3, 5, so the next number in turn
   * says that none is missing. Responses: no stream but this one waits for its head any more.
   */
  private survived(direction: Direction, stream: number): boolean {
    const side = this.sides[direction];
    const { doubt } = side;
    const { streams } = this;
    side.doubt = null;
    if (doubt === null) return true;
    if (direction === "up") return stream === (doubt.highest === 0 ? 1 : doubt.highest + 2);
    if (doubt.hopeless || streams.unanswered > doubt.unanswered) return false;
    return !streams.awaitsHead(doubt.opened, stream);
  }
}
