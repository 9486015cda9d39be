import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { codesOf, endsOf, eventsOf, gapsOf, headOf, type ReadExchange, readFile, summaryOf } from "./read.js";

const folder = join(import.meta.dirname, "../../fixtures/har");

const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".har"))
  .sort();

function seen(read: ReadExchange) {
  const frames = eventsOf(read, "frame").map(({ direction, opcode, bytes, mark }) => {
    const { earliest, latest } = mark.when;
    return [direction, opcode, bytes.length, earliest === latest ? `${earliest / 1_000_000n}` : null];
  });
  return {
    method: read.exchange.request!.method,
    path: read.exchange.request!.path,
    status: headOf(read)?.status ?? null,
    up: summaryOf(read, "up"),
    down: summaryOf(read, "down"),
    gaps: gapsOf(read),
    ends: endsOf(read),
    ...(frames.length > 0 ? { frames } : {}),
  };
}

describe("HAR fixtures: the habits of recorders", () => {
  it.each(files)("%s", (name) => {
    const path = join(folder, name);
    const truth = JSON.parse(readFileSync(path.replace(/har$/, "truth.json"), "utf8"));
    const result = readFile(path);
    expect(result.exchanges.map(seen)).toEqual(truth.exchanges);
    for (const { events } of result.exchanges) {
      expect(events[0]!.kind).toBe("open");
      const ended = new Set<string>();
      for (const event of events) {
        if (!("direction" in event)) continue;
        expect(ended.has(event.direction)).toBe(false);
        if (event.kind === "end") ended.add(event.direction);
      }
      expect(ended.size).toBe(2);
    }
    expect(codesOf(result)).toEqual(truth.diagnostics);
    expect(result.producer).toBe(truth.producer);
    expect(result.flows).toHaveLength(truth.flows);
  });
});
