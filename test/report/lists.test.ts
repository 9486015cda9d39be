import { describe, expect, it } from "vitest";
import { privately, secretly } from "../../src/core/printable.js";
import type { FrameLine, StreamMessage } from "../../src/model/message.js";
import { blobListReports, blobTreeReports } from "../../src/report/blobs/index.js";
import { widthOf } from "../../src/report/columns.js";
import { flowReports } from "../../src/report/flows.js";
import { frameJson, frameText } from "../../src/report/frames.js";
import { analysis, at, between, exchange, hostile, ledger, place, render, secret, turn, view } from "./sample.js";

function frame(over: Partial<FrameLine> = {}, message: Partial<StreamMessage> = {}): FrameLine {
  const made = {
    exchange: { id: 0 },
    direction: "down",
    framing: "connect-envelope",
    ordinal: 0,
    flags: 1,
    body: new Uint8Array(1234),
    wireBytes: 100,
    declared: 100,
    headerBytes: 5,
    codec: "gzip",
    fault: null,
    evidence: "exact",
    mark: { input: 0, first: 2, last: 2, when: at(12) },
    place: place(2, "response", 0, 105),
    ...message,
  } as unknown as StreamMessage;
  return {
    message: made,
    dialect: "cursor",
    conversationId: null,
    requestId: "r1",
    channel: "RunSSE",
    type: "agent.v1.AgentServerMessage",
    kind: "kv_server_message.set_blob_args",
    says: ["kv 3 set ", privately("notes")],
    value: () => ({
      key: secretly(secret),
      text: privately("notes"),
      big: new Uint8Array(2000),
      n: 5n,
      place: place(1),
    }),
    unknown: () => [{ path: "1.9", wire: "len", count: 2, readings: [{ as: "string", value: "x", score: 0.9 }] }],
    ...over,
  };
}

describe("frames", () => {
  const context = (over = {}, level: "secrets" | "private" | "none" = "secrets") => ({
    names: ["a.har"],
    view: view({ maxBody: 1000, ...over }, level),
    conversations: new Map([["r1", "c1"]]),
  });

  it("JSON: redacted, large bytes as their size, ids from an earlier pass", () => {
    expect(JSON.parse(frameJson(frame(), 7, context()))).toEqual({
      n: 7,
      at: "2026-11-30T22:00:00.012Z",
      exact: true,
      dialect: "cursor",
      direction: "down",
      conversationId: "c1",
      requestId: "r1",
      channel: "RunSSE",
      flags: 1,
      bytes: 1234,
      type: "agent.v1.AgentServerMessage",
      kind: "kv_server_message.set_blob_args",
      message: { key: "«redacted #1, 21 B»", text: "notes", big: { $bytes: 2000 }, n: "5", place: "a.har#2" },
      unknown: [{ path: "1.9", wire: "len", count: 2, readings: [{ as: "string", value: "x", score: 0.9 }] }],
      place: "a.har#3/response@0..105",
    });
    expect(frameJson(frame(), 7, context({}, "none"))).toContain(secret);
    expect(frameJson(frame(), 7, context({}, "private"))).not.toContain("notes");
  });

  it("an interval is not an instant, no flags are null, the inner message counts", () => {
    const row = JSON.parse(
      frameJson(
        frame(
          { decoded: new Uint8Array(9) },
          { flags: -1, mark: { input: 0, first: 0, last: 0, when: between(5, 900) } },
        ),
        1,
        context(),
      ),
    );
    expect([row.at, row.exact, row.flags, row.bytes]).toEqual(["2026-11-30T22:00:00.005Z", false, null, 9]);
  });

  it.each([120, 80])("text at %i columns", (width) => {
    const text = frameText(frame(), 7, context({ width }));
    expect(text).toMatch(/^ *7 .*↓ RunSSE .*set_blob_args +1,234 1 +kv 3 set notes/);
    for (const odd of [frame(), frame({ kind: hostile, channel: hostile, says: [hostile.repeat(9)] })]) {
      const line = frameText(odd, 123456, context({ width })).trimEnd();
      expect(widthOf(line)).toBeLessThanOrEqual(width);
      expect(line).not.toMatch(/[\p{Cc}\u202e\ud800]/u);
    }
  });
});

describe("flows", () => {
  const rows = [
    exchange(0, "/agent.v1.AgentService/RunSSE", { end: "reset" }),
    exchange(1, `/odd${hostile}?token=plantedtoken`, { dialect: null, looks: null, status: 404 }),
    exchange(2, "/x", { request: null, kind: "bytes", status: null, dialect: "pi" }),
  ];
  const sample = analysis([turn()], { exchanges: rows });
  const report = (name: string, over = {}) =>
    render(flowReports.find((row) => row.name === name)!.render(sample, view(over)));

  it("text says who, how much, what is missing and why it stayed closed", () => {
    const text = report("text");
    expect(text).toMatch(/flow 0 {2}192\.0\.2\.1:50000 → 192\.0\.2\.2:443 {2}http1, roles by har/);
    expect(text).toMatch(/↓ 4,800 B \(1 gap, 20 B missing\)/);
    expect(text).toContain(
      "TLS 1.3 · TLS_AES_128_GCM_SHA256 · server name api2.example · ALPN h2 · stayed closed · no secret",
    );
    expect(text).toMatch(/RunSSE .*reset$/m);
    expect(text).not.toContain("plantedtoken");
    expect(text.replace(/\n/g, "")).not.toMatch(/[\p{Cc}\u202e\ud800]/u);
  });

  it.each([80, 120])("no line is wider than %i", (width) => {
    for (const line of report("text", { width }).split("\n")) expect(widthOf(line), line).toBeLessThanOrEqual(width);
  });

  it("JSON has the contract's keys", () => {
    const data = JSON.parse(report("json"));
    expect(Object.keys(data)).toEqual(["schema", "flows", "diagnostics"]);
    const [flow] = data.flows;
    expect(Object.keys(flow)).toEqual([
      "n",
      "client",
      "server",
      "rolesBy",
      "start",
      "end",
      "packets",
      "up",
      "down",
      "tls",
      "protocol",
      "exchanges",
    ]);
    expect(flow.down).toEqual({ bytes: 4800, sha256: "bb", gaps: [{ offset: 100, length: 20 }] });
    expect(flow.tls).toEqual({
      version: "1.3",
      cipher: "TLS_AES_128_GCM_SHA256",
      sni: "api2.example",
      alpn: "h2",
      decrypted: false,
      why: "no secret for this client random",
    });
    expect(flow.exchanges[0]).toMatchObject({
      n: 0,
      method: "POST",
      authority: "api2.example",
      path: "/agent.v1.AgentService/RunSSE",
      status: 200,
      dialect: "cursor",
      messages: 20,
      end: "reset",
    });
    expect(JSON.stringify(data)).not.toContain("plantedtoken");
  });
});

describe("blobs", () => {
  const sample = analysis();
  const list = (name: string, data = sample, over = {}) =>
    render(blobListReports.find((row) => row.name === name)!.render(data, view(over)));
  const tree = (name: string, data = sample, over = {}) =>
    render(blobTreeReports.find((row) => row.name === name)!.render(data, view(over)));

  it("lists each with size, verdict, type, source and referrer", () => {
    expect(list("text").split("\n").slice(0, 3)).toEqual([
      "id               bytes hash     type        came by      referred to by",
      "3f2a3f2a3f2a     1,234 match    UserMessage set          turns[0].checkpoints[0].turns[0]",
      "000000000000         – missing  unknown     –            turns[0].checkpoints[0].rootPromptMessages[0]",
    ]);
    expect(JSON.parse(list("json"))).toMatchObject({
      schema: "cursor-wire/blobs@1",
      totals: { sentBytes: 1234 },
      blobs: [{ bytes: 1234, hash: "match" }, { bytes: null }],
    });
  });

  it("draws the graph", () => {
    expect(tree("text")).toBe(
      "turn 1\ncheckpoint ConversationStateStructure 900 B inline  1 turn\n├ turns[0] 3f2a3f2a3f2a UserMessage 1,234 B match  Rename the helper\n└ rootPromptMessages[0] 000000000000 unknown missing\n\n",
    );
    expect(JSON.parse(tree("json")).trees[0].root.children).toHaveLength(2);
    expect(tree("mermaid")).toContain("n1 --> n2");
  });

  it("folds a long list, but shows what is missing in it", () => {
    const owner = turn();
    const base = ledger(owner);
    const { root } = base.trees()[0]!;
    const child = root.children[0]!;
    const children = Array.from({ length: 100 }, (_, i) => ({
      ...child,
      label: `turns[${i}]`,
      id: `${i}`.padStart(64, "0"),
      state: i === 50 ? "missing" : "match",
    }));
    const wide = analysis([owner], { blobs: { ...base, trees: () => [{ turn: owner, root: { ...root, children } }] } });
    const text = tree("text", wide);
    expect(text).toContain("turns[50]");
    expect(text).toContain("… 87 more (--all shows them)");
    expect(tree("text", wide, { all: true }).match(/turns\[\d+\]/g)).toHaveLength(100);
  });

  it("says so where there is nothing", () => {
    expect(list("text", analysis([]))).toContain("no blobs");
    expect(tree("text", analysis([]))).toContain("no checkpoint");
    expect(JSON.parse(list("json", analysis([]))).blobs).toEqual([]);
  });
});
