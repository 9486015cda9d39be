/** TCP payload per connection against tshark's, on every scenario; where tshark says otherwise, the scenario says why. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { scenarios } from "../../fixtures/net/make/scenarios.mjs";
import type { FlowSummary } from "../../src/model/exchange.js";
import { readPackets, runNet } from "../net/run.js";
import { shuffledTalks } from "./shuffled.js";
import { describeWithTshark, followStreams, tsharkFields } from "./tshark.js";

interface Compared {
  readonly ends: readonly string[];
  readonly sides: readonly {
    readonly from: string;
    readonly bytes: number;
    readonly sha256: string;
    readonly missing: number;
  }[];
}

/** Both lists in one form: sides sorted by address, since tshark has no roles. */
function ours(flow: FlowSummary): Compared {
  const { client, server } = flow.flow;
  const side = (from: string, { bytes, sha256, gaps }: FlowSummary["up"]) => ({
    from,
    bytes,
    sha256: sha256!,
    missing: gaps.reduce((sum, gap) => sum + gap.length, 0),
  });
  return { ends: [client, server].sort(), sides: bySender([side(client, flow.up), side(server, flow.down)]) };
}

function bySender<T extends { readonly from: string }>(sides: T[]): T[] {
  return sides.sort((a, b) => (a.from < b.from ? -1 : 1));
}

/** tshark's first `count` streams; one more is asked for, and must not be there. */
function theirs(file: Uint8Array, count: number): Compared[] {
  const streams = followStreams(file, count + 1);
  // A file that tshark refuses has no streams at all.
  if (count === 0 && streams.length === 0) return [];
  expect(streams.slice(count).map(({ ends }) => ends.join())).toEqual([":0,:0"]);
  return streams.slice(0, count).map(({ ends, bytes, missing }) => ({
    ends: [...ends].sort(),
    sides: bySender(
      ([0, 1] as const).map((n) => ({
        from: ends[n],
        bytes: bytes[n].length,
        sha256: createHash("sha256").update(bytes[n]).digest("hex"),
        missing: missing[n],
      })),
    ),
  }));
}

function compare(file: Uint8Array): { mine: Compared[]; reference: Compared[] } {
  const mine = runNet(readPackets(file).packets).flows.map(ours);
  return { mine, reference: theirs(file, mine.length) };
}

function differs(file: Uint8Array): boolean {
  const mine = runNet(readPackets(file).packets).flows.map(ours);
  const streams = new Set(tsharkFields(file, ["tcp.stream"]).flat());
  streams.delete("");
  return streams.size !== mine.length || JSON.stringify(mine) !== JSON.stringify(theirs(file, mine.length));
}

describeWithTshark("TCP streams as tshark has them", () => {
  it.each(
    scenarios.filter((scenario) => scenario.tshark === undefined).map((scenario) => [scenario.name, scenario] as const),
  )("%s", (_, { file }) => {
    const { mine, reference } = compare(file);
    expect(mine).toEqual(reference);
  });

  // A difference that is gone must leave the list.
  it.each(
    scenarios
      .filter((scenario) => scenario.tshark !== undefined)
      .map((scenario) => [`${scenario.name}: ${scenario.tshark}`, scenario] as const),
  )("differs: %s", (_, { file }) => {
    expect(differs(file)).toBe(true);
  });

  it.each([1, 2, 3])("reordered, repeated and re-cut segments of forty connections, seed %d", (seed) => {
    const { mine, reference } = compare(shuffledTalks(seed, 40));
    expect(mine).toEqual(reference);
  });

  const recorded = new URL("../../fixtures/net/recorded/", import.meta.url);
  it.each(readdirSync(recorded).filter((name) => /\.pcap(ng)?$/.test(name)))("recorded %s", (name) => {
    const { mine, reference } = compare(readFileSync(new URL(name, recorded)));
    expect(mine).toEqual(reference);
  });
});
