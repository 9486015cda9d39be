/** The example that a user copies into a test suite is part of this one. */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import "../../examples/captures.test.js";
import { analyze } from "../../src/index.js";
import { requireBuilt } from "./built.js";

let folder: string;
beforeAll(() => {
  requireBuilt();
  folder = mkdtempSync(join(tmpdir(), "cursor-wire-examples-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("record-stdio.mjs", () => {
  const agent = `process.stdin.on("data", (chunk) => {
    const { id, method } = JSON.parse(chunk);
    process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result: { method } }) + "\\n");
  });`;

  it("passes both directions on and writes a log that analyze reads", async () => {
    const log = join(folder, "talk.jsonl");
    const child = spawn(process.execPath, ["examples/record-stdio.mjs", log, process.execPath, "-e", agent]);
    let heard = "";
    child.stdout.on("data", (chunk: Buffer) => {
      heard += chunk;
      child.stdin.end();
    });
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: {} })}\n`);
    expect(await new Promise((resolve) => child.on("close", resolve))).toBe(0);
    expect(JSON.parse(heard)).toEqual({ jsonrpc: "2.0", id: 1, result: { method: "initialize" } });
    expect(statSync(log).mode & 0o077).toBe(0);
    const rows = readFileSync(log, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { dir: string });
    expect(rows.map((row) => row.dir)).toEqual(["client_to_agent", "agent_to_client"]);
    const analysis = analyze(log);
    expect(analysis.inputs[0]?.format).toBe("jsonl");
    expect(analysis.exchanges[0]?.dialect).toBe("kimi");
    expect(analysis.diagnostics).toEqual([]);
  });

  it("a command that is not there is said, and a log is never overwritten", () => {
    const run = (...args: string[]) =>
      spawnSync(process.execPath, ["examples/record-stdio.mjs", ...args], { encoding: "utf8", input: "" });
    const missing = run(join(folder, "none.jsonl"), join(folder, "no-such-agent"));
    expect([missing.status, missing.stderr]).toEqual([127, expect.stringContaining("cannot start")]);
    expect(run(join(folder, "none.jsonl"), process.execPath).status).not.toBe(0);
  });
});
