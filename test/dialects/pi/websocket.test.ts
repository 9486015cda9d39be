import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { chunks, talk } from "../../../fixtures/pi/make/talk.mjs";
import { cursorWire } from "../../cli/run.js";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "pi-websocket-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The good talk as a browser would record it over a WebSocket; every message is cut in two. */
function har(): string {
  const start = Date.UTC(2030, 0, 1) / 1000;
  const messages = chunks(talk()).flatMap(({ side, ms, bytes }) => {
    const half = bytes.length >> 1;
    return [bytes.subarray(0, half), bytes.subarray(half)].map((part) => ({
      type: side === "client" ? "send" : "receive",
      time: start + ms / 1000,
      opcode: 2,
      data: Buffer.from(part).toString("base64"),
    }));
  });
  const empty = { cookies: [], headersSize: -1, bodySize: 0, httpVersion: "HTTP/1.1" };
  const upgrade = [
    { name: "Upgrade", value: "websocket" },
    { name: "Connection", value: "Upgrade" },
  ];
  const entry = {
    startedDateTime: new Date(start * 1000).toISOString(),
    time: 1000,
    request: { ...empty, method: "GET", url: "ws://agent.example/pi", headers: upgrade, queryString: [] },
    response: {
      ...empty,
      status: 101,
      statusText: "",
      headers: upgrade,
      content: { size: 0, mimeType: "" },
      redirectURL: "",
    },
    cache: {},
    timings: { send: 0, wait: 1, receive: 0 },
    _resourceType: "websocket",
    _webSocketMessages: messages,
  };
  return JSON.stringify({ log: { version: "1.2", creator: { name: "test", version: "1" }, entries: [entry] } });
}

it("pi inside WebSocket messages of a HAR is the same talk", async () => {
  const path = join(folder, "talk.har");
  writeFileSync(path, har());
  const { out, code, err } = await cursorWire(["analyze", path, "--format", "json", "--no-redact"]);
  expect(err).not.toContain("internal");
  expect(code).toBe(0);
  const analysis = JSON.parse(out);
  const [connection] = analysis.pi.connections;
  expect(connection.client.frames).toEqual({ hello: 1, request: 15, cancel: 1 });
  expect(connection.server.frames).toEqual({ hello: 1, response: 15, service_update: 11, attachment: 3 });
  expect(connection.handshake).toBe("ok");
  expect(connection.requests.map((row: { answer: string }) => row.answer)).not.toContain("none");
  expect(analysis.findings).toEqual([]);
  expect(analysis.turns.map((turn: { transport: string }) => turn.transport)).toEqual(
    new Array(3).fill("pi over WebSocket"),
  );
  const place = connection.requests[3].place;
  const shown = await cursorWire(["show", path, place]);
  expect(shown.code).toBe(0);
  expect(shown.out).toContain("demo.clock");
});
