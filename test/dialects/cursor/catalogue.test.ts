import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { threeTurns } from "../../../fixtures/cursor/make/conversation.mjs";
import { mutations, permitted, type RuleMutation } from "../../../fixtures/cursor/make/rule-mutations.mjs";
import { har } from "../../../fixtures/cursor/make/write-har.mjs";
import { pcap } from "../../../fixtures/cursor/make/write-pcap.mjs";
import { defaultLimits } from "../../../src/core/limits.js";
import { loadSchemas } from "../../../src/decode/schema.js";
import { cursorRules } from "../../../src/dialects/cursor/checks/index.js";
import type { Analysis } from "../../../src/model/report.js";
import { runPipeline } from "../../../src/pipeline.js";

const folder = mkdtempSync(join(tmpdir(), "cursor-rules-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const schemas = loadSchemas({ limits: defaultLimits });
const byId = new Map(cursorRules.map((rule) => [rule.id, rule]));

/** The good talk has one superseded version of a turn: its count is always there. */
const always = "cursor/C19";

function analyze(mutation: RuleMutation | null, form: "har" | "pcap" = mutation?.form ?? "har"): Analysis {
  const talk = threeTurns();
  mutation?.apply?.(talk);
  const path = join(folder, `talk.${form}`);
  writeFileSync(path, form === "pcap" ? pcap(talk) : edited(har(talk), mutation));
  return runPipeline({
    paths: [path],
    keylogs: [],
    schemas,
    limits: defaultLimits,
    wantHashes: false,
    wantFrames: false,
    wantSteps: false,
  });
}

function edited(bytes: Buffer, mutation: RuleMutation | null): Buffer | string {
  if (mutation?.edit === undefined) return bytes;
  const value = JSON.parse(bytes.toString("utf8"));
  mutation.edit(value);
  return JSON.stringify(value);
}

const found = (analysis: Analysis) =>
  [...new Set(analysis.findings.map((finding) => finding.rule))].filter((rule) => rule !== always).sort();

/** The rule, and everything that its row says comes with it. */
function expected(mutation: RuleMutation): string[] {
  const out = new Set<string>();
  const add = (id: string) => {
    if (out.has(id)) return;
    out.add(id);
    for (const implied of byId.get(id)?.implies ?? []) add(implied);
  };
  for (const rule of [mutation.rule, ...(mutation.also ?? [])]) add(`cursor/${rule}`);
  out.delete(always);
  return [...out].sort();
}

describe("the good talk", () => {
  test.each(["har", "pcap"] as const)("breaks no rule as %s", (form) => {
    expect(found(analyze(null, form))).toEqual([]);
  });
});

describe("each mutation breaks its rule, what that implies, and nothing else", () => {
  test.each(mutations.map((mutation) => [`${mutation.rule}: ${mutation.name}`, mutation] as const))(
    "%s",
    (_name, mutation) => {
      const analysis = analyze(mutation);
      expect(
        found(analysis),
        analysis.findings.map((finding) => `${finding.rule} ${finding.statement.map(String).join("")}`).join("\n"),
      ).toEqual(expected(mutation));
      const own = analysis.findings.find((finding) => finding.rule === `cursor/${mutation.rule}`);
      expect(own?.places.length).toBeGreaterThan(0);
    },
  );
});

describe("what is allowed stays silent", () => {
  test.each(permitted.map((mutation) => [`${mutation.rule}: ${mutation.name}`, mutation] as const))(
    "%s",
    (_name, mutation) => {
      const analysis = analyze(mutation);
      expect(found(analysis)).toEqual([]);
      const unchecked = analysis.notCheckable
        .filter((row) => row.rule === `cursor/${mutation.rule}`)
        .flatMap((row) => row.turns);
      expect(new Set(unchecked).size).toBeLessThan(analysis.turns.length);
    },
  );
});

test("any order of entries and any speed of the answers is legal", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(900), { minLength: 60, maxLength: 60 }),
      fc.infiniteStream(fc.nat()),
      (latencies, picks) => {
        const talk = threeTurns();
        // Answers of appends come back when they like; HAR entries are in whatever order a recorder wrote them.
        for (const run of talk.runs)
          for (const [n, append] of run.appends.entries()) append.latency = 1 + latencies[n % 60]!;
        const log = JSON.parse(har(talk).toString("utf8"));
        for (let at = log.log.entries.length - 1; at > 0; at--) {
          const other = picks.next().value % (at + 1);
          [log.log.entries[at], log.log.entries[other]] = [log.log.entries[other], log.log.entries[at]];
        }
        const path = join(folder, "shuffled.har");
        writeFileSync(path, JSON.stringify(log));
        const analysis = runPipeline({
          paths: [path],
          keylogs: [],
          schemas,
          limits: defaultLimits,
          wantHashes: false,
          wantFrames: false,
          wantSteps: false,
        });
        expect(found(analysis)).toEqual([]);
      },
    ),
    { numRuns: process.env.CI ? 40 : 10 },
  );
});

test("every rule of the protocol page has its fixture", () => {
  const covered = new Set([...mutations, ...permitted].map((mutation) => `cursor/${mutation.rule}`));
  expect(cursorRules.map((rule) => rule.id).filter((id) => !covered.has(id))).toEqual([]);
  const families = { T: 18, S: 15, K: 15, C: 20, L: 16, E: 12, U: 16 };
  const ids = Object.entries(families).flatMap(([family, n]) =>
    Array.from({ length: n }, (_, i) => `cursor/${family}${String(i + 1).padStart(2, "0")}`),
  );
  expect([...byId.keys()].sort()).toEqual(ids.sort());
});
