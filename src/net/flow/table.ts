/**
 * The connections of a capture by addresses and ports, whichever side sends. Interfaces, VLANs and files do not count, as in tshark:
 * rotated files continue a connection.
 */
import type { Packet } from "../../capture/packet.js";
import { placeOf } from "../../core/mark.js";
import type { Ip } from "../ip.js";
import type { Segment } from "../tcp/segment.js";
import { Connection, type ConnectionTools } from "./connection.js";

/** Connections of one hash that are compared one by one. Ports and addresses chosen to collide go to a table by full key instead. */
const usualChain = 8;

export class FlowTable {
  private readonly buckets = new Map<number, Connection>();
  private readonly collided = new Map<string, Connection>();
  private count = 0;
  /** Order of last use: a list from the one idle for longest to the one just used. */
  private oldest: Connection | undefined;
  private newest: Connection | undefined;

  constructor(
    private readonly tools: ConnectionTools,
    private readonly maxChain = usualChain,
  ) {}

  packet(ip: Ip, segment: Segment, packet: Packet): void {
    const hash = hashOf(ip, segment);
    let connection = this.newest;
    let side = connection === undefined || connection.hash !== hash ? undefined : sideOf(connection, ip, segment);
    if (side === undefined) {
      connection = this.find(hash, ip, segment);
      side = connection === undefined ? undefined : sideOf(connection, ip, segment);
    }
    if (connection !== undefined && side !== undefined && connection.isAnother(side, segment)) {
      this.remove(connection);
      connection.finish();
      connection = undefined;
    }
    if (connection === undefined || side === undefined) {
      connection = this.add(ip, segment, packet, hash);
      side = 0;
    } else if (connection !== this.newest) {
      this.unlink(connection);
      this.link(connection);
    }
    connection.packet(side, segment, packet, ip.firstIndex);
  }

  /** Ends all, in order of their first packets' connections being made. */
  end(): void {
    const all: Connection[] = [];
    for (let connection = this.oldest; connection !== undefined; connection = connection.newer) all.push(connection);
    all.sort((a, b) => a.id - b.id);
    for (const connection of all) connection.finish();
    this.buckets.clear();
    this.collided.clear();
    this.oldest = undefined;
    this.newest = undefined;
    this.count = 0;
  }

  private find(hash: number, ip: Ip, segment: Segment): Connection | undefined {
    let length = 0;
    for (let at = this.buckets.get(hash); at !== undefined; at = at.chain) {
      if (sideOf(at, ip, segment) !== undefined) return at;
      length++;
    }
    return length < this.maxChain || this.collided.size === 0 ? undefined : this.collided.get(keyOf(ip, segment));
  }

  private add(ip: Ip, segment: Segment, packet: Packet, hash: number): Connection {
    const ends = {
      family: ip.family,
      a0: ip.s0,
      a1: ip.s1,
      a2: ip.s2,
      a3: ip.s3,
      b0: ip.d0,
      b1: ip.d1,
      b2: ip.d2,
      b3: ip.d3,
      aPort: segment.sourcePort,
      bPort: segment.destinationPort,
    };
    const connection = new Connection(ends, hash, packet, ip.firstIndex, this.tools);
    let length = 0;
    for (let at = this.buckets.get(hash); at !== undefined; at = at.chain) length++;
    if (length < this.maxChain) {
      connection.chain = this.buckets.get(hash);
      this.buckets.set(hash, connection);
    } else {
      connection.key = keyOf(ip, segment);
      this.collided.set(connection.key, connection);
    }
    this.link(connection);
    this.count++;
    if (this.count > this.tools.limits.openFlows) this.dropOldest(connection);
    return connection;
  }

  private dropOldest(but: Connection): void {
    const connection = this.oldest;
    if (connection === undefined || connection === but) return;
    this.remove(connection);
    // One that was over anyway only had its summary outstanding.
    if (!connection.isOver) {
      const detail = { limit: this.tools.limits.openFlows };
      this.tools.note({ code: "tcp.flow-limit", place: placeOf(connection.lastMark()), detail });
    }
    connection.finish();
  }

  private remove(connection: Connection): void {
    this.unlink(connection);
    this.count--;
    if (connection.key !== undefined) {
      this.collided.delete(connection.key);
      return;
    }
    const head = this.buckets.get(connection.hash);
    if (head === connection) {
      if (connection.chain === undefined) this.buckets.delete(connection.hash);
      else this.buckets.set(connection.hash, connection.chain);
      return;
    }
    for (let at = head; at !== undefined; at = at.chain) {
      if (at.chain === connection) {
        at.chain = connection.chain;
        return;
      }
    }
  }

  private link(connection: Connection): void {
    connection.older = this.newest;
    connection.newer = undefined;
    if (this.newest === undefined) this.oldest = connection;
    else this.newest.newer = connection;
    this.newest = connection;
  }

  private unlink(connection: Connection): void {
    if (connection.older === undefined) this.oldest = connection.newer;
    else connection.older.newer = connection.newer;
    if (connection.newer === undefined) this.newest = connection.older;
    else connection.newer.older = connection.older;
  }
}

/** Equal for both directions. Mixed well, so that a capture of one host's ports does not fall into a few buckets. */
export function hashOf(ip: Ip, segment: Segment): number {
  const { sourcePort: s, destinationPort: d } = segment;
  let a = mix(ip.s0 ^ Math.imul(s, 0x9e3779b1));
  let b = mix(ip.d0 ^ Math.imul(d, 0x9e3779b1));
  if (ip.family === 6) {
    a = mix(a ^ ip.s1) ^ mix(ip.s2 ^ Math.imul(ip.s3, 0x85ebca6b));
    b = mix(b ^ ip.d1) ^ mix(ip.d2 ^ Math.imul(ip.d3, 0x85ebca6b));
  }
  return mix((a + b) | 0) ^ mix(a ^ b);
}

function mix(value: number): number {
  let x = value;
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return x ^ (x >>> 16);
}

/** Equal for both directions. */
function keyOf(ip: Ip, segment: Segment): string {
  // IPv4 leaves the other words as the last IPv6 packet had them.
  const six = ip.family === 6;
  const source = six ? `${ip.s0} ${ip.s1} ${ip.s2} ${ip.s3}` : `v4 ${ip.s0}`;
  const destination = six ? `${ip.d0} ${ip.d1} ${ip.d2} ${ip.d3}` : `v4 ${ip.d0}`;
  const ends = [`${source} ${segment.sourcePort}`, `${destination} ${segment.destinationPort}`];
  return ends.sort().join(" ");
}

/** Which end of the connection sent this packet; undefined when it is another connection's. */
function sideOf(connection: Connection, ip: Ip, segment: Segment): 0 | 1 | undefined {
  const { ends } = connection;
  if (ends.family !== ip.family) return undefined;
  const { sourcePort: s, destinationPort: d } = segment;
  const six = ip.family === 6;
  if (
    ends.aPort === s &&
    ends.bPort === d &&
    ends.a0 === ip.s0 &&
    ends.b0 === ip.d0 &&
    (!six ||
      (ends.a1 === ip.s1 &&
        ends.a2 === ip.s2 &&
        ends.a3 === ip.s3 &&
        ends.b1 === ip.d1 &&
        ends.b2 === ip.d2 &&
        ends.b3 === ip.d3))
  ) {
    return 0;
  }
  if (
    ends.aPort === d &&
    ends.bPort === s &&
    ends.a0 === ip.d0 &&
    ends.b0 === ip.s0 &&
    (!six ||
      (ends.a1 === ip.d1 &&
        ends.a2 === ip.d2 &&
        ends.a3 === ip.d3 &&
        ends.b1 === ip.s1 &&
        ends.b2 === ip.s2 &&
        ends.b3 === ip.s3))
  ) {
    return 1;
  }
  return undefined;
}
