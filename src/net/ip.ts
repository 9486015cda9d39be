/**
 * IPv4 (RFC 791) and IPv6 (RFC 8200): from the IP header to the transport header, through options, extension headers and
 * fragments. Checksums are not looked at: captures on the sending machine have none yet.
 */
import type { LayerNote } from "./ip/fragments.js";
import { Fragments } from "./ip/fragments.js";
import { etherType, nothing } from "./link/ethertype.js";
import type { Slice } from "./link/slice.js";

export const ipProtocol = {
  hopByHop: 0,
  ipv4: 4,
  tcp: 6,
  udp: 17,
  ipv6: 41,
  routing: 43,
  fragment: 44,
  gre: 47,
  ah: 51,
  destination: 60,
  etherIp: 97,
  mpls: 137,
  shim6: 140,
} as const;

/** The addresses of one packet as signed words; IPv4 uses the first word only. */
export interface Addresses {
  family: 4 | 6;
  s0: number;
  s1: number;
  s2: number;
  s3: number;
  d0: number;
  d1: number;
  d2: number;
  d3: number;
}

/** Extension headers in one packet; RFC 8200 allows a handful. */
const maxExtensions = 64;

export class Ip implements Addresses {
  family: 4 | 6 = 4;
  s0 = 0;
  s1 = 0;
  s2 = 0;
  s3 = 0;
  d0 = 0;
  d1 = 0;
  d2 = 0;
  d3 = 0;
  /** Packet that began the datagram: an earlier one where it came in fragments. */
  firstIndex = 0;
  private readonly fragments: Fragments;

  constructor(limitBytes: number, note: LayerNote) {
    this.fragments = new Fragments(limitBytes, note);
  }

  /** Notes what never became whole. */
  end(): void {
    this.fragments.end();
  }

  /** Returns the protocol of what the slice then begins with, or `nothing`. */
  read(slice: Slice, type: number): number {
    if (!slice.has(1)) return nothing;
    const version = slice.u8() >> 4;
    // Some writers give IPv6 the EtherType of IPv4; the other way round is not seen.
    if (version === 6) return this.ipv6(slice);
    return version === 4 && type === etherType.ipv4 ? this.ipv4(slice) : nothing;
  }

  private ipv4(slice: Slice): number {
    if (!slice.has(20)) return nothing;
    const header = (slice.u8() & 0x0f) * 4;
    const total = slice.u16(2);
    if (header < 20 || !slice.has(header)) return nothing;
    // A length of 0 is what segmentation offload leaves for the card to fill in.
    if (total !== 0) {
      if (total < header) return nothing;
      slice.narrow(total);
    }
    this.family = 4;
    this.s0 = slice.i32(12);
    this.d0 = slice.i32(16);
    if (header > 20) this.sourceRoute(slice, header);
    const protocol = slice.u8(9);
    const fragment = slice.u16(6);
    const id = slice.u16(4);
    slice.at += header;
    if ((fragment & 0x3fff) === 0) return this.behindAh(slice, protocol);
    const whole = this.fragments.add(slice, this, {
      id,
      protocol,
      offset: (fragment & 0x1fff) * 8,
      more: (fragment & 0x2000) !== 0,
      firstIndex: this.firstIndex,
    });
    return this.behindAh(slice, this.joined(slice, whole));
  }

  /** The authentication header is the one extension header that IPv4 has, too. RFC 4302. */
  private behindAh(slice: Slice, protocol: number): number {
    return protocol === ipProtocol.ah ? this.extensions(slice, protocol) : protocol;
  }

  /** A source route names the real destination last, until it is used up. RFC 791 3.1. */
  private sourceRoute(slice: Slice, header: number): void {
    for (let at = 20; at + 1 < header; ) {
      const kind = slice.u8(at);
      if (kind === 0) return;
      if (kind === 1) {
        at++;
        continue;
      }
      const length = slice.u8(at + 1);
      if (length < 2 || at + length > header) return;
      if ((kind === 131 || kind === 137) && length >= 7 && slice.u8(at + 2) <= length) {
        this.d0 = slice.i32(at + length - 4);
      }
      at += length;
    }
  }

  private ipv6(slice: Slice): number {
    if (!slice.has(40)) return nothing;
    const length = slice.u16(4);
    const next = slice.u8(6);
    this.family = 6;
    this.s0 = slice.i32(8);
    this.s1 = slice.i32(12);
    this.s2 = slice.i32(16);
    this.s3 = slice.i32(20);
    this.destination(slice, 24);
    slice.at += 40;
    // Length 0 stands for a jumbogram, whose option has the length (RFC 2675).
    if (length !== 0) slice.narrow(length);
    else if (next !== ipProtocol.hopByHop || !jumbo(slice)) return nothing;
    return this.extensions(slice, next);
  }

  private destination(slice: Slice, at: number): void {
    this.d0 = slice.i32(at);
    this.d1 = slice.i32(at + 4);
    this.d2 = slice.i32(at + 8);
    this.d3 = slice.i32(at + 12);
  }

  private extensions(slice: Slice, first: number): number {
    let next = first;
    for (let count = 0; count < maxExtensions; count++) {
      if (next === ipProtocol.fragment) {
        next = this.fragment6(slice);
        if (next === nothing) return nothing;
        continue;
      }
      if (!isExtension(next)) return next;
      if (!slice.has(8)) return nothing;
      const length = next === ipProtocol.ah ? (slice.u8(1) + 2) * 4 : (slice.u8(1) + 1) * 8;
      if (!slice.has(length)) return nothing;
      if (next === ipProtocol.routing) this.routing(slice, length);
      if (next === ipProtocol.destination) this.homeAddress(slice, length);
      next = slice.u8();
      slice.at += length;
    }
    return nothing;
  }

  /** Types 0 and 2 end with the real destination, type 4 begins with it (RFC 8754); none is left when segments left is 0. */
  private routing(slice: Slice, length: number): void {
    const type = slice.u8(2);
    if (slice.u8(3) === 0 || length < 24) return;
    if (type === 0 || type === 2) this.destination(slice, length - 16);
    else if (type === 4) this.destination(slice, 8);
  }

  /** Mobile IPv6: the connection belongs to the home address, not to where the node is. RFC 6275 6.3. */
  private homeAddress(slice: Slice, length: number): void {
    for (let at = 2; at + 1 < length; ) {
      const kind = slice.u8(at);
      if (kind === 0) {
        at++;
        continue;
      }
      const size = slice.u8(at + 1);
      if (kind === 0xc9 && size === 16 && at + 18 <= length) {
        this.s0 = slice.i32(at + 2);
        this.s1 = slice.i32(at + 6);
        this.s2 = slice.i32(at + 10);
        this.s3 = slice.i32(at + 14);
      }
      at += 2 + size;
    }
  }

  /** RFC 8200 4.5. Returns the next header, or `nothing` while fragments are missing. */
  private fragment6(slice: Slice): number {
    if (!slice.has(8)) return nothing;
    const protocol = slice.u8();
    const offset = slice.u16(2);
    const id = slice.i32(4);
    slice.at += 8;
    // Offset 0 and nothing to follow: a whole packet that only looks fragmented (RFC 6946).
    if ((offset & 0xfff9) === 0) return protocol;
    const whole = this.fragments.add(slice, this, {
      id,
      protocol,
      offset: offset & 0xfff8,
      more: (offset & 1) === 1,
      firstIndex: this.firstIndex,
    });
    return this.joined(slice, whole);
  }

  private joined(slice: Slice, whole: ReturnType<Fragments["add"]>): number {
    if (whole === undefined) return nothing;
    slice.reset(whole.bytes, whole.bytes.length);
    this.firstIndex = whole.firstIndex;
    return whole.protocol;
  }
}

function isExtension(next: number): boolean {
  return (
    next === ipProtocol.hopByHop ||
    next === ipProtocol.routing ||
    next === ipProtocol.destination ||
    next === ipProtocol.ah ||
    next === ipProtocol.shim6
  );
}

/** Narrows to the length that a hop-by-hop option gives; false when there is none. */
function jumbo(slice: Slice): boolean {
  if (!slice.has(8)) return false;
  const length = (slice.u8(1) + 1) * 8;
  if (!slice.has(length)) return false;
  for (let at = 2; at + 1 < length; ) {
    const kind = slice.u8(at);
    if (kind === 0) {
      at++;
      continue;
    }
    const size = slice.u8(at + 1);
    if (kind === 0xc2 && size === 4 && at + 6 <= length) {
      const bytes = slice.i32(at + 2) >>> 0;
      if (bytes <= 0xffff) return false;
      slice.narrow(bytes);
      return true;
    }
    at += 2 + size;
  }
  return false;
}

/** "192.0.2.1", "2001:db8::1" (RFC 5952), of a packet's source or destination. */
export function addressText(family: 4 | 6, a: number, b: number, c: number, d: number): string {
  if (family === 4) return `${a >>> 24}.${(a >>> 16) & 255}.${(a >>> 8) & 255}.${a & 255}`;
  const words = [a, b, c, d].flatMap((word) => [word >>> 16, word & 0xffff]);
  // An IPv4-mapped address is written with its IPv4 part (RFC 5952 5).
  if (a === 0 && b === 0 && c === 0xffff) return `::ffff:${addressText(4, d, 0, 0, 0)}`;
  let best = -1;
  let bestLength = 1;
  for (let i = 0; i < 8; i++) {
    let length = 0;
    while (i + length < 8 && words[i + length] === 0) length++;
    if (length > bestLength) {
      best = i;
      bestLength = length;
    }
  }
  const text = (from: number, to: number) =>
    words
      .slice(from, to)
      .map((word) => word.toString(16))
      .join(":");
  return best < 0 ? text(0, 8) : `${text(0, best)}::${text(best + bestLength, 8)}`;
}
