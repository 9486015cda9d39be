// Compiles src/ to dist/ with tsc and proto/ to the descriptor set that decode/schema.ts loads, then joins the command line's modules in
// dist/bundle. --clean empties dist/ first, --if-stale builds only where src/ or proto/ changed since.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
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
// Four hundred modules read one by one are most of what a start costs: the command runs from a few files instead. They lie as deep as
// the modules they are made of, so that paths relative to them hold. Packages stay outside.
const bundle = join(root, "dist", "bundle");
const { metafile } = await build({
  entryPoints: [join(root, "dist", "cli", "start.js")],
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  packages: "external",
  outdir: bundle,
  logLevel: "warning",
  metafile: true,
});
// A command that runs meanwhile finds its files: those of the build before go last.
const written = new Set(Object.keys(metafile.outputs).map((path) => basename(path)));
for (const name of readdirSync(bundle)) if (!written.has(name)) rmSync(join(bundle, name));
// As old as the sources were when the build began: what changed meanwhile is not in it.
writeFileSync(stamp, "");
utimesSync(stamp, begun, begun);
