import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RawFiles, readRaw } from "../../src/capture/raw.js";
import { concat } from "../../src/core/bytes.js";
import { DiagnosticLog } from "../../src/core/diagnostic.js";
import { defaultLimits } from "../../src/core/limits.js";
import { isKnown } from "../../src/core/time.js";
import { type NeckEvent, newIds } from "../../src/model/exchange.js";

const talk = fileURLToPath(new URL("../../fixtures/pi/talk/", import.meta.url));
const files = { client: `${talk}client.bin`, server: `${talk}server.bin` };
const index = `${talk}index.jsonl`;
let folder = "";

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "raw-test-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function read(given: RawFiles, wantHashes = false) {
  const log = new DiagnosticLog(8);
  const events: NeckEvent[] = [];
  const sink = (event: NeckEvent) => events.push(event);
  const { inputs } = readRaw(given, {
    input: 3,
    limits: defaultLimits,
    note: log.note,
    sink,
    ids: newIds(),
    wantHashes,
  });
  const bytes = (direction: "up" | "down") =>
    concat(events.flatMap((event) => (event.kind === "bytes" && event.direction === direction ? [event.bytes] : [])));
  return { inputs, events, up: bytes("up"), down: bytes("down"), notes: log.list().map((row) => row.code) };
}

function written(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const lines = () => readFileSync(index, "utf8").trimEnd().split("\n");

describe("raw stream dumps", () => {
  it("give every byte, in the order and at the times of the index", () => {
    const { events, up, down, notes, inputs } = read({ ...files, index }, true);
    expect([...up]).toEqual([...readFileSync(files.client)]);
    expect([...down]).toEqual([...readFileSync(files.server)]);
    expect(notes).toEqual([]);
    const times = events.flatMap((event) => (event.kind === "bytes" ? [event.mark.when.earliest] : []));
    expect(times).toEqual([...times].sort((a, b) => Number(a - b)));
    expect(times[0]).toBe(10_000_000n);
    const ends = events.flatMap((event) => (event.kind === "end" ? [[event.direction, event.reason, event.by]] : []));
    expect(ends).toEqual([
      ["up", "complete", "client"],
      ["down", "complete", "client"],
    ]);
    const marks = events.flatMap((event) => (event.kind === "bytes" ? [event.mark] : []));
    expect(new Set(marks.map((mark) => mark.input))).toEqual(new Set([3, 4]));
    expect(marks.filter((mark) => mark.input === 3).map((mark) => mark.first)).toEqual([...Array(17).keys()]);
    expect(inputs.map((input) => [input.format, input.bytes])).toEqual([
      ["raw", up.length],
      ["raw", down.length],
      ["jsonl", readFileSync(index).length],
    ]);
    const flow = events.find((event) => event.kind === "flow-end")!;
    expect(flow).toMatchObject({ summary: { protocol: "pi", up: { bytes: up.length, sha256: inputs[0]!.sha256 } } });
  });

  it("come whole and without times where there is no index", () => {
    const { events, up, notes } = read(files);
    expect(up.length).toBe(readFileSync(files.client).length);
    expect(notes).toEqual([]);
    for (const event of events) {
      if (event.kind === "open") expect(isKnown(event.exchange.opened)).toBe(false);
      if (event.kind === "end") expect(event.reason).toBe("capture-ended");
    }
  });

  it("take the connection of an index that the file names number", () => {
    const other = (line: string) => JSON.stringify({ ...JSON.parse(line), conn: 7, t: JSON.parse(line).t + 1000 });
    const two = written("two.jsonl", `${[...lines(), ...lines().map(other)].join("\n")}\n`);
    const paths = { client: join(folder, "client-7.bin"), server: join(folder, "server-7.bin"), index: two };
    copyFileSync(files.client, paths.client);
    copyFileSync(files.server, paths.server);
    const { events, notes } = read(paths);
    expect(notes).toEqual([]);
    expect(events.find((event) => event.kind === "open")).toMatchObject({
      exchange: { opened: { earliest: 1_000_500_000n } },
    });
  });

  it("take the connection of an index that has the dumps' sizes", () => {
    const small = JSON.stringify({ t: 1, dir: "client", offset: 0, length: 5, conn: 9 });
    const { notes, events } = read({ ...files, index: written("sizes.jsonl", `${small}\n${lines().join("\n")}\n`) });
    expect(notes).toEqual([]);
    expect(events.find((event) => event.kind === "open")).toMatchObject({
      exchange: { opened: { earliest: 500_000n } },
    });
  });

  it("say so when the index is another one, and lose no byte", () => {
    const short = written("short.jsonl", `${lines().slice(0, 9).join("\n")}\n`);
    const fewer = read({ ...files, index: short });
    expect(fewer.notes).toEqual(["pi.index-misfit"]);
    expect(fewer.up.length).toBe(readFileSync(files.client).length);
    const long = lines().map((line) => line.replace(/"length":(\d+)/, (_, n) => `"length":${Number(n) + 1}`));
    const more = read({ ...files, index: written("long.jsonl", `${long.join("\n")}\n`) });
    expect(more.notes).toEqual(["pi.index-misfit"]);
    expect(more.down.length).toBe(readFileSync(files.server).length);
    const neither = [1, 2].map((conn) => JSON.stringify({ t: 1, dir: "client", offset: 0, length: 5, conn }));
    const none = read({ ...files, index: written("none.jsonl", neither.join("\n")) });
    expect(none.notes).toEqual(["pi.index-misfit"]);
    expect(none.up.length).toBe(readFileSync(files.client).length);
  });

  it("skip lines of the index that are none", () => {
    const odd = ["", "{", '{"t":"1"}', '{"t":1,"dir":"sideways","length":1}', '{"t":1,"event":"pause","conn":0}'];
    const { notes, up } = read({ ...files, index: written("odd.jsonl", `${[...odd, ...lines()].join("\n")}\n`) });
    expect(notes).toEqual(["pi.index-line"]);
    expect(up.length).toBe(readFileSync(files.client).length);
  });

  it("cannot begin without one of the dumps", () => {
    expect(() => read({ client: join(folder, "absent"), server: files.server })).toThrowError(/absent/);
  });
});
