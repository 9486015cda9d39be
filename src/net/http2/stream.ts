/** One stream of an HTTP/2 connection: its exchange, and what it turned into (WebSocket, a tunnel). RFC 9113 5.1, 8.5, RFC 8441. */
import type { Bytes } from "../../core/bytes.js";
import { type Mark, placeOf } from "../../core/mark.js";
import { type Direction, type GapReason, type Headers, mediaType, type ResponseHead } from "../../model/exchange.js";
import type { Duplex, EndReason, LayerContext } from "../duplex.js";
import { type ExchangeEvents, otherDirection, placeSide, sideOf } from "../exchange-open.js";
import { Held } from "../held.js";
import { websocketAgreement } from "../websocket/handshake.js";
import { websocketLayer } from "../websocket.js";

export class Http2Stream {
  private readonly over: Record<Direction, boolean> = { up: false, down: false };
  private inner: Duplex | null = null;
  /** The client's bytes after CONNECT, until the response says what they are. */
  private held: Held | null = null;
  /** The final response head was seen. */
  responded = false;
  /** The response's trailers are likely to come as a header block. */
  hasTrailers = false;

  constructor(
    readonly id: number,
    private readonly context: LayerContext,
    readonly events: ExchangeEvents,
  ) {
    if (this.method === "CONNECT") this.held = new Held();
  }

  private get method(): string {
    return this.events.exchange.request?.method ?? "";
  }

  get closed(): boolean {
    return this.over.up && this.over.down;
  }

  isOver(direction: Direction): boolean {
    return this.over[direction];
  }

  head(head: ResponseHead, informational: boolean, mark: Mark): void {
    this.events.head(head, informational, mark);
    if (informational) return;
    this.responded = true;
    this.hasTrailers = mediaType(head.headers).startsWith("application/grpc");
    if (this.held !== null) this.decide(head.status >= 200 && head.status < 300, head.headers, mark);
  }

  /** What CONNECT asked for was granted or not; the client's bytes so far go where they belong. */
  private decide(granted: boolean, headers: Headers, mark: Mark): void {
    const { held } = this;
    this.held = null;
    const protocol = this.events.exchange.request?.protocol;
    if (granted && protocol === "websocket")
      this.inner = websocketLayer(this.context, this.events, websocketAgreement(headers));
    else if (granted && protocol === undefined) {
      this.events.end("up", "complete", null, mark);
      this.events.end("down", "complete", null, mark);
      this.inner = this.context.inner({ alpn: null, secure: false });
    }
    for (let event = held?.shift(); event !== undefined; event = held?.shift()) {
      if (event.kind === "bytes") this.passBytes("up", event.bytes, event.mark);
      else if (event.kind === "gap") this.passGap("up", event.length, event.why, event.mark);
      else this.passEnd("up", event.reason, event.by, event.mark);
    }
  }

  /** The response to CONNECT is missing: the client would not have sent bytes had it been refused. */
  private decideUnseen(mark: Mark): void {
    if (this.held === null) return;
    const first = this.held.first;
    if (first?.kind === "bytes")
      this.context.note({ code: "http.switch-unseen", place: placeOf(first.mark, placeSide("up")) });
    this.decide(first?.kind === "bytes", this.events.exchange.request?.headers ?? [], mark);
  }

  bytes(direction: Direction, bytes: Bytes, mark: Mark): void {
    if (this.over[direction]) return;
    if (this.held !== null && direction === "up") {
      this.held.add({ kind: "bytes", bytes, mark });
      if (this.held.bytes > this.context.limits.headBytes) this.decideUnseen(mark);
    } else this.passBytes(direction, bytes, mark);
  }

  private passBytes(direction: Direction, bytes: Bytes, mark: Mark): void {
    if (this.inner !== null) this.inner.bytes(direction, bytes, mark);
    else this.events.bytes(direction, bytes, mark);
  }

  gap(direction: Direction, length: number | undefined, why: GapReason, mark: Mark): void {
    if (this.over[direction]) return;
    if (this.held !== null && direction === "up") this.held.add({ kind: "gap", length, why, mark });
    else this.passGap(direction, length, why, mark);
  }

  private passGap(direction: Direction, length: number | undefined, why: GapReason, mark: Mark): void {
    if (this.inner !== null) this.inner.gap(direction, length, why, mark);
    else this.events.gap(direction, length, why, mark);
  }

  /** END_STREAM, or the end of the connection. */
  end(direction: Direction, reason: EndReason, by: "client" | "server" | null, mark: Mark): void {
    if (this.over[direction]) return;
    this.over[direction] = true;
    if (this.held !== null && direction === "up") this.held.add({ kind: "end", reason, by, mark });
    else this.passEnd(direction, reason, by, mark);
    if (this.closed) this.decideUnseen(mark);
  }

  private passEnd(direction: Direction, reason: EndReason, by: "client" | "server" | null, mark: Mark): void {
    if (this.inner !== null) this.inner.end(direction, reason, by, mark);
    else this.events.end(direction, reason, by, mark);
  }

  /** RST_STREAM sent in that direction: both are over (RFC 9113 6.4). */
  reset(direction: Direction, mark: Mark): void {
    this.end(direction, "reset", sideOf(direction), mark);
    this.end(otherDirection(direction), "reset", sideOf(direction), mark);
  }
}
