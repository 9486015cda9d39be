// Recorded conversations as regression tests. Every capture in the folder must keep the protocol's rules.
import { readdirSync } from "node:fs";
import { analyze, gate, toText } from "cursor-wire";
import { describe, expect, it } from "vitest";

const folder = "fixtures/cursor";
const captures = readdirSync(folder).filter((name) => /^three-turns\.(har|pcap)$/.test(name));

describe.each(captures)("%s", (name) => {
  const capture = analyze(`${folder}/${name}`);

  it("breaks no rule", () => {
    const { failing } = gate(capture, { failOn: "warning", require: ["cursor/K06"] });
    expect(failing.map((finding) => `${finding.rule} ${toText(finding.statement, capture)}`)).toEqual([]);
  });

  it("completes every turn and leaves nothing unanswered", () => {
    expect(capture.turns.map((turn) => [turn.outcome, turn.open])).toEqual(Array(3).fill(["completed", []]));
  });
});
