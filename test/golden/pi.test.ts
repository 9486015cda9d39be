import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { cursorWire } from "../cli/run.js";

const captures = fileURLToPath(new URL("../../fixtures/pi/captures/", import.meta.url));
const names = ["p01-basic", "p05-two-clients", "p12-server-faults"];
/** The same output wherever the project lies. */
const run = (args: readonly string[]) => cursorWire(args, { cwd: captures });

describe("golden reports of pi captures", () => {
  it.each(names)("%s: timeline, findings, diagram", async (name) => {
    const timeline = await run(["analyze", `${captures}${name}.pcap`]);
    await expect(timeline.out.replaceAll(captures, "")).toMatchFileSnapshot(`pi/${name}.txt`);
    const findings = await run(["check", `${captures}${name}.pcap`]);
    await expect(findings.out.replaceAll(captures, "")).toMatchFileSnapshot(`pi/${name}.check.txt`);
    const diagram = await run(["diagram", `${captures}${name}.pcap`]);
    await expect(diagram.out).toMatchFileSnapshot(`pi/${name}.mmd`);
    expect([timeline.code, findings.code, diagram.code]).toEqual([0, name.startsWith("p12") ? 1 : 0, 0]);
  });

  it("says nothing but the talk when run twice", async () => {
    const args = ["analyze", `${captures}p01-basic.pcap`, "--format", "json"];
    expect((await run(args)).out).toBe((await run(args)).out);
  });
});

interface Connection {
  readonly [key: string]: unknown;
  readonly requests: readonly { readonly [key: string]: unknown }[];
}

describe("one talk, two capture forms", () => {
  const comparable = (connection: Connection) => ({
    ...connection,
    flow: null,
    exchange: null,
    requests: connection.requests.map((request) => ({ ...request, place: null, durationMs: null })),
  });
  const connections = async (args: readonly string[]): Promise<Connection[]> => {
    const { out, code } = await run(["analyze", ...args, "--format", "json", "--no-redact"]);
    expect(code).toBe(0);
    return (JSON.parse(out) as { pi: { connections: Connection[] } }).pi.connections.map(comparable);
  };

  it.each([0, 1])("packets and stream dumps give the same connection %i", async (n) => {
    const folder = `${captures}p05-two-clients/`;
    const files = `client=${folder}client-${n}.bin,server=${folder}server-${n}.bin`;
    const packets = await connections([`${captures}p05-two-clients.pcap`]);
    const [dumped] = await connections(["--raw", `${files},index=${folder}index.jsonl`]);
    expect(dumped).toEqual(packets[n]);
    const [untimed] = await connections(["--raw", files]);
    expect(untimed).toEqual(packets[n]);
  });
});

describe("redaction in every output", () => {
  it.each([["analyze"], ["frames"], ["frames", "--format", "ndjson"], ["analyze", "--format", "json"], ["diagram"]])(
    "%s %s %s: content is hidden as private, names are not",
    async (...command) => {
      const [verb, ...rest] = command as [string, ...string[]];
      const { out } = await run([verb, `${captures}p01-basic.pcap`, ...rest, "--redact", "private"]);
      for (const text of ["héllo", "line one", "untitled"]) expect(out).not.toContain(text);
      expect(out).toContain("response");
    },
  );
});
