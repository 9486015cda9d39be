/** `frames` on calls that no dialect claims: how a call ended is said, credentials in trailers stay hidden. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { pcap } from "../../fixtures/net/make/packets.mjs";
import { onEthernet, packet, syn, synAck } from "../../fixtures/net/make/talk.mjs";
import { cursorWire } from "../cli/run.js";

const folder = mkdtempSync(join(tmpdir(), "cursor-wire-unclaimed-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const wide = { outTty: true, columns: 200, env: { NO_COLOR: "1" } };

const frame = (flags: number, text: string) => {
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(Buffer.byteLength(text), 1);
  return Buffer.concat([head, Buffer.from(text)]);
};

/** A HAR with one call of an unknown service and this answer. */
function har(type: string, body: Buffer, path = "x.v1.Other/Call"): string {
  const file = join(folder, "call.har");
  const headers = [{ name: "Content-Type", value: type }];
  const entry = {
    startedDateTime: "2026-01-01T00:00:00.000Z",
    time: 1,
    request: {
      method: "POST",
      url: `https://other.example.test/${path}`,
      httpVersion: "HTTP/2",
      headers: [{ name: "content-type", value: type }],
      queryString: [],
      cookies: [],
      headersSize: -1,
      bodySize: 0,
    },
    response: {
      status: 200,
      statusText: "",
      httpVersion: "HTTP/2",
      headers,
      cookies: [],
      content: { size: body.length, mimeType: type, text: body.toString("base64"), encoding: "base64" },
      redirectURL: "",
      headersSize: -1,
      bodySize: body.length,
    },
    cache: {},
    timings: { send: 0, wait: 1, receive: 0 },
  };
  writeFileSync(
    file,
    JSON.stringify({ log: { version: "1.2", creator: { name: "test", version: "1" }, entries: [entry] } }),
  );
  return file;
}

const rows: [name: string, type: string, body: Buffer, says: RegExp][] = [
  ["a Connect stream that ended well", "application/connect+proto", frame(2, "{}"), /ended ok/],
  [
    "a Connect stream with an error",
    "application/connect+proto",
    frame(2, '{"error":{"code":"unavailable","message":"try again"}}'),
    /ended, error unavailable: try again/,
  ],
  ["an EndStream that is no JSON", "application/connect+proto", frame(2, "[]"), /ended, the payload is no JSON object/],
  ["gRPC-Web trailers", "application/grpc-web+proto", frame(0x80, "grpc-status: 0\r\n"), /ended ok/],
  [
    "gRPC-Web trailers of a failure",
    "application/grpc-web+proto",
    frame(0x80, "grpc-status: 5\r\ngrpc-message: no%20row\r\n"),
    /ended, status 5 not_found: no row/,
  ],
  ["a server-sent event", "text/event-stream", Buffer.from("event: ping\ndata: hello\n\n"), /event ping, 5 characters/],
  ["a comment of an event stream", "text/event-stream", Buffer.from(": keep-alive\n\n"), /comment/],
  [
    "the error of a unary call",
    "application/json",
    Buffer.from('{"code":"not_found","message":"no row"}'),
    /error not_found: no row/,
  ],
];

describe("messages nobody claims", () => {
  it.each(rows)("%s", async (_name, type, body, says) => {
    const { code, out } = await cursorWire(["frames", har(type, body), "--format", "text"], wide);
    expect(code).toBe(0);
    expect(out).toMatch(says);
  });

  it.each([
    ["Connect", "application/connect+proto", frame(2, '{"metadata":{"set-cookie":["sid=Invented-Cookie-Value"]}}')],
    [
      "gRPC-Web",
      "application/grpc-web+proto",
      frame(0x80, "grpc-status: 0\r\nset-cookie: sid=Invented-Cookie-Value\r\n"),
    ],
  ])("credentials in the trailers of %s are hidden", async (_name, type, body) => {
    for (const format of ["text", "ndjson"]) {
      const { out } = await cursorWire(["frames", har(type, body), "--format", format]);
      expect(out).not.toContain("Invented-Cookie-Value");
      expect(out.length).toBeGreaterThan(20);
    }
  });

  it.each([
    ["an answer that hands out tokens", "oauth/token", '{"code":"not_found","message":"Invented-Grant-Value"}'],
    ["a code that is no Connect code", "x.v1.Other/Call", '{"code":"Invented-Grant-Value"}'],
  ])("%s says nothing", async (_name, path, body) => {
    const { out } = await cursorWire(["frames", har("application/json", Buffer.from(body), path)], wide);
    expect(out).toContain(`/${path}`);
    expect(out).not.toMatch(/Invented-Grant-Value|error/);
  });

  it("a code that is no Connect code is read as unknown", async () => {
    const body = frame(2, '{"error":{"code":"Invented-Code"}}');
    const { out } = await cursorWire(["frames", har("application/connect+proto", body)], wide);
    expect(out).toContain("ended, error unknown");
    expect(out).not.toContain("Invented-Code");
  });

  it("--redact private hides what the other side said", async () => {
    const { out } = await cursorWire(
      ["frames", har(...(rows[1]!.slice(1, 3) as [string, Buffer])), "--redact", "private"],
      wide,
    );
    expect(out).toContain("unavailable");
    expect(out).not.toContain("try again");
  });
});

describe("what no dialect has seen enough of is nobody's", () => {
  const rpc = (value: object) => `${JSON.stringify({ jsonrpc: "2.0", ...value })}\n`;
  const begin = [syn(), synAck(), packet("c", 0, "")];
  const post = "POST /servlets/x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 9\r\n\r\n";
  const socket = "GET /live HTTP/1.1\r\nHost: a.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
  const switched = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
  const login = rpc({ id: 1, method: "login", params: { login: "an-invented-wallet" } });
  const job = rpc({ id: null, method: "job", params: { blob: "0f".repeat(40) } });
  const hello = rpc({ id: 1, method: "initialize", params: { protocolVersion: 1 } });
  const welcome = rpc({ id: 1, result: { protocolVersion: 1, agentCapabilities: {} } });

  it.each([
    [
      "a connection of which no byte was captured",
      [...begin, packet("c", 40, "", { flags: "FA" }), packet("s", 0, "", { acked: 41 })],
      0,
    ],
    [
      "a request without its body and its answer",
      [...begin, packet("c", 0, post), packet("s", 0, "", { flags: "R" })],
      0,
    ],
    [
      "a WebSocket without a frame",
      [...begin, packet("c", 0, socket), packet("s", 0, switched, { acked: socket.length })],
      0,
    ],
    [
      "another protocol that is JSON-RPC",
      [...begin, packet("c", 0, login), packet("s", 0, job, { acked: login.length })],
      0,
    ],
    ["but not the agent's", [...begin, packet("c", 0, hello), packet("s", 0, welcome, { acked: hello.length })], 1],
  ])("%s", async (_name, packets, claimed) => {
    const file = join(folder, "odd.pcap");
    writeFileSync(file, pcap(onEthernet(packets)));
    const { out } = await cursorWire(["flows", file, "--format", "json"]);
    const { flows } = JSON.parse(out) as { flows: { exchanges: { dialect: string | null }[] }[] };
    const dialects = flows.flatMap((flow) => flow.exchanges.map(({ dialect }) => dialect));
    expect(dialects.length).toBe(1);
    expect(dialects.filter((dialect) => dialect !== null).length).toBe(claimed);
  });
});
