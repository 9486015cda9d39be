// Compiles src/ to dist/ with tsc and proto/ to the descriptor set that decode/schema.ts loads. --clean empties dist/ first, --if-stale
// builds only where src/ or proto/ changed since.
import { spawnSync } from "node:child_process";
import { existsSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isStale, stamp } from "./stale.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");

function step(args) {
  const run = spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" });
  if (run.status !== 0) process.exit(run.status ?? 1);
}

if (process.argv.includes("--if-stale") && !isStale()) process.exit(0);
const begun = new Date();
if (process.argv.includes("--clean")) rmSync(join(root, "dist"), { recursive: true, force: true });
step([tsc, "-p", "tsconfig.json"]);
const descriptors = join(root, "scripts", "compile-protos.mjs");
if (existsSync(descriptors)) step([descriptors]);
// As old as the sources were when the build began: what changed meanwhile is not in it.
writeFileSync(stamp, "");
utimesSync(stamp, begun, begun);
