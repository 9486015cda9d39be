/**
 * From a capture's link type (tcpdump.org/linktypes.html) to an EtherType. Each reader moves the slice behind the link header and
 * returns the EtherType of what follows, or `nothing`.
 */
import { ethernet, etherType, llc, nothing, ppp } from "./link/ethertype.js";
import { linkNames } from "./link/names.js";
import type { Slice } from "./link/slice.js";

export type LinkReader = (slice: Slice) => number;

/** The reader of a link type; undefined for those that are not supported. */
export function linkReader(linkType: number): LinkReader | undefined {
  return readers.get(linkType);
}

/** For people: "IEEE 802.11 with radiotap header (127)". */
export function linkName(linkType: number): string {
  const name = linkNames.get(linkType);
  return name === undefined ? `number ${linkType}` : `${name} (${linkType})`;
}

const readers: ReadonlyMap<number, LinkReader> = new Map<number, LinkReader>([
  [0, nullLoopback],
  [1, ethernet],
  [6, tokenRing],
  [8, slip],
  [9, pppSerial],
  [10, fddi],
  [12, rawIp],
  [14, rawIp],
  [50, pppSerial],
  [51, pppoeSession],
  [100, (slice) => llc(slice, 0)],
  [101, rawIp],
  [104, ciscoHdlc],
  [107, frameRelay],
  [108, openBsdLoopback],
  [109, enc],
  [113, linuxCooked],
  [117, packetFilter],
  [138, (slice) => after(slice, 18)],
  [166, pppWithDirection],
  [178, juniperEthernet],
  [192, perPacketInfo],
  [197, endaceRecord],
  [204, pppWithDirection],
  [219, () => etherType.mpls],
  [228, () => etherType.ipv4],
  [229, () => etherType.ipv6],
  [239, netfilterLog],
  [242, ipOverInfiniBand],
  [258, packetTap],
  [276, linuxCooked2],
]);

/** The EtherType in the last two of the next `count` bytes. */
function after(slice: Slice, count: number): number {
  if (!slice.has(count)) return nothing;
  const type = slice.u16(count - 2);
  slice.at += count;
  return type;
}

function skip(slice: Slice, count: number): boolean {
  if (!slice.has(count)) return false;
  slice.at += count;
  return true;
}

function rawIp(slice: Slice): number {
  if (!slice.has(1)) return nothing;
  const version = slice.u8() >> 4;
  return version === 4 ? etherType.ipv4 : version === 6 ? etherType.ipv6 : nothing;
}

/** An address family in the byte order of the machine that captured: the small values tell which. */
function nullLoopback(slice: Slice): number {
  if (!slice.has(4)) return nothing;
  if (slice.u16() === 0xff03) return ppp(slice);
  const big = slice.i32() >>> 0;
  const little = ((slice.u8(3) << 24) | (slice.u8(2) << 16) | (slice.u8(1) << 8) | slice.u8()) >>> 0;
  slice.at += 4;
  const family = Math.min(big, little);
  // Some writers put an EtherType here.
  return family > 1535 && family <= 0xffff ? family : familyType(family);
}

function openBsdLoopback(slice: Slice): number {
  if (!slice.has(4)) return nothing;
  const family = slice.i32() >>> 0;
  slice.at += 4;
  return familyType(family);
}

/** AF_INET is 2 everywhere; AF_INET6 is 10, 23, 24, 28 or 30 on Linux, Windows, NetBSD, FreeBSD, Darwin. */
function familyType(family: number): number {
  switch (family) {
    case 2:
      return etherType.ipv4;
    case 10:
    case 23:
    case 24:
    case 28:
    case 30:
      return etherType.ipv6;
    default:
      return nothing;
  }
}

/** Packet type, ARPHRD, address length and address, protocol: 16 bytes. */
function linuxCooked(slice: Slice): number {
  if (!slice.has(16)) return nothing;
  return cookedProtocol(slice, slice.u16(2), slice.u16(14), 16);
}

/** Protocol, interface, ARPHRD, packet type, address: 20 bytes. */
function linuxCooked2(slice: Slice): number {
  if (!slice.has(20)) return nothing;
  return cookedProtocol(slice, slice.u16(8), slice.u16(), 20);
}

function cookedProtocol(slice: Slice, hardware: number, protocol: number, header: number): number {
  slice.at += header;
  // Netlink, wireless monitor interfaces and FRAD use the protocol field for something else.
  if (hardware === 824 || (hardware >= 801 && hardware <= 803) || hardware === 770) return nothing;
  // ETH_P_802_3 and ETH_P_802_2 stand for raw 802.3 (Novell) and LLC.
  if (protocol === 4) return llc(slice, 0);
  return protocol < 0x0600 ? nothing : protocol;
}

/** PPP in HDLC-like framing; Cisco's framing begins with 0x0f or 0x8f. */
function pppSerial(slice: Slice): number {
  if (slice.has(4) && (slice.u8() === 0x0f || slice.u8() === 0x8f)) return ciscoHdlc(slice);
  return ppp(slice);
}

/** Direction, kind and the header of compressed packets: 16 bytes. Of compressed ones nothing can be said without those before. */
function slip(slice: Slice): number {
  return skip(slice, 16) ? rawIp(slice) : nothing;
}

function ciscoHdlc(slice: Slice): number {
  return after(slice, 4);
}

/** The Ethernet header is left out: version and type, code, session, length. */
function pppoeSession(): number {
  return 0x8864;
}

function pppWithDirection(slice: Slice): number {
  return skip(slice, 1) ? ppp(slice) : nothing;
}

/** Q.922 address, then RFC 2427 or Cisco's EtherType. */
function frameRelay(slice: Slice): number {
  let length = 1;
  while (length < 4 && slice.has(length) && (slice.u8(length - 1) & 1) === 0) length++;
  if (!skip(slice, length) || !slice.has(2)) return nothing;
  if (slice.u8() !== 3) return after(slice, 2);
  const padded = slice.u8(1) === 0 ? 2 : 1;
  if (!slice.has(padded + 6)) return nothing;
  const protocol = slice.u8(padded);
  slice.at += padded + 1;
  if (protocol === 0xcc) return etherType.ipv4;
  if (protocol === 0x8e) return etherType.ipv6;
  // SNAP: organisation, then EtherType.
  return protocol === 0x80 && slice.u8() === 0 && slice.u16(1) === 0 ? after(slice, 5) : nothing;
}

/** Access and frame control, two addresses, a source route where the source says so, LLC. */
function tokenRing(slice: Slice): number {
  if (!slice.has(15)) return nothing;
  const routed = (slice.u8(8) & 0x80) !== 0;
  const route = routed ? slice.u8(14) & 0x1f : 0;
  return skip(slice, 14 + route) ? llc(slice, 0) : nothing;
}

function fddi(slice: Slice): number {
  return skip(slice, 13) ? llc(slice, 0) : nothing;
}

/** "MGC", flags, and extensions with their length where flag 0x80 says so; flag 0x02: no Ethernet header, but an address family. */
function juniperEthernet(slice: Slice): number {
  if (!slice.has(6) || slice.i32() >>> 8 !== 0x4d4743) return nothing;
  const flags = slice.u8(3);
  if (!skip(slice, (flags & 0x80) === 0 ? 4 : 6 + slice.u16(4))) return nothing;
  if ((flags & 0x02) === 0) return ethernet(slice);
  return skip(slice, 4) ? rawIp(slice) : nothing;
}

/** Addresses of 20 bytes each, EtherType, two bytes without meaning. */
function ipOverInfiniBand(slice: Slice): number {
  if (!slice.has(44)) return nothing;
  const type = slice.u16(40);
  slice.at += 44;
  return type;
}

/** OpenBSD IPsec: family in the order of the machine, then two words. */
function enc(slice: Slice): number {
  if (!slice.has(12)) return nothing;
  slice.at += 12;
  return rawIp(slice);
}

/** OpenBSD pf: its own length first, padded to four bytes. */
function packetFilter(slice: Slice): number {
  if (!slice.has(2)) return nothing;
  return skip(slice, (slice.u8() + 3) & ~3) ? rawIp(slice) : nothing;
}

/** Version, flags, length, and the link type of what it stands in front of; all little-endian. */
function perPacketInfo(slice: Slice): number {
  if (!slice.has(8)) return nothing;
  const length = slice.u8(2) | (slice.u8(3) << 8);
  return inside(slice, length, slice.u8(4) | (slice.u8(5) << 8));
}

/** Darwin: length and link type as little-endian words at 0 and 8. */
function packetTap(slice: Slice): number {
  if (!slice.has(12)) return nothing;
  const length = slice.u8() | (slice.u8(1) << 8);
  return inside(slice, length, slice.u8(8) | (slice.u8(9) << 8));
}

function inside(slice: Slice, header: number, linkType: number): number {
  // Only plain link types: a header inside a header inside a header is no capture.
  const reader = header < 8 || linkType === 192 || linkType === 258 ? undefined : readers.get(linkType);
  return reader !== undefined && skip(slice, header) ? reader(slice) : nothing;
}

/** ERF: time, type, flags, lengths; extension headers; two bytes of padding in front of Ethernet. */
function endaceRecord(slice: Slice): number {
  if (!slice.has(16)) return nothing;
  const type = slice.u8(8);
  let more = (type & 0x80) !== 0;
  slice.at += 16;
  while (more) {
    if (!slice.has(8)) return nothing;
    more = (slice.u8() & 0x80) !== 0;
    slice.at += 8;
  }
  switch (type & 0x7f) {
    case 2:
      return skip(slice, 2) ? ethernet(slice) : nothing;
    case 22:
      return etherType.ipv4;
    case 23:
      return etherType.ipv6;
    default:
      return nothing;
  }
}

/** Family, version, resource; then attributes of length and type in the machine's order, the payload being type 9. */
function netfilterLog(slice: Slice): number {
  if (!slice.has(4)) return nothing;
  slice.at += 4;
  while (slice.has(4)) {
    const length = slice.u8() | (slice.u8(1) << 8);
    const type = slice.u8(2) | (slice.u8(3) << 8);
    if (length < 4) return nothing;
    if ((type & 0x7fff) === 9) {
      slice.narrow(length);
      slice.at += 4;
      return rawIp(slice);
    }
    slice.at += (length + 3) & ~3;
  }
  return nothing;
}
