/**
 * Tunnels that carry IP or Ethernet inside IP or UDP, those that tshark follows by itself. Each function moves the slice behind the
 * tunnel's header and returns the EtherType of what follows, or `nothing`.
 */

import { ipProtocol } from "../ip.js";
import { ethernet, etherType, nothing, ppp } from "../link/ethertype.js";
import type { Slice } from "../link/slice.js";

/** What an IP protocol number carries, other than TCP and UDP. */
export function ipTunnel(slice: Slice, protocol: number): number {
  switch (protocol) {
    case ipProtocol.ipv4:
      return etherType.ipv4;
    case ipProtocol.ipv6:
      return etherType.ipv6;
    case ipProtocol.gre:
      return gre(slice);
    case ipProtocol.mpls:
      return etherType.mpls;
    case ipProtocol.etherIp:
      return skip(slice, 2) ? ethernet(slice) : nothing;
    default:
      return nothing;
  }
}

/** What a UDP datagram carries, by its well-known port; the slice stands behind the UDP header. */
export function udpTunnel(slice: Slice, port: number): number {
  switch (port) {
    case 1701:
      return l2tp(slice);
    case 2152:
      return gtp(slice);
    case 3544:
      return teredo(slice);
    case 4789:
      // RFC 7348: the I flag, a network identifier, Ethernet.
      return slice.has(8) && (slice.u8() & 0x08) !== 0 && skip(slice, 8) ? ethernet(slice) : nothing;
    case 6081:
      return geneve(slice);
    default:
      return nothing;
  }
}

function skip(slice: Slice, count: number): boolean {
  if (!slice.has(count)) return false;
  slice.at += count;
  return true;
}

/** RFC 2784, 2890, 1701 (source routes are not read), 2637 (version 1, PPTP), and ERSPAN on top. */
function gre(slice: Slice): number {
  if (!slice.has(4)) return nothing;
  const flags = slice.u16();
  const type = slice.u16(2);
  const version = flags & 7;
  if (version > 1 || (flags & 0x4000) !== 0) return nothing;
  let header = 4;
  if (version === 0 && (flags & 0x8000) !== 0) header += 4;
  if ((flags & 0x2000) !== 0) header += 4;
  const numbered = (flags & 0x1000) !== 0;
  if (numbered) header += 4;
  if (version === 1 && (flags & 0x0080) !== 0) header += 4;
  if (!skip(slice, header)) return nothing;
  // ERSPAN type I has no header of its own and no sequence number, type II has 8 bytes, type III 12 and perhaps 8 more.
  if (type === 0x88be) return !numbered || skip(slice, 8) ? ethernet(slice) : nothing;
  if (type === 0x22eb) return erspan3(slice);
  return type;
}

function erspan3(slice: Slice): number {
  if (!slice.has(12)) return nothing;
  const platform = (slice.u8(11) & 1) === 1;
  return skip(slice, platform ? 20 : 12) ? ethernet(slice) : nothing;
}

/** RFC 2661 3.1: data messages only; then PPP. */
function l2tp(slice: Slice): number {
  if (!slice.has(6)) return nothing;
  const flags = slice.u16();
  if ((flags & 0x8000) !== 0 || (flags & 0x000f) !== 2) return nothing;
  let header = 6;
  if ((flags & 0x4000) !== 0) header += 2;
  if ((flags & 0x0800) !== 0) header += 4;
  if ((flags & 0x0200) !== 0) {
    if (!slice.has(header + 2)) return nothing;
    header += 2 + slice.u16(header);
  }
  return skip(slice, header) ? ppp(slice) : nothing;
}

/** GTP-U version 1, user data (3GPP TS 29.281 5.1). */
function gtp(slice: Slice): number {
  if (!slice.has(8) || (slice.u8() & 0xf0) !== 0x30 || slice.u8(1) !== 0xff) return nothing;
  const flags = slice.u8() & 7;
  slice.at += 8;
  if (flags !== 0) {
    if (!slice.has(4)) return nothing;
    let next = (flags & 4) === 0 ? 0 : slice.u8(3);
    slice.at += 4;
    while (next !== 0) {
      const length = slice.has(1) ? slice.u8() * 4 : 0;
      if (length === 0 || !slice.has(length)) return nothing;
      next = slice.u8(length - 1);
      slice.at += length;
    }
  }
  return versioned(slice);
}

/** RFC 4380 5.1: authentication and origin indications may stand in front of the IPv6 packet. */
function teredo(slice: Slice): number {
  if (slice.has(13) && slice.u16() === 1) {
    if (!skip(slice, 13 + slice.u8(2) + slice.u8(3))) return nothing;
  }
  if (slice.has(8) && slice.u16() === 0) slice.at += 8;
  return slice.has(1) && slice.u8() >> 4 === 6 ? etherType.ipv6 : nothing;
}

/** RFC 8926 3.4. */
function geneve(slice: Slice): number {
  if (!slice.has(8) || slice.u8() >> 6 !== 0) return nothing;
  const type = slice.u16(2);
  return skip(slice, 8 + (slice.u8() & 0x3f) * 4) ? type : nothing;
}

function versioned(slice: Slice): number {
  if (!slice.has(1)) return nothing;
  const version = slice.u8() >> 4;
  return version === 4 ? etherType.ipv4 : version === 6 ? etherType.ipv6 : nothing;
}
