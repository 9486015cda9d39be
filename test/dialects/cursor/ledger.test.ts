import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { threeTurns } from "../../../fixtures/cursor/make/conversation.mjs";
import { sha256 } from "../../../fixtures/cursor/make/ids.mjs";
import { append, frame, mutations } from "../../../fixtures/cursor/make/mutations.mjs";
import { encode } from "../../../fixtures/cursor/make/proto.mjs";
import type { Talk } from "../../../fixtures/cursor/make/script.mjs";
import { emptyDigest } from "../../../src/dialects/cursor/contents.js";
import { referenceFields, referencesOf } from "../../../src/dialects/cursor/references.js";
import type { BlobLedger, BlobNode, BlobRow } from "../../../src/model/conversation.js";
import { plain, run, runTalk, says, schemas, sentOf } from "./support.js";

const ledgerOf = (talk: Talk): BlobLedger => runTalk(talk).result.blobs!;
const good = ledgerOf(threeTurns());
const byId = (rows: readonly BlobRow[]) => new Map(rows.map((row) => [row.id, row]));
const setIds = (talk: Talk, n: number) =>
  talk.runs[n]!.frames.flatMap(({ message }) =>
    message?.kv_server_message?.set_blob_args === undefined
      ? []
      : [message.kv_server_message.set_blob_args.blob_id.toString("hex") as string],
  );

describe("rows", () => {
  it("one per blob, all of them match, the client's parts that nobody asked for are named", () => {
    const count = (hash: BlobRow["hash"]) => good.rows.filter((row) => row.hash === hash).length;
    // 30 sets, 2 gets, the empty part; the skills part is referred to and never read.
    expect([count("match"), count("mismatch"), count(null)]).toEqual([33, 0, 1]);
    expect(good.rows.find((row) => row.bytes === null)?.type).toBe("agent.v1.RequestContextSkillsPart");
    expect(byId(good.rows).get(emptyDigest)).toMatchObject({ bytes: 0, hash: "match" });
  });

  it("have the type of the field that refers to them (4)", () => {
    const types = setIds(threeTurns(), 0).map((id) => byId(good.rows).get(id)?.type);
    expect(types).toEqual([
      "json",
      "json",
      "agent.v1.ConversationStateStructure",
      "agent.v1.UserMessage",
      "json",
      "agent.v1.ConversationStep",
      "agent.v1.ConversationStep",
      "json",
      "agent.v1.ConversationTurnStructure",
    ]);
  });

  it("say where they were supplied and from where they are reached", () => {
    const [system] = setIds(threeTurns(), 0);
    const row = byId(good.rows).get(system!)!;
    expect(row.sources.map(({ via, requestId }) => [via, requestId])).toEqual([
      ["set", threeTurns().runs[0]!.requestId],
    ]);
    expect(row.referrers.slice(0, 3)).toEqual([
      "turns[0].checkpoints[0].root_prompt_messages_json[0]",
      "turns[1].request.conversation_state.root_prompt_messages_json[0]",
      "turns[1].checkpoints[0].root_prompt_messages_json[0]",
    ]);
    const step = byId(good.rows).get(setIds(threeTurns(), 0)[5]!)!;
    expect(step.referrers).toEqual(["turns[0].checkpoints[0].turns[0].agent_conversation_turn.steps[0]"]);
    const got = good.rows.find((each) => each.bytes === 29_974)!;
    expect([got.sources[0]?.via, got.type, got.timesSent]).toEqual(["get", "agent.v1.RequestContextMcpsPart", 1]);
  });

  it("a blob under another hash is a row of its own verdict", () => {
    const talk = threeTurns();
    mutations.find(({ rule }) => rule === "cursor/K06")!.mutate(talk);
    expect(ledgerOf(talk).rows.filter((row) => row.hash === "mismatch")).toHaveLength(1);
  });

  it("two contents under one id are two rows", () => {
    const talk = threeTurns();
    const [first] = talk.runs;
    const args = frame(first!, "kv_server_message.set_blob_args", 0).message.kv_server_message.set_blob_args;
    frame(first!, "kv_server_message.set_blob_args", 1).message.kv_server_message.set_blob_args.blob_id = args.blob_id;
    const rows = ledgerOf(talk).rows.filter((row) => row.id === args.blob_id.toString("hex"));
    expect(rows.map((row) => row.hash)).toEqual(["match", "mismatch"]);
  });

  it("prefetched blobs are supplied", () => {
    const talk = threeTurns();
    const value = Buffer.from("a file");
    append(talk.runs[1]!, "run_request").message.run_request.pre_fetched_blobs = [{ id: sha256(value), value }];
    const row = byId(ledgerOf(talk).rows).get(sha256(value).toString("hex"));
    expect([row?.sources[0]?.via, row?.bytes, row?.type]).toEqual(["prefetched", 6, "unknown"]);
  });
});

describe("totals", () => {
  it("sum up what was sent, sent again and carried by reference", () => {
    const { rows } = good;
    const totals = good.totals();
    expect(totals.sentBytes).toBe(rows.reduce((sum, row) => sum + (row.bytes ?? 0) * row.timesSent, 0));
    expect(totals.sentAgainBytes).toBe(0);
    expect(totals.carriedBytes).toBeGreaterThan(29_974);
  });

  it("a blob that is set twice was sent again", () => {
    const talk = threeTurns();
    const [first] = talk.runs;
    const args = frame(first!, "kv_server_message.set_blob_args", 0).message.kv_server_message.set_blob_args;
    Object.assign(frame(first!, "kv_server_message.set_blob_args", 1).message.kv_server_message.set_blob_args, args);
    expect(ledgerOf(talk).totals().sentAgainBytes).toBe(args.blob_data.length);
  });
});

describe("totals of some turns", () => {
  it("are what those turns sent, and add up to all", () => {
    const { turns, blobs: ledger } = runTalk(threeTurns()).result;
    if (ledger === null) throw new Error("no ledger");
    const each = turns.map((turn) => ledger.totals([turn]));
    expect(each.map(({ sentBytes }) => sentBytes)).toEqual(
      turns.map(({ requestId }) =>
        ledger.rows.reduce(
          (sum, row) => sum + (row.sources.some((source) => source.requestId === requestId) ? (row.bytes ?? 0) : 0),
          0,
        ),
      ),
    );
    for (const key of ["sentBytes", "sentAgainBytes", "carriedBytes"] as const)
      expect(each.reduce((sum, totals) => sum + totals[key], 0)).toBe(ledger.totals()[key]);
    expect(ledger.totals([])).toEqual({ sentBytes: 0, sentAgainBytes: 0, carriedBytes: 0 });
  });
});

describe("content", () => {
  it("is what was sent, decoded by its type", () => {
    const ids = setIds(threeTurns(), 0);
    const sent = threeTurns().runs[0]!.frames.flatMap(({ message }) => message?.kv_server_message?.set_blob_args ?? []);
    for (const [n, id] of ids.entries()) expect(Buffer.from(good.content(id)!).equals(sent[n].blob_data)).toBe(true);
    expect(plain(good.decoded(ids[0]!)!).role).toBe("system");
    expect(plain(good.decoded(ids[8]!)!).agentConversationTurn.requestId).toBe(threeTurns().runs[0]!.requestId);
    expect([good.content("00".repeat(32)), good.decoded("00".repeat(32))]).toEqual([undefined, null]);
  });
});

describe("trees", () => {
  const flat = (node: BlobNode): BlobNode[] => [node, ...node.children.flatMap(flat)];

  it("draw the last checkpoint of each turn, every blob opened once", () => {
    const trees = good.trees();
    expect(trees.map(({ turn }) => turn.index)).toEqual([0, 1, 2]);
    for (const { root } of trees) {
      const nodes = flat(root);
      expect(nodes.filter(({ state }) => state === "missing" || state === "mismatch")).toEqual([]);
      const opened = nodes.filter(({ children, id }) => children.length > 0 && id !== null).map(({ id }) => id);
      expect(new Set(opened).size).toBe(opened.length);
    }
    const [first] = trees;
    expect(first!.root.children.map(({ label, says: words }) => `${label} ${says(words)}`.slice(0, 60))).toEqual([
      expect.stringMatching(/^root_prompt_messages_json\[0\] system prompt JSON/),
      expect.stringMatching(/^root_prompt_messages_json\[1\] user message JSON/),
      expect.stringMatching(/^root_prompt_messages_json\[2\] user message JSON/),
      expect.stringMatching(/^root_prompt_messages_json\[3\] assistant message JSON/),
      expect.stringMatching(/^turns\[0\] turn 2 steps/),
    ]);
  });

  it("tell carried, missing and inline references apart", () => {
    const talk = threeTurns();
    const last = talk.runs[2]!.frames.filter(({ message }) => message?.conversation_checkpoint_update).at(-1)!;
    last.message.conversation_checkpoint_update.todos.push(
      Buffer.from("inline"),
      sha256(Buffer.from("nobody sent this")),
    );
    const sent = sentOf(talk).filter(({ exchange }) => exchange.start >= talk.runs[2]!.start);
    const root = run(sent).result.blobs!.trees().at(-1)!.root;
    const states = flat(root).map(({ label, state }) => `${label} ${state}`);
    expect(states).toEqual(
      expect.arrayContaining([
        "todos[0] match",
        "todos[1] inline",
        "todos[2] missing",
        "turns[0] carried",
        "turns[2] match",
      ]),
    );
  });
});

describe("closure", () => {
  const closures = (talk: Talk) =>
    runTalk(talk).turns.map((turn) => turn.checkpoints.map((each: { closure: string }) => each.closure));

  it("is open where a blob was never supplied, and names it", () => {
    const talk = threeTurns();
    const last = talk.runs[1]!.frames.find(({ message }) => message?.conversation_checkpoint_update)!;
    const missing = sha256(Buffer.from("nobody sent this"));
    last.message.conversation_checkpoint_update.turns.push(missing);
    const { turns } = runTalk(talk);
    expect([turns[1].checkpoints[0].closure, turns[1].checkpoints[0].missing]).toEqual([
      "open",
      [missing.toString("hex")],
    ]);
  });

  it("is unverifiable where the request carried what the capture never shows", () => {
    const talk = threeTurns();
    const sent = sentOf(talk).filter(({ exchange }) => exchange.start >= talk.runs[1]!.start);
    expect(run(sent).turns[0].checkpoints[0]).toMatchObject({ closure: "unverifiable", missing: [] });
  });

  it("ends on blobs that refer to each other in a circle", () => {
    const talk = threeTurns();
    const [first] = talk.runs;
    // Under wrong ids a state can name a turn whose user message names that state again.
    const ids = ["state", "user", "turn"].map((name) => sha256(Buffer.from(name)));
    const blobs = [
      encode("agent.v1.ConversationStateStructure", { turns: [ids[2]!] }),
      encode("agent.v1.UserMessage", { text: "again", conversation_state_blob_id: ids[0]! }),
      encode("agent.v1.ConversationTurnStructure", { agent_conversation_turn: { user_message: ids[1]! } }),
    ];
    for (const [n, blob_data] of blobs.entries())
      Object.assign(frame(first!, "kv_server_message.set_blob_args", n).message.kv_server_message.set_blob_args, {
        blob_id: ids[n],
        blob_data,
      });
    const last = first!.frames.find(({ message }) => message?.conversation_checkpoint_update)!;
    last.message.conversation_checkpoint_update = { turns: [ids[2]] };
    expect(closures(talk)[0]).toEqual(["closed"]);
  });

  it("of a long chain of earlier states needs no stack", () => {
    const talk = threeTurns();
    const [first] = talk.runs;
    const sets: { blob_id: Buffer; blob_data: Buffer }[] = [];
    let state = encode("agent.v1.ConversationStateStructure", { mode: 1 });
    const keep = (blob_data: Buffer) => {
      const blob_id = sha256(blob_data);
      sets.push({ blob_id, blob_data });
      return blob_id;
    };
    for (let n = 0; n < 4000; n++) {
      const user = keep(encode("agent.v1.UserMessage", { text: `${n}`, conversation_state_blob_id: keep(state) }));
      state = encode("agent.v1.ConversationStateStructure", {
        turns: [
          keep(encode("agent.v1.ConversationTurnStructure", { agent_conversation_turn: { user_message: user } })),
        ],
      });
    }
    first!.frames = [
      ...sets.map((set_blob_args, id) => ({ at: 100, message: { kv_server_message: { id, set_blob_args } } })),
      { at: 200, message: { conversation_checkpoint_update: { turns: [sets.at(-1)!.blob_id] } } },
    ];
    first!.appends = first!.appends.slice(0, 1);
    expect(closures({ ...talk, runs: [first!] })).toEqual([["closed"]]);
  });
});

describe("the reference table", () => {
  const rows = readFileSync(new URL("../../../proto/cursor/cursor-fields.tsv", import.meta.url), "utf8")
    .split("\n")
    .map((line) => line.split("\t"));
  const field = (type: string, name: string) =>
    rows.find(([message, , fieldName]) => message === type && fieldName === name);
  const groups: Record<string, string[]> = {
    media: ["agent.v1.SelectedImage", "agent.v1.SelectedVideo", "agent.v1.SelectedDocument"],
    attachment: [
      "agent.v1.SelectedExternalLink",
      "agent.v1.SelectedPullRequest",
      "agent.v1.SelectedGitPRDiffSelection",
      "agent.v1.ExtraContextEntry",
      "agent.v1.InvocationContext",
    ],
  };

  it.each(referenceFields())("$type.$field is a field of that message", ({ type, field: name, target, length }) => {
    for (const each of groups[type] ?? [type]) {
      const row = field(each, name);
      expect(row).toBeDefined();
      if (target !== "") expect(row![3]).toMatch(/^(bytes|map<string,\s*bytes>)$/);
      if (length !== "") expect(field(each, length)?.[3]).toBe("uint32");
      if (target.startsWith("agent.v1.")) expect(schemas.has(target)).toBe(true);
    }
  });

  it("holds every field that is named as a blob id", () => {
    const named = rows.filter(
      ([message, , name, type]) =>
        /blob_id$/.test(name ?? "") && type === "bytes" && !/Args$|BlobIdWithData$/.test(message ?? ""),
    );
    const known = new Set(
      referenceFields().flatMap(({ type, field: name }) => (groups[type] ?? [type]).map((each) => `${each}.${name}`)),
    );
    expect(named.map(([message, , name]) => `${message}.${name}`).filter((name) => !known.has(name))).toEqual([]);
  });

  it("finds references in lists, maps and inline messages", () => {
    const id = Buffer.alloc(32, 7);
    const bytes = encode("agent.v1.ConversationStateStructure", {
      turns: [id],
      summary: id,
      file_states_v2: { "src/a.ts": { content: id } },
      subagent_states: { "agent-1": { conversation_state: { turns: [id] } } },
      token_details: { prompt_context_usage_snapshot_blob_id: id },
    });
    const type = "agent.v1.ConversationStateStructure";
    expect(referencesOf(type, schemas.decode(type, bytes).value).map(({ path, sure }) => `${path} ${sure}`)).toEqual([
      "turns[0] true",
      "summary true",
      'file_states_v2["src/a.ts"].content false',
      'subagent_states["agent-1"].conversation_state.turns[0] true',
      "token_details.prompt_context_usage_snapshot_blob_id true",
    ]);
  });
});
