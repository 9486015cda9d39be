import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cursorWire } from "./run.js";

const har = "fixtures/cursor/three-turns.har";
const pcap = "fixtures/cursor/three-turns.pcap";
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "cursor-wire-cli-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const lines = (text: string) => text.trimEnd().split("\n");
const stackTrace = /^\s+at .+:\d+:\d+/m;

describe("every command works on a capture", () => {
  it.each([
    [["analyze", har]],
    [["analyze", pcap]],
    [["analyze", har, "--brief"]],
    [["analyze", har, "--format", "json"]],
    [["analyze", har, "--format", "markdown"]],
    [["analyze", har, "--follow"]],
    [["frames", har]],
    [["frames", pcap, "--format", "ndjson"]],
    [["diagram", har]],
    [["diagram", har, "--kind", "gantt"]],
    [["diagram", har, "--kind", "timeline"]],
    [["diagram", har, "--kind", "state"]],
    [["check", har]],
    [["check", har, "--format", "json"]],
    [["check", har, "--format", "junit"]],
    [["check", har, "--format", "sarif"]],
    [["check", har, "--format", "github"]],
    [["check", "--list-rules"]],
    [["check", "--explain", "cursor/K06"]],
    [["blobs", har]],
    [["blobs", "list", har, "--format", "json"]],
    [["blobs", "tree", har]],
    [["blobs", "tree", har, "--format", "mermaid"]],
    [["flows", har]],
    [["flows", pcap, "--format", "json"]],
    [["diff", har, pcap]],
    [["diff", har, pcap, "--format", "json"]],
    [["show", har, "#1"]],
    [["show", pcap, "#8", "--format", "json"]],
  ])("%j", async (args) => {
    const ran = await cursorWire(args);
    expect(ran.err).not.toMatch(stackTrace);
    expect(ran.err).not.toContain("internal error");
    expect(ran.out.trim()).not.toBe("");
    expect(ran.code).toBe(0);
    expect((await cursorWire(args)).out).toBe(ran.out);
    for (const line of lines(ran.out)) expect(line).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  });
});

describe("text follows the terminal only where there is one", () => {
  it("120 columns, no colour, COLUMNS ignored without a terminal", async () => {
    const { out } = await cursorWire(["analyze", har], { columns: 60, env: { COLUMNS: "60" } });
    expect(Math.max(...lines(out).map((line) => line.length))).toBeGreaterThan(100);
    expect(out).not.toContain("\u001b");
  });

  it("80 columns on a terminal of 80, with colour", async () => {
    const { out } = await cursorWire(["analyze", har], { outTty: true, columns: 80, rows: 24 });
    expect(out).toContain("\u001b[");
    const bare = out.replace(/\u001b\[\d+m/g, "");
    for (const line of lines(bare)) expect(line.length, line).toBeLessThanOrEqual(80);
  });

  it.each([
    ["--no-color", ["--no-color"], {}],
    ["NO_COLOR", [], { NO_COLOR: "1" }],
    ["a dumb terminal", [], { TERM: "dumb" }],
  ])("no colour with %s", async (_, args, env) => {
    const { out } = await cursorWire(["analyze", har, ...args], { outTty: true, columns: 100, env });
    expect(out).not.toContain("\u001b");
  });

  it("says the same with and without colour", async () => {
    const coloured = await cursorWire(["analyze", har], { outTty: true, columns: 120, rows: 24 });
    const bare = await cursorWire(["analyze", har]);
    expect(coloured.out.replace(/\u001b\[\d+m/g, "")).toBe(bare.out);
  });
});

describe("selection", () => {
  it("--turn and --last agree in text, JSON and frames", async () => {
    const json = JSON.parse((await cursorWire(["analyze", har, "--turn", "2", "--format", "json"])).out);
    expect(json.turns.map((turn: { index: number }) => turn.index)).toEqual([1]);
    expect(json.conversations.map((row: { turns: number[] }) => row.turns)).toEqual([[0]]);
    const { requestId } = json.turns[0];
    const frames = lines((await cursorWire(["frames", har, "--turn", "2", "--format", "ndjson"])).out).map((line) =>
      JSON.parse(line),
    );
    expect(new Set(frames.map((frame) => frame.requestId))).toEqual(new Set([requestId]));
    const last = JSON.parse((await cursorWire(["analyze", "--last", har, "--format", "json"])).out);
    expect(last.turns.map((turn: { index: number }) => turn.index)).toEqual([2]);
    const two = JSON.parse((await cursorWire(["analyze", "--last", "2", har, "--format", "json"])).out);
    expect(two.turns).toHaveLength(2);
  });

  it("--kind filters frames and timelines", async () => {
    const frames = lines((await cursorWire(["frames", har, "--kind", "*.set_blob_args", "--format", "ndjson"])).out);
    expect(frames).toHaveLength(30);
    const text = (await cursorWire(["analyze", har, "--kind", "text_delta", "--turn", "1"])).out;
    expect(text).toContain("text_delta");
    expect(text).not.toContain("set_blob_args");
  });

  it("an unknown prefix is a usage error that lists what there is", async () => {
    const ran = await cursorWire(["analyze", har, "--request", "zzz"]);
    expect(ran.code).toBe(2);
    expect(ran.err).toMatch(/^cursor-wire: no request begins with "zzz": the capture has .+\n$/);
    expect(ran.out).toBe("");
  });
});

describe("frames", () => {
  it("numbers messages in capture order and keeps the contract's keys", async () => {
    const rows = lines((await cursorWire(["frames", pcap, "--format", "ndjson"])).out).map((line) => JSON.parse(line));
    expect(rows.map((row) => row.n)).toEqual(rows.map((_, i) => i + 1));
    expect(Object.keys(rows[0])).toEqual([
      "n",
      "at",
      "exact",
      "dialect",
      "direction",
      "conversationId",
      "requestId",
      "channel",
      "flags",
      "bytes",
      "type",
      "kind",
      "message",
      "unknown",
      "place",
    ]);
    expect(rows.every((row) => row.exact)).toBe(true);
  });

  it("bodies over --max-body become their size", async () => {
    const ran = await cursorWire([
      "frames",
      har,
      "--kind",
      "*.get_blob_result",
      "--format",
      "ndjson",
      "--max-body",
      "1K",
    ]);
    expect(lines(ran.out).map((line) => JSON.parse(line).message.kvClientMessage.getBlobResult.blobData)).toEqual([
      { $bytes: 29_974 },
      { $bytes: 59_145 },
    ]);
  });
});

describe("blobs", () => {
  it("cat prints the bytes as they were, and says so", async () => {
    const ledger = JSON.parse((await cursorWire(["blobs", har, "--format", "json"])).out);
    const blob = ledger.blobs.find((row: { bytes: number | null }) => row.bytes !== null);
    const ran = await cursorWire(["blobs", "cat", har, "--id", blob.blobId.slice(0, 12)]);
    expect(createHash("sha256").update(ran.bytes).digest("hex")).toBe(blob.blobId);
    expect(ran.err).toContain("nothing is redacted");
    expect((await cursorWire(["blobs", "cat", blob.blobId.slice(0, 12), har])).bytes.equals(ran.bytes)).toBe(true);
  });

  it("extract names files by hash, and leaves an existing different file alone", async () => {
    const to = join(folder, "blobs");
    const ran = await cursorWire(["blobs", "extract", har, "-o", to]);
    expect(ran.code).toBe(0);
    const names = readdirSync(to);
    expect(names.length).toBeGreaterThan(20);
    for (const name of names)
      expect(
        createHash("sha256")
          .update(readFileSync(join(to, name)))
          .digest("hex"),
      ).toBe(name);
    writeFileSync(join(to, names[0]!), "mine");
    const again = await cursorWire(["blobs", "extract", har, "-o", to]);
    expect(again.code).toBe(1);
    expect(again.err).toContain("1 existing file with other content");
    expect(readFileSync(join(to, names[0]!), "utf8")).toBe("mine");
  });

  it.each([
    [["blobs", "cat", har], "which blob?"],
    [["blobs", "cat", har, "--id", ""], "ambiguous"],
    [["blobs", "cat", har, "--id", "zz"], 'no blob begins with "zz"'],
    [["blobs", "extract", har], "give the folder with -o"],
    [["blobs", "list", har, "--format", "mermaid"], "blobs list has no format mermaid"],
  ])("%j is a usage error", async (args, message) => {
    const ran = await cursorWire(args);
    expect([ran.code, ran.out]).toEqual([2, ""]);
    expect(ran.err).toContain(message);
  });
});

describe("check", () => {
  it("--rule raises and silences, and the exit code follows", async () => {
    const noisy = JSON.parse((await cursorWire(["check", har, "--format", "json"])).out);
    const rule = noisy.findings[0]?.rule as string | undefined;
    if (rule === undefined) throw new Error("the fixture is expected to have at least one finding below error");
    expect((await cursorWire(["check", har])).code).toBe(0);
    expect((await cursorWire(["check", har, "--rule", `${rule}=error`])).code).toBe(1);
    const silent = JSON.parse((await cursorWire(["check", har, "--rule", `${rule}=off`, "--format", "json"])).out);
    expect(silent.findings.map((row: { rule: string }) => row.rule)).not.toContain(rule);
  });

  it("a baseline accepts what is there, and nothing more", async () => {
    const known = join(folder, "known.json");
    const loud = ["check", har, "--rule", "cursor/*=error"];
    const wrote = await cursorWire([...loud, "--write-baseline", known]);
    expect(wrote.code).toBe(0);
    expect(wrote.err).toContain("accepts");
    expect((await cursorWire([...loud, "--baseline", known])).code).toBe(0);
    writeFileSync(known, JSON.stringify({ schema: "cursor-wire/baseline@1", findings: [] }));
    expect((await cursorWire([...loud, "--baseline", known])).code).toBe(1);
  });

  it("reads the settings file of the working folder, and the command line wins", async () => {
    const config = join(folder, "cursor-wire.config.json");
    writeFileSync(config, JSON.stringify({ rules: { "cursor/*": "error" }, failOn: "error" }));
    const path = join(process.cwd(), har);
    expect((await cursorWire(["check", path], { cwd: folder })).code).toBe(1);
    expect((await cursorWire(["check", path, "--no-config"], { cwd: folder })).code).toBe(0);
    expect((await cursorWire(["check", path, "--rule", "cursor/*=off"], { cwd: folder })).code).toBe(0);
    expect((await cursorWire(["check", har, "--config", config])).code).toBe(1);
    writeFileSync(config, '{"rulez":{}}');
    const bad = await cursorWire(["check", path], { cwd: folder });
    expect([bad.code, bad.out]).toEqual([2, ""]);
    expect(bad.err).toContain('unknown key "rulez"');
    rmSync(config);
  });

  it("--require fails where the rule cannot be checked", async () => {
    const ran = await cursorWire(["check", har, "--require", "kimi/K-SEQ-01"]);
    expect(ran.code).toBe(1);
    expect(ran.out).toContain("kimi/K-SEQ-01 is required and could not be checked");
  });

  it("an empty capture fails, unless it may be empty", async () => {
    const empty = "fixtures/har/empty.har";
    expect((await cursorWire(["check", empty])).code).toBe(1);
    expect((await cursorWire(["check", empty, "--allow-empty"])).code).toBe(0);
    expect((await cursorWire(["analyze", empty])).code).toBe(0);
  });
});

describe("diff", () => {
  it("finds the HAR and the pcap of one talk the same", async () => {
    const ran = await cursorWire(["diff", har, pcap, "--exit-code"]);
    expect(ran.out).toContain("the same course in 3 turns");
    expect(ran.code).toBe(0);
  });

  it("--exit-code says that there is a difference", async () => {
    const ran = await cursorWire(["diff", har, "fixtures/har/neutral.har", "--exit-code"]);
    expect(ran.code).toBe(1);
    expect((await cursorWire(["diff", har, "fixtures/har/neutral.har"])).code).toBe(0);
  });
});

describe("show takes every place that the other commands print", () => {
  it.each([har, pcap])("%s", async (capture) => {
    const frames = lines((await cursorWire(["frames", capture, "--format", "ndjson"])).out).map((line) =>
      JSON.parse(line),
    );
    for (const frame of [frames[0], frames[20], frames.at(-1)]) {
      const ran = await cursorWire(["show", capture, frame.place, "--format", "json"]);
      expect(ran.code, frame.place).toBe(0);
      const shown = JSON.parse(ran.out).messages;
      expect(
        shown.some((row: { place: string; kind: string }) => row.place === frame.place && row.kind === frame.kind),
      ).toBe(true);
    }
  });

  it.each([
    ["nonsense", "is no place"],
    ["#0", "count from 1"],
    ["#5-4", "count from 1"],
    ["other.har#1", "names the input other.har"],
    ["#99999", "nothing at"],
  ])("refuses %s", async (place, message) => {
    const ran = await cursorWire(["show", har, place]);
    expect([ran.code, ran.out]).toEqual([2, ""]);
    expect(ran.err).toContain(message);
  });
});

describe("output", () => {
  it("-o writes the same bytes to a file", async () => {
    const file = join(folder, "out.json");
    const ran = await cursorWire(["analyze", har, "--format", "json", "-o", file]);
    expect(ran.out).toBe("");
    expect(readFileSync(file, "utf8")).toBe((await cursorWire(["analyze", har, "--format", "json"])).out);
  });

  it("refuses to write over an input, or into nowhere", async () => {
    const ran = await cursorWire(["analyze", har, "-o", har]);
    expect([ran.code, ran.err]).toEqual([2, `cursor-wire: -o ${har} is one of the inputs: it would be overwritten\n`]);
    expect((await cursorWire(["analyze", har, "-o", join(folder, "no/such/folder")])).code).toBe(2);
  });

  it("stops quietly when nobody reads", async () => {
    let writes = 0;
    const ran = await cursorWire(["frames", har, "--format", "ndjson"], {
      out: () => {
        writes++;
        return false;
      },
    });
    expect([ran.code, writes]).toEqual([0, 1]);
  });
});
