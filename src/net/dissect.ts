/** One packet -> the TCP segment or UDP datagram it carries, through link layer, IP and tunnels. Nothing is kept but IP fragments. */
import type { Packet } from "../capture/packet.js";
import type { LayerNote } from "./ip/fragments.js";
import { ipTunnel, udpTunnel } from "./ip/tunnels.js";
import { Ip, ipProtocol } from "./ip.js";
import { nothing, toIp } from "./link/ethertype.js";
import { Slice } from "./link/slice.js";
import { type LinkReader, linkName, linkReader } from "./link.js";
import { Segment } from "./tcp/segment.js";

export type Found = "tcp" | "udp" | "neither";

/** Tunnels in tunnels; a hostile packet is nothing else. */
const maxDepth = 16;

export class Dissector {
  /** Of the last packet that held "tcp". */
  readonly segment = new Segment();
  /** Its innermost addresses, and the first packet that carried a part of it. */
  readonly ip: Ip;
  /** Of the last "udp"; the slice then begins with its payload. */
  sourcePort = 0;
  destinationPort = 0;
  readonly slice = new Slice();
  private linkType = Number.NaN;
  private reader: LinkReader | undefined;
  private readonly unsupported = new Set<string>();

  constructor(
    fragmentBytes: number,
    private readonly note: LayerNote,
  ) {
    this.ip = new Ip(fragmentBytes, note);
  }

  packet(packet: Packet): Found {
    const { slice, ip } = this;
    if (packet.linkType !== this.linkType) {
      this.linkType = packet.linkType;
      this.reader = linkReader(packet.linkType);
    }
    if (this.reader === undefined) {
      this.noteUnsupported(packet);
      return "neither";
    }
    slice.reset(packet.bytes, packet.originalLength);
    ip.firstIndex = packet.index;
    let type = this.reader(slice);
    for (let depth = 0; depth < maxDepth; depth++) {
      if (type !== 0x0800 && type !== 0x86dd) {
        if (type === nothing) return "neither";
        type = toIp(slice, type);
        if (type === nothing) return "neither";
      }
      const protocol = ip.read(slice, type);
      if (protocol === ipProtocol.tcp) return this.tcp();
      if (protocol === ipProtocol.udp) {
        if (!this.udp()) return "neither";
        type = this.udpTunnel();
        if (type === nothing) return "udp";
      } else type = protocol === nothing ? nothing : ipTunnel(slice, protocol);
    }
    return "neither";
  }

  /** At the end: what never became whole. */
  end(): void {
    this.ip.end();
  }

  private tcp(): Found {
    const whole = this.segment.read(this.slice);
    if (!whole || this.segment.bogus) this.note("tcp.header", { length: this.slice.length });
    return whole ? "tcp" : "neither";
  }

  private udp(): boolean {
    const { slice } = this;
    if (!slice.has(8)) return false;
    this.sourcePort = slice.u16();
    this.destinationPort = slice.u16(2);
    const length = slice.u16(4);
    if (length >= 8) slice.narrow(length);
    slice.at += 8;
    return true;
  }

  /** Tries the well-known port of either side; a datagram that is no tunnel after all is left as it was. */
  private udpTunnel(): number {
    const { slice } = this;
    const { at, end, missing } = slice;
    for (const port of [this.destinationPort, this.sourcePort]) {
      const type = udpTunnel(slice, port);
      if (type !== nothing) return type;
      slice.at = at;
      slice.end = end;
      slice.missing = missing;
    }
    return nothing;
  }

  private noteUnsupported(packet: Packet): void {
    const key = `${packet.input} ${packet.linkType}`;
    if (this.unsupported.has(key) || this.unsupported.size >= 1024) return;
    this.unsupported.add(key);
    this.note("link.unsupported", { linkType: linkName(packet.linkType) });
  }
}
