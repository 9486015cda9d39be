// Writes what is generated in the documentation: docs/rules.md from the catalogue, and the output of every console block from the commands
// themselves. Works on dist/, so `npm run docs` builds first.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { allRules } from "../dist/pipeline/catalogue.js";
import { rulesDoc } from "../dist/report/rules-doc.js";
import { refreshed, runner } from "./console-blocks.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const docs = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"));

writeFileSync(join(root, "docs", "rules.md"), `${[...rulesDoc(allRules())].join("\n")}\n`);

const shell = runner(root);
for (const name of ["README.md", "CONTRIBUTING.md", ...docs.map((page) => join("docs", page))]) {
  const path = join(root, name);
  const text = readFileSync(path, "utf8");
  const now = refreshed(text, shell.run, (file) => readFileSync(join(root, file), "utf8"));
  if (now !== text) writeFileSync(path, now);
  console.log(`${now === text ? "unchanged" : "written  "} ${name}`);
}
shell.close();
