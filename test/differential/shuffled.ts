/** Connections whose segments come in disorder, more than once and cut anew, nothing lost: the stream is known beforehand. */
import { framed, ipv4, pcap, tcp } from "../../fixtures/net/make/packets.mjs";

/** A small generator, so that a seed names a capture. */
export function random(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

export function shuffledTalks(seed: number, count: number): Uint8Array {
  const next = random(seed);
  const talks = Array.from({ length: count }, (_, n) => talk(n, next));
  const packets: Uint8Array[] = [];
  const open = talks.filter((list) => list.length > 0);
  while (open.length > 0) {
    const at = next(open.length);
    packets.push(open[at]!.shift()!);
    if (open[at]!.length === 0) open.splice(at, 1);
  }
  return pcap(packets.map((bytes) => ({ bytes })));
}

function talk(n: number, next: (below: number) => number): Uint8Array[] {
  const isn = [next(2 ** 32), next(4) === 0 ? 2 ** 32 - 1 - next(3000) : next(2 ** 32)] as const;
  const segment = (side: 0 | 1, offset: number, acked: number, flags: string, data: Uint8Array = new Uint8Array(0)) => {
    const ends = side === 0 ? { src: "10.0.0.1", dst: "10.0.0.2" } : { src: "10.0.0.2", dst: "10.0.0.1" };
    const ports = side === 0 ? { from: 10_000 + n, to: 9000 } : { from: 9000, to: 10_000 + n };
    const seq = (isn[side] + 1 + offset) >>> 0;
    const ack = (isn[side === 0 ? 1 : 0] + 1 + acked) >>> 0;
    return framed(ipv4(ends, tcp({ ...ports, seq, ack, flags }, data)));
  };
  const out = [segment(0, -1, 0, "S"), segment(1, -1, 0, "SA")];
  const sent: [number, number] = [0, 0];
  for (const side of [0, 1] as const) {
    const other = side === 0 ? 1 : 0;
    const data = Uint8Array.from({ length: next(4000) }, () => next(256));
    const received = new Uint8Array(data.length);
    let whole = 0;
    for (const [start, end] of disorder(data.length, next)) {
      out.push(segment(side, start, sent[other], "PA", data.subarray(start, end)));
      received.fill(1, start, end);
      while (received[whole] === 1) whole++;
      if (next(2) === 0) out.push(segment(other, sent[other], whole, "A"));
    }
    sent[side] = data.length;
  }
  return out;
}

function disorder(length: number, next: (below: number) => number): [number, number][] {
  const ranges: [number, number][] = [];
  for (let at = 0; at < length; ) {
    const end = Math.min(length, at + 1 + next(300));
    ranges.push([at, end]);
    at = end;
  }
  for (let n = Math.floor(ranges.length / 3); n > 0; n--) {
    const start = next(length);
    ranges.splice(next(ranges.length + 1), 0, [start, Math.min(length, start + 1 + next(600))]);
  }
  for (let at = 0; at < ranges.length; at++) {
    const to = Math.min(ranges.length - 1, at + next(8));
    if (next(3) === 0) [ranges[at], ranges[to]] = [ranges[to]!, ranges[at]!];
  }
  return ranges;
}
