/** Several captures of one talk become one sequence of packets. */
import type { Packet } from "./packet.js";

/**
 * Always the earliest of the readers' next packets; equal times: the earlier input first. The order inside one file stays as it is,
 * so a packet without a time (0) goes at once.
 */
export function mergeByTime(readers: readonly Iterable<Packet>[]): Iterable<Packet> {
  return readers.length === 1 ? readers[0]! : merge(readers);
}

function* merge(readers: readonly Iterable<Packet>[]): Iterable<Packet> {
  const heads: { packet: Packet; from: Iterator<Packet> }[] = [];
  for (const reader of readers) {
    const from = reader[Symbol.iterator]();
    const first = from.next();
    if (first.done !== true) heads.push({ packet: first.value, from });
  }
  while (heads.length > 0) {
    let best = heads[0]!;
    for (const head of heads) if (head.packet.at < best.packet.at) best = head;
    yield best.packet;
    const next = best.from.next();
    if (next.done === true) heads.splice(heads.indexOf(best), 1);
    else best.packet = next.value;
  }
}
