import { describe, expect, it } from "vitest";
import { privately } from "../../src/core/printable.js";
import type { StoreFile, StoreReport } from "../../src/model/store.js";
import { widthOf } from "../../src/report/columns.js";
import { storeJson, storeText } from "../../src/report/store.js";
import { finding, hostile, render, view } from "./sample.js";

const file = (over: Partial<StoreFile> = {}): StoreFile => ({
  path: "stores/a.sqlite",
  kind: "pi-session",
  why: null,
  fatal: false,
  sessions: [
    {
      id: "session-1",
      entries: 3,
      branches: 1,
      usageRows: 2,
      scalars: 4,
      lists: 0,
      facts: [["named ", privately("My secret plan")]],
      tables: [
        {
          name: "values",
          columns: ["key", "value"],
          rows: [
            [["theme"], [privately("dark ".repeat(60))]],
            [[hostile], [hostile]],
            ...Array.from({ length: 30 }, (_, i) => [[`k${i}`], ["v"]]),
          ],
        },
      ],
      tree: [
        { id: "1", draw: "", says: ["user: ", privately("hello there")] },
        { id: "2", draw: "├─ ", says: [hostile] },
      ],
      more: { cost: 0.5 },
    },
  ],
  findings: [finding({ rule: "pi/PS-41", places: [], fingerprint: "pi/PS-41 x" })],
  notCheckable: [],
  ...over,
});
const report = (...files: StoreFile[]): StoreReport => ({ files, rules: [] });
const text = (data: StoreReport, over = {}, level: "secrets" | "private" = "secrets") =>
  render(storeText(data, { ...view(over, level), tree: false, ...over }));

describe("store", () => {
  it("tells each session, its tables and what is wrong", () => {
    const shown = text(report(file()));
    expect(shown).toContain("stores/a.sqlite  pi-session, 1 session");
    expect(shown).toContain("3 entries · 1 branch · 2 usage rows · 4 scalars · 0 lists · named My secret plan");
    expect(shown).toContain("… 20 more (--all shows them)");
    expect(shown).toMatch(/error {3}pi\/PS-41 {2}kv 3/);
    expect(shown.trimEnd()).toMatch(/found 1 error$/);
  });

  it.each([80, 120])("stays inside %i columns, without control characters", (width) => {
    for (const tree of [true, false])
      for (const line of text(report(file()), { width, tree }).split("\n")) {
        expect(widthOf(line), line).toBeLessThanOrEqual(width);
        expect(line).not.toMatch(/[\p{Cc}\u202e\ud800]/u);
      }
  });

  it("draws the tree", () => {
    expect(text(report(file()), { tree: true })).toContain("    user: hello there\n    ├─ a␛[31mred");
  });

  it("hides content where asked", () => {
    for (const tree of [true, false])
      expect(text(report(file()), { tree }, "private")).not.toMatch(/secret plan|dark|hello/);
  });

  it("a file that is no store is listed with the reason; nothing readable, no verdict", () => {
    const bad = file({ kind: "unreadable", why: "x is no SQLite database", fatal: true, sessions: [], findings: [] });
    expect(text(report(bad))).toBe("stores/a.sqlite  unreadable\n  x is no SQLite database\n\n");
    expect(text(report(bad, file()))).toContain("found 1 error");
  });

  it("JSON has the contract's keys", () => {
    const data = JSON.parse(render(storeJson(report(file()), { ...view(), tree: false })));
    expect(data.schema).toBe("cursor-wire/store@1");
    expect(Object.keys(data.files[0])).toEqual(["path", "kind", "why", "sessions", "findings", "notCheckable"]);
    expect(data.files[0].sessions).toEqual([
      { id: "session-1", entries: 3, branches: 1, usageRows: 2, scalars: 4, lists: 0, cost: 0.5 },
    ]);
    expect(data.files[0].findings[0].rule).toBe("pi/PS-41");
  });
});
