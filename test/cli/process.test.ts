/** The built command as a process of its own: what only the real world shows. Needs `npm run build`. */
import { spawn, spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { requireBuilt } from "../docs/built.js";

const har = "fixtures/cursor/three-turns.har";
const bin = "bin/cursor-wire.js";
const run = (args: readonly string[], input?: Buffer) =>
  spawnSync(process.execPath, [bin, ...args], {
    encoding: "utf8",
    maxBuffer: 1 << 28,
    ...(input === undefined ? {} : { input }),
  });

describe("the built command", () => {
  beforeAll(() => requireBuilt());

  it("--version is that of the package", () => {
    const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
    const ran = run(["--version"]);
    expect([ran.status, ran.stdout, ran.stderr]).toEqual([0, `${version}\n`, ""]);
  });

  it("--version needs nothing but the file system", () => {
    const start = readFileSync("dist/cli/start.js", "utf8");
    expect([...start.matchAll(/^import .* from "(.+)";$/gm)].map((match) => match[1])).toEqual(["node:fs"]);
  });

  it("reads standard input, and says the same as for the file", () => {
    const fromFile = JSON.parse(run(["analyze", har, "--format", "json"]).stdout);
    const fromPipe = JSON.parse(run(["analyze", "-", "--format", "json"], readFileSync(har)).stdout);
    expect(fromPipe.inputs[0].path).toBe("-");
    expect(fromPipe.turns.map((turn: { down: object }) => turn.down)).toEqual(
      fromFile.turns.map((turn: { down: object }) => turn.down),
    );
  });

  it("exit codes: 0, 1, 2, 3", () => {
    expect(run(["check", har]).status).toBe(0);
    expect(run(["check", har, "--rule", "cursor/*=error"]).status).toBe(1);
    expect(run(["check", har, "--nope"]).status).toBe(2);
    expect(run(["check", "no-such-file.har"]).status).toBe(3);
  });

  it("a reader that goes away is no error", async () => {
    const child = spawn(process.execPath, [bin, "frames", har, "--format", "ndjson", "--all"], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let err = "";
    child.stderr.on("data", (chunk: Buffer) => {
      err += chunk;
    });
    child.stdout.once("data", () => child.stdout.destroy());
    const code = await new Promise((resolve) => child.on("close", resolve));
    expect([code, err]).toEqual([0, ""]);
  });
});

describe.skipIf(!existsSync("/dev/full"))("where nothing can be written any more", () => {
  const full = (args: readonly string[]) => {
    const out = openSync("/dev/full", "w");
    try {
      return spawnSync(process.execPath, [bin, ...args], { stdio: ["ignore", out, "pipe"], encoding: "utf8" });
    } finally {
      closeSync(out);
    }
  };

  it.each([
    [["--version"]],
    [["--help"]],
    [["analyze", har]],
    [["frames", har]],
    [["analyze", har, "-o", "/dev/full"]],
  ])("%j is one sentence", (args) => {
    const ran = full(args);
    expect(ran.stderr).toMatch(
      /^cursor-wire: cannot write (standard output|\/dev\/full): no space left on the device\n$/,
    );
    expect(ran.status).toBe(2);
  });

  it("a full standard error does not change how it ends", () => {
    const err = openSync("/dev/full", "w");
    const ran = spawnSync(process.execPath, [bin, "analyze", "no-such.har"], { stdio: ["ignore", "pipe", err] });
    closeSync(err);
    expect(ran.status).toBe(3);
  });
});
