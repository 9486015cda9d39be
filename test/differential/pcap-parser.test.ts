/** Classic pcap against pcap-parser: an independent second reader of the one form that it knows (microseconds, undamaged). */
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { framed, pcap } from "../../fixtures/net/make/packets.mjs";
import { wholeTalk } from "../../fixtures/net/make/talk.mjs";
import { readPackets } from "../net/run.js";
import { shuffledTalks } from "./shuffled.js";

interface ParsedPacket {
  readonly header: {
    readonly timestampSeconds: number;
    readonly timestampMicroseconds: number;
    readonly capturedLength: number;
    readonly originalLength: number;
  };
  readonly data: Buffer;
}

interface Parser {
  on(event: "packet", listener: (packet: ParsedPacket) => void): void;
  on(event: "end", listener: () => void): void;
  on(event: "error", listener: (error: Error) => void): void;
}

const { parse } = createRequire(import.meta.url)("pcap-parser") as { parse(stream: Readable): Parser };

function parsed(file: Uint8Array): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const rows: string[] = [];
    const parser = parse(Readable.from([Buffer.from(file)], { objectMode: false }));
    parser.on("packet", ({ header, data }) => {
      const nanos = BigInt(header.timestampSeconds) * 1_000_000_000n + BigInt(header.timestampMicroseconds) * 1000n;
      rows.push(`${nanos} ${header.originalLength} ${data.toString("hex")}`);
    });
    parser.on("end", () => resolve(rows));
    parser.on("error", reject);
  });
}

const recorded = new URL("../../fixtures/net/recorded/", import.meta.url);
const packets = wholeTalk().map((bytes) => ({ bytes: framed(bytes) }));
const files: Record<string, Uint8Array> = {
  "little-endian": pcap(packets),
  "big-endian": pcap(packets, { big: true }),
  "many connections": shuffledTalks(4, 10),
  ...Object.fromEntries(
    readdirSync(recorded)
      .filter((name) => name.endsWith(".pcap"))
      .map((name) => [name, new Uint8Array(readFileSync(new URL(name, recorded)))]),
  ),
};

describe("classic pcap as pcap-parser has it", () => {
  it.each(Object.entries(files))("%s", async (_, file) => {
    const mine = readPackets(file).packets.map(
      ({ at, originalLength, bytes }) => `${at} ${originalLength} ${Buffer.from(bytes).toString("hex")}`,
    );
    expect(mine.length).toBeGreaterThan(0);
    expect(mine).toEqual(await parsed(file));
  });
});
