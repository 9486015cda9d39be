import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mutations, writeStore } from "../../fixtures/store/make/pi-store.mjs";
import type { Words } from "../../src/core/printable.js";
import { storeRules as allRules, readStores } from "../../src/store/index.js";
import { joinStores } from "../../src/store/join.js";
import { type EntryKey, rebuild } from "../../src/store/pi/rebuild.js";
import { fileStem } from "../../src/store/pi/schema.js";

const storeRules = allRules.filter((rule) => rule.id.startsWith("pi/"));
let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "store-test-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function textOf(words: Words): string {
  return words.map((word) => (typeof word === "string" ? word : String(word.value))).join("");
}

describe("a pi session store", () => {
  it("is read whole, and nothing is wrong with a good one but its gaps", () => {
    const path = join(folder, "tree.sqlite");
    writeStore(path);
    const [file] = readStores([path]).files;
    expect(file).toMatchObject({ kind: "pi-session", why: null, fatal: false, notCheckable: [] });
    expect(file!.findings.map((finding) => [finding.rule, finding.severity])).toEqual([["pi/PS-22", "info"]]);
    const [session] = file!.sessions;
    expect(session).toMatchObject({ id: "tree", entries: 12, branches: 4, usageRows: 3, scalars: 12, lists: 2 });
    expect(session!.more.namedBranches).toEqual([
      { name: "alt", tip: "e", entries: 3 },
      { name: "empty", tip: null, entries: 0 },
      { name: "main", tip: "h", entries: 7 },
      { name: "side", tip: "s", entries: 8 },
    ]);
    expect(session!.tree.map((line) => line.draw + textOf(line.says))).toEqual([
      '2 a user: "start"',
      '3 b assistant: "hello"',
      '├─ 9 e user: "another way" [alt] (other)',
      '6 c user: "more"',
      '7 d assistant: "done"',
      '10 k compaction: "all of it"',
      "├─ 14 j custom demo.note",
      '11 g user: "after"',
      '├─ 13 i user: "no"',
      '│  15 s branch summary: "what h said" [side]',
      '12 h assistant: "yes" [main]',
      '16 r user: "a second root"',
    ]);
    expect(session!.tables.map((table) => [table.name, table.rows.length])).toEqual([
      ["branches", 4],
      ["values", 12],
      ["lists", 2],
      ["usage", 3],
    ]);
  });

  it("has the 27 rules of the pi page, section 14, each with a failing fixture", () => {
    expect(storeRules.map((rule) => rule.id)).toHaveLength(27);
    const covered = new Set(mutations.map((mutation) => `pi/${mutation.rule}`));
    expect(storeRules.filter((rule) => !covered.has(rule.id)).map((rule) => rule.id)).toEqual([]);
  });

  it.each(mutations)("$rule: $name", (mutation) => {
    const path = join(folder, mutation.file ?? "tree.sqlite");
    rmSync(path, { force: true });
    writeStore(path, { statements: mutation.statements });
    const [file] = readStores([path]).files;
    const id = `pi/${mutation.rule}`;
    const own = file!.findings.filter((finding) => finding.rule === id);
    expect(own.map((finding) => textOf(finding.statement))).toHaveLength(1);
    const rule = storeRules.find((row) => row.id === id)!;
    expect(own[0]!.severity).toBe(mutation.severity ?? rule.severity);
    const also = (mutation.also ?? []).map((other) => `pi/${other}`);
    for (const other of also) expect(file!.findings.map((finding) => finding.rule)).toContain(other);
    const others = file!.findings.filter((finding) => finding.rule !== id && !also.includes(finding.rule));
    expect(others.filter((finding) => finding.severity !== "info").map((finding) => finding.rule)).toEqual([]);
  });

  it("does not judge the branch index where a parent is broken", () => {
    const path = join(folder, "broken.sqlite");
    writeStore(path, { statements: ["UPDATE entries SET parent_id = 'nowhere' WHERE id = 'g'"] });
    const [file] = readStores([path]).files;
    expect(file!.notCheckable.map((row) => [row.rule, row.session])).toEqual([
      ["pi/PS-40", "tree"],
      ["pi/PS-41", "tree"],
    ]);
    expect(file!.sessions[0]!.tree).toHaveLength(12);
  });

  it("obeys levels", () => {
    const path = join(folder, "levels.sqlite");
    writeStore(path, { statements: ["UPDATE sessions SET message_count = 1, storage_version = 3"] });
    const levels = new Map([["pi/PS-50", "off"] as const, ["pi/PS-02", "info"] as const]);
    const [file] = readStores([path], { levels }).files;
    expect(file!.findings.map((finding) => [finding.rule, finding.severity])).toEqual([
      ["pi/PS-02", "info"],
      ["pi/PS-04", "info"],
      ["pi/PS-22", "info"],
    ]);
  });

  it("knows the other sessions of the run (PS-70)", () => {
    const source = join(folder, "source.sqlite");
    const fork = join(folder, "fork.sqlite");
    writeStore(source, { statements: ["UPDATE sessions SET id = 'source'", ...rename("source")] });
    writeStore(fork, { statements: ["UPDATE sessions SET parent_session_id = 'source'"] });
    const rules = (paths: string[]) =>
      readStores(paths).files.flatMap((file) => file.findings.map((finding) => finding.rule));
    expect(rules([fork])).toContain("pi/PS-70");
    expect(rules([fork, source])).not.toContain("pi/PS-70");
  });

  it("caps the findings of one rule", () => {
    const path = join(folder, "many.sqlite");
    const rows = Array.from(
      { length: 80 },
      (_, i) => `INSERT INTO branch_entries VALUES ('tree', 'x${i}', 'a', 2, 'message')`,
    );
    writeStore(path, { statements: rows });
    const found = readStores([path]).files[0]!.findings.filter((finding) => finding.rule === "pi/PS-40");
    expect(found).toHaveLength(51);
    expect(textOf(found[50]!.statement)).toContain("30 more");
  });
});

function rename(id: string): string[] {
  return ["entries", "scalar_values", "list_values", "usage_ledger", "branch_entries", "branch_meta"].map(
    (table) => `UPDATE ${table} SET session_id = '${id}'`,
  );
}

describe("the branch index (pi page, section 13)", () => {
  const entry = (text: string, seq: number): EntryKey => {
    const [id, parent] = text.split("<");
    return {
      id: id!.replace("!", ""),
      parent: parent ?? null,
      seq,
      type: id!.endsWith("!") ? "compaction" : "message",
    };
  };
  const build = (text: string) =>
    rebuild(
      text.split(" ").map((item, i) => entry(item, i + 1)),
      10_000,
    )!.map((segment) => {
      const base = segment.base === null ? "" : ` from ${segment.base.segment.branchId}@${segment.base.seq}`;
      return `${segment.branchId}: ${segment.rows.map((row) => row.entryId).join("")}${base}`;
    });

  it.each([
    ["one line", "a b<a c<b", ["a: abc"]],
    ["two roots", "a b c<a", ["a: ac", "b: b"]],
    ["leaving a line copies the ancestry", "a b<a c<b d<a", ["a: abc", "d: ad"]],
    ["going on at a side branch's tip", "a b<a c<a d<c", ["a: ab", "c: acd"]],
    [
      "leaving behind a compaction makes it the base",
      "a b!<a c<b d<b e<c f<c",
      ["a: abce", "d: d from a@2", "f: cf from a@2"],
    ],
    ["the newest compaction counts", "a b!<a c!<b d<c e<c", ["a: abcd", "e: e from a@3"]],
    ["a compaction on the side branch itself", "a b<a c<a d!<c e<d f<d", ["a: ab", "c: acde", "f: f from c@4"]],
    [
      "leaving a segment that has a base, before any compaction of its own",
      "a b!<a c<b d<b e<d f<d",
      ["a: abc", "d: de from a@2", "f: df from a@2"],
    ],
    ["an entry held by two segments: the higher tip wins", "a b<a c<b d<b e<a", ["a: abc", "d: abd", "e: ae"]],
  ])("%s", (_, text, lines) => {
    expect(build(text)).toEqual(lines);
  });

  it("stops where an honest store would not go", () => {
    const wide = ["a", ...Array.from({ length: 200 }, (_, i) => `x${i}<${i === 0 ? "a" : `x${i - 1}`}`)];
    const sides = Array.from({ length: 200 }, (_, i) => `y${i}<x198`);
    const entries = [...wide, ...sides].map((item, i) => entry(item, i + 1));
    expect(rebuild(entries, 10_000)).toBeNull();
    expect(rebuild(entries, 100_000)).toHaveLength(201);
  });
});

describe("file names (pi page, section 13)", () => {
  it.each([
    ["plain-Id_1", "plain-Id_1"],
    ["a/b", "~YQAvAGIA"],
    ["é", "~6QA"],
    ["😀", "~PdgA3g"],
  ])("%s", (id, stem) => {
    expect(fileStem(id)).toBe(stem);
  });
});

describe("a capture and stores together", () => {
  it("are joined by session id", () => {
    const path = join(folder, "joined.sqlite");
    writeStore(path);
    const talks = ["connection-1", "tree", "elsewhere"].map((id) => ({ dialect: "pi", id, turns: [] }));
    const joined = joinStores(talks, readStores([path]));
    expect(joined.map((row) => [row.conversation.id, textOf(row.says)])).toEqual([
      ["tree", `session tree is in ${path}: 12 entries, 4 branches, 3 usage rows`],
    ]);
  });
});
