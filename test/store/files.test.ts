import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeStore } from "../../fixtures/store/make/pi-store.mjs";
import { readStores } from "../../src/store/index.js";
import { withPrivateCopy } from "../../src/store/private-copy.js";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "store-files-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const inside = (name: string) => {
  const path = join(folder, name);
  mkdirSync(path, { recursive: true });
  return path;
};

/** Names, sizes, times and hashes of everything in a folder. */
function stateOf(path: string): string[] {
  return readdirSync(path)
    .sort()
    .map((name) => {
      const file = join(path, name);
      const stat = statSync(file);
      const hash = stat.isFile() ? createHash("sha256").update(readFileSync(file)).digest("hex") : "";
      return `${name} ${stat.size} ${stat.mtimeMs} ${hash}`;
    });
}

describe("stores are opened through a private copy", () => {
  it("reads the rows of a store in use from its -wal, and changes nothing", () => {
    const live = inside("live");
    const copy = inside("copy");
    const db = writeStore(join(live, "tree.sqlite"), { wal: true, keepOpen: true });
    for (const name of ["tree.sqlite", "tree.sqlite-wal"]) copyFileSync(join(live, name), join(copy, name));
    db?.close();
    const before = stateOf(copy);
    const [file] = readStores([join(copy, "tree.sqlite")]).files;
    expect(file!.sessions[0]).toMatchObject({ id: "tree", entries: 12 });
    expect(file!.findings.map((finding) => finding.rule)).toEqual(["pi/PS-22"]);
    expect(stateOf(copy)).toEqual(before);
  });

  it("says that the -wal is missing where the main file alone has no tables (PS-01)", () => {
    const live = inside("alone");
    const db = writeStore(join(live, "tree.sqlite"), { wal: true, keepOpen: true });
    const path = join(inside("main-only"), "tree.sqlite");
    copyFileSync(join(live, "tree.sqlite"), path);
    db?.close();
    const [file] = readStores([path]).files;
    expect(file).toMatchObject({ kind: "unreadable", fatal: false, sessions: [] });
    expect(file!.findings.map((finding) => [finding.rule, finding.severity])).toEqual([["pi/PS-01", "error"]]);
    expect(String(file!.findings[0]!.statement[0])).toContain("-wal");
  });

  it("reads from a folder nobody may write to", () => {
    const locked = inside("locked");
    writeStore(join(locked, "tree.sqlite"));
    chmodSync(join(locked, "tree.sqlite"), 0o444);
    chmodSync(locked, 0o555);
    const before = stateOf(locked);
    try {
      expect(readStores([join(locked, "tree.sqlite")]).files[0]).toMatchObject({ kind: "pi-session" });
      expect(stateOf(locked)).toEqual(before);
    } finally {
      chmodSync(locked, 0o755);
    }
  });

  it("keeps the copy from others, and removes it, also when reading fails", () => {
    const path = join(inside("private"), "tree.sqlite");
    writeStore(path);
    let copy = "";
    expect(() =>
      withPrivateCopy(path, (given) => {
        copy = given;
        expect(statSync(join(given, "..")).mode & 0o777).toBe(0o700);
        throw new Error("stop");
      }),
    ).toThrow("stop");
    expect(statSync(join(copy, ".."), { throwIfNoEntry: false })).toBeUndefined();
  });

  it.each(["SIGTERM", "SIGINT", "exit"])("removes the copy at %s", (how) => {
    const path = join(inside("ended"), "tree.sqlite");
    if (statSync(path, { throwIfNoEntry: false }) === undefined) writeStore(path);
    const temporary = inside(`temporary-${how}`);
    const script = join(folder, `child-${how}.mts`);
    const module = fileURLToPath(new URL("../../src/store/private-copy.ts", import.meta.url));
    const end = how === "exit" ? "process.exit(3)" : `process.kill(process.pid, "${how}")`;
    writeFileSync(
      script,
      `import { withPrivateCopy } from ${JSON.stringify(module)};
withPrivateCopy(${JSON.stringify(path)}, () => { ${end}; });
setTimeout(() => process.exit(9), 5000);\n`,
    );
    const tsx = import.meta.resolve("tsx");
    const child = spawnSync(process.execPath, ["--import", tsx, script], {
      env: { ...process.env, TMPDIR: temporary },
    });
    expect(how === "exit" ? child.status : child.signal).toBe(how === "exit" ? 3 : how);
    expect(readdirSync(temporary).filter((name) => name.startsWith("cursor-wire-"))).toEqual([]);
  });
});

describe("files and folders", () => {
  it("lists what cannot be read and goes on", () => {
    const mixed = inside("mixed");
    const good = join(mixed, "tree.sqlite");
    writeStore(good);
    const text = join(mixed, "notes.txt");
    writeFileSync(text, "nothing");
    const empty = join(mixed, "empty.sqlite");
    writeFileSync(empty, "");
    const torn = join(mixed, "torn.sqlite");
    writeFileSync(torn, readFileSync(good).subarray(0, 5000));
    const absent = join(mixed, "absent.sqlite");
    const { files } = readStores([text, good, empty, torn, absent]);
    expect(files.map((file) => [file.kind, file.fatal])).toEqual([
      ["unreadable", true],
      ["pi-session", false],
      ["unreadable", true],
      ["unreadable", true],
      ["unreadable", true],
    ]);
    expect(files.map((file) => file.why?.replace(file.path, "").trim().split(":")[0])).toEqual([
      "is no SQLite database",
      undefined,
      "is empty",
      "cannot be read",
      "cannot be opened",
    ]);
  });

  it("finds the databases below a folder by content, in order of name, following no link", () => {
    const root = inside("root");
    const deep = inside("root/b/c");
    writeStore(join(root, "z.db"));
    writeStore(join(deep, "a.sqlite"));
    writeFileSync(join(root, "a.sqlite"), "no database");
    symlinkSync(root, join(deep, "loop"));
    const { files } = readStores([root]);
    expect(files.map((file) => file.path)).toEqual([join(deep, "a.sqlite"), join(root, "z.db")]);
    expect(files.every((file) => file.kind === "pi-session")).toBe(true);
  });

  it("takes a -wal that is named itself for what it is", () => {
    const path = inside("named");
    writeStore(join(path, "tree.sqlite"));
    writeFileSync(join(path, "tree.sqlite-shm"), "");
    const [file] = readStores([join(path, "tree.sqlite-shm")]).files;
    expect(file).toMatchObject({ kind: "unreadable", fatal: false });
    expect(file!.why).toContain("belongs to");
  });

  it("calls another program's database unreadable, with its finding", () => {
    const path = join(inside("other"), "tree.sqlite");
    writeStore(path, { statements: ["CREATE TABLE other (x)"] });
    const bare = join(inside("other"), "bare.sqlite");
    copyFileSync(path, bare);
    const drop = [
      "entries",
      "scalar_values",
      "list_values",
      "usage_ledger",
      "branch_entries",
      "branch_meta",
      "sessions",
    ];
    const emptied = join(inside("other"), "emptied.sqlite");
    writeStore(emptied, { statements: drop.map((table) => `DROP TABLE ${table}`) });
    const [file] = readStores([emptied]).files;
    expect(file).toMatchObject({ kind: "unreadable", fatal: false });
    expect(file!.findings.map((finding) => finding.rule)).toEqual(["pi/PS-01"]);
  });
});
