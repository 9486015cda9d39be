/**
 * From an EtherType, or what stands for one, to IP: VLAN tags, LLC, PPPoE, PPP, MPLS, provider backbone, NSH.
 * Each function moves the slice behind what it read and returns the EtherType of what follows, or `nothing`.
 */
import type { Slice } from "./slice.js";

export const etherType = {
  ipv4: 0x0800,
  ipv6: 0x86dd,
  ethernet: 0x6558,
  ppp: 0x880b,
  mpls: 0x8847,
} as const;

/** Nothing that carries TCP, or too little of it. */
export const nothing = -1;

/** Tags and labels in front of one IP header; a hostile packet has nothing but tags. */
const maxSteps = 32;

/** Goes on until IP stands at the front: returns ipv4, ipv6 or nothing. */
export function toIp(slice: Slice, type: number): number {
  for (let step = 0; step < maxSteps; step++) {
    if (type === etherType.ipv4 || type === etherType.ipv6) return type;
    type = type >= 0 && type <= 1500 ? llc(slice, type) : behindTag(slice, type);
    if (type === nothing) return nothing;
  }
  return nothing;
}

export function ethernet(slice: Slice): number {
  return typeAfter(slice, 14);
}

function behindTag(slice: Slice, type: number): number {
  switch (type) {
    // 802.1Q, 802.1ad and the number that QinQ had before.
    case 0x8100:
    case 0x88a8:
    case 0x9100:
      return typeAfter(slice, 4);
    case etherType.mpls:
    case 0x8848:
      return mpls(slice);
    case 0x8864:
      return pppoe(slice);
    case etherType.ppp:
      return ppp(slice);
    case etherType.ethernet:
      return ethernet(slice);
    // 802.1ah: service tag, then the customer's own Ethernet header.
    case 0x88e7:
      return typeAfter(slice, 18);
    case 0x894f:
      return nsh(slice);
    default:
      return nothing;
  }
}

/** The EtherType in the last two of the next `count` bytes. */
function typeAfter(slice: Slice, count: number): number {
  if (!slice.has(count)) return nothing;
  const type = slice.u16(count - 2);
  slice.at += count;
  return type;
}

/** IEEE 802.2, with SNAP behind it where the addresses say so. `length`: of the frame, 0 where nothing gives it. */
export function llc(slice: Slice, length: number): number {
  if (length > 0) slice.narrow(length);
  if (!slice.has(3)) return nothing;
  const address = slice.u16();
  // RFC 1042: the two SAPs of IP itself.
  if (address === 0x0606) {
    slice.at += 3;
    return etherType.ipv4;
  }
  if (address !== 0xaaaa || slice.u8(2) !== 3 || !slice.has(8)) return nothing;
  // Organisation 0 is Ethernet, 0x0000f8 a bridge's tunnel of it.
  const organisation = (slice.u16(3) << 8) | slice.u8(5);
  return organisation === 0 || organisation === 0xf8 ? typeAfter(slice, 8) : nothing;
}

/** RFC 2516: session data only. */
function pppoe(slice: Slice): number {
  if (!slice.has(6) || slice.u8() !== 0x11 || slice.u8(1) !== 0) return nothing;
  const length = slice.u16(4);
  slice.at += 6;
  slice.narrow(length);
  return ppp(slice);
}

/** RFC 1661, 1662: address, control and the protocol's upper half may be left out. */
export function ppp(slice: Slice): number {
  if (slice.has(2) && slice.u16() === 0xff03) slice.at += 2;
  if (!slice.has(2)) return nothing;
  const short = (slice.u8() & 1) === 1;
  const protocol = short ? slice.u8() : slice.u16();
  slice.at += short ? 1 : 2;
  return pppProtocol(protocol);
}

function pppProtocol(protocol: number): number {
  switch (protocol) {
    case 0x21:
      return etherType.ipv4;
    case 0x57:
      return etherType.ipv6;
    case 0x281:
    case 0x283:
      return etherType.mpls;
    default:
      return nothing;
  }
}

/** RFC 3032: labels until the bottom of the stack; what follows names itself by its first half byte only (RFC 4385). */
function mpls(slice: Slice): number {
  for (;;) {
    if (!slice.has(5)) return nothing;
    const bottom = slice.u8(2) & 1;
    slice.at += 4;
    if (bottom === 1) break;
  }
  switch (slice.u8() >> 4) {
    case 4:
      return etherType.ipv4;
    case 6:
      return etherType.ipv6;
    case 0:
      // A pseudowire's control word, then Ethernet.
      if (!slice.has(4)) return nothing;
      slice.at += 4;
      return ethernet(slice);
    default:
      return nothing;
  }
}

/** RFC 8300 2.2: length in words, next protocol. */
function nsh(slice: Slice): number {
  if (!slice.has(8)) return nothing;
  const words = slice.u16() & 0x3f;
  const next = slice.u8(3);
  if (words < 2 || !slice.has(words * 4)) return nothing;
  slice.at += words * 4;
  switch (next) {
    case 1:
      return etherType.ipv4;
    case 2:
      return etherType.ipv6;
    case 3:
      return ethernet(slice);
    case 5:
      return etherType.mpls;
    default:
      return nothing;
  }
}
