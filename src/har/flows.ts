/**
 * Connections of a HAR. A recorder may name the connection of an entry (Chromium, Firefox: `connection`); entries without one belong to
 * the file's own flow. Firefox writes the port there, so the server address is part of the identity.
 */
import type { Mark } from "../core/mark.js";
import { isKnown, maxNanos, minNanos, unknownWhen, type When } from "../core/time.js";
import type { Flow, FlowProtocol } from "../model/exchange.js";
import type { ReaderContext } from "../model/reader.js";
import { asText, type Fields, numberOf } from "./fields.js";

interface OpenFlow {
  readonly flow: Flow;
  start: When;
  end: When;
  up: number;
  down: number;
  protocol: FlowProtocol;
}

/** What one exchange adds to its flow. */
export interface FlowUse {
  readonly opened: When;
  readonly end: When;
  readonly up: number;
  readonly down: number;
  readonly protocol: FlowProtocol;
}

export class HarFlows {
  private readonly open = new Map<string, OpenFlow>();

  constructor(private readonly context: ReaderContext) {}

  /** The flow of an entry; announced on first sight. */
  of(entry: Fields, mark: Mark): Flow {
    const { context } = this;
    const named = connectionOf(entry);
    const known = this.open.get(named?.key ?? "");
    if (known !== undefined) return known.flow;
    // Past the limit connections are no longer told apart.
    const key = this.open.size < context.limits.openFlows ? (named?.key ?? "") : "";
    const again = this.open.get(key);
    if (again !== undefined) return again.flow;
    const flow: Flow = {
      id: context.ids.flow(),
      input: context.input,
      client: "",
      server: key === "" ? "" : named!.server,
      rolesBy: "har",
    };
    this.open.set(key, { flow, start: unknownWhen, end: unknownWhen, up: 0, down: 0, protocol: "unknown" });
    this.byFlow.set(flow.id, this.open.get(key)!);
    context.sink({ kind: "flow", flow, mark });
    return flow;
  }

  private readonly byFlow = new Map<number, OpenFlow>();

  use(flow: Flow, use: FlowUse): void {
    const open = this.byFlow.get(flow.id);
    if (open === undefined) return;
    open.up += use.up;
    open.down += use.down;
    if (open.protocol === "unknown" || use.protocol === "websocket") open.protocol = use.protocol;
    open.start = earlier(open.start, use.opened);
    open.end = later(open.end, isKnown(use.end) ? use.end : use.opened);
  }

  end(): void {
    for (const { flow, start, end, up, down, protocol } of this.open.values()) {
      const side = (bytes: number) => ({ bytes, sha256: null, gaps: [] });
      this.context.sink({
        kind: "flow-end",
        summary: { flow, start, end, packets: 0, up: side(up), down: side(down), tls: null, protocol },
      });
    }
  }
}

function connectionOf(entry: Fields): { key: string; server: string } | undefined {
  const connection = entry?.connection ?? entry?._connectionId;
  const id = typeof connection === "number" ? String(connection) : connection;
  if (typeof id !== "string" || id === "" || id === "-1" || id === "0" || id.length > 256) return undefined;
  const address = (asText(entry?.serverIPAddress) ?? "").slice(0, 64);
  const port = numberOf(entry?._serverPort);
  const host = address.includes(":") && !address.startsWith("[") ? `[${address}]` : address;
  return { key: `${id} ${host} ${port ?? ""}`, server: port === undefined || host === "" ? host : `${host}:${port}` };
}

function earlier(a: When, b: When): When {
  if (!isKnown(a) || !isKnown(b)) return isKnown(a) ? a : b;
  return minNanos(a.earliest, b.earliest) === a.earliest ? a : b;
}

function later(a: When, b: When): When {
  if (!isKnown(a) || !isKnown(b)) return isKnown(a) ? a : b;
  return maxNanos(a.latest, b.latest) === a.latest ? a : b;
}
