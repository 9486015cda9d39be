import { describe, expect, it } from "vitest";
import { threeTurns } from "../../../fixtures/cursor/make/conversation.mjs";
import { mutations, oddities } from "../../../fixtures/cursor/make/mutations.mjs";
import type { Talk } from "../../../fixtures/cursor/make/script.mjs";
import { cursorRules } from "../../../src/dialects/cursor/checks/index.js";
import type { Violation } from "../../../src/model/check.js";
import { run, runTalk, sentOf } from "./support.js";

/** The rules of framing, uplink order and blob operations; the whole catalogue has its own test. */
const judged = /^cursor\/(T0[3-9]|S0[12367]|K0[1-7]|K13)$/;
const ours = (violations: readonly Violation[]) => violations.filter(({ rule }) => judged.test(rule));
const names = (violations: readonly Violation[]) => [...new Set(violations.map(({ rule }) => rule))].sort();

function changed(mutate: (talk: Talk) => void): Talk {
  const talk = threeTurns();
  mutate(talk);
  return talk;
}

for (const recorder of ["har", "packets"] as const) {
  describe(`as ${recorder}`, () => {
    it("a good talk has no finding", () => {
      expect(ours(runTalk(threeTurns(), { recorder }).violations)).toEqual([]);
    });

    it.each(oddities)("$name is legal", ({ mutate }) => {
      expect(ours(runTalk(changed(mutate), { recorder }).violations)).toEqual([]);
    });

    it.each(mutations.filter(({ rule }) => judged.test(rule)))("$name is found by $rule", (mutation) => {
      const found = ours(runTalk(changed(mutation.mutate), { recorder }).violations);
      expect(names(found)).toEqual([mutation.rule, ...(mutation.implies ?? []).filter((id) => judged.test(id))].sort());
      const own = found.filter(({ rule }) => rule === mutation.rule);
      const usual = cursorRules.find(({ id }) => id === mutation.rule)?.severity;
      expect(own.map(({ evidence }) => evidence)).toEqual(own.map(() => "exact"));
      expect(own[0]?.severity ?? usual).toBe(mutation.severity ?? usual);
      expect(own.every(({ places }) => places.length > 0)).toBe(true);
    });
  });
}

describe("what a capture lacks is nobody's fault", () => {
  const talk = threeTurns();
  const sent = sentOf(talk);
  const exact = (violations: readonly Violation[]) => ours(violations).filter(({ evidence }) => evidence === "exact");

  it.each(sent.map((_, n) => n))("exchange %i left out of a capture that is known to be lossy", (n) => {
    const { violations } = run(
      sent.filter((__, at) => at !== n),
      { lost: true },
    );
    expect(exact(violations)).toEqual([]);
  });

  it.each(sent.map((_, n) => n))("the request body of exchange %i lost", (n) => {
    const damaged = sent.map((each, at) =>
      at === n ? { ...each, up: { gap: "discarded-by-producer", keep: 0 } as const } : each,
    );
    expect(exact(run(damaged).violations)).toEqual([]);
  });

  const streams = sent.filter(({ exchange }) => exchange.kind === "stream");
  const cuts = streams.flatMap(({ exchange }, stream) =>
    [0, 3, 5, 700, 2000, exchange.responseBody.length - 8, exchange.responseBody.length - 1].map((keep) => ({
      stream,
      keep,
    })),
  );
  it.each(cuts)("response $stream cut after $keep bytes", ({ stream, keep }) => {
    const damaged = sent.map((each) =>
      each === streams[stream] ? { ...each, down: { gap: "truncated-by-producer", keep } as const } : each,
    );
    const { violations, turns } = run(damaged);
    expect(exact(violations)).toEqual([]);
    expect(turns[stream].outcome).toBe("unknown");
  });

  it("a capture that ends inside the stream", () => {
    const damaged = sent.map((each) =>
      each === streams[2] ? { ...each, down: { keep: 3000, end: "capture-ended" } as const } : each,
    );
    const { violations, turns } = run(damaged, { recorder: "packets" });
    expect(exact(violations)).toEqual([]);
    expect(turns[2].outcome).toBe("unknown");
  });
});
