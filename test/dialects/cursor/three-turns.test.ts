/** The worked sample of the protocol page (6.1): written by a script, read back through the whole pipeline. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { threeTurns } from "../../../fixtures/cursor/make/conversation.mjs";
import { truth } from "../../../fixtures/cursor/make/truth.mjs";
import { har } from "../../../fixtures/cursor/make/write-har.mjs";
import { pcap } from "../../../fixtures/cursor/make/write-pcap.mjs";
import { defaultLimits } from "../../../src/core/limits.js";
import type { Step } from "../../../src/model/conversation.js";
import { runPipeline } from "../../../src/pipeline.js";
import { plain, schemas } from "./support.js";

const fixture = (name: string) => fileURLToPath(new URL(`../../../fixtures/cursor/${name}`, import.meta.url));
const expected = JSON.parse(readFileSync(fixture("three-turns.truth.json"), "utf8"));
// biome-ignore lint/suspicious/noExplicitAny: JSON documents
const runs: any[] = Object.values(expected.runs);

function analysed(name: string) {
  const analysis = runPipeline({
    paths: [fixture(name)],
    keylogs: [],
    schemas,
    limits: defaultLimits,
    wantHashes: false,
    wantFrames: false,
    wantSteps: false,
  });
  // biome-ignore lint/suspicious/noExplicitAny: JSON objects, compared key by key
  const turns: any[] = analysis.turns.map((turn) => plain(turn.json()));
  return { analysis, turns };
}

const captures = { har: analysed("three-turns.har"), pcap: analysed("three-turns.pcap") };

it("the fixtures are what the script writes", () => {
  expect(readFileSync(fixture("three-turns.har")).equals(har(threeTurns()))).toBe(true);
  expect(readFileSync(fixture("three-turns.pcap")).equals(pcap(threeTurns()))).toBe(true);
  expect(expected).toEqual(JSON.parse(JSON.stringify(truth(threeTurns()))));
});

for (const [name, { analysis, turns }] of Object.entries(captures)) {
  describe(`read from the ${name}`, () => {
    it("one conversation with its three requests", () => {
      expect(analysis.conversations.map(({ id }) => id)).toEqual(Object.keys(expected.conversations));
      expect(turns.map((turn) => [turn.requestId, turn.index])).toEqual(runs.map((run, n) => [run.request_id, n]));
    });

    // protocols/cursor.md 6.1, row by row.
    it("the table of the sample", () => {
      const sets = turns.map((turn) => turn.kv.filter((op: { op: string }) => op.op === "set"));
      const gets = turns.map((turn) => turn.kv.filter((op: { op: string }) => op.op === "get"));
      expect({
        durationMs: turns.map((turn) => turn.durationMs),
        frames: turns.slice(0, 2).map((turn) => turn.frames.total),
        lastFlags: turns.map((turn) => turn.frames.byFlags["2"]),
        runRequests: turns.map((turn) => turn.up.run_request),
        heartbeats: turns.map((turn) => turn.up.client_heartbeat ?? 0),
        kvResults: turns.map(
          (turn) => turn.appends.filter((item: { kind: string }) => item.kind.startsWith("kv_client_message")).length,
        ),
        appends: turns.map((turn) => turn.appends.length),
        gets: gets.map((list) => list.map((op: { bytes: number; hash: string }) => [op.bytes, op.hash])),
        sets: sets.map((list) => [list.length, list.filter((op: { hash: string }) => op.hash === "match").length]),
        kvIds: turns.map((turn) => turn.kv.map((op: { id: number }) => op.id).join()),
        exec: turns.map((turn) => turn.exec.map((call: { kind: string }) => call.kind)),
        earlierState: analysis.turns.map((turn) =>
          turn.steps.some((step) => step.kind === "run_request" && /after/.test(JSON.stringify(step.says))),
        ),
      }).toEqual({
        durationMs: [24128, 3294, 6420],
        frames: [24, 24],
        lastFlags: [1, 1, 1],
        runRequests: [1, 1, 1],
        heartbeats: [4, 0, 1],
        kvResults: [9, 8, 15],
        appends: [14, 9, 23],
        gets: [[], [[29974, "match"]], [[59145, "match"]]],
        sets: [
          [9, 9],
          [7, 7],
          [14, 14],
        ],
        kvIds: ["0,1,2,3,4,5,6,7,8", "0,1,2,3,4,5,6,7", "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14"],
        exec: [[], [], ["shell_stream_args", "read_args"]],
        earlierState: [false, true, true],
      });
    });

    it("turn 1: seqno 0 asks, 1..4 are heartbeats, 5..13 answer", () => {
      const kinds = turns[0].appends.map((item: { seqno: number; kind: string }) => `${item.seqno} ${item.kind}`);
      expect(kinds.slice(0, 6)).toEqual([
        "0 run_request",
        "1 client_heartbeat",
        "2 client_heartbeat",
        "3 client_heartbeat",
        "4 client_heartbeat",
        "5 kv_client_message.set_blob_result",
      ]);
      expect(kinds.at(-1)).toBe("13 kv_client_message.set_blob_result");
    });

    it.each(runs.map((run, n) => [n + 1, run]))("turn %i says what was sent", (n, run) => {
      const turn = turns[n - 1];
      expect(turn.down).toEqual(run.server_messages);
      expect(turn.up).toEqual(run.client_messages);
      expect(turn.frames.byFlags).toEqual(run.server_frames_by_flag);
      expect(
        turn.appends.map((item: { seqno: number; kind: string; bytes: number }) => [item.seqno, item.kind, item.bytes]),
      ).toEqual(run.append_seqno);
      expect([turn.text, turn.thinking, turn.prompt, turn.model]).toEqual([
        run.text,
        run.thinking,
        run.prompt,
        run.model,
      ]);
      expect(
        turn.checkpoints.map((state: { turns: string[]; rootPromptMessages: string[] }) => [
          state.turns,
          state.rootPromptMessages,
        ]),
      ).toEqual(
        run.checkpoints.map((state: { turns: string[]; root_prompt_messages_json: string[] }) => [
          state.turns,
          state.root_prompt_messages_json,
        ]),
      );
      expect(turn.checkpoints.every((state: { closure: string }) => state.closure === "closed")).toBe(true);
      expect([turn.outcome, turn.open, turn.loss]).toEqual(["completed", [], []]);
    });

    it("every set and get is answered, all hashes match", () => {
      const all = turns.flatMap((turn) => turn.kv);
      expect(all.map((op) => `${op.hash} ${op.answer}`)).toEqual(all.map(() => "match ok"));
      expect(all).toHaveLength(32);
    });

    it("no finding, and nothing but notes", () => {
      expect(analysis.findings.filter(({ severity }) => severity === "error")).toEqual([]);
      expect(analysis.diagnostics.filter(({ severity }) => severity !== "info")).toEqual([]);
    });
  });
}

/** Contract: what two captures of one talk may differ in. */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== "object" || value === null) return value;
  const free = new Set(["start", "end", "durationMs", "minGapMs", "maxGapMs", "place", "http", "recovered"]);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !free.has(key))
      .map(([key, item]) => [key, comparable(item)]),
  );
}

it("HAR and packets of one talk give the same turns", () => {
  expect(comparable(captures.pcap.turns)).toEqual(comparable(captures.har.turns));
});

it("times are exact with packets and bounded in a HAR", () => {
  const step = (name: keyof typeof captures) =>
    captures[name].analysis.turns[0]!.steps.find(({ kind }) => kind === "interaction_update.turn_ended")!;
  const packets = step("pcap").when;
  const bounded = step("har").when;
  expect(packets.earliest).toBe(packets.latest);
  expect(bounded.earliest <= packets.earliest && packets.earliest <= bounded.latest).toBe(true);
  expect(bounded.earliest < bounded.latest).toBe(true);
});

it("every bound of the HAR holds the time that the packets have", () => {
  const wrong: string[] = [];
  let compared = 0;
  for (const [n, turn] of captures.har.analysis.turns.entries()) {
    const exact = new Map<string, Step[]>();
    for (const step of captures.pcap.analysis.turns[n]!.steps)
      exact.set(stepKey(step), [...(exact.get(stepKey(step)) ?? []), step]);
    for (const step of turn.steps) {
      const [other, ...more] = exact.get(stepKey(step)) ?? [];
      // A HAR counts milliseconds, and the packets of a message end a little later.
      const slack = 1_000_000n;
      if (other === undefined || more.length > 0 || step.count > 1) continue;
      compared++;
      if (step.when.earliest > other.when.earliest + slack || step.when.latest < other.when.earliest - slack)
        wrong.push(stepKey(step));
    }
  }
  expect(wrong).toEqual([]);
  expect(compared).toBeGreaterThan(60);
});

function stepKey(step: { kind: string; direction: string; bytes: number; says: unknown }): string {
  return `${step.direction} ${step.kind} ${step.bytes} ${JSON.stringify(step.says)}`;
}
