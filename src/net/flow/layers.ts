/** The protocol layers that a connection may need; a table, so that tests and benchmarks can stand in for them. */
import type { KeyLog } from "../../capture/keylog.js";
import type { TlsInfo } from "../../model/exchange.js";
import type { Duplex, LayerContext } from "../duplex.js";
import { http1Layer } from "../http1.js";
import { http2Layer } from "../http2.js";
import { tlsLayer } from "../tls/index.js";
import { RawExchange } from "./raw.js";

export interface Layers {
  tls(context: LayerContext, keys: KeyLog, inner: (alpn: string | null) => Duplex): Duplex & { info(): TlsInfo };
  http1(context: LayerContext, secure: boolean): Duplex;
  http2(context: LayerContext, secure: boolean): Duplex;
  raw(context: LayerContext): Duplex;
}

export const layers: Layers = {
  tls: tlsLayer,
  http1: http1Layer,
  http2: (context, secure) => http2Layer(context, { secure }),
  raw: (context) => new RawExchange(context),
};
