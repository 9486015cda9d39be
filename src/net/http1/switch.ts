/** What an HTTP/1 connection becomes after CONNECT or Upgrade: the layer that reads on. RFC 9110 7.8, 9.3.6. */
import { type Mark, placeOf } from "../../core/mark.js";
import { type Headers, headerValue } from "../../model/exchange.js";
import type { Duplex, LayerContext } from "../duplex.js";
import { type ExchangeEvents, placeSide } from "../exchange-open.js";
import { http2Layer } from "../http2.js";
import { websocketAgreement } from "../websocket/handshake.js";
import { websocketLayer } from "../websocket.js";
import type { SwitchKind } from "./pairing.js";

/** `headers`: of the 101 response; of the request where the response was not captured. */
export function turnedInto(
  kind: SwitchKind,
  context: LayerContext,
  secure: boolean,
  events: ExchangeEvents,
  headers: Headers,
  mark: Mark,
): Duplex {
  switch (kind) {
    case "connect":
      events.end("up", "complete", null, mark);
      events.end("down", "complete", null, mark);
      return context.inner({ alpn: null, secure: false });
    case "websocket":
      context.protocol("websocket");
      return websocketLayer(context, events, websocketAgreement(headers));
    case "h2c":
      context.protocol("http2");
      return http2Layer(context, { secure, upgraded: events });
    case "other": {
      const protocol = (headerValue(headers, "upgrade") ?? "").slice(0, 64);
      context.note({ code: "http1.switched", place: placeOf(mark, placeSide("down")), detail: { protocol } });
      return rawBody(events);
    }
  }
}

/** Both directions of an unknown protocol, as bytes of the exchange that asked for it. */
function rawBody(events: ExchangeEvents): Duplex {
  return {
    bytes: (direction, bytes, mark) => events.bytes(direction, bytes, mark),
    gap: (direction, length, why, mark) => events.gap(direction, length, why, mark),
    end: (direction, reason, by, mark) => events.end(direction, reason, by, mark),
  };
}
