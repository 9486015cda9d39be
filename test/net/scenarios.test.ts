import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type FlowTruth, scenarios } from "../../fixtures/net/make/scenarios.mjs";
import type { DirectionSummary, FlowSummary } from "../../src/model/exchange.js";
import { codesOf, readPackets, runNet } from "./run.js";

function sha256(text: string): string {
  return createHash("sha256").update(Buffer.from(text, "latin1")).digest("hex");
}

function wanted(truth: FlowTruth) {
  const side = ({ text, gaps }: FlowTruth["up"]) => ({
    bytes: text.length,
    sha256: sha256(text),
    gaps: gaps.map(([offset, length]) => ({ offset, length })),
  });
  const { client, server, rolesBy } = truth;
  return { client, server, rolesBy, up: side(truth.up), down: side(truth.down) };
}

function got(summary: FlowSummary) {
  const { client, server, rolesBy } = summary.flow;
  const side = ({ bytes, sha256: hash, gaps }: DirectionSummary) => ({ bytes, sha256: hash, gaps });
  return { client, server, rolesBy, up: side(summary.up), down: side(summary.down) };
}

describe("captures that are odd in one way each", () => {
  it.each(scenarios.map((scenario) => [scenario.name, scenario] as const))("%s", (_, scenario) => {
    const { packets, notes } = readPackets(scenario.file);
    const result = runNet(packets);
    expect(result.flows.map(got)).toEqual(scenario.flows.map(wanted));
    expect(codesOf([...notes, ...result.notes])).toEqual([...scenario.codes].sort());
  });

  it("hands the layers the same bytes as it counts, but for what comes after the end", () => {
    for (const scenario of scenarios) {
      if (scenario.codes.includes("tcp.data-after-end")) continue;
      const { events, flows } = runNet(readPackets(scenario.file).packets);
      for (const { flow, up, down } of flows) {
        const bytes = { up: 0, down: 0 };
        const missing = { up: 0, down: 0 };
        for (const event of events) {
          if (event.kind === "bytes" && event.exchange.flow === flow) bytes[event.direction] += event.bytes.length;
          if (event.kind === "gap" && event.exchange.flow === flow) missing[event.direction] += event.length ?? 0;
        }
        const sum = (gaps: readonly { length: number }[]) => gaps.reduce((total, gap) => total + gap.length, 0);
        expect([scenario.name, bytes, missing]).toEqual([
          scenario.name,
          { up: up.bytes, down: down.bytes },
          { up: sum(up.gaps), down: sum(down.gaps) },
        ]);
      }
    }
  });
});
