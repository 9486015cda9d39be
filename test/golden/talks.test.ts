import { describe, expect, it } from "vitest";
import { cursorWire } from "../cli/run.js";

/** Three captures of each of these dialects: what a person sees of them, kept whole. pi has its own. */
const captures: readonly (readonly [name: string, path: string])[] = [
  ["cursor-three-turns-har", "fixtures/cursor/three-turns.har"],
  ["cursor-three-turns-pcap", "fixtures/cursor/three-turns.pcap"],
  ["cursor-parallel-tools", "fixtures/cursor/recorded/parallel-tools.har"],
  ["kimi-tool-turn", "fixtures/kimi/recorded/tool-turn.pcap"],
  ["kimi-ui-turn", "fixtures/kimi/recorded/ui-turn.devtools.har"],
  ["kimi-acp-turn", "fixtures/kimi/recorded/acp-turn.jsonl"],
];

describe("golden reports", () => {
  it.each(captures)("%s: timeline, findings, diagram", async (name, path) => {
    const timeline = await cursorWire(["analyze", path]);
    await expect(timeline.out).toMatchFileSnapshot(`talks/${name}.txt`);
    const findings = await cursorWire(["check", path]);
    await expect(findings.out).toMatchFileSnapshot(`talks/${name}.check.txt`);
    const diagram = await cursorWire(["diagram", path]);
    await expect(diagram.out).toMatchFileSnapshot(`talks/${name}.mmd`);
    expect([timeline.code, findings.code, diagram.code]).toEqual([0, 0, 0]);
  });
});
