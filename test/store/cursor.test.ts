import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sqlite from "node-sqlite3-wasm";
import { afterAll, describe, expect, test } from "vitest";
import { threeTurns } from "../../fixtures/cursor/make/conversation.mjs";
import { encode } from "../../fixtures/cursor/make/proto.mjs";
import { har } from "../../fixtures/cursor/make/write-har.mjs";
import { defaultLimits } from "../../src/core/limits.js";
import { loadSchemas } from "../../src/decode/schema.js";
import { runPipeline } from "../../src/pipeline.js";
import { readStores } from "../../src/store/index.js";

const folder = mkdtempSync(join(tmpdir(), "chat-store-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const hash = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

interface Chat {
  blobs: { id: string; data: Uint8Array }[];
  meta: [key: string, value: string][];
}

/** Every blob that the last run set, and its last checkpoint as the root. */
function goodChat(): Chat {
  const talk = threeTurns();
  const blobs = new Map<string, Uint8Array>();
  for (const run of talk.runs) {
    for (const { message } of run.frames) {
      const data = (message as { kv_server_message?: { set_blob_args?: { blob_data: Uint8Array } } }).kv_server_message
        ?.set_blob_args?.blob_data;
      if (data !== undefined) blobs.set(hash(data), data);
    }
  }
  const last = talk.runs[2]!.frames.findLast(({ message }) => "conversation_checkpoint_update" in (message ?? {}))!;
  const state = ((message) =>
    (message as { conversation_checkpoint_update: Record<string, unknown> }).conversation_checkpoint_update)(
    last.message,
  );
  const root = encode("agent.v1.ConversationStateStructure", state);
  blobs.set(hash(root), root);
  const value = JSON.stringify({ agentId: "agent-1", latestRootBlobId: hash(root), name: "invented" });
  return { blobs: [...blobs].map(([id, data]) => ({ id, data })), meta: [["0", Buffer.from(value).toString("hex")]] };
}

function write(name: string, chat: Chat): string {
  const path = join(folder, name);
  const db = new sqlite.Database(path);
  db.exec("CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB)");
  db.exec("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)");
  for (const { id, data } of chat.blobs) db.run("INSERT INTO blobs VALUES (?, ?)", [id, new Uint8Array(data)]);
  for (const row of chat.meta) db.run("INSERT INTO meta VALUES (?, ?)", row);
  db.close();
  return path;
}

function rulesOf(path: string): string[] {
  const [file] = readStores([path]).files;
  return [...new Set(file!.findings.map((finding) => finding.rule))].sort();
}

describe("a chat store", () => {
  test("is read, its root closed, and the file left as it was", () => {
    const path = write("good.db", goodChat());
    const before = hash(readFileSync(path));
    const [file] = readStores([path]).files;
    expect(file).toMatchObject({ kind: "cursor-chat", why: null, fatal: false });
    expect(file!.sessions.map(({ id }) => id)).toEqual(["agent-1"]);
    expect(file!.findings.map(({ rule }) => rule)).toEqual(["cursor/D05"]);
    expect(file!.sessions[0]!.tree.length).toBeGreaterThan(10);
    expect(hash(readFileSync(path))).toBe(before);
  });

  const faults: [name: string, rule: string, change: (chat: Chat) => void][] = [
    ["no row 0", "cursor/D01", (chat) => chat.meta.pop()],
    ["meta that is no JSON", "cursor/D01", (chat) => (chat.meta[0]![1] = "zz")],
    ["an id that is no hash", "cursor/D02", (chat) => chat.blobs.push({ id: "blob-1", data: new Uint8Array([1]) })],
    ["data rewritten", "cursor/D02", (chat) => chat.blobs.push({ id: hash(Buffer.from("a")), data: Buffer.from("b") })],
    ["a blob gone", "cursor/D03", (chat) => chat.blobs.splice(3, 1)],
    [
      "a root that refers to JSON as a turn",
      "cursor/D04",
      (chat) => {
        const text = chat.blobs.find(({ data }) => data[0] === 0x7b)!;
        const root = encode("agent.v1.ConversationStateStructure", { turns: [Buffer.from(text.id, "hex")] });
        chat.blobs.push({ id: hash(root), data: root });
        chat.meta = [
          ["0", Buffer.from(JSON.stringify({ agentId: "agent-1", latestRootBlobId: hash(root) })).toString("hex")],
        ];
      },
    ],
  ];
  test.each(faults)("%s is found by %s", (name, rule, change) => {
    const chat = goodChat();
    change(chat);
    const found = rulesOf(write(`${name.replaceAll(" ", "-")}.db`, chat)).filter((id) => id !== "cursor/D05");
    expect(found).toEqual([rule]);
  });
});

test("a store resolves what the capture carries by reference", () => {
  const talk = threeTurns();
  talk.runs = talk.runs.slice(1);
  const capture = join(folder, "late.har");
  writeFileSync(capture, har(talk));
  const store = write("resolve.db", goodChat());
  const options = {
    paths: [capture],
    keylogs: [],
    schemas: loadSchemas({ limits: defaultLimits }),
    limits: defaultLimits,
    wantHashes: false,
    wantFrames: false,
    wantSteps: false,
  };
  const carried = (analysis: ReturnType<typeof runPipeline>) =>
    analysis.findings.filter(({ rule }) => rule === "cursor/C02").map(({ severity }) => severity);
  expect(carried(runPipeline(options))).toEqual(["info", "info"]);
  const resolved = runPipeline({ ...options, stores: [store] });
  expect(carried(resolved)).toEqual([]);
  expect(resolved.blobs?.rows.some((row) => row.sources.some((sourceOf) => sourceOf.via === "store"))).toBe(true);
});
