/** QUIC is counted and named, not read: the user learns why a conversation over HTTP/3 is not there. RFC 9000 17. */
import type { Packet } from "../../capture/packet.js";
import type { Note } from "../../core/diagnostic.js";
import { Place } from "../../core/place.js";
import { addressText, type Ip } from "../ip.js";
import type { Slice } from "../link/slice.js";

/** Names kept, so that each flow is named once; beyond it flows go unnamed. */
const maxFlows = 65_536;

export class QuicFlows {
  private readonly seen = new Set<string>();

  constructor(private readonly note: Note) {}

  /** A UDP datagram; the slice begins with its payload. */
  datagram(slice: Slice, ip: Ip, sourcePort: number, destinationPort: number, packet: Packet): void {
    if ((sourcePort !== 443 && destinationPort !== 443) || !slice.has(1)) return;
    // The fixed bit is set in every packet of QUIC versions 1 and 2; DTLS and others on this port begin with 0 bits there.
    if ((slice.u8() & 0x40) === 0) return;
    const source = `${addressText(ip.family, ip.s0, ip.s1, ip.s2, ip.s3)}:${sourcePort}`;
    const destination = `${addressText(ip.family, ip.d0, ip.d1, ip.d2, ip.d3)}:${destinationPort}`;
    const toServer = destinationPort === 443;
    const flow = toServer ? `${source} -> ${destination}` : `${destination} -> ${source}`;
    if (this.seen.has(flow) || this.seen.size >= maxFlows) return;
    this.seen.add(flow);
    this.note({ code: "net.quic", place: new Place(packet.input, packet.index, packet.index), detail: { flow } });
  }
}
