import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { cursorWire } from "./cli/run.js";
import { analyzeBytes, analyzeSources, essence, talks, turnKeys } from "./dialect-kit.js";

/** Deterministic: the same cuts and the same noise on every run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return state / 4294967296;
  };
}

const cuts = process.env.CI ? 48 : 16;

describe.each(talks.map((talk) => [`${talk.dialect}: ${talk.path}`, talk] as const))("%s", (_name, talk) => {
  const whole = analyzeSources({ paths: [talk.path] });
  const bytes = readFileSync(talk.path);

  test("is told as turns of its dialect", () => {
    expect(whole.turns.length).toBeGreaterThan(0);
    expect(new Set(whole.turns.map((turn) => turn.dialect))).toEqual(new Set([talk.dialect]));
  });

  test("is told the same twice", async () => {
    const run = async () => (await cursorWire(["analyze", talk.path, "--format", "json"])).out;
    expect(await run()).toBe(await run());
  });

  test("cut anywhere it gives no turn that was not there, no accusation, and says that it is cut", () => {
    const next = numbers(7);
    const known = turnKeys(whole);
    for (let i = 0; i < cuts; i++) {
      const at = Math.floor(next() * bytes.length);
      const analysis = analyzeBytes(bytes.subarray(0, at));
      if (analysis === null) continue;
      for (const key of turnKeys(analysis)) expect(known, `cut at ${at}`).toContain(key);
      const wrong = analysis.findings.filter(({ severity, evidence }) => severity === "error" && evidence === "exact");
      expect(
        wrong.map(({ rule, statement }) => `${rule} ${statement.map(String).join("")}`),
        `cut at ${at}`,
      ).toEqual([]);
      if (analysis.unreadable.length > 0 || at < 64) continue;
      const said =
        analysis.diagnostics.length > 0 ||
        analysis.turns.length === 0 ||
        analysis.turns.some((turn) => turn.outcome === "unknown");
      expect(said || analysis.turns.length === whole.turns.length, `cut at ${at}`).toBe(true);
    }
  });

  test("noise behind any prefix never throws", () => {
    const next = numbers(11);
    for (let i = 0; i < cuts / 2; i++) {
      const at = Math.floor(next() * bytes.length);
      const noise = Buffer.from(Array.from({ length: 400 }, () => Math.floor(next() * 256)));
      expect(() => analyzeBytes(Buffer.concat([bytes.subarray(0, at), noise, bytes.subarray(at + 400)]))).not.toThrow();
    }
  });

  test("single bits flipped never throw", () => {
    const next = numbers(13);
    for (let i = 0; i < cuts / 2; i++) {
      const flipped = Buffer.from(bytes);
      for (let k = 0; k < 20; k++) {
        const at = Math.floor(next() * flipped.length);
        flipped[at] = flipped[at]! ^ (1 << Math.floor(next() * 8));
      }
      expect(() => analyzeBytes(flipped)).not.toThrow();
    }
  });

  if (talk.twin !== undefined) {
    const twin = talk.twin;
    test("is the same talk in its other form", () => {
      expect(essence(analyzeSources(twin))).toEqual(essence(whole));
    });
  }

  if (talk.secrets.length > 0) {
    test.each([
      [["analyze"]],
      [["analyze", "--format", "json"]],
      [["analyze", "--format", "markdown"]],
      [["frames"]],
      [["frames", "--format", "ndjson"]],
      [["check", "--format", "json"]],
      [["check", "--format", "sarif"]],
      [["flows", "--format", "json"]],
      [["diagram"]],
    ])("keeps its secrets: %s", async ([command, ...rest]) => {
      const { out, err } = await cursorWire([command!, talk.path, ...rest]);
      expect(out).not.toBe("");
      expect(talk.secrets.filter((secret) => (out + err).includes(secret))).toEqual([]);
    });
  }
});
