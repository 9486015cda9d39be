import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { brief } from "../../src/report/brief.js";
import { widthOf } from "../../src/report/columns.js";
import { foldSteps } from "../../src/report/fold.js";
import { reports } from "../../src/report/index.js";
import { json } from "../../src/report/json.js";
import { markdownReport } from "../../src/report/markdown.js";
import { parsePlace } from "../../src/report/parse-place.js";
import type { Report } from "../../src/report/report.js";
import { summary } from "../../src/report/summary.js";
import { relativeTime } from "../../src/report/times.js";
import { analysis, answer, ask, at, between, finding, hostile, render, step, turn, view } from "./sample.js";

/** Renewed with UPDATE_GOLDEN=1. */
function golden(name: string, text: string): void {
  const path = fileURLToPath(new URL(`golden/${name}.txt`, import.meta.url));
  if (process.env.UPDATE_GOLDEN === "1" || !existsSync(path)) writeFileSync(path, text);
  expect(text).toBe(readFileSync(path, "utf8"));
}

describe("analyze as text", () => {
  it.each([120, 80])("at %i columns", (width) => {
    golden(`summary-${width}`, render(summary.render(analysis(), view({ width }))));
  });

  it("as Markdown", () => {
    golden("markdown", render(markdownReport.render(analysis(), view())));
  });

  it("as JSON", () => {
    golden("json", render(json.render(analysis(), view())));
  });

  it.each([60, 80, 120, 200])("no line is wider than %i", (width) => {
    const wide = analysis(
      [turn({ prompt: "漢字🙂 ".repeat(200), text: `${"x".repeat(500)}\n${hostile}`, client: hostile })],
      {
        findings: [
          finding({ statement: ["long ".repeat(100)], places: Array.from({ length: 9 }, () => turn().place) }),
        ],
      },
    );
    for (const report of [summary, brief])
      for (const line of render(report.render(wide, view({ width }))).split("\n"))
        expect(widthOf(line), line).toBeLessThanOrEqual(width);
  });

  it("every place of a timeline is accepted back", () => {
    const text = render(summary.render(analysis(), view()));
    const places = [...text.matchAll(/\S*#\d+\S*/g)].map((match) => match[0].replace(/[,.]$/, ""));
    expect(places.length).toBeGreaterThan(10);
    for (const place of places) expect(parsePlace(place, ["a.har"], ["captures/a.har"]).input).toBe(0);
  });

  it("is the same twice, and has no control character", () => {
    const sample = analysis(
      [
        turn({
          prompt: hostile,
          text: hostile,
          error: { code: hostile, message: hostile },
          model: hostile,
          requestId: hostile,
          conversationId: hostile,
          transport: hostile,
        }),
      ],
      {
        inputs: [{ path: hostile, format: "har", bytes: 1, sha256: null, producer: hostile }],
      },
    );
    for (const report of [...reports, brief] as Report[]) {
      const text = render(report.render(sample, view()));
      expect(text).toBe(render(report.render(sample, view())));
      expect(text.replace(/\n/g, ""), report.name).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069\u200b]/u);
    }
  });

  it("--redact private hides what people and models wrote, in every format", () => {
    for (const report of [...reports, brief] as Report[]) {
      const text = render(report.render(analysis(), view({}, "private")));
      expect(text, report.name).not.toMatch(/Rename|renamed it|helper is used|home\/someone/);
    }
  });

  it("tells a long capture by its troubled turns, and says how to see the rest", () => {
    const turns = Array.from({ length: 200 }, (_, index) =>
      turn({ index, outcome: index === 77 ? "failed" : "completed" }),
    );
    const text = render(summary.render(analysis(turns), view()));
    expect(text).toMatch(/^turn 78 .*failed/m);
    expect(text).toContain("… ");
    expect(text).toMatch(/\d+ turns are not told here: --turn N/);
    expect(text.split("\n").length).toBeLessThan(250);
  });

  it("leaves out the middle of a very long turn, and --all does not", () => {
    const steps = Array.from({ length: 1000 }, (_, i) => step({ ms: i, lane: "session", kind: `kind_${i}` }));
    const sample = analysis([turn({ steps })]);
    expect(render(summary.render(sample, view()))).toContain("… 900 more rows: --turn 1 --all shows them");
    expect(render(summary.render(sample, view({ all: true }))).match(/kind_\d+/g)).toHaveLength(1000);
  });
});

describe("--brief", () => {
  const many = (count: number, trouble: (index: number) => boolean) =>
    Array.from({ length: count }, (_, index) =>
      turn({ index, outcome: trouble(index) ? "failed" : "completed", open: [] }),
    );

  it("is one line per turn where they fit", () => {
    const text = render(brief.render(analysis(many(5, () => false)), view()));
    expect(text.match(/^turn \d/gm)).toHaveLength(5);
  });

  it.each([
    ["nothing wrong", () => false],
    ["every 97th failed", (i: number) => i % 97 === 3],
    ["every second failed", (i: number) => i % 2 === 0],
  ] as const)("500 turns fit a screen: %s", (_, trouble) => {
    const text = render(brief.render(analysis(many(500, trouble)), view()));
    expect(text.split("\n").length).toBeLessThanOrEqual(24);
    const told = [...text.matchAll(/(\d+) (?:completed|failed)/g)].reduce((sum, match) => sum + Number(match[1]), 0);
    const alone = text.match(/^turn \d+ /gm)?.length ?? 0;
    expect(told + alone).toBe(500);
  });

  it("500 conversations of one turn fit too", () => {
    const turns = Array.from({ length: 500 }, (_, i) => turn({ index: 0, conversationId: `conversation-${i}` }));
    expect(render(brief.render(analysis(turns), view())).split("\n").length).toBeLessThanOrEqual(24);
    expect(render(brief.render(analysis(turns), view({ all: true }))).match(/turn 1 /g)).toHaveLength(500);
  });
});

describe("folding", () => {
  const fold = (steps: Parameters<typeof foldSteps>[0], all = false) => foldSteps(steps, { all, kind: () => true });

  it("joins a question with its answer", () => {
    const rows = fold([
      step({ ms: 0, lane: "kv", kind: "set", pair: ask("kv", "3") }),
      step({ ms: 12, up: true, lane: "kv", kind: "ack", pair: answer("kv", "3", 12) }),
    ]);
    expect(rows.map((row) => row.mark)).toEqual(["kv 3 → ok in 12 ms"]);
  });

  it("never hides an answer that failed, nor one without its question", () => {
    const rows = fold([
      step({ ms: 0, lane: "kv", kind: "set", pair: ask("kv", "3") }),
      step({ ms: 12, up: true, lane: "kv", kind: "ack", pair: answer("kv", "3", 12, "error: disk full") }),
      step({ ms: 13, up: true, lane: "kv", kind: "ack", pair: answer("kv", "9", null) }),
    ]);
    expect(rows.map((row) => [row.mark, row.bad])).toEqual([
      ["kv 3 → error: disk full in 12 ms", true],
      ["kv 3 ← error: disk full after 12 ms", true],
      ["kv 9 ← ok", false],
    ]);
  });

  it("one row per run of good questions; a bad one stands alone", () => {
    const set = (id: number, result: string | null = "ok") => [
      step({
        ms: id,
        lane: "kv",
        kind: "set",
        bytes: 10,
        pair: ask("kv", String(id), result === null ? "unanswered" : null),
      }),
      ...(result === null
        ? []
        : [step({ ms: id, up: true, lane: "kv", kind: "ack", pair: answer("kv", String(id), id, result) })]),
    ];
    const rows = fold([...set(0), ...set(1), ...set(2), ...set(3, null), ...set(4)]);
    expect(rows.map((row) => [row.count, row.bytes, row.mark, row.bad])).toEqual([
      [3, 30, "kv 0–2 → all ok in 0–2 ms", false],
      [1, 10, "kv 3 → unanswered", true],
      [1, 10, "kv 4 → ok in 4 ms", false],
    ]);
  });

  it("deltas that take turns become one row, a sequence of different kinds does not", () => {
    const beat = (kind: string, ms: number) => step({ ms, kind: `interaction_update.${kind}`, chars: 3 });
    const mixed = fold(["text", "token", "text", "token", "text", "token"].map(beat));
    expect(mixed.map((row) => row.kind)).toEqual(["interaction_update.{text ×3, token ×3}"]);
    expect(mixed[0]!.chars).toBe(18);
    expect(fold(["started", "thinking", "completed"].map(beat))).toHaveLength(3);
    expect(fold(["text", "token", "text", "token"].map(beat), true)).toHaveLength(4);
  });
});

describe("times inside a turn", () => {
  const bounds = { start: at(0), end: at(3000) };
  it.each([
    [at(12), "0.012"],
    [at(-5), "-0.005"],
    [between(0, 3000), ""],
    [between(0, 1200), "<= 1.200"],
    [between(1200, 3000), ">= 1.200"],
    [between(100, 900), "0.100..0.900"],
    [{ earliest: 0n, latest: 0n }, ""],
  ] as const)("%o: %s", (when, want) => {
    expect(relativeTime(when, bounds)).toBe(want);
  });
});
