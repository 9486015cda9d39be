/** tshark as the reference. Where it is not installed the tests are skipped by name, but in CI they fail. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe } from "vitest";

export const hasTshark = spawnSync("tshark", ["--version"], { stdio: "ignore" }).status === 0;

/** `describe`, skipped only where tshark is missing and this is not CI. */
export const describeWithTshark = hasTshark || process.env.CI ? describe : describe.skip;

/** Standard output of a run over the capture. Exit status 2 comes with damaged files, whose first packets still count. */
export function tshark(file: Uint8Array, args: readonly string[], name = "capture.pcap"): string {
  const folder = mkdtempSync(join(tmpdir(), "cursor-wire-tshark-"));
  try {
    const path = join(folder, name);
    writeFileSync(path, file);
    const options = ["-n", "-r", path, "-o", "tcp.reassemble_out_of_order:TRUE", ...args];
    const run = spawnSync("tshark", options, { encoding: "utf8", maxBuffer: 1 << 30 });
    if (run.error !== undefined) throw run.error;
    return run.stdout;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Fields of every frame, one row each. */
export function tsharkFields(file: Uint8Array, fields: readonly string[], args: readonly string[] = []): string[][] {
  const options = [...args, "-T", "fields", "-E", "occurrence=l", ...fields.flatMap((field) => ["-e", field])];
  const text = tshark(file, options).replace(/\n$/, "");
  return text === "" ? [] : text.split("\n").map((line) => line.split("\t"));
}

export interface FollowedStream {
  /** The two ends as tshark names them: the sender of the stream's first packet, and the other. */
  readonly ends: readonly [string, string];
  readonly bytes: readonly [Buffer, Buffer];
  /** Bytes that tshark says are missing. */
  readonly missing: readonly [number, number];
}

/** Streams 0 to `count` - 1 as "Follow TCP stream" reassembles them. */
export function followStreams(file: Uint8Array, count: number): FollowedStream[] {
  if (count === 0) return [];
  const taps = Array.from({ length: count }, (_, n) => ["-z", `follow,tcp,raw,${n}`]).flat();
  const parts = tshark(file, ["-q", ...taps])
    .split(/^Node 0: /m)
    .slice(1);
  // Taps print in the opposite order of the command line.
  return parts.map(followed).reverse();
}

function followed(part: string): FollowedStream {
  const lines = part.split("\n");
  const bytes: [Buffer[], Buffer[]] = [[], []];
  const missing: [number, number] = [0, 0];
  for (const line of lines.slice(2)) {
    if (line.startsWith("=") || line.trim() === "") break;
    const side = line.startsWith("\t") ? 1 : 0;
    const data = Buffer.from(line.trim(), "hex");
    const gap = /^\[(\d+) bytes missing in capture file\]\0?$/.exec(data.toString("latin1"));
    if (gap === null) bytes[side].push(data);
    else missing[side] += Number(gap[1]);
  }
  return {
    ends: [lines[0]!.trim(), lines[1]!.replace(/^Node 1: /, "").trim()],
    bytes: [Buffer.concat(bytes[0]), Buffer.concat(bytes[1])],
    missing,
  };
}
