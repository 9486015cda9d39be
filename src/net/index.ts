/** One packet in, exchanges out: link layer, IP, TCP, and the protocol layers of every connection. */
import type { KeyLog } from "../capture/keylog.js";
import type { Packet } from "../capture/packet.js";
import type { Note } from "../core/diagnostic.js";
import type { Limits } from "../core/limits.js";
import { Place } from "../core/place.js";
import type { Ids, NeckSink } from "../model/exchange.js";
import { Dissector } from "./dissect.js";
import { type Layers, layers } from "./flow/layers.js";
import { QuicFlows } from "./flow/quic.js";
import { FlowTable } from "./flow/table.js";
import { Recent } from "./tcp/recent.js";
import { Waiting } from "./tcp/waiting.js";

export interface Net {
  /** Packets of all inputs, in order of time. */
  push(packet: Packet): void;
  /** No more packets: every connection ends, in order of their first packets. */
  end(): void;
  readonly counts: { packets: number };
}

export interface NetContext {
  readonly limits: Limits;
  readonly note: Note;
  readonly sink: NeckSink;
  readonly ids: Ids;
  readonly keys: KeyLog;
  /** Flow summaries carry SHA-256 of both directions. */
  readonly wantHashes: boolean;
}

export function net(context: NetContext): Net {
  return netWith(context, layers);
}

/** With other protocol layers than the real ones: for tests and benchmarks. */
export function netWith(context: NetContext, table: Layers): Net {
  return new PacketNet(context, table);
}

class PacketNet implements Net {
  readonly counts = { packets: 0 };
  private readonly dissector: Dissector;
  private readonly flows: FlowTable;
  private readonly quic: QuicFlows;
  private readonly recent = new Recent();
  private readonly waiting: Waiting;
  private current: Packet | undefined;

  constructor(context: NetContext, table: Layers) {
    const { limits, note } = context;
    this.dissector = new Dissector(limits.fragmentBytes, (code, detail, index) => {
      const at = index ?? this.current?.index ?? 0;
      note({ code, place: new Place(this.current?.input ?? 0, at, at), ...(detail === undefined ? {} : { detail }) });
    });
    this.waiting = new Waiting(limits.reorderBytesTotal, () => {
      const { input, index } = this.current!;
      note({ code: "tcp.reorder-limit", place: new Place(input, index, index) });
    });
    const { recent, waiting } = this;
    const tools = { ...context, layers: table, recent, waiting, limitBytes: limits.reorderBytesPerFlow };
    this.flows = new FlowTable(tools);
    this.quic = new QuicFlows(note);
  }

  push(packet: Packet): void {
    this.counts.packets++;
    this.current = packet;
    this.waiting.tick(packet.at);
    this.recent.pass(packet.bytes.length);
    const { dissector } = this;
    switch (dissector.packet(packet)) {
      case "tcp":
        this.flows.packet(dissector.ip, dissector.segment, packet);
        break;
      case "udp":
        this.quic.datagram(dissector.slice, dissector.ip, dissector.sourcePort, dissector.destinationPort, packet);
        break;
      case "neither":
        break;
    }
  }

  end(): void {
    this.dissector.end();
    this.flows.end();
  }
}
