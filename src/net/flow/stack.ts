/** Builds the layers of one connection, and those inside them: TLS in a CONNECT tunnel in a SOCKS5 proxy, each by a fresh switch. */

import { assertNever } from "../../core/errors.js";
import type { Mark } from "../../core/mark.js";
import { placeOf } from "../../core/mark.js";
import type { Flow, FlowProtocol, TlsInfo } from "../../model/exchange.js";
import type { Duplex, LayerContext } from "../duplex.js";
import { proxyHeaderLayer, socks5Layer } from "../proxy.js";
import type { Protocol } from "../sniff.js";
import type { ConnectionTools } from "./connection.js";
import { ProtocolSwitch } from "./switch.js";

/** What the layers of one connection report to it. */
export interface Stack {
  readonly tools: ConnectionTools;
  /** The outermost TLS. */
  tls: (Duplex & { info(): TlsInfo }) | undefined;
  protocol: FlowProtocol;
  lastMark(): Mark;
  text(): string;
}

export interface Inside {
  readonly alpn: string | null;
  readonly secure: boolean;
  /** The beginning was not captured. */
  readonly midway: boolean;
  /** Switches around this one. */
  readonly depth: number;
}

/** Nobody stacks more; a hostile capture repeats PROXY headers for ever. */
const maxDepth = 8;

export function innerSwitch(stack: Stack, flow: Flow, inside: Inside): Duplex {
  const { tools } = stack;
  const context: LayerContext = {
    flow,
    limits: tools.limits,
    note: tools.note,
    sink: tools.sink,
    ids: tools.ids,
    protocol: (name) => {
      stack.protocol = name;
    },
    inner: (hint) => innerSwitch(stack, flow, { ...hint, midway: false, depth: inside.depth + 1 }),
  };
  if (inside.depth > maxDepth) {
    const detail = { flow: stack.text(), limit: maxDepth };
    tools.note({ code: "net.nested-too-deep", place: placeOf(stack.lastMark()), detail });
    return tools.layers.raw(context);
  }
  return new ProtocolSwitch({
    alpn: inside.alpn,
    midway: inside.midway,
    build: (protocol) => build(stack, context, protocol, inside.secure),
  });
}

function build(stack: Stack, context: LayerContext, protocol: Protocol, secure: boolean): Duplex {
  const { layers, keys } = stack.tools;
  switch (protocol) {
    case "tls": {
      const tls = layers.tls(context, keys, (alpn) => context.inner({ alpn, secure: true }));
      stack.tls ??= tls;
      return tls;
    }
    case "http1":
      context.protocol("http1");
      return layers.http1(context, secure);
    case "http2":
      context.protocol("http2");
      return layers.http2(context, secure);
    case "socks5":
      return socks5Layer(context, secure, () => layers.raw(context));
    case "proxy-header":
      return proxyHeaderLayer(context, secure, () => layers.raw(context));
    case "raw":
      return layers.raw(context);
    default:
      return assertNever(protocol);
  }
}
