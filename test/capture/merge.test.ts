import { describe, expect, it } from "vitest";
import { pcap, text } from "../../fixtures/net/make/packets.mjs";
import { mergeByTime } from "../../src/capture/merge.js";
import { readPackets } from "../net/run.js";

const capture = (input: number, ...micros: number[]) =>
  readPackets(pcap(micros.map((at) => ({ bytes: text("p"), at: [at < 0 ? 0 : 1, Math.max(0, at)] }))), { input })
    .packets;
const order = (...captures: ReturnType<typeof capture>[]) =>
  [...mergeByTime(captures)].map((p) => `${p.input}.${p.index}`);

describe("several captures as one", () => {
  it("goes by time, and by input where times are equal", () => {
    expect(order(capture(0, 1, 3, 5), capture(1, 2, 3, 4))).toEqual(["0.0", "1.0", "0.1", "1.1", "1.2", "0.2"]);
  });

  it("keeps the order of each file, even where its times go back", () => {
    expect(order(capture(0, 5, 1, 6), capture(1, 2, 7))).toEqual(["1.0", "0.0", "0.1", "0.2", "1.1"]);
  });

  it("lets a packet without a time go at once", () => {
    expect(order(capture(0, 1, 9), capture(1, 5, -1))).toEqual(["0.0", "1.0", "1.1", "0.1"]);
  });

  it("hands one capture through as it is, and none as nothing", () => {
    const only = capture(0, 1);
    expect(mergeByTime([only])).toBe(only);
    expect(order(capture(0), capture(1, 1), capture(2))).toEqual(["1.0"]);
    expect(order()).toEqual([]);
  });

  it("reads each capture only as far as it must", () => {
    const read: string[] = [];
    function* lazily(packets: ReturnType<typeof capture>) {
      for (const packet of packets) {
        read.push(`${packet.input}.${packet.index}`);
        yield packet;
      }
    }
    for (const _ of mergeByTime([lazily(capture(0, 1, 2, 3)), lazily(capture(1, 9, 10))])) break;
    expect(read).toEqual(["0.0", "1.0"]);
  });
});
