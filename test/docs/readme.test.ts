import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commands, fences, refreshed, runner } from "../../scripts/console-blocks.mjs";
import { configKeys } from "../../src/check/config.js";
import { commandTable } from "../../src/cli/table.js";
import { requireBuilt } from "./built.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const pages = [
  "README.md",
  "CONTRIBUTING.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];
const text = (path: string) => readFileSync(join(root, path), "utf8");
const { scripts } = JSON.parse(text("package.json")) as { scripts: Record<string, string> };

describe("console blocks print what they say", () => {
  let shell: ReturnType<typeof runner>;
  beforeAll(() => {
    requireBuilt();
    shell = runner(root);
  });
  afterAll(() => shell?.close());

  const rows = pages.flatMap((page) => commands(text(page)).map((row) => ({ ...row, page })));

  it("there are some, of every command", () => {
    const run = rows.map((row) => row.command).join("\n");
    for (const { name } of commandTable) expect(run).toContain(`cursor-wire ${name} `);
  });

  it.each(rows)("$page:$line $command", ({ command, output }) => {
    expect(shell.run(command)).toBe(output);
  });
});

describe("blocks", () => {
  it.each(pages)("%s has only kinds that are tested here", (page) => {
    const languages = new Set(fences(text(page)).map((fence) => fence.language));
    const tested = ["console", "sh", "ts", "js", "json"];
    // The picture in architecture.md is no code.
    expect([...languages].filter((language) => language !== "" && !tested.includes(language))).toEqual([]);
  });

  it.each(pages)("%s shows the example files as they are", (page) => {
    const read = (path: string) => text(path);
    const shown = refreshed(text(page), () => "", read);
    const files = (markdown: string) =>
      fences(markdown).flatMap(({ language, lines }) => (/^[jt]s$/.test(language) ? [lines] : []));
    expect(files(text(page))).toEqual(files(shown));
    const marked = text(page).match(/<!-- file: /g)?.length ?? 0;
    expect(files(text(page))).toHaveLength(marked);
  });

  it("json blocks of the README are settings", () => {
    const blocks = fences(text("README.md")).filter(({ language }) => language === "json");
    const [cursor, config] = blocks.map(({ lines }) => JSON.parse(lines.join("\n")) as Record<string, unknown>);
    expect(Object.keys(cursor ?? {})).toContain("http.proxy");
    expect(Object.keys(config ?? {}).filter((key) => !Object.hasOwn(configKeys, key))).toEqual([]);
  });
});

describe("commands that are not run here", () => {
  const lines = pages.flatMap((page) =>
    fences(text(page))
      .filter(({ language }) => language === "sh")
      .flatMap((fence) => fence.lines.map((line) => ({ page, line }))),
  );
  const workflow = text("examples/agent-captures.yml")
    .split("\n")
    .filter((line) => !line.trim().startsWith("#"))
    .map((line) => ({ page: "examples/agent-captures.yml", line }));

  it.each([...lines, ...workflow].filter(({ line }) => /cursor-wire(\.js)? [a-z]/.test(line)))(
    "$page: $line",
    ({ line }) => {
      const [, name, rest] = /cursor-wire(?:\.js)? ([a-z]+)([^|>&]*)/.exec(line)!;
      const row = commandTable.find((command) => command.name === name);
      expect(row, name).toBeDefined();
      const known = row!.options(new Command(name!)).options.flatMap((option) => [option.long, option.short]);
      const used = [...rest!.matchAll(/(?<=\s)--?[a-z][a-z-]*/g)].map(([option]) => option);
      expect(used.filter((option) => !known.includes(option))).toEqual([]);
    },
  );

  it("npm scripts exist", () => {
    const named = lines.flatMap(({ line }) =>
      [...line.matchAll(/npm (?:run )?(test|[a-z]+)(?=\s|$)/g)].map((m) => m[1]!),
    );
    expect(named.length).toBeGreaterThan(4);
    expect(named.filter((name) => name !== "ci" && scripts[name] === undefined)).toEqual([]);
  });

  it("the test command behind the marker is what CI runs", () => {
    const behind = text("README.md").split("<!-- test-command -->")[1];
    expect(fences(behind ?? "")[0]).toMatchObject({ language: "sh", lines: ["npm ci && npm test"] });
    expect(text(".ci/run")).toContain("<!-- test-command -->");
  });

  it("npm ci builds, so the first command finds dist/", () => {
    expect(scripts.prepare).toBe("npm run build");
    expect(scripts.build).toBe("node scripts/build.mjs");
  });
});

it.each(pages)("the links of %s lead somewhere", (page) => {
  const links = [...text(page).matchAll(/\]\(([^)#\s]+)\)/g)].map((match) => match[1]!);
  const local = links.filter((link) => !/^https?:/.test(link));
  expect(local.filter((link) => !existsSync(join(root, dirname(page), link)))).toEqual([]);
});
