/**
 * A WebSocket after its handshake: both directions' bytes in, `frame` events of one exchange out. RFC 6455, RFC 7692; the bytes
 * come from an HTTP/1.1 connection after 101 or from a stream of HTTP/2 after an extended CONNECT (RFC 8441).
 */
import { placeOf } from "../core/mark.js";
import type { Direction } from "../model/exchange.js";
import type { Duplex, LayerContext } from "./duplex.js";
import { type ExchangeEvents, placeSide } from "./exchange-open.js";
import type { WebSocketAgreement } from "./websocket/handshake.js";
import { WebSocketReader } from "./websocket/reader.js";

export function websocketLayer(context: LayerContext, events: ExchangeEvents, agreement: WebSocketAgreement): Duplex {
  const reader = (direction: Direction) =>
    new WebSocketReader(
      direction,
      {
        frame: (frame) => events.frame(direction, frame),
        gap: (length, why, mark) => events.gap(direction, length, why, mark),
        note: (code, mark, detail = {}) => context.note({ code, place: placeOf(mark, placeSide(direction)), detail }),
      },
      context.limits,
      agreement.deflate === null ? null : agreement.deflate.takeover[direction],
    );
  const readers = { up: reader("up"), down: reader("down") };
  return {
    bytes: (direction, bytes, mark) => readers[direction].feed(bytes, mark),
    gap: (direction, length, why, mark) => readers[direction].gap(length, why, mark),
    end: (direction, reason, by, mark) => {
      readers[direction].finish(mark);
      events.end(direction, reason, by, mark);
    },
  };
}
