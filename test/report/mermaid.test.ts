import { JSDOM } from "jsdom";
import { beforeAll, describe, expect, it } from "vitest";
import type { Step } from "../../src/model/conversation.js";
import { edgeLimit, textLimit } from "../../src/report/mermaid/budget.js";
import { diagramReports } from "../../src/report/mermaid/index.js";
import { analysis, answer, ask, hostile, render, step, turn, view } from "./sample.js";

type Mermaid = { initialize(config: object): void; parse(text: string): Promise<unknown> };
let mermaid: Mermaid;

beforeAll(async () => {
  // The library takes these from the global scope, and only when it is imported.
  const { window } = new JSDOM("<!DOCTYPE html><body></body>");
  Object.assign(globalThis, { window, document: window.document, Option: window.Option });
  mermaid = (await import("mermaid")).default as unknown as Mermaid;
  mermaid.initialize({ startOnLoad: false });
});

const words = [
  "end",
  "style",
  "classDef x",
  "click",
  "call",
  "note",
  "title",
  "section",
  "%%{init: {}}%%",
  "a;b",
  "#35;",
  "---",
  "[*]",
];

function hostileSteps(): Step[] {
  const texts = [hostile, ...words];
  return texts.flatMap((text, i) => [
    step({ ms: i * 10, lane: "exec", kind: text, says: [text], channel: text, pair: ask(text, text), state: text }),
    step({
      ms: i * 10 + 5,
      up: true,
      lane: "exec",
      kind: `x.${text}`,
      says: [text],
      channel: text,
      pair: answer(text, text, 5, text),
    }),
    step({ ms: i * 10 + 6, lane: "model", kind: `y.${text}`, says: [text], channel: text, state: `${text}2` }),
  ]);
}

function manySteps(count: number): Step[] {
  return Array.from({ length: count }, (_, i) =>
    step({
      ms: i * 10,
      lane: i % 3 === 0 ? "exec" : "session",
      kind: `kind_${i}`,
      says: [hostile],
      state: `state_${i}`,
      pair: i % 3 === 0 ? ask("exec", String(i)) : answer("x", String(i), 3),
    }),
  );
}

const cases = {
  sample: analysis(),
  "no turn": analysis([]),
  hostile: analysis([
    turn({
      steps: hostileSteps(),
      prompt: hostile,
      action: hostile,
      error: { code: hostile, message: hostile },
      outcome: "failed",
      conversationId: hostile,
    }),
  ]),
  "words of the syntax as conversation id": analysis(
    words.map((word, index) => turn({ index, conversationId: word, steps: [] })),
  ),
  "2,000 steps": analysis([turn({ steps: manySteps(2000) })]),
  "600 turns": analysis(Array.from({ length: 600 }, (_, index) => turn({ index }))),
  "600 conversations": analysis(
    Array.from({ length: 600 }, (_, index) =>
      turn({ index: 0, conversationId: `${index}${hostile}`, prompt: hostile.repeat(20) }),
    ),
  ),
  "no times": analysis([
    turn({ start: { earliest: 0n, latest: 0n }, end: { earliest: 0n, latest: 0n }, durationMs: null }),
  ]),
};

describe("diagrams", () => {
  for (const report of diagramReports) {
    for (const [name, sample] of Object.entries(cases)) {
      it(`${report.name}: ${name} is inside the limits and parses`, async () => {
        const text = render(report.render(sample, view()));
        expect(text.length).toBeLessThanOrEqual(textLimit);
        expect(text.split("\n").length).toBeLessThanOrEqual(edgeLimit * 4);
        expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
        await expect(mermaid.parse(text)).resolves.toBeTruthy();
      });
    }
  }

  it("hides content where asked", () => {
    for (const report of diagramReports) {
      expect(render(report.render(analysis(), view({}, "private")))).not.toMatch(/Rename|home/);
    }
  });
});
