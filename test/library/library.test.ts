import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import * as library from "../../src/index.js";
import {
  analyze,
  CursorWireError,
  compare,
  frames,
  gate,
  parseBaseline,
  parseProtos,
  render,
} from "../../src/index.js";
import { cursorWire } from "../cli/run.js";
import { requireBuilt } from "../docs/built.js";

const har = "fixtures/cursor/three-turns.har";
const pcap = "fixtures/cursor/three-turns.pcap";
const faulty = "fixtures/cursor/wrong-hash.har";
const codeOf = (action: () => unknown) => {
  try {
    action();
  } catch (error) {
    return error instanceof CursorWireError ? error.code : error;
  }
  return undefined;
};

describe("analyze", () => {
  it("gives turns, blobs, flows and findings", () => {
    const capture = analyze(har);
    expect(capture.turns.map((turn) => [turn.dialect, turn.outcome, turn.steps.length > 10])).toEqual(
      Array(3).fill(["cursor", "completed", true]),
    );
    expect(capture.blobs?.rows.filter((row) => row.hash === "mismatch")).toEqual([]);
    expect(capture.inputs.map((input) => [input.path, input.sha256?.length])).toEqual([[har, 64]]);
    expect(capture.diagnostics.filter((row) => row.severity !== "info")).toEqual([]);
  });

  it("says what the command line says", async () => {
    for (const [report, args] of [
      ["json", ["analyze", faulty, "--format", "json"]],
      ["text", ["analyze", faulty]],
      ["markdown", ["analyze", faulty, "--format", "markdown"]],
      ["brief", ["analyze", faulty, "--brief"]],
      ["sequence", ["diagram", faulty]],
      ["blob-tree", ["blobs", "tree", faulty]],
      ["flows-json", ["flows", faulty, "--format", "json"]],
    ] as const) {
      expect(render(analyze(faulty), report), report).toBe((await cursorWire([...args])).out);
    }
  });

  it("takes a raw dump, a dialect, and several captures as one talk", () => {
    const folder = "fixtures/pi/talk";
    const dump = { client: `${folder}/client.bin`, server: `${folder}/server.bin`, index: `${folder}/index.jsonl` };
    expect(analyze([], { raw: dump }).turns.every((turn) => turn.dialect === "pi")).toBe(true);
    expect(analyze(har, { dialect: "pi" }).turns).toEqual([]);
    expect(analyze([har, pcap]).turns).toHaveLength(3);
  });

  it("rules, limits, steps and hashes are options", () => {
    expect(analyze(faulty, { rules: { "cursor/*": "off" } }).findings).toEqual([]);
    expect(analyze(faulty, { rules: { "cursor/*": "off", "cursor/K06": "info" } }).findings).toMatchObject([
      { rule: "cursor/K06", severity: "info" },
    ]);
    const bounded = analyze(har, { limits: { messageBytes: 1000 } });
    expect(bounded.diagnostics.some((row) => row.severity === "warning")).toBe(true);
    const bare = analyze(har, { steps: false, hashes: false });
    expect([bare.turns.length, bare.inputs[0]?.sha256]).toEqual([3, null]);
  });

  it("schemas can be added as descriptor sets and .proto texts, or left out", async () => {
    const proto = `syntax = "proto3"; package agent.v1; message AgentServerMessage { string renamed = 99; }`;
    const descriptors = [await parseProtos([{ name: "own.proto", text: proto }])];
    const types = (options: library.AnalyzeOptions) => {
      const values: unknown[] = [];
      frames(har, (frame) => values.push(Object.keys(frame.value() as object)), options);
      return JSON.stringify(values);
    };
    expect(types({ descriptors })).not.toContain("interactionUpdate");
    expect(types({})).toContain("interactionUpdate");
    expect(types({ schema: "none" })).not.toContain("interactionUpdate");
  });

  it.each([
    ["no capture", () => analyze([]), "usage.capture"],
    ["a file that is not there", () => analyze("no-such.har"), "input.unreadable"],
    ["a file of another kind", () => analyze("package.json"), "input.unreadable"],
    ["an unknown dialect", () => analyze(har, { dialect: "nope" }), "usage.dialect"],
    ["an unknown rule", () => analyze(har, { rules: { "cursor/Z99": "off" } }), "usage.rule"],
    ["an unknown limit", () => analyze(har, { limits: { nope: 1 } as object }), "usage.limit"],
    ["a limit that is no number", () => analyze(har, { limits: { nesting: -1 } }), "usage.limit"],
    ["a key log that is not there", () => analyze(har, { keylogs: ["no-such.log"] }), "input.keylog"],
    ["an analysis made by somebody else", () => render({ ...analyze(har), inputs: [] }, "brief"), "usage.analysis"],
  ])("refuses %s", (_, action, code) => expect(codeOf(action)).toBe(code));

  it("one unreadable input is listed, and fails the gate", () => {
    const capture = analyze([har, "no-such.har"]);
    expect(capture.turns).toHaveLength(3);
    expect(capture.unreadable).toMatchObject([{ path: "no-such.har" }]);
    expect(gate(capture)).toMatchObject({ failed: true, why: expect.stringContaining("no-such.har") });
  });

  it("tells turns as they end", () => {
    const ended: string[] = [];
    analyze(pcap, { onEvent: (event) => void (event.kind === "turn-ended" && ended.push(event.turn.outcome)) });
    expect(ended).toEqual(["completed", "completed", "completed"]);
  });
});

describe("frames", () => {
  it("calls back for each message, in capture order", () => {
    let last = 0n;
    let count = 0;
    const capture = frames(pcap, (frame) => {
      count++;
      expect(frame.message.mark.when.latest >= last).toBe(true);
      last = frame.message.mark.when.latest;
    });
    expect(count).toBe(capture.capture.messages);
  });
});

describe("gate", () => {
  it("fails like check, and a baseline accepts", () => {
    const capture = analyze(faulty);
    const first = gate(capture);
    expect([first.failed, first.failing.map((finding) => finding.rule)]).toEqual([true, ["cursor/K06"]]);
    const baseline = parseBaseline(library.writeBaseline(capture.findings), "memory");
    expect(gate(capture, { baseline })).toMatchObject({ failed: false, fresh: [] });
    expect(gate(analyze(har)).failed).toBe(false);
    expect(gate(analyze(har), { failOn: "info" }).failed).toBe(true);
    expect(codeOf(() => gate(capture, { require: ["cursor/Z99"] }))).toBe("usage.rule");
  });

  it("a capture without a turn passes only when it may be empty", () => {
    const empty = analyze("fixtures/har/neutral.har");
    expect(gate(empty).failed).toBe(true);
    expect(gate(empty, { allowEmpty: true }).failed).toBe(false);
  });
});

describe("what is printed hides secrets", () => {
  const token = "invented-local-token-Fixture";

  it.each(library.reportNames)("%s", (report) => {
    expect(readFileSync(har, "utf8")).toContain(token);
    expect(render(analyze(har), report)).not.toContain(token);
  });

  it("prompts too, where asked", () => {
    const capture = analyze(har);
    expect(render(capture, "brief")).toContain("herb garden");
    expect(render(capture, "brief", { redact: "private" })).not.toContain("herb garden");
    expect(library.toJson({ prompt: capture.turns[0]!.prompt }, capture)).toEqual({ prompt: capture.turns[0]!.prompt });
  });

  it("after a selection of turns as well", () => {
    const one = library.selectTurns(analyze(har), { turn: 2 });
    expect(render(one, "text")).not.toContain(token);
    expect(JSON.parse(render(one, "json")).turns).toHaveLength(1);
  });
});

it("compare finds the first divergence", () => {
  expect(compare(har, pcap)).toMatchObject({ same: true });
  const diff = compare(har, faulty);
  expect(diff.turns.map((turn) => turn.same)).toEqual([true, true, false]);
  expect(diff.text()).toContain("turn 3");
});

it("places go from reports to values and back", () => {
  const { turns, inputNames, inputs } = analyze(har);
  const text = library.placeText(turns[1]!.place, inputNames);
  const paths = inputs.map((input) => input.path);
  expect(library.placeText(library.parsePlace(text, inputNames, paths), inputNames)).toBe(text);
});

it("the tables name what there is", () => {
  expect(library.dialects).toEqual(["cursor", "kimi", "pi"]);
  expect(library.captureFormats).toEqual(["pcapng", "pcap"]);
  expect(new Set(library.rules.map((rule) => rule.id)).size).toBe(library.rules.length);
});

describe("the built package", () => {
  beforeAll(() => requireBuilt());
  const node = (script: string) =>
    spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8", env: {} });

  it("is imported by its name, with the same exports", () => {
    const ran = node(`import * as all from "cursor-wire"; console.log(Object.keys(all).sort().join());`);
    expect([ran.stderr, ran.stdout.trim()]).toEqual(["", Object.keys(library).sort().join()]);
  });

  it("prints nothing, and needs no environment", () => {
    const ran = node(`import { analyze, gate } from "cursor-wire"; gate(analyze("${faulty}"));`);
    expect([ran.status, ran.stdout, ran.stderr]).toEqual([0, "", ""]);
  });
});
