// Compiles src/ to dist/ with tsc and proto/ to the descriptor set that decode/schema.ts loads. --clean empties dist/ first.
import { spawnSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");

function step(args) {
  const run = spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" });
  if (run.status !== 0) process.exit(run.status ?? 1);
}

if (process.argv.includes("--clean")) rmSync(join(root, "dist"), { recursive: true, force: true });
step([tsc, "-p", "tsconfig.json"]);
const descriptors = join(root, "scripts", "compile-protos.mjs");
if (existsSync(descriptors)) step([descriptors]);
