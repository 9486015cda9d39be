import { describe, expect, it } from "vitest";
import { mutations } from "../../../fixtures/pi/make/mutations.mjs";
import { talk } from "../../../fixtures/pi/make/talk.mjs";
import { pi } from "../../../src/dialects/pi/index.js";
import { piecesOf, run, runTalk, severityOf, textOf } from "./support.js";

const loud = (outcome: ReturnType<typeof runTalk>) =>
  [...new Set(outcome.violations.filter((v) => severityOf(v) !== "info").map((v) => v.rule))].sort();

describe("pi wire rules", () => {
  it("are the 38 of the pi page, section 12, in its order", () => {
    const ids = pi.rules.map((rule) => rule.id);
    expect(ids).toHaveLength(38);
    expect(ids).toEqual([...ids].sort());
    for (const rule of pi.rules) {
      expect(rule.statement).toMatch(/\.$/);
      expect(rule.source).toContain(rule.id.replace("pi/", ""));
    }
  });

  it("all hold on the good talk, which is checkable for every one", () => {
    const outcome = runTalk(talk());
    expect(outcome.violations.map((v) => `${v.rule} ${textOf(v.statement)}`)).toEqual([]);
    expect(outcome.verdicts.map((v) => v.verdict)).toEqual(pi.rules.map(() => "holds"));
    expect(outcome.diagnostics).toEqual([]);
  });

  it("have a failing fixture each", () => {
    const covered = new Set(mutations.map((mutation) => `pi/${mutation.rule}`));
    expect(pi.rules.filter((rule) => !covered.has(rule.id)).map((rule) => rule.id)).toEqual([]);
  });

  it.each(mutations)("$rule: $name", (mutation) => {
    const made = talk();
    mutation.apply(made);
    const outcome = runTalk(made);
    const own = outcome.violations.filter((v) => v.rule === `pi/${mutation.rule}`);
    const row = pi.rules.find((rule) => rule.id === `pi/${mutation.rule}`)!;
    expect(own.map((v) => textOf(v.statement))).toHaveLength(mutation.findings ?? 1);
    expect(severityOf(own[0]!)).toBe(mutation.severity ?? row.severity);
    for (const v of own) {
      expect(v.places.length).toBeGreaterThan(0);
      expect(v.subject).not.toBe("");
    }
    const also = (mutation.also ?? []).map((id) => `pi/${id}`);
    const found = new Set(outcome.violations.map((v) => v.rule));
    for (const id of also) expect(found).toContain(id);
    const allowed = new Set([`pi/${mutation.rule}`, ...also]);
    expect(loud(outcome).filter((id) => !allowed.has(id))).toEqual([]);
  });

  it.each(["up", "down"] as const)("judge nothing that rests on lost bytes: a hole in %s", (direction) => {
    const pieces = piecesOf(talk());
    for (let lost = 0; lost < pieces.length - 2; lost++) {
      if (pieces[lost]!.direction !== direction) continue;
      const length = pieces[lost]!.bytes!.length;
      const holed = pieces.map((piece, i) =>
        i === lost ? { direction, ms: piece.ms, gap: { length, why: "tcp-gap" as const } } : piece,
      );
      const outcome = run([holed]);
      expect(loud(outcome)).toEqual([]);
      expect(outcome.diagnostics.map((row) => row.code)).toContain("pi.stream-gap");
      expect(outcome.verdicts.some((verdict) => verdict.verdict === "not-checkable")).toBe(true);
    }
  });

  it("judge nothing of a beginning that was not captured", () => {
    const pieces = piecesOf(talk());
    for (let from = 1; from < pieces.length - 2; from++) {
      expect(loud(run([pieces.slice(from)], { rolesBy: "port" }))).toEqual([]);
    }
  });

  it("call an unfinished frame a warning when the capture ended first (PW-02)", () => {
    const made = talk();
    made.frames.splice(9);
    const pieces = piecesOf({ ...made, ends: { client: null, server: null } });
    const last = pieces.findLast((piece) => piece.bytes !== undefined)!;
    const cut = pieces.map((piece) => (piece === last ? { ...piece, bytes: piece.bytes!.subarray(0, -3) } : piece));
    const [violation] = run([cut]).violations.filter((v) => v.rule === "pi/PW-02");
    expect(severityOf(violation!)).toBe("warning");
    expect(violation!.evidence).toBe("damaged");
  });

  it("judge dumps without times as far as order does not matter", () => {
    const untimed = { rolesBy: "raw", untimed: true } as const;
    expect(loud(runTalk(talk(), untimed))).toEqual([]);
    for (const name of ["a response nobody asked for", "an update for nobody", "a session nobody attached", "a tag"]) {
      const mutation = mutations.find((row) => row.name === name)!;
      const made = talk();
      mutation.apply(made);
      expect(loud(runTalk(made, untimed))).toContain(`pi/${mutation.rule}`);
    }
  });
});
