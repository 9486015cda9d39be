/** The small parts of the dialect: paths, kinds, EndStream, states, secrets. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { threeTurns } from "../../../fixtures/cursor/make/conversation.mjs";
import { append, frame } from "../../../fixtures/cursor/make/mutations.mjs";
import { encode } from "../../../fixtures/cursor/make/proto.mjs";
import { type Printable, Sensitive } from "../../../src/core/printable.js";
import { isKnown } from "../../../src/core/time.js";
import { endStreamValue, readEndStream, readUnaryError } from "../../../src/dialects/cursor/end-stream.js";
import { branchCount, kindOf } from "../../../src/dialects/cursor/kinds.js";
import { methodOf } from "../../../src/dialects/cursor/paths.js";
import { CLIENT, SERVER } from "../../../src/dialects/cursor/types.js";
import { jsonText } from "../../../src/report/json-text.js";
import { type RedactLevel, Redactor } from "../../../src/report/redact.js";
import { runTalk, schemas } from "./support.js";

// protocols/cursor.md 1.1: hosts vary and gateways put prefixes in front.
describe("methodOf", () => {
  it.each([
    ["/aiserver.v1.BidiService/BidiAppend", "append", ""],
    ["/agent.v1.AgentService/RunSSE", "sse", "AgentService/Run"],
    ["/agent.v1.AgentService/Run", "run", "AgentService/Run"],
    ["/agent.v1.AgentService/RunPoll", "poll", "AgentService/Run"],
    ["/proxy/agent.v1.AgentService/RunSSE", "sse", "AgentService/Run"],
    ["/agent.v1.AgentService/UploadConversationBlobs", "upload", ""],
    ["/agent.v1.AgentService/GetUsableModels", "other", ""],
    ["/aiserver.v1.ChatService/StreamUnifiedChatWithToolsSSE", "sse", "ChatService/StreamUnifiedChatWithTools"],
    [
      "/aiserver.v1.ChatService/StreamUnifiedChatWithToolsIdempotentPoll",
      "poll",
      "ChatService/StreamUnifiedChatWithToolsIdempotent",
    ],
    ["/aiserver.v1.ChatService/GetPromptDryRun", "other", ""],
    ["/aiserver.v1.HealthService/StreamBidi", "run", "HealthService/StreamBidi"],
    ["/aiserver.v1.AiService/StreamBugBotAgenticSSE", "sse", "AiService/StreamBugBotAgentic"],
  ])("%s: %s", (path, role, family) => {
    expect(methodOf(path)).toMatchObject({ role, family });
  });

  it.each([
    "/",
    "/agent.v1.AgentService",
    "/agent.v1.AgentService/",
    "/agent.v2.AgentService/Run",
    "/aiserver.v1.AiService/Ping",
    "/x.agent.v1.Other/Run",
  ])("%s is none", (path) => {
    expect(methodOf(path)).toBeUndefined();
  });
});

describe("kindOf", () => {
  const kind = (type: string, hex: string) => {
    const bytes = Buffer.from(hex, "hex");
    return kindOf(schemas, schemas.decode(type, bytes), bytes).kind;
  };
  // protocols/cursor.md 6.3.
  it.each([
    [SERVER, "0a026a00", "interaction_update.heartbeat"],
    [CLIENT, "3a00", "client_heartbeat"],
    [CLIENT, "1a021a00", "kv_client_message.set_blob_result"],
    [CLIENT, "1a0408071a00", "kv_client_message.set_blob_result"],
    [SERVER, "", "empty"],
    [SERVER, "4a00", "unknown:9"],
    [SERVER, "0a03e20301", "interaction_update.unknown:60"],
    [CLIENT, "12020801", "exec_client_message"],
    [SERVER, "ff", "undecodable"],
  ])("%s %s: %s", (type, hex, expected) => {
    expect(kind(type, hex)).toBe(expected);
  });

  it("counts branches that a decoder would drop", () => {
    expect([
      branchCount(CLIENT, Buffer.from("3a00", "hex")),
      branchCount(CLIENT, Buffer.from("3a001a00", "hex")),
      branchCount(SERVER, Buffer.from("4200", "hex")),
    ]).toEqual([1, 2, 0]);
  });
});

// protocols/cursor.md 1.6.
describe("endStreamValue", () => {
  const said =
    '{"error":{"code":"internal","message":"words of a prompt","details":[{"type":"t","debug":{"a":"more words"}}]},' +
    '"metadata":{"x-note":["trailer words"],"set-cookie":["invented-cookie"]},"other":"words"}';
  const shown = (level: RedactLevel, text = said) =>
    jsonText(endStreamValue(Buffer.from(text)), { redactor: new Redactor(level), names: [], maxBody: 1 << 20 });

  it("hides nothing when told to, and nothing but credentials by default", () => {
    const whole = JSON.parse(said) as { metadata: { [name: string]: unknown } };
    expect(JSON.parse(shown("none"))).toMatchObject({ ...whole, metadata: { "x-note": ["trailer words"] } });
    expect(shown("secrets")).toContain("trailer words");
    expect(shown("secrets")).not.toContain("invented-cookie");
  });

  it.each([[said], ['["words"]'], ['"words"'], ["words, no JSON"]])(
    "--redact private leaves only the code of %s",
    (text) => {
      expect(shown("private", text)).not.toMatch(/words|cookie"]/);
      expect(shown("secrets", text)).toMatch(/words|d29yZHM/);
    },
  );

  it("the code stays, where it is one of the sixteen", () => {
    expect(shown("private")).toContain('"code":"internal"');
    expect(shown("private", '{"error":{"code":"words"}}')).not.toContain("words");
  });
});

describe("readEndStream", () => {
  const read = (text: string) => readEndStream(Buffer.from(text), schemas);
  it.each<[string, string | null, number]>([
    ["{}", null, 0],
    ['{"metadata":{"x-a":["1","2"]}}', null, 0],
    ['{"error":null}', null, 0],
    ['{"error":{"code":"unavailable","message":"m"}}', "unavailable", 0],
    ['{"error":{"code":"canceled"}}', "canceled", 0],
    ['{"error":{"code":"CANCELED"}}', "CANCELED", 1],
    ['{"error":{}}', "unknown", 1],
    ['{"error":7}', "unknown", 1],
    ['{"metadata":{"x":"1"}}', null, 1],
    ['{"metadata":[]}', null, 1],
    ["[]", "unknown", 1],
    ["", "unknown", 1],
    ["{", "unknown", 1],
  ])("%s", (text, code, issues) => {
    const end = read(text);
    expect([end.error?.code ?? null, end.issues.length]).toEqual([code, issues]);
  });

  it("reads ErrorDetails", () => {
    const value = encode("aiserver.v1.ErrorDetails", {
      error: 1,
      details: { title: "Busy", detail: "try later", is_retryable: true },
    })
      .toString("base64")
      .replace(/=+$/, "");
    const end = read(
      JSON.stringify({
        error: { code: "unavailable", message: "", details: [{ type: "aiserver.v1.ErrorDetails", value }] },
      }),
    );
    expect(end.details).toMatch(/Busy: try later$/);
    expect(end.retryable).toBe(true);
  });

  it("makes of a unary error what the client makes of it (1.4)", () => {
    expect(readUnaryError(429, Buffer.from("slow down"), schemas).error).toEqual({
      code: "unavailable",
      message: "HTTP 429",
    });
    expect(readUnaryError(500, Buffer.from('{"code":"internal","message":"x"}'), schemas).error).toEqual({
      code: "internal",
      message: "x",
    });
  });

  it("never throws", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), (text) => {
        read(text);
        read(`{"error":${text},"metadata":${text}}`);
      }),
      { numRuns: 200 },
    );
  });
});

// protocols/cursor.md 7.
describe("states", () => {
  const path = (turn: { steps: readonly { state: string | null }[] }) =>
    turn.steps.map(({ state }) => state).filter((state, n, all) => state !== all[n - 1]);

  it("of a plain turn: running, checkpointing, finishing, completed", () => {
    const [first] = runTalk(threeTurns(), { recorder: "packets" }).result.turns;
    const states = path(first!);
    expect(states[0]).toBe("provider_running");
    expect([...new Set(states)]).toEqual(["provider_running", "checkpointing", "finishing", "completed"]);
  });

  it("of a turn with a read and two executions: waiting in between", () => {
    const [, , third] = runTalk(threeTurns(), { recorder: "packets" }).result.turns;
    const kinds = third!.steps.map(({ kind, state }) => `${kind.split(".").pop()} ${state}`);
    expect(kinds).toEqual(
      expect.arrayContaining([
        "get_blob_args waiting_external",
        "get_blob_result provider_running",
        "shell_stream_args waiting_external",
        "read_result waiting_external",
      ]),
    );
    expect(kinds.at(-1)).toBe("EndStream completed");
  });

  it("awaiting_user goes before waiting_external; cancel goes before all", () => {
    const talk = threeTurns();
    const [, , third] = talk.runs;
    const query = { interaction_query: { id: 1, ask_question_interaction_query: { tool_call_id: "call-read-1" } } };
    const response = { interaction_response: { id: 1, ask_question_interaction_response: {} } };
    third!.frames.splice(13, 0, { at: 800, message: query });
    third!.appends.splice(
      2,
      0,
      { at: 805, latency: 5, seqno: 40, message: response },
      { at: 806, latency: 5, seqno: 41, message: { conversation_action: { cancel_action: {} } } },
    );
    const steps = runTalk(talk, { recorder: "packets" }).result.turns[2]!.steps.map(
      ({ kind, state }) => `${kind.split(".").pop()} ${state}`,
    );
    expect(steps).toEqual(
      expect.arrayContaining([
        "ask_question_interaction_query awaiting_user",
        "ask_question_interaction_response waiting_external",
        "cancel_action canceling",
        "EndStream canceled",
      ]),
    );
  });

  it("a stream that breaks off ends in a step that says how", () => {
    const talk = threeTurns();
    talk.runs[1]!.end = null;
    const last = runTalk(talk).result.turns[1]!.steps.at(-1)!;
    expect([last.kind, last.state, last.says]).toEqual([
      "end of stream",
      "broken",
      ["the stream ended without EndStream"],
    ]);
  });
});

describe("timelines of a HAR", () => {
  it("keep causality whatever the times are", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: -400, max: 400 }), { minLength: 23, maxLength: 23 }),
        fc.boolean(),
        (shifts, untimed) => {
          const talk = threeTurns();
          for (const [n, each] of talk.runs[2]!.appends.entries()) each.at = Math.max(1, each.at + shifts[n]!);
          const [, , turn] = runTalk(talk, { untimed }).result.turns;
          const at = new Map<string, number>();
          for (const [n, step] of turn!.steps.entries()) {
            expect(step.when.earliest <= step.when.latest || !isKnown(step.when)).toBe(true);
            if (step.pair === null) continue;
            const key = `${step.pair.family} ${step.pair.id}`;
            if (step.pair.role === "ask") at.set(key, n);
            else expect(at.get(key)).toBeLessThan(n);
          }
          expect(turn!.steps.reduce((sum, step) => sum + step.count, 0)).toBe(turn!.messages);
        },
      ),
      { numRuns: 15 },
    );
  });
});

/** Texts that a report may show under each level of redaction. */
function shown(value: Printable, hide: ReadonlySet<string>, out: string[] = []): string[] {
  if (value instanceof Sensitive) {
    if (!hide.has(value.sensitivity)) shown(value.value as Printable, hide, out);
  } else if (typeof value === "string") out.push(value);
  else if (value instanceof Uint8Array) out.push(Buffer.from(value).toString("latin1"));
  else if (Array.isArray(value)) for (const item of value) shown(item, hide, out);
  else if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      out.push(key);
      shown(item, hide, out);
    }
  }
  return out;
}

// protocols/cursor.md 1.3.
describe("what must be redacted", () => {
  const talk = threeTurns();
  const [, second] = talk.runs;
  const request = append(second!, "run_request").message.run_request;
  request.requested_model = {
    model_id: "garden-model-2",
    bedrock_credentials: {
      access_key: "SECRET-access",
      secret_key: "SECRET-key",
      region: "eu",
      session_token: "SECRET-token",
    },
  };
  request.model_details = { api_key_credentials: { api_key: "SECRET-api" } };
  request.selected_subagent_models = [
    { model_id: "m", azure_credentials: { api_key: "SECRET-azure", base_url: "u", deployment: "d" } },
  ];
  request.client_llm_gateway_credential = { bearer_token: "SECRET-bearer" };
  request.action.triggering_auth_id = "SECRET-auth";
  request.action.triggering_user_info = { auth_id: "SECRET-user" };
  const turnSet = second!.frames.filter(({ message }) => message?.kv_server_message?.set_blob_args).at(-1)!;
  turnSet.message.kv_server_message.set_blob_args.blob_data = encode("agent.v1.ConversationTurnStructure", {
    agent_conversation_turn: { encrypted_model: "SECRET-model" },
  });
  second!.end!.json = {
    metadata: { "set-cookie": ["SECRET-cookie"], Authorization: ["SECRET-header"], "x-plain": ["fine"] },
  };
  const outcome = runTalk(talk, { live: true });
  const frames = outcome.events.flatMap((event) => (event.kind === "frame" ? [event.frame] : []));
  const steps = [
    ...outcome.result.turns.flatMap((turn) => turn.steps),
    ...outcome.events.flatMap((event) => (event.kind === "step" ? [event.step] : [])),
  ];
  const everything: Printable[] = [
    ...outcome.result.turns.map((turn) => turn.json()),
    ...frames.map((line) => line.value()),
    ...frames.map((line) => [...line.says]),
    ...steps.map((step) => [...step.says]),
    ...outcome.result.turns.flatMap((turn) => turn.facts.map((words) => [...words])),
    ...outcome.result.blobs!.rows.map((row) => outcome.result.blobs!.decoded(row.id)),
    ...outcome.violations.map((violation) => [...violation.statement]),
  ];

  it("no secret is outside of a mark", () => {
    const texts = everything.flatMap((value) => shown(value, new Set(["secret"])));
    const hidden = everything.flatMap((value) => shown(value, new Set(["secret", "private"])));
    expect(hidden.filter((text) => text.includes("SECRET"))).toEqual([]);
    expect(texts.filter((text) => text.includes("SECRET"))).toEqual([]);
    expect(texts).toEqual(expect.arrayContaining(["fine"]));
  });

  it("no content is outside of a mark when it is to be hidden", () => {
    const texts = everything.flatMap((value) => shown(value, new Set(["secret", "private"])));
    const contents = [
      /herb garden/,
      /which herbs like shade/i,
      /notes\.txt/,
      /water the basil/,
      /\/workspace/,
      /You are an assistant/,
      /Here is a plan/,
      /Shade is fine/,
    ];
    expect(texts.filter((text) => contents.some((content) => content.test(text)))).toEqual([]);
  });

  it("what a frame sets is there for who may see it", () => {
    const texts = everything.flatMap((value) => shown(value, new Set()));
    expect(texts.filter((text) => text === "SECRET-bearer").length).toBeGreaterThan(0);
    expect(frame(second!, "kv_server_message.get_blob_args")).toBeDefined();
  });
});
