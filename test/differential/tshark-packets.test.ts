/** Packet numbers, times and lengths against tshark's, over every variant of the file formats. */
import { expect, it } from "vitest";
import {
  framed,
  join,
  pcap,
  pcapngBlock,
  pcapngInterface,
  pcapngObsoletePacket,
  pcapngPacket,
  pcapngSection,
  pcapngSimplePacket,
} from "../../fixtures/net/make/packets.mjs";
import { wholeTalk } from "../../fixtures/net/make/talk.mjs";
import { readPackets } from "../net/run.js";
import { describeWithTshark, tsharkFields } from "./tshark.js";

const packets = wholeTalk().map((bytes, n) => ({ bytes: framed(bytes), at: [1_700_000_000 + n, n * 1001] as const }));
const frame = packets[3]!.bytes;
const at = 1_700_000_000_123_456_789n;

/** A time resolution option. */
const resolution = (value: number) => [[9, [value]]] as const;
const offset = (seconds: number[]) => [[14, seconds]] as const;

const files: Record<string, Uint8Array> = {
  "pcap, little-endian": pcap(packets),
  "pcap, big-endian": pcap(packets, { big: true }),
  "pcap, nanoseconds": pcap(packets, { magic: 0xa1b23c4d }),
  "pcap, nanoseconds, big-endian": pcap(packets, { magic: 0xa1b23c4d, big: true }),
  "pcap, Kuznetzov's headers": pcap(packets, { magic: 0xa1b2cd34, extra: 8 }),
  "pcap, Ixia": pcap(packets, { magic: 0x1c0001ac, header: [0, 16, 0, 0] }),
  "pcap, snapshot length 0": pcap(packets, { snapLength: 0 }),
  "pcap, Nokia's headers": pcap(packets, { extra: 4 }),
  "pcap, version 2.2 of AIX": pcap(packets, { version: [2, 2], linkType: 6 }),
  "pcap, cut in a header": pcap(packets).slice(0, -frame.length),
  "pcap, cut in a packet": pcap(packets).slice(0, -3),
  "pcap, no packet": pcap([]),
  "pcap, an empty packet": pcap([{ bytes: new Uint8Array(0) }, { bytes: frame }]),
  "pcap, a record of 4 GiB": pcap([...packets, { bytes: frame, captured: 0xfffffff0 }, { bytes: frame }]),
  "pcapng, microseconds": join(pcapngSection(), pcapngInterface(), pcapngPacket({ bytes: frame, ticks: at / 1000n })),
  "pcapng, big-endian": join(
    pcapngSection({ big: true }),
    pcapngInterface({ big: true }),
    pcapngPacket({ bytes: frame, ticks: at / 1000n, big: true }),
  ),
  "pcapng, nanoseconds": join(
    pcapngSection(),
    pcapngInterface({ options: resolution(9) }),
    pcapngPacket({ bytes: frame, ticks: at }),
  ),
  "pcapng, seconds": join(
    pcapngSection(),
    pcapngInterface({ options: resolution(0) }),
    pcapngPacket({ bytes: frame, ticks: 1_700_000_000n }),
  ),
  "pcapng, 2^-20 s": join(
    pcapngSection(),
    pcapngInterface({ options: resolution(0x80 | 20) }),
    pcapngPacket({ bytes: frame, ticks: (1_700_000_000n << 20n) + 12_345n }),
  ),
  "pcapng, time offset": join(
    pcapngSection(),
    pcapngInterface({ options: offset([16, 0, 0, 0, 0, 0, 0, 0]) }),
    pcapngPacket({ bytes: frame, ticks: at / 1000n }),
  ),
  "pcapng, negative time offset": join(
    pcapngSection(),
    pcapngInterface({ options: offset(Array(8).fill(255)) }),
    pcapngPacket({ bytes: frame, ticks: at / 1000n }),
  ),
  "pcapng, simple and obsolete packets": join(
    pcapngSection(),
    pcapngInterface({ snapLength: 60 }),
    pcapngObsoletePacket({ bytes: frame, ticks: at / 1000n }),
    pcapngSimplePacket({ bytes: frame.slice(0, 60), original: frame.length }),
  ),
  "pcapng, two sections in two byte orders, two interfaces": join(
    pcapngSection(),
    pcapngInterface(),
    pcapngInterface({ linkType: 101, options: resolution(9) }),
    pcapngPacket({ bytes: frame, ticks: at / 1000n }),
    pcapngPacket({ bytes: frame.slice(14), ticks: at, interfaceId: 1 }),
    pcapngSection({ big: true }),
    pcapngInterface({ big: true, options: resolution(3) }),
    pcapngPacket({ bytes: frame, ticks: at / 1_000_000n, big: true }),
  ),
  "pcapng, other blocks between": join(
    pcapngSection(),
    pcapngInterface(),
    ...[4, 5, 0x204, 0x12345, 0x0bad, 0x40000bad].map((type) => pcapngBlock(type, new Uint8Array(64))),
    pcapngPacket({ bytes: frame, ticks: at / 1000n }),
  ),
  "pcapng, options on a packet": join(
    pcapngSection(),
    pcapngInterface(),
    pcapngPacket({ bytes: frame, ticks: at / 1000n, options: [[1, [0x68, 0x69]]] }),
    pcapngPacket({ bytes: frame, ticks: at / 1000n }),
  ),
  "pcapng, cut": join(
    pcapngSection(),
    pcapngInterface(),
    pcapngPacket({ bytes: frame, ticks: at / 1000n }),
    pcapngPacket({ bytes: frame, ticks: at / 1000n }),
  ).slice(0, -5),
};

/** tshark numbers records that are no packets, and gives a packet without a time none. */
function reference(file: Uint8Array): string[][] {
  const fields = ["frame.number", "frame.time_epoch", "frame.cap_len", "frame.len", "frame.encap_type"];
  return tsharkFields(file, fields)
    .map((row) => row.slice(0, 4))
    .map(([number, time, ...lengths]) => [number!, time === "" ? "none" : time!, ...lengths]);
}

function mine(file: Uint8Array): string[][] {
  return readPackets(file).packets.map((packet) => {
    const digits = packet.at.toString().padStart(10, "0");
    const time = packet.at === 0n ? "none" : `${digits.slice(0, -9)}.${digits.slice(-9)}`;
    return [String(packet.index + 1), time, String(packet.bytes.length), String(packet.originalLength)];
  });
}

describeWithTshark("packets as tshark has them", () => {
  it.each(Object.entries(files))("%s", (_, file) => {
    const numbers = new Set(mine(file).map(([number]) => number));
    // Records that hold no packet are in tshark's list and not in ours; the numbers must agree all the same.
    expect(mine(file)).toEqual(reference(file).filter(([number]) => numbers.has(number)));
    expect(numbers.size).toBe(
      reference(file).filter(([, , captured]) => captured !== undefined).length - skipped(file),
    );
  });
});

/** Records in `other blocks between` that tshark counts: a system call event and two custom blocks. */
function skipped(file: Uint8Array): number {
  return file === files["pcapng, other blocks between"] ? 3 : 0;
}
