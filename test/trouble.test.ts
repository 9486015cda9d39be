/** What networks and recorders do to a capture, one at a time: no throw, no turn that was not there, the loss called by name. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { analyzeBytes, analyzeSources, essence, turnKeys } from "./dialect-kit.js";

const path = "fixtures/cursor/three-turns.pcap";
const bytes = readFileSync(path);
const head = bytes.subarray(0, 24);
const packets = split(bytes);
const whole = analyzeSources({ paths: [path] });
const known = turnKeys(whole);

/** Records of a little-endian classic pcap, header included. */
function split(file: Buffer): Buffer[] {
  const out: Buffer[] = [];
  for (let at = 24; at + 16 <= file.length; ) {
    const length = 16 + file.readUInt32LE(at + 8);
    out.push(file.subarray(at, at + length));
    at += length;
  }
  return out;
}

const capture = (records: readonly Buffer[]) => Buffer.concat([head, ...records]);

/** Every n-th in a quick run, every one in CI. */
const stride = process.env.CI ? 1 : 9;
const sample = packets.map((_, i) => i).filter((i) => i % stride === 0);

function judge(records: readonly Buffer[], what: string): NonNullable<ReturnType<typeof analyzeBytes>> {
  const analysis = analyzeBytes(capture(records));
  expect(analysis, what).not.toBeNull();
  for (const key of turnKeys(analysis!)) expect(known, what).toContain(key);
  const wrong = analysis!.findings.filter(({ severity, evidence }) => severity === "error" && evidence === "exact");
  expect(
    wrong.map(({ rule }) => rule),
    what,
  ).toEqual([]);
  return analysis!;
}

const payload = (record: Buffer) => record.length - 16 - 14 - 20 - ((record[16 + 14 + 20 + 12]! >> 4) << 2);

describe("a recorded conversation in trouble", () => {
  test(`each of ${packets.length} packets dropped: told the same, or its loss is named`, () => {
    for (const i of sample) {
      const analysis = judge(
        packets.filter((_, at) => at !== i),
        `packet ${i + 1} dropped`,
      );
      if (payload(packets[i]!) <= 0) continue;
      const named = analysis.diagnostics.some(({ severity }) => severity !== "info");
      expect(
        named || JSON.stringify(essence(analysis)) === JSON.stringify(essence(whole)),
        `packet ${i + 1} dropped`,
      ).toBe(true);
    }
  });

  test("neighbours swapped: told the same", () => {
    for (const i of sample.slice(0, -1)) {
      const records = [...packets];
      [records[i], records[i + 1]] = [records[i + 1]!, records[i]!];
      expect(
        essence(judge(records, `packets ${i + 1} and ${i + 2} swapped`)),
        `packets ${i + 1} and ${i + 2} swapped`,
      ).toEqual(essence(whole));
    }
  });

  test("every packet twice: told the same", () => {
    expect(
      essence(
        judge(
          packets.flatMap((record) => [record, record]),
          "all doubled",
        ),
      ),
    ).toEqual(essence(whole));
  });

  test("shuffled within windows: told the same", () => {
    for (const width of [3, 5, 8]) {
      const records: Buffer[] = [];
      // The handshake stays in front: it says who is the client.
      for (let at = 0; at < packets.length; at += width) records.push(...packets.slice(at, at + width).reverse());
      const analysis = judge(records, `windows of ${width} reversed`);
      expect(turnKeys(analysis), `windows of ${width} reversed`).toEqual(known);
    }
  });

  test("packets cut by a snap length: the loss is named", () => {
    for (const length of [60, 96, 128, 256, 512, 1024]) {
      const cut = packets.map((record) => {
        if (record.length <= 16 + length) return record;
        const short = Buffer.from(record.subarray(0, 16 + length));
        short.writeUInt32LE(length, 8);
        return short;
      });
      const analysis = judge(cut, `snap length ${length}`);
      const anyCut = cut.some((record, i) => record.length < packets[i]!.length && payload(packets[i]!) > 0);
      expect(!anyCut || analysis.diagnostics.some(({ severity }) => severity !== "info"), `snap length ${length}`).toBe(
        true,
      );
    }
  });

  test("begun at any packet: nothing invented", () => {
    for (const i of sample) judge(packets.slice(i), `begun at packet ${i + 1}`);
  });

  test("stopped after any packet: nothing invented", () => {
    for (const i of sample) judge(packets.slice(0, i + 1), `stopped after packet ${i + 1}`);
  });
});
