/** The capture file formats. Adding one is one row here and one file. */
import type { CaptureFormat } from "./packet.js";
import { pcap } from "./pcap.js";
import { pcapng } from "./pcapng.js";

export type { CaptureFormat, Packet, PacketReaderContext } from "./packet.js";

export const captureFormats: readonly CaptureFormat[] = [pcapng, pcap];
