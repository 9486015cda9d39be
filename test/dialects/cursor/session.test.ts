import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { threeTurns } from "../../../fixtures/cursor/make/conversation.mjs";
import { exchanges } from "../../../fixtures/cursor/make/http.mjs";
import { uuid } from "../../../fixtures/cursor/make/ids.mjs";
import { append, frame, remove, renumber } from "../../../fixtures/cursor/make/mutations.mjs";
import { encode } from "../../../fixtures/cursor/make/proto.mjs";
import { envelope, type Run, type Talk } from "../../../fixtures/cursor/make/script.mjs";
import { type Printable, Sensitive } from "../../../src/core/printable.js";
import { cursorRules } from "../../../src/dialects/cursor/checks/index.js";
import { type Outcome, run, runTalk, type Sent, schemas, sentOf } from "./support.js";

/** Everything but places, which count exchanges in order of the file. */
function placeless(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(placeless);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => (key === "place" ? [] : [[key, placeless(item)]])),
  );
}

function changed(change: (runs: Run[], talk: Talk) => void): Talk {
  const talk = threeTurns();
  change(talk.runs, talk);
  return talk;
}

/** Printable -> protobuf-JSON with base64 bytes. */
function jsonOf(value: Printable): unknown {
  if (value instanceof Sensitive) return jsonOf(value.value as Printable);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (Array.isArray(value)) return value.map(jsonOf);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, jsonOf(item)]));
}

const codes = (outcome: Outcome) => outcome.diagnostics.map(({ code }) => code);
const warnings = (outcome: Outcome) =>
  outcome.diagnostics.filter(({ severity }) => severity !== "info").map(({ code }) => code);
const ends = (outcome: Outcome) => outcome.turns.map((turn) => turn.outcome);
const severityOf = (id: string) => cursorRules.find((rule) => rule.id === id)?.severity;
const good = runTalk(threeTurns());

describe("order of input", () => {
  it("does not matter", () => {
    const sent = sentOf(threeTurns());
    const indices = sent.map((_, n) => n);
    fc.assert(
      fc.property(fc.shuffledSubarray(indices, { minLength: indices.length }), (order) => {
        const shuffled = run(order.map((n) => sent[n]!));
        expect(placeless(shuffled.turns)).toEqual(placeless(good.turns));
      }),
      { numRuns: 8 },
    );
  });

  it("without dates is the file's, and gives the same turns", () => {
    const untimed = runTalk(threeTurns(), { untimed: true });
    const strip = (turns: unknown) =>
      JSON.parse(
        JSON.stringify(placeless(turns), (key, value) =>
          /^(start|end|durationMs|client|minGapMs|maxGapMs)$/.test(key) ? undefined : value,
        ),
      );
    expect(strip(untimed.turns)).toEqual(strip(good.turns));
    expect(untimed.turns.map((turn) => turn.start)).toEqual(untimed.turns.map(() => ({ at: null, exact: false })));
  });

  it("in packets is that of time, and gives the same turns", () => {
    const packets = runTalk(threeTurns(), { recorder: "packets" });
    const strip = (turns: unknown) =>
      JSON.parse(
        JSON.stringify(placeless(turns), (key, value) =>
          /^(end|durationMs|minGapMs|maxGapMs)$/.test(key) ? undefined : value,
        ),
      );
    expect(strip(packets.turns)).toEqual(strip(good.turns));
    expect(packets.turns[0].kv.map((op: { durationMs: number }) => op.durationMs)).toEqual(Array(9).fill(14));
  });
});

describe("several inputs", () => {
  const sent = sentOf(threeTurns());
  const second = (list: readonly Sent[]): Sent[] => list.map((each) => ({ ...each, input: 1 }));

  it("what both hold counts once", () => {
    const both = run([...sent, ...second(sent)]);
    expect(placeless(both.turns)).toEqual(placeless(good.turns));
    expect(codes(both)).toContain("cursor.seen-twice");
    expect(warnings(both)).toEqual([]);
  });

  it("two halves are one talk", () => {
    const halves = run([...sent.filter((_, n) => n % 2 === 0), ...second(sent.filter((_, n) => n % 2 === 1))]);
    expect(placeless(halves.turns)).toEqual(placeless(good.turns));
  });

  it("of a whole and a cut copy of a stream the whole one stays", () => {
    const cut = second(sent).map((each) =>
      each.exchange.kind === "stream" ? { ...each, down: { gap: "truncated-by-producer", keep: 900 } as const } : each,
    );
    for (const both of [run([...cut, ...sent]), run([...sent, ...cut])]) {
      expect(ends(both)).toEqual(["completed", "completed", "completed"]);
      expect(both.turns).toHaveLength(3);
    }
  });

  it("a repeat inside one input stays a repeat", () => {
    const beat = sent.find(({ exchange }) => exchange.requestBody.length === 48)!;
    const repeated = run([...sent, beat]);
    expect(repeated.turns[0].appends).toHaveLength(15);
    expect(repeated.violations.map(({ rule }) => rule)).toContain("cursor/S03");
  });
});

describe("outcomes, in the contract's order", () => {
  const cancel = { conversation_action: { cancel_action: { reason: "the user pressed escape" } } };
  const streamOf = (talk: Talk, n: number) => (each: Sent) =>
    each.exchange.kind === "stream" && each.exchange === streamIn(talk, n, each);
  const streamIn = (talk: Talk, n: number, each: Sent) =>
    each.exchange.requestHeaders["x-request-id"] === talk.runs[n]!.requestId ? each.exchange : undefined;
  const damage = (talk: Talk, down: Sent["down"] & object) =>
    sentOf(talk).map((each) => (streamOf(talk, 1)(each) ? { ...each, down } : each));

  it.each<[string, string, Talk, { code: string; message: string } | null]>([
    ["completed", "completed", threeTurns(), null],
    [
      "a cancel_action, whatever came after it",
      "canceled",
      changed(([, second]) => {
        second!.appends.push({ at: 3000, latency: 10, seqno: 9, message: cancel });
      }),
      null,
    ],
    [
      "EndStream error canceled",
      "canceled",
      changed(([, second]) => {
        second!.end!.json = { error: { code: "canceled", message: "stopped" } };
      }),
      { code: "canceled", message: "stopped" },
    ],
    [
      "EndStream with another error",
      "failed",
      changed(([, second]) => {
        second!.end!.json = { error: { code: "unavailable", message: "try again" } };
      }),
      { code: "unavailable", message: "try again" },
    ],
    [
      "EndStream error null is success",
      "completed",
      changed(([, second]) => {
        second!.end!.json = { error: null };
      }),
      null,
    ],
    [
      "clean EndStream without turn_ended",
      "dropped",
      changed(([, second]) => remove(second!.frames, frame(second!, "interaction_update.turn_ended"))),
      null,
    ],
    [
      "the body ends without EndStream",
      "truncated",
      changed(([, second]) => {
        second!.end = null;
      }),
      null,
    ],
    [
      "an error before the stream began",
      "failed",
      changed(([, second]) => {
        second!.status = 503;
        second!.responseHeaders = { "content-type": "application/json" };
        second!.responseBody = Buffer.from('{"code":"unavailable","message":"no capacity"}');
      }),
      { code: "unavailable", message: "no capacity" },
    ],
    [
      "a status without a Connect error",
      "failed",
      changed(([, second]) => {
        second!.status = 403;
        second!.responseHeaders = { "content-type": "text/html" };
        second!.responseBody = Buffer.from("<html>");
      }),
      { code: "permission_denied", message: "HTTP 403" },
    ],
  ])("%s: %s", (_what, outcome, talk, error) => {
    for (const recorder of ["har", "packets"] as const) {
      const { turns } = runTalk(talk, { recorder });
      expect([turns[1].outcome, turns[1].error]).toEqual([outcome, error]);
      expect([turns[0].outcome, turns[2].outcome]).toEqual(["completed", "completed"]);
    }
  });

  it.each<[string, string, Sent["down"] & object, string[]]>([
    ["the client resets the stream", "canceled", { keep: 900, end: "reset", by: "client" }, []],
    ["the server resets the stream", "truncated", { keep: 900, end: "reset", by: "server" }, []],
    ["the capture stops first", "unknown", { keep: 900, end: "capture-ended" }, ["not-captured"]],
    ["the response was evicted", "unknown", { keep: 0, gap: "evicted" }, ["evicted"]],
    [
      "the producer cut the response",
      "unknown",
      { keep: 900, gap: "truncated-by-producer" },
      ["truncated-by-producer"],
    ],
    ["a TCP gap over the end", "unknown", { keep: 2000, gap: "tcp-gap", end: "complete" }, ["tcp-gap"]],
  ])("%s: %s", (_what, outcome, down, loss) => {
    const talk = threeTurns();
    const { turns } = run(damage(talk, down));
    expect(turns[1].outcome).toBe(outcome);
    expect(turns[1].loss).toEqual(loss.map((why) => ({ direction: "down", why })));
    expect(turns[1].appends).toHaveLength(9);
  });

  it("a gap in the middle does not hide the end", () => {
    const talk = threeTurns();
    const body = streamsOf(talk)[1]!.responseBody;
    const events = run(damage(talk, { bytes: body.subarray(0, 300) }));
    expect(events.turns[1].outcome).toBe("truncated");
  });

  function streamsOf(talk: Talk) {
    return talk.runs.map((each) => exchanges(each).find(({ kind }) => kind === "stream")!);
  }
});

describe("what is missing is said", () => {
  const talk = threeTurns();
  const sent = sentOf(talk);
  const ofTurn = (n: number) => (each: Sent) =>
    each.exchange.requestHeaders["x-request-id"] === talk.runs[n]!.requestId;

  it("appends without their RunSSE are a turn", () => {
    const outcome = run(sent.filter((each) => !(ofTurn(1)(each) && each.exchange.kind === "stream")));
    const turn = outcome.turns[1];
    expect([turn.outcome, turn.loss, turn.frames.total, turn.appends.length]).toEqual([
      "unknown",
      [{ direction: "down", why: "not-captured" }],
      0,
      9,
    ]);
    expect([turn.kv, turn.exec, turn.open]).toEqual([[], [], []]);
    expect(warnings(outcome)).toEqual(["cursor.downlink-missing"]);
    const exact = outcome.violations.filter(({ evidence }) => evidence === "exact");
    expect(
      exact.filter(({ rule, severity }) => (severity ?? severityOf(rule)) === "error").map(({ rule }) => rule),
    ).toEqual([]);
  });

  it("RunSSE without its appends is a turn", () => {
    const outcome = run(sent.filter((each) => !(ofTurn(1)(each) && each.exchange.kind === "append")));
    const turn = outcome.turns.find((each) => each.requestId === talk.runs[1]!.requestId);
    expect([turn.conversationId, turn.loss, turn.outcome]).toEqual([
      null,
      [{ direction: "up", why: "not-captured" }],
      "completed",
    ]);
    expect(turn.kv.every((op: { answer: string }) => op.answer === "unseen")).toBe(true);
    expect(turn.open).toEqual([]);
    expect(warnings(outcome)).toContain("cursor.uplink-missing");
  });

  it("an append whose body is lost belongs to the request its header names", () => {
    const lost = sent.find((each) => ofTurn(0)(each) && each.exchange.requestBody.length === 56)!;
    const outcome = run(
      sent.map((each) => (each === lost ? { ...each, up: { gap: "discarded-by-producer", keep: 0 } } : each)),
    );
    expect(outcome.turns[0].loss).toEqual([{ direction: "up", why: "discarded-by-producer" }]);
    expect(outcome.turns[0].kv.filter((op: { answer: string }) => op.answer === "unseen")).toHaveLength(1);
    expect(outcome.turns[0].open).toEqual([]);
    expect(warnings(outcome)).toEqual(["cursor.append-missing-body"]);
  });

  it("why it hung: asks without an answer are open", () => {
    const hung = changed(([, , third]) => {
      for (const each of [...third!.appends])
        if (
          each.message?.exec_client_message?.id === 1 ||
          each.message?.exec_client_control_message?.stream_close?.id === 1
        )
          remove(third!.appends, each);
      renumber(third!);
      third!.frames = third!.frames.slice(0, 12);
      third!.end = null;
    });
    const { turns, result } = runTalk(hung);
    expect(
      turns[2].open.map((item: { family: string; id: string; what: string }) => [item.family, item.id, item.what]),
    ).toEqual([
      ["exec", "1", "shell_stream_args"],
      ["tool_call", "call-shell-1", "shell_tool_call"],
      ["tool_call", "call-read-1", "read_tool_call"],
    ]);
    const facts = result.turns[2]!.facts.map((words) =>
      words.map((word) => (typeof word === "string" ? word : word.value)).join(""),
    );
    expect(facts.find((fact) => fact.startsWith("why it hung"))).toMatch(/exec 1 shell_stream_args unanswered/);
  });
});

describe("epochs: one request id, a second RunSSE, numbers from 0 again", () => {
  const queued = () =>
    changed((runs) => {
      runs[1]!.requestId = runs[0]!.requestId;
      runs[1]!.runId = runs[0]!.runId;
      append(runs[1]!, "run_request").message.run_request.run_id = runs[0]!.runId;
    });

  it.each(["har", "packets"] as const)("are two turns (%s)", (recorder) => {
    const { turns, violations } = runTalk(queued(), { recorder });
    expect(turns.map((turn) => [turn.epoch, turn.index, turn.appends.length, turn.kv.length])).toEqual([
      [0, 0, 14, 9],
      [1, 1, 9, 8],
      [0, 2, 23, 15],
    ]);
    expect(turns.map((turn) => [turn.attempt, turn.retryOf])).toEqual([
      [0, null],
      [0, null],
      [0, null],
    ]);
    expect(violations.map(({ rule }) => rule).filter((rule) => /\/(S01|S02|S03|K03)$/.test(rule))).toEqual([]);
  });

  it("are two turns without dates", () => {
    const { turns } = runTalk(queued(), { untimed: true });
    expect(turns.map((turn) => [turn.epoch, turn.appends.length])).toEqual([
      [0, 14],
      [1, 9],
      [0, 23],
    ]);
  });

  it("an append a few milliseconds before its RunSSE belongs to it", () => {
    const talk = queued();
    for (const each of talk.runs[1]!.appends) each.at -= 6;
    expect(runTalk(talk).turns.map((turn) => turn.appends.length)).toEqual([14, 9, 23]);
  });

  it("a second sequence whose RunSSE is not in the capture is a turn of its own", () => {
    const talk = queued();
    const sent = sentOf(talk).filter(
      ({ exchange }) => !(exchange.kind === "stream" && exchange.start === talk.runs[1]!.start),
    );
    expect(run(sent).turns.map((turn) => [turn.epoch, turn.appends.length, turn.outcome])).toEqual([
      [0, 14, "completed"],
      [1, 9, "unknown"],
      [0, 23, "completed"],
    ]);
  });
});

describe("attempts", () => {
  it("another request id of the same run repeats the one before", () => {
    const talk = changed(([first, second]) => {
      first!.end!.json = { error: { code: "unavailable", message: "" } };
      second!.runId = first!.runId;
      append(second!, "run_request").message.run_request.run_id = first!.runId;
    });
    const { turns } = runTalk(talk);
    expect(turns.map((turn) => [turn.runId === turns[0].requestId, turn.attempt, turn.retryOf])).toEqual([
      [true, 0, null],
      [true, 1, turns[0].requestId],
      [false, 0, null],
    ]);
  });

  it("is a repeat also where the first attempt was not captured", () => {
    const talk = changed(([, second]) => {
      second!.runId = uuid("an attempt nobody saw");
      append(second!, "run_request").message.run_request.run_id = second!.runId;
    });
    const { turns } = runTalk(talk);
    expect([turns[1].attempt, turns[1].retryOf]).toEqual([1, talk.runs[1]!.runId]);
  });
});

describe("transports", () => {
  const as = (transport: string) =>
    changed((runs) => {
      for (const each of runs) each.transport = transport;
    });

  it.each(["har", "packets"] as const)("Run: both directions in one exchange (%s)", (recorder) => {
    const { turns, violations } = runTalk(as("Run"), { recorder });
    expect(turns.map((turn) => [turn.transport, turn.outcome, turn.conversationId, turn.frames.total])).toEqual(
      good.turns.map((turn) => ["Run", "completed", turn.conversationId, turn.frames.total]),
    );
    expect(turns[0].appends.map((item: { seqno: number; encoding: string }) => [item.seqno, item.encoding])).toEqual(
      Array.from({ length: 14 }, (_, n) => [n, "stream"]),
    );
    const same = (turn: { kv: unknown; exec: unknown; text: string; up: unknown; down: unknown }) => [
      turn.text,
      turn.up,
      turn.down,
    ];
    expect(turns.map(same)).toEqual(good.turns.map(same));
    expect(violations.map(({ rule }) => rule).filter((rule) => /\/(T0[3-9]|K0[1-7]|S0[1-7])$/.test(rule))).toEqual([]);
  });

  it.each(["har", "packets"] as const)("RunPoll: many polls, one turn (%s)", (recorder) => {
    const { turns, violations } = runTalk(as("RunPoll+BidiAppend"), { recorder });
    expect(turns.map((turn) => [turn.transport, turn.outcome, turn.text])).toEqual(
      good.turns.map((turn) => ["RunPoll+BidiAppend", "completed", turn.text]),
    );
    expect(turns.map((turn) => turn.down)).toEqual(good.turns.map((turn) => turn.down));
    expect(violations.map(({ rule }) => rule).filter((rule) => /\/(T0[3-9]|K0[1-7]|S0[1-7])$/.test(rule))).toEqual([]);
  });

  it("the JSON twins are the same messages", () => {
    const json = (type: string, body: Uint8Array) => Buffer.from(JSON.stringify(jsonOf(schemas.json(type, body))));
    const talk = changed((runs) => {
      for (const each of runs) {
        each.streamHeaders = { "content-type": "application/connect+json" };
        each.requestBody = envelope(0, Buffer.from(JSON.stringify({ requestId: each.requestId })));
        each.responseHeaders = { "content-type": "application/connect+json" };
        for (const item of each.frames) {
          item.payload = json("agent.v1.AgentServerMessage", encode("agent.v1.AgentServerMessage", item.message));
          item.gzip = false;
        }
        for (const item of each.appends) {
          item.headers = { "content-type": "application/json" };
          const data = encode("agent.v1.AgentClientMessage", item.message).toString("hex");
          item.body = Buffer.from(
            JSON.stringify({ data, requestId: { requestId: each.requestId }, appendSeqno: String(item.seqno) }),
          );
        }
      }
    });
    const { turns, diagnostics } = runTalk(talk);
    const same = (turn: Record<string, unknown>) => [
      turn["text"],
      turn["up"],
      turn["down"],
      turn["outcome"],
      placeless(turn["kv"]),
      placeless(turn["exec"]),
    ];
    expect(turns.map(same)).toEqual(good.turns.map(same));
    expect(diagnostics.filter(({ severity }) => severity !== "info")).toEqual([]);
  });

  it("a run_request after a prewarm is one turn; a prewarm alone is one of its own", () => {
    const prewarm = (run: Run) => {
      const message = {
        prewarm_request: { conversation_id: run.conversationId, requested_model: { model_id: "garden-model-2" } },
      };
      run.appends.unshift({ at: 1, latency: 5, seqno: 0, message });
      renumber(run);
    };
    const { turns } = runTalk(
      changed(([first, second]) => {
        prewarm(first!);
        second!.appends = [];
        second!.frames = [];
        prewarm(second!);
      }),
    );
    expect(turns.map((turn) => [turn.action, turn.model, turn.conversationId === turns[0].conversationId])).toEqual([
      ["user_message_action", "garden-model-2", true],
      ["prewarm_request", "garden-model-2", true],
      ["user_message_action", "garden-model-2", true],
    ]);
  });
});

describe("identity", () => {
  it("the body's request id goes before the header's", () => {
    const talk = changed(([first]) => {
      first!.headerRequestId = uuid("somebody else");
    });
    expect(runTalk(talk).turns[0].requestId).toBe(talk.runs[0]!.requestId);
  });

  it("the header names what the body does not", () => {
    const talk = changed(([first]) => {
      for (const each of first!.appends) each.body = Buffer.from("0a0433613030", "hex");
    });
    expect(runTalk(talk).turns[0].appends).toHaveLength(14);
  });

  it("subagents hang under their parent", () => {
    const talk = changed(([, second]) => {
      second!.headers = { "x-parent-request-id": uuid("parent"), "x-parent-agent-tool-call-id": "call-7" };
    });
    const turn = runTalk(talk).turns[1];
    expect([turn.parentRequestId, turn.parentToolCallId]).toEqual([uuid("parent"), "call-7"]);
  });

  it("appends of another family of streams are no agent turns", () => {
    const talk = changed(([first]) => {
      for (const each of first!.appends) each.inner = Buffer.from("0a0568656c6c6f", "hex");
    });
    const sent = sentOf(talk).map((each) =>
      each.exchange.path.endsWith("RunSSE") && each.exchange.start === talk.runs[0]!.start
        ? { ...each, exchange: { ...each.exchange, path: "/aiserver.v1.ChatService/StreamUnifiedChatWithToolsSSE" } }
        : each,
    );
    const outcome = run(sent);
    expect(outcome.turns).toHaveLength(2);
    expect(codes(outcome)).toContain("cursor.other-family");
  });
});

describe("messages of a newer or broken server", () => {
  const withFrame = (payload: Buffer) =>
    changed(([first]) => {
      first!.frames.splice(1, 0, { at: 700, payload });
    });

  it.each([
    ["a branch that the schema does not have", "4a021001", "unknown:9", "cursor.unknown-branch"],
    ["a sub-branch that it does not have", "0a04ea020101", "interaction_update.unknown:45", "cursor.unknown-branch"],
    ["bytes that are no message", "0a7f01", "interaction_update", "cursor.undecodable"],
    ["a bad tag", "0f", "undecodable", "cursor.undecodable"],
  ])("%s", (_what, hex, kind, code) => {
    const outcome = runTalk(withFrame(Buffer.from(hex, "hex")));
    expect(outcome.turns[0].down[kind]).toBe(1);
    expect(warnings(outcome)).toEqual([code]);
    expect(outcome.turns[0].outcome).toBe("completed");
  });

  it("ttft_breakdown may stand alone or beside a branch", () => {
    const alone = encode("agent.v1.AgentServerMessage", { ttft_breakdown: { server_first_token_ms: 412.5 } });
    const beside = encode("agent.v1.AgentServerMessage", {
      interaction_update: { heartbeat: {} },
      ttft_breakdown: { server_first_token_ms: 1 },
    });
    const outcome = runTalk(
      changed(([first]) => first!.frames.splice(1, 0, { at: 700, payload: alone }, { at: 701, payload: beside })),
    );
    expect([outcome.turns[0].down.ttft_breakdown, outcome.turns[0].down["interaction_update.heartbeat"]]).toEqual([
      1, 5,
    ]);
    expect(warnings(outcome)).toEqual([]);
  });

  it("a subagent's updates keep their own scope", () => {
    const delta = (update: unknown) => ({
      interaction_update: {
        tool_call_delta: {
          call_id: "call-task",
          tool_call_delta: { task_tool_call_delta: { interaction_update: update } },
        },
      },
    });
    const call = { call_id: "call-1", tool_call: { shell_tool_call: { args: { command: "true" } } } };
    const outcome = runTalk(
      changed(([first]) => {
        const own = { interaction_update: { tool_call_started: call } };
        first!.frames.splice(
          2,
          0,
          { at: 1200, message: own },
          { at: 1201, message: delta({ text_delta: { text: "not mine" } }) },
          { at: 1202, message: delta({ tool_call_started: call }) },
          { at: 1203, message: delta({ tool_call_completed: call }) },
        );
      }),
    );
    expect(
      outcome.turns[0].toolCalls.map((each: { callId: string; completed: boolean; parentCallId?: string }) => [
        each.callId,
        each.completed,
        each.parentCallId,
      ]),
    ).toEqual([
      ["call-1", false, undefined],
      ["call-task", false, undefined],
      ["call-1", true, "call-task"],
    ]);
    expect(outcome.turns[0].text).toBe(good.turns[0].text);
  });

  it("bodies with flipped bits and noise never throw", () => {
    const talk = threeTurns();
    const sent = sentOf({ ...talk, runs: [talk.runs[2]!] });
    fc.assert(
      fc.property(
        fc.nat(sent.length - 1),
        fc.nat(),
        fc.uint8Array({ minLength: 1, maxLength: 24 }),
        fc.boolean(),
        (n, at, junk, down) => {
          const body = Buffer.from(down ? sent[n]!.exchange.responseBody : sent[n]!.exchange.requestBody);
          if (body.length === 0) return;
          for (const [i, byte] of junk.entries()) body[(at + i) % body.length] = byte;
          const exchange = { ...sent[n]!.exchange, ...(down ? { responseBody: body } : { requestBody: body }) };
          const outcome = run(sent.map((each, i) => (i === n ? { ...each, exchange } : each)));
          for (const turn of outcome.result.turns) expect(turn.steps.length).toBeGreaterThan(0);
        },
      ),
      { numRuns: 40 },
    );
  });
});

describe("live events", () => {
  const outcome = runTalk(threeTurns(), { recorder: "packets", live: true });
  const frames = outcome.events.flatMap((event) => (event.kind === "frame" ? [event.frame] : []));

  it("every message of both directions is a frame line", () => {
    const appends = good.turns.reduce((sum, turn) => sum + turn.appends.length, 0);
    const down = good.turns.reduce((sum, turn) => sum + turn.frames.total, 0);
    expect(frames.filter(({ channel }) => channel === "BidiAppend")).toHaveLength(appends);
    expect(frames.filter(({ channel, message }) => channel === "RunSSE" && message.direction === "down")).toHaveLength(
      down,
    );
    expect(new Set(frames.map(({ requestId }) => requestId)).size).toBe(3);
  });

  it("a turn is told when its stream ends", () => {
    const ended = outcome.events.flatMap((event) => (event.kind === "turn-ended" ? [event.turn] : []));
    expect(ended.map((turn) => [turn.index, turn.outcome])).toEqual([
      [0, "completed"],
      [1, "completed"],
      [2, "completed"],
    ]);
    expect(outcome.events.at(-1)?.kind).not.toBe("step");
  });

  it("steps come as the messages do, folded where they are many", () => {
    const steps = outcome.events.flatMap((event) => (event.kind === "step" ? [event.step] : []));
    const up = steps.filter(({ direction }) => direction === "up").length;
    expect(up).toBe(good.turns.reduce((sum, turn) => sum + turn.appends.length, 0));
    expect(steps.filter(({ kind }) => kind === "EndStream")).toHaveLength(3);
  });
});
