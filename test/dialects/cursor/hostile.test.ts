/** Shapes that would be slow if anything were quadratic: each ends within the test's time, and says what it should. */
import { describe, expect, it } from "vitest";
import { threeTurns } from "../../../fixtures/cursor/make/conversation.mjs";
import { sha256 } from "../../../fixtures/cursor/make/ids.mjs";
import { encode } from "../../../fixtures/cursor/make/proto.mjs";
import type { Run } from "../../../fixtures/cursor/make/script.mjs";
import { run, runTalk, type Sent, sentOf } from "./support.js";

const many = 30_000;

function bare(change: (run: Run) => void): ReturnType<typeof runTalk> {
  const talk = threeTurns();
  const [first] = talk.runs;
  first!.frames = [];
  first!.appends = first!.appends.slice(0, 1);
  change(first!);
  return runTalk({ ...talk, runs: [first!] });
}

const kvAsk = (id: number) => ({ kv_server_message: { id, get_blob_args: { blob_id: sha256(Buffer.from("x")) } } });
const kvAnswer = (id: number) => ({ kv_client_message: { id, get_blob_result: {} } });

describe("many of one thing", () => {
  it("asks and answers that all have id 0", () => {
    const { turns } = bare((first) => {
      first.transport = "Run";
      for (let n = 0; n < many; n++) {
        first.frames.push({ at: 10, message: kvAsk(0) });
        first.appends.push({ at: 20, latency: 1, seqno: n + 1, message: kvAnswer(0) });
      }
    });
    expect(turns[0].kv.filter((op: { answer: string }) => op.answer === "not_found")).toHaveLength(many);
  });

  it("messages of one execution", () => {
    const { turns } = bare((first) => {
      first.transport = "Run";
      first.frames.push({ at: 5, message: { exec_server_message: { id: 1, shell_stream_args: { command: "yes" } } } });
      for (let n = 0; n < many; n++)
        first.appends.push({
          at: 20,
          latency: 1,
          seqno: n + 1,
          message: { exec_client_message: { id: 1, shell_stream: { stdout: { data: "y\n" } } } },
        });
    });
    expect(turns[0].exec).toEqual([expect.objectContaining({ answer: "shell_stream", messages: many, closed: false })]);
  });

  it("updates of one tool call, alternating", () => {
    const { turns } = bare((first) => {
      for (let n = 0; n < many; n++)
        first.frames.push({
          at: 5,
          message: {
            interaction_update:
              n % 2 ? { token_delta: { tokens: 1 } } : { partial_tool_call: { call_id: "c", args_text_delta: "x" } },
          },
        });
    });
    expect(turns[0].frames.total).toBe(many + 1);
    expect(turns[0].toolCalls).toHaveLength(1);
  });

  it("appends under one seqno, with and without times", () => {
    const talk = threeTurns();
    const beat = sentOf(talk).find(({ exchange }) => exchange.requestBody.length === 48)!;
    const repeated: Sent[] = Array.from({ length: 4000 }, () => beat);
    for (const untimed of [false, true]) {
      const { turns } = run([...sentOf(talk), ...repeated], { untimed });
      expect(turns[0].appends).toHaveLength(4014);
    }
  });

  it("downlinks under one request id", () => {
    const talk = threeTurns();
    const stream = sentOf(talk).find(({ exchange }) => exchange.kind === "stream")!;
    const streams: Sent[] = Array.from({ length: 400 }, (_, n) => ({
      exchange: {
        ...stream.exchange,
        start: stream.exchange.start + n * 100_000,
        end: stream.exchange.end + n * 100_000,
      },
    }));
    expect(run(streams).turns.map((turn) => turn.epoch)).toEqual(streams.map((_, n) => n));
  });

  it("a chain of states each of which names one more blob that nobody sent", () => {
    const length = 3000;
    const { turns } = bare((first) => {
      let below = sha256(Buffer.from("the end"));
      let top = below;
      for (let n = 0; n < length; n++) {
        const user = encode("agent.v1.UserMessage", { text: "x", conversation_state_blob_id: below });
        const turn = encode("agent.v1.ConversationTurnStructure", {
          agent_conversation_turn: { user_message: sha256(user), steps: [sha256(Buffer.from(`missing ${n}`))] },
        });
        const state = encode("agent.v1.ConversationStateStructure", { turns: [sha256(turn)] });
        for (const blob_data of [user, turn, state])
          first.frames.push({
            at: 5,
            message: {
              kv_server_message: { id: first.frames.length, set_blob_args: { blob_id: sha256(blob_data), blob_data } },
            },
          });
        below = sha256(state);
        top = sha256(turn);
      }
      first.frames.push({
        at: 6,
        message: { conversation_checkpoint_update: { turns: [sha256(Buffer.from("top")), top] } },
      });
    });
    expect(turns[0].checkpoints[0].closure).toBe("open");
    expect(turns[0].checkpoints[0].missing.length).toBeGreaterThan(1000);
  });
});
