import { describe, expect, it } from "vitest";
import { framed, pcap } from "../../fixtures/net/make/packets.mjs";
import { packet, v4, v6 } from "../../fixtures/net/make/talk.mjs";
import { defaultLimits } from "../../src/core/limits.js";
import { type FlowSummary, type NeckEvent, newIds } from "../../src/model/exchange.js";
import { Dissector } from "../../src/net/dissect.js";
import { FlowTable, hashOf } from "../../src/net/flow/table.js";
import { Ip } from "../../src/net/ip.js";
import { Recent } from "../../src/net/tcp/recent.js";
import { Segment } from "../../src/net/tcp/segment.js";
import { Waiting } from "../../src/net/tcp/waiting.js";
import { noKeys, rawLayers, readPackets, runNet } from "./run.js";

/** Two client ends whose connections have one hash, found by trying. */
function colliding(): { client: string; clientPort: number }[] {
  const ip = new Ip(0, () => {});
  const segment = new Segment();
  segment.destinationPort = v4.serverPort;
  segment.sourcePort = v4.clientPort;
  ip.d0 = (198 << 24) | (51 << 16) | (100 << 8) | 1;
  const seen = new Map<number, number>();
  for (let n = 0; ; n++) {
    ip.s0 = (10 << 24) | n;
    const hash = hashOf(ip, segment);
    const other = seen.get(hash);
    if (other !== undefined) {
      return [other, n].map((m) => ({
        client: `10.${m >> 16}.${(m >> 8) & 255}.${m & 255}`,
        clientPort: v4.clientPort,
      }));
    }
    seen.set(hash, n);
  }
}

/** A table alone, which compares so many connections one by one. */
function flowsOf(packets: readonly Uint8Array[], maxChain: number, openFlows = 100): FlowSummary[] {
  const flows: FlowSummary[] = [];
  const note = () => {};
  const tools = {
    limits: { ...defaultLimits, openFlows },
    note,
    sink: (event: NeckEvent) => void (event.kind === "flow-end" && flows.push(event.summary)),
    ids: newIds(),
    keys: noKeys,
    wantHashes: false,
    layers: rawLayers,
    recent: new Recent(),
    waiting: new Waiting(1000, note),
    limitBytes: 1000,
  };
  const table = new FlowTable(tools, maxChain);
  const dissector = new Dissector(0, note);
  for (const each of readPackets(pcap(packets.map((bytes) => ({ bytes: framed(bytes) })))).packets) {
    expect(dissector.packet(each)).toBe("tcp");
    table.packet(dissector.ip, dissector.segment, each);
  }
  table.end();
  return flows;
}

describe("the flow table", () => {
  it("gives both directions one hash, and spreads a host's ports", () => {
    const ip = new Ip(0, () => {});
    const segment = new Segment();
    const hashes = new Set<number>();
    for (let port = 1; port < 65_536; port++) {
      Object.assign(ip, { s0: 0x0a000001, d0: 0x0a000002 });
      Object.assign(segment, { sourcePort: port, destinationPort: 443 });
      const hash = hashOf(ip, segment);
      Object.assign(ip, { s0: 0x0a000002, d0: 0x0a000001 });
      Object.assign(segment, { sourcePort: 443, destinationPort: port });
      expect(hashOf(ip, segment)).toBe(hash);
      hashes.add(hash);
    }
    expect(hashes.size).toBeGreaterThan(65_000);
  });

  it.each([8, 1, 0])("keeps two connections of one hash apart, %d of them compared one by one", (maxChain) => {
    const ends = colliding().map((end) => ({ ...v4, ...end }));
    const all = [0, 1].flatMap((at) =>
      ends.flatMap((end) => [packet("c", at, "x", {}, end), packet("s", at, "x", {}, end)]),
    );
    const wanted = ends.map((end) => [`${end.client}:${end.clientPort}`, 2, 2]);
    const found = (flows: FlowSummary[]) => flows.map((flow) => [flow.flow.client, flow.up.bytes, flow.down.bytes]);
    expect(found(flowsOf(all, maxChain))).toEqual(wanted);
    // With room for one only, each is found anew every time.
    expect(flowsOf(all, maxChain, 1).length).toBe(4);
  });

  it("keeps IPv4 and IPv6 connections apart, whatever came before", () => {
    const order = [v6, v4, v6, v4].map((end, n) => packet("c", n >> 1, "x", {}, end));
    const { flows } = runNet(readPackets(pcap(order.map((bytes) => ({ bytes: framed(bytes) })))).packets, {
      limits: { ...defaultLimits, openFlows: 2 },
    });
    expect(flows.map((flow) => [flow.flow.client, flow.up.bytes])).toEqual([
      ["[2001:db8::1]:50000", 2],
      ["192.0.2.1:50000", 2],
    ]);
  });
});
