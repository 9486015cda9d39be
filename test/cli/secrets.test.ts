import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cursorWire } from "./run.js";

const names = [
  "Authorization",
  "proxy-authorization",
  "Cookie",
  "x-api-key",
  "x-blob-encryption-key",
  "x-inference-authentication-jwt",
  "x-cursor-auth",
  "X-Cursor-Checksum",
  "x-client-key",
  "x-session-id",
];
const planted = names.map((name, i) => `planted${i}Secret${name.length}Value`);
const setCookie = "plantedSetCookieSecretValue";
const query = "plantedQuerySecretValue";
const wsToken = "planted-bearer_Secret.Value";
const secrets = [...planted, setCookie, query, wsToken];
let folder: string;
let path: string;

/** The fixture talk with every kind of secret head planted in every entry, and repeated where a careless report might print it. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "cursor-wire-secrets-"));
  const har = JSON.parse(readFileSync("fixtures/cursor/three-turns.har", "utf8"));
  for (const entry of har.log.entries) {
    entry.request.headers.push(
      ...names.map((name, i) => ({
        name,
        value:
          name === "Authorization"
            ? `Bearer ${planted[i]}`
            : name === "Cookie"
              ? `a=b; session=${planted[i]}`
              : planted[i],
      })),
      { name: "Sec-WebSocket-Protocol", value: `kimi-code.bearer.${wsToken}` },
      { name: "user-agent-echo", value: `echo ${planted[0]}` },
    );
    entry.response.headers.push({ name: "Set-Cookie", value: `sid=${setCookie}; Path=/` });
    entry.request.url += `?access_token=${query}`;
    entry.comment = planted.join(" ");
  }
  har.log.creator.comment = planted[0];
  har.log.creator.name = `recorder ${planted[0]}`;
  path = join(folder, "planted.har");
  writeFileSync(path, JSON.stringify(har));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const calls: string[][] = [
  ["analyze"],
  ["analyze", "--all"],
  ["analyze", "--brief"],
  ["analyze", "--follow"],
  ["analyze", "--format", "json"],
  ["analyze", "--format", "markdown"],
  ["frames"],
  ["frames", "--format", "ndjson"],
  ["diagram"],
  ["diagram", "--kind", "gantt"],
  ["diagram", "--kind", "state"],
  ["check"],
  ["check", "--format", "json"],
  ["check", "--format", "sarif"],
  ["check", "--format", "junit"],
  ["check", "--format", "github"],
  ["blobs", "list"],
  ["blobs", "tree"],
  ["flows"],
  ["flows", "--format", "json"],
];

function leaks(text: string): string[] {
  return secrets.filter((secret) => text.includes(secret) || text.includes(Buffer.from(secret).toString("hex")));
}

describe("no planted secret leaves by any command", () => {
  it.each(calls)("%s %s %s", async (...call) => {
    const [command, ...rest] = call.filter((part): part is string => part !== undefined);
    const args = command === "blobs" ? [command, rest[0]!, path] : [command!, path, ...rest];
    const ran = await cursorWire(args);
    expect(ran.out.trim()).not.toBe("");
    expect(leaks(ran.out + ran.err)).toEqual([]);
  });

  it("show, head and body", async () => {
    for (const place of ["#1", "#2/request", "#3/response"]) {
      const ran = await cursorWire(["show", path, place]);
      expect(ran.out).toContain("«redacted #");
      expect(leaks(ran.out + ran.err)).toEqual([]);
    }
  });

  it("--no-redact shows them", async () => {
    const ran = await cursorWire(["show", path, "#1", "--no-redact"]);
    expect(ran.out).toContain(planted[0]);
    expect(ran.out).not.toContain("«redacted");
  });
});

describe("--redact private hides content as well", () => {
  const truth = JSON.parse(readFileSync("fixtures/cursor/three-turns.truth.json", "utf8")) as {
    runs: Record<string, { prompt?: string; text?: string }>;
  };
  const content = Object.values(truth.runs)
    .flatMap((run) => [run.prompt, run.text])
    .filter((text): text is string => (text ?? "").length > 8);

  it.each(calls.filter(([command]) => command !== "flows"))("%s %s %s", async (...call) => {
    const [command, ...rest] = call.filter((part): part is string => part !== undefined);
    const args = command === "blobs" ? [command, rest[0]!, path] : [command!, path, ...rest];
    const ran = await cursorWire([...args, "--redact", "private"]);
    expect(content.length).toBeGreaterThan(2);
    expect(content.filter((text) => ran.out.includes(text.slice(0, 20)))).toEqual([]);
  });
});
