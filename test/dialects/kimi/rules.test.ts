import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { mutations } from "../../../fixtures/kimi/make/mutations.mjs";
import { goodTalk, type Talk } from "../../../fixtures/kimi/make/talk.mjs";
import { harText, logText } from "../../../fixtures/kimi/make/write.mjs";
import { defaultLimits } from "../../../src/core/limits.js";
import { loadSchemas } from "../../../src/decode/schema.js";
import { kimiRules } from "../../../src/dialects/kimi/checks/index.js";
import type { Analysis } from "../../../src/model/report.js";
import { runPipeline } from "../../../src/pipeline.js";

const folder = mkdtempSync(join(tmpdir(), "kimi-rules-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function analyze(talk: Talk, log = false): Analysis {
  const path = join(folder, log ? "talk.jsonl" : "talk.har");
  writeFileSync(path, log ? logText(talk) : harText(talk));
  return runPipeline({
    paths: [path],
    keylogs: [],
    schemas: loadSchemas({ limits: defaultLimits }),
    limits: defaultLimits,
    wantHashes: false,
    wantFrames: false,
    wantSteps: false,
  });
}

const rulesFound = (analysis: Analysis) => [...new Set(analysis.findings.map((finding) => finding.rule))].sort();

describe("the good talk", () => {
  test("breaks no rule", () => {
    const analysis = analyze(goodTalk());
    expect(analysis.findings.map((finding) => `${finding.rule} ${finding.statement.join("")}`)).toEqual([]);
    expect(rulesFound(analyze(goodTalk(), true))).toEqual([]);
  });

  test("tells its turns", () => {
    const turns = analyze(goodTalk()).turns;
    expect(turns.map((turn) => [turn.requestId, turn.outcome, turn.text])).toEqual([
      ["main/0", "completed", "I will list the files.There is one file."],
      ["agent-0/0", "completed", "one"],
      ["main/1", "completed", "Welcome."],
    ]);
    expect(turns[0]?.prompt).toBe("What is in this folder?");
    expect(turns[0]?.model).toBe("invented/one");
    expect(turns[0]?.usage).toEqual({ inputTokens: 290, outputTokens: 18, cacheReadTokens: 140, cacheWriteTokens: 0 });
    expect(turns[1]?.parentRequestId).toBe("main/0");
  });

  test("says of a replayed turn that its text was streamed while nobody listened", () => {
    const talk = goodTalk();
    const told = (turns: Analysis["turns"]) =>
      turns.map((turn) => turn.facts.flat().join(" ").includes("its text is not in"));
    expect(told(analyze(talk).turns)).toEqual([false, false, false]);
    for (const socket of talk.sockets)
      socket.frames = socket.frames.filter(({ value }) => !/^(assistant|thinking)\.delta$/.test(value?.type));
    expect(told(analyze(talk).turns)).toEqual([true, true, true]);
  });

  test("tells the turn of a stdio log", () => {
    const [turn] = analyze(goodTalk(), true).turns;
    expect([turn?.conversationId, turn?.outcome, turn?.text, turn?.thinking]).toEqual([
      "acp-1",
      "completed",
      "One file.",
      "Hm.",
    ]);
  });
});

describe("each mutation", () => {
  test.each(mutations.map((mutation) => [mutation.name, mutation] as const))("%s", (_name, mutation) => {
    const talk = goodTalk();
    mutation.apply(talk);
    const found = rulesFound(analyze(talk, mutation.log === true));
    expect(found).toEqual([mutation.rule, ...(mutation.also ?? [])].map((rule) => `kimi/${rule}`).sort());
  });
});

test("every check has a mutation that breaks it", () => {
  const broken = new Set(mutations.map((mutation) => `kimi/${mutation.rule}`));
  expect(kimiRules.filter((rule) => rule.class === "check" && !broken.has(rule.id)).map((rule) => rule.id)).toEqual([]);
});
