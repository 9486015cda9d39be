import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { allRules } from "../../src/pipeline/catalogue.js";
import { rulesDoc } from "../../src/report/rules-doc.js";

const page = readFileSync("docs/rules.md", "utf8");

it("docs/rules.md is the catalogue: npm run docs", () => {
  expect(page).toBe(`${[...rulesDoc(allRules())].join("\n")}\n`);
});

it("every rule has a section, and every link of the tables leads to one", () => {
  const sections = [...page.matchAll(/^### (\S+)$/gm)].map((match) => match[1]!);
  expect(sections.sort()).toEqual(
    allRules()
      .map((rule) => rule.id)
      .sort(),
  );
  const anchors = new Set(sections.map((id) => id.toLowerCase().replace(/[^\w-]/g, "")));
  expect([...page.matchAll(/\]\(#([^)]+)\)/g)].filter((match) => !anchors.has(match[1]!))).toEqual([]);
});
