import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cursorWire } from "./run.js";

const har = "fixtures/cursor/three-turns.har";
let folder: string;
const file = (name: string, content: string | Uint8Array): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "cursor-wire-errors-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** One sentence for people: a single line, no stack, no class name. */
function isOneSentence(err: string): void {
  expect(err).toMatch(/^cursor-wire: [^\n]+\n$/);
  expect(err).not.toMatch(/\bat .+:\d+:\d+|Error:|undefined|\[object/);
}

describe("usage errors: exit 2, one sentence, nothing on standard output", () => {
  it.each([
    [["analyze"], "name at least one capture"],
    [["analyze", "-", "-"], "standard input (-) can be read only once"],
    [["analyze", har, "--dialect", "klingon"], 'no dialect "klingon"'],
    [["analyze", har, "--limit", "bogus=1"], 'no limit "bogus"'],
    [["analyze", har, "--limit", "messageBytes=much"], '"much" is no size'],
    [["analyze", har, "--turn", "0"], "turns count from 1"],
    [["analyze", har, "--turn", "9"], "no turn 9: the last turn is 3"],
    [["analyze", har, "--brief", "--format", "json"], "--brief is a text"],
    [["analyze", har, "--follow", "--format", "json"], "--follow prints text only"],
    [["analyze", har, "--follow", "--turn", "1"], "takes no selection"],
    [["analyze", har, "--rule", "cursor/K06"], "is no rule setting"],
    [["analyze", har, "--rule", "cursor/XX=off"], 'no rule "cursor/XX"'],
    [["analyze", "--raw", "client=a"], "both client=FILE and server=FILE are needed"],
    [["analyze", "--raw", "clinet=a,server=b"], "write client=FILE,server=FILE"],
    [
      ["analyze", har, "--descriptors", "/no/such/file"],
      "--descriptors: cannot read /no/such/file: no such file or directory",
    ],
    [["frames", har, "--max-body", "huge"], '"huge" is no size'],
    [["frames", "-", "--turn", "1"], "save standard input to a file first"],
    [["check", har, "--baseline", "/no/such/file"], "--baseline: cannot read"],
    [["check", har, "--require", "cursor/XX"], 'no rule "cursor/XX"'],
    [["check", "--explain", "cursor/XX"], 'no rule "cursor/XX"'],
    [["diff", har, har, "--raw", "client=a,server=b"], "--raw gives one"],
    [["show", har], "show needs a capture and a place"],
  ])("%j", async (args, message) => {
    const ran = await cursorWire(args);
    expect([ran.code, ran.out]).toEqual([2, ""]);
    expect(ran.err).toContain(message);
    isOneSentence(ran.err);
  });

  it.each([
    [["frobnicate"], "unknown command 'frobnicate'"],
    [["analyze", har, "--bogus"], "unknown option '--bogus'"],
    [["analyze", har, "--format", "xml"], "Allowed choices are text, json, markdown"],
    [["diff", har], "missing required argument 'b'"],
    [["store"], "missing required argument 'file'"],
  ])("%j, with a hint where the help is", async (args, message) => {
    const ran = await cursorWire(args);
    expect([ran.code, ran.out]).toEqual([2, ""]);
    expect(ran.err).toContain(message);
    expect(ran.err).toMatch(/^cursor-wire: [^\n]+\n\(cursor-wire .*--help .*\)\n$/);
  });
});

describe("inputs that cannot be read: exit 3, a sentence that names the file", () => {
  it.each([
    ["missing", () => join(folder, "missing.har")],
    ["a folder", () => folder],
    ["empty", () => file("empty.har", "")],
    ["text", () => file("notes.txt", "just some words, no capture")],
    ["JSON that is no HAR", () => file("other.json", '{"name":"x","version":1}')],
    [
      "a HAR cut before its first entry",
      () => file("cut.har", '{"log":{"version":"1.2","entries":[{"startedDateTime":"20'),
    ],
    [
      "noise",
      () =>
        file(
          "noise.bin",
          new Uint8Array(4096).map((_, i) => (i * 131) & 0xff),
        ),
    ],
    [
      "gzip of nothing useful",
      () => file("x.gz", new Uint8Array([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
    ],
  ] as const)("%s", async (_, make) => {
    const path = make();
    for (const command of ["analyze", "frames", "check", "flows", "diagram", "blobs"]) {
      const ran = await cursorWire([command, path]);
      expect([command, ran.code, ran.out]).toEqual([command, 3, ""]);
      expect(ran.err).toContain(path);
      isOneSentence(ran.err);
    }
  });

  it.each([
    ["missing", () => join(folder, "missing.har"), "check the path"],
    ["a folder", () => folder, "name the files in it"],
    ["empty", () => file("empty.har", ""), "tcpdump -U"],
  ] as const)("%s: the sentence names the remedy", async (_, make, remedy) => {
    expect((await cursorWire(["analyze", make()])).err).toContain(remedy);
  });

  it("the others are still reported", async () => {
    const ran = await cursorWire(["analyze", har, join(folder, "missing.har"), "--format", "json"]);
    expect(ran.code).toBe(3);
    const data = JSON.parse(ran.out);
    expect(data.turns).toHaveLength(3);
    expect(data.inputs.map((input: { format: string }) => input.format)).toEqual(["har", "unreadable"]);
    isOneSentence(ran.err);
  });
});

describe("captures without agent traffic: exit 0, and a sentence that says so", () => {
  const entry = {
    startedDateTime: "2026-01-01T00:00:00Z",
    time: 5,
    request: {
      method: "GET",
      url: "https://example.test/",
      httpVersion: "HTTP/1.1",
      headers: [],
      queryString: [],
      cookies: [],
      headersSize: -1,
      bodySize: 0,
    },
    response: {
      status: 200,
      statusText: "OK",
      httpVersion: "HTTP/1.1",
      headers: [{ name: "content-type", value: "text/html" }],
      cookies: [],
      content: { size: 2, mimeType: "text/html", text: "ok" },
      redirectURL: "",
      headersSize: -1,
      bodySize: 2,
    },
    cache: {},
    timings: { send: 0, wait: 5, receive: 0 },
  };
  const plainHar = (entries: unknown[]) =>
    JSON.stringify({ log: { version: "1.2", creator: { name: "test", version: "1" }, entries } });

  it.each([
    ["an empty log", () => file("none.har", plainHar([]))],
    ["a page", () => file("page.har", plainHar([entry]))],
  ] as const)("%s", async (_, make) => {
    const ran = await cursorWire(["analyze", make()]);
    expect(ran.code).toBe(0);
    expect(ran.out).toContain("no agent traffic recognised");
    expect(ran.err).toMatch(/^cursor-wire: .*no agent traffic recognised/);
  });
});

describe("help", () => {
  it("lists the commands, and an example per command", async () => {
    const { code, out } = await cursorWire(["--help"]);
    expect(code).toBe(0);
    for (const name of ["analyze", "frames", "diagram", "check", "blobs", "diff", "flows", "show", "store"]) {
      expect(out).toMatch(new RegExp(`^ {2}${name}\\b`, "m"));
      const help = await cursorWire([name, "--help"]);
      expect([name, help.code]).toEqual([name, 0]);
      expect(help.out).toMatch(/Examples:\n {2}(\S.* \| )?cursor-wire /);
      expect(lines(help.out)).toBeLessThan(70);
    }
  });

  it("without arguments the help is shown and the call is wrong", async () => {
    expect((await cursorWire([])).code).toBe(2);
  });
});

function lines(text: string): number {
  return text.split("\n").length;
}
