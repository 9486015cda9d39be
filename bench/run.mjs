// node bench/run.mjs [har] [packets] [start] [scale]: every figure of one group in one run, so that ratios mean something.
import { statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { best, measure, row } from "./lib/measure.mjs";
import { turns } from "./lib/traffic.mjs";
import { writeHar } from "./lib/write-har.mjs";
import { dataFolder, ensure, files } from "./make.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const cli = [process.execPath, join(root, "bin", "cursor-wire.js")];
const size = (path) => statSync(path).size;
const ratio = (a, b) => `${(a / b).toFixed(2)}x`;

function har() {
  const parse = (path) => [
    process.execPath,
    "--max-old-space-size=8192",
    "-e",
    `JSON.parse(require("fs").readFileSync(${JSON.stringify(path)}).toString())`,
  ];
  for (const [name, aim] of [
    ["many.har", "aim: at most 1.5x the baseline"],
    ["dense.har", "worst case, no aim"],
    ["heavy.har", "aim: faster than the baseline"],
  ]) {
    const path = ensure(name);
    const baseline = best(2, parse(path));
    const ours = best(2, [...cli, "analyze", path, "--brief"]);
    console.log(`\n${name} (${(size(path) / 1e6).toFixed(0)} MB), ${aim}`);
    row("read + toString + JSON.parse", size(path), baseline);
    row("cursor-wire analyze --brief", size(path), ours, `${ratio(ours.wall, baseline.wall)} of the baseline`);
  }
  const path = ensure("huge.har");
  console.log(`\nhuge.har (${(size(path) / 1e6).toFixed(0)} MB), above what the baseline can run`);
  row(
    "cursor-wire analyze --brief",
    size(path),
    measure([...cli, "analyze", path, "--brief"]),
    "aim: peak under 200 MB",
  );
}

function packets() {
  for (const [name, aim] of [
    ["plain.pcap", "aim: 10x tshark"],
    ["images.pcap", "worst case, no aim"],
    ["tls.pcapng", "aim: 5x tshark"],
  ]) {
    const { megabytes } = files[name];
    const path = ensure(name);
    const tls = name.startsWith("tls");
    const keys = tls ? ["-o", `tls.keylog_file:${path}.keys`] : ["-d", "tcp.port==8443,http2"];
    const ours = best(2, [...cli, "analyze", path, "--brief", ...(tls ? ["--keylog", `${path}.keys`] : [])]);
    const shark = best(2, ["tshark", "-r", path, ...keys, "-Y", "http2", "-T", "fields", "-e", "http2.headers.path"]);
    console.log(`\n${name} (${(size(path) / 1e6).toFixed(0)} MB), ${aim}`);
    row("tshark -Y http2 -e http2.headers.path", size(path), shark);
    row(
      "cursor-wire analyze --brief",
      size(path),
      ours,
      `${ratio(shark.wall, ours.wall)} faster (CPU ${ratio(shark.cpu, ours.cpu)}); aim: peak under 250 MB`,
    );
    const twice = ensure(name, megabytes * 2, `twice-${name}`);
    row(
      "the same at twice the size",
      size(twice),
      measure([...cli, "analyze", twice, "--brief", ...(tls ? ["--keylog", `${twice}.keys`] : [])]),
    );
  }
}

function start() {
  const node = best(10, [process.execPath, "-e", "0"]);
  const ours = best(10, [...cli, "--version"]);
  console.log("\nstart, aim: under 1.5x of node -e 0");
  row("node -e 0", 0, node);
  row("cursor-wire --version", 0, ours, ratio(ours.wall, node.wall));
}

function scale() {
  console.log("\ncheck on 2,500, 5,000 and 10,000 turns of 100 frames; aim: linear, rules cheaper than decoding");
  const small = {
    turnsPerConversation: 20,
    deltas: 85,
    textBlobs: 4,
    textBytes: 300,
    noiseBlobs: 0,
    noiseBytes: 0,
    hex: true,
  };
  for (const count of [2_500, 5_000, 10_000]) {
    const path = join(dataFolder, `scale-${count}.har`);
    if (statSync(path, { throwIfNoEntry: false }) === undefined)
      writeHar(path, first(count, turns(small)), Number.POSITIVE_INFINITY);
    row(`check, ${count} turns`, size(path), measure([...cli, "check", path, "--quiet"]));
    row(
      "the same with every rule off",
      size(path),
      measure([...cli, "check", path, "--quiet", "--rule", "cursor/*=off"]),
    );
  }
}

function* first(count, source) {
  let left = count;
  for (const item of source) {
    if (left-- === 0) return;
    yield item;
  }
}

const groups = { har, packets, start, scale };
const wanted = process.argv.slice(2);
for (const name of wanted.length === 0 ? Object.keys(groups) : wanted) {
  if (!Object.hasOwn(groups, name)) {
    console.error(`no group ${name}: ${Object.keys(groups).join(", ")}`);
    process.exit(2);
  }
  groups[name]();
}
