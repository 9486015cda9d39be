// Fails when a folder of src/ imports against the one-way flow of docs/architecture.md, or touches the outside world where it may not.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "src");

// Each folder may import itself and the ones named here.
const allowed = {
  core: [],
  model: ["core"],
  capture: ["core", "model"],
  net: ["core", "model", "capture"],
  har: ["core", "model", "capture"],
  decode: ["core", "model"],
  store: ["core", "model", "decode", "dialects"],
  dialects: ["core", "model", "decode"],
  check: ["core", "model"],
  report: ["core", "model"],
  diff: ["core", "model"],
  pipeline: ["core", "model", "capture", "net", "har", "decode", "store", "dialects", "check"],
  cli: ["core", "model", "capture", "decode", "store", "dialects", "check", "report", "diff", "pipeline"],
  library: ["core", "model", "decode", "check", "report", "diff", "pipeline"],
  index: ["core", "model", "capture", "decode", "store", "dialects", "check", "report", "pipeline", "library"],
};

// Only these may use the file system, the process, the clock or randomness.
const worldly = [
  /^capture\/(source|sibling|spill-file|keylog-file|raw|lazy)\.ts$/,
  /^store\//,
  /^cli\//,
  /^decode\/(proto-files|descriptors)\.ts$/,
];
const world = [
  /from "node:(fs|process|child_process|os|net|http)/,
  /\bprocess\.(env|exit|argv|cwd|stdout|stderr)\b/,
  /\bDate\.now\(|\bnew Date\(\)/,
  /\bMath\.random\(/,
];

function walk(folder) {
  return readdirSync(folder)
    .sort()
    .flatMap((name) => {
      const path = join(folder, name);
      return statSync(path).isDirectory() ? walk(path) : path.endsWith(".ts") ? [path] : [];
    });
}

const boxOf = (path) => {
  const first = relative(root, path).split(sep)[0];
  return first.endsWith(".ts") ? first.slice(0, -3) : first;
};

const faults = [];
for (const path of walk(root)) {
  const name = relative(root, path).split(sep).join("/");
  const text = readFileSync(path, "utf8");
  const box = boxOf(path);
  if (!(box in allowed)) faults.push(`${name}: no rule for folder "${box}"`);
  for (const [, target] of text.matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g)) {
    const to = boxOf(resolve(dirname(path), target.replace(/\.js$/, ".ts")));
    if (to !== box && !allowed[box]?.includes(to)) faults.push(`${name}: ${box}/ may not import ${to}/ ("${target}")`);
  }
  if (worldly.some((pattern) => pattern.test(name))) continue;
  for (const pattern of world)
    if (pattern.test(text)) faults.push(`${name}: only capture/source.ts, store/ and cli/ may use ${pattern.source}`);
}
for (const fault of faults) console.error(fault);
console.log(faults.length === 0 ? "import arrows: ok" : `import arrows: ${faults.length} faults`);
process.exitCode = faults.length === 0 ? 0 : 1;
