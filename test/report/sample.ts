/** Hand-made analyses: what the reports are tested against, without any capture or dialect. */
import { Place } from "../../src/core/place.js";
import { privately, secretly, type Words } from "../../src/core/printable.js";
import { exactly, millis, type When } from "../../src/core/time.js";
import type { Finding, Rule } from "../../src/model/check.js";
import type { BlobLedger, BlobNode, BlobRow, Pair, Step, Turn } from "../../src/model/conversation.js";
import type { DialectResult } from "../../src/model/dialect.js";
import type { Flow, FlowSummary, RequestHead } from "../../src/model/exchange.js";
import type { Analysis, ExchangeRow } from "../../src/model/report.js";
import { noPaint } from "../../src/report/paint.js";
import { type RedactLevel, Redactor } from "../../src/report/redact.js";
import type { View } from "../../src/report/report.js";

export const secret = "crsr-0123456789abcdef";
export const hostile = 'a\u001b[31mred\u0007\u202e"end";\n%% `x` | <b>&amp; --> {#59;}\u009b5m\ud800';

const epoch = BigInt(Date.UTC(2026, 10, 30, 22, 0, 0)) * 1_000_000n;

export function at(ms: number): When {
  return exactly(epoch + millis(ms));
}

export function between(from: number, to: number): When {
  return { earliest: epoch + millis(from), latest: epoch + millis(to) };
}

export function place(entry: number, side?: "request" | "response", start?: number, end?: number): Place {
  return new Place(0, entry, entry, side, start, end);
}

interface StepLike {
  readonly ms: number;
  readonly until?: number;
  readonly up?: boolean;
  readonly channel?: string;
  readonly lane?: Step["lane"];
  readonly kind: string;
  readonly count?: number;
  readonly bytes?: number;
  readonly chars?: number;
  readonly flags?: number;
  readonly says?: Words;
  readonly pair?: Pair;
  readonly state?: string;
  readonly when?: When;
}

export function step(like: StepLike): Step {
  const bytes = like.bytes ?? 40;
  return {
    when: like.when ?? at(like.ms),
    until: like.when ?? at(like.until ?? like.ms),
    direction: like.up ? "up" : "down",
    channel: like.channel ?? (like.up ? "BidiAppend" : "RunSSE"),
    lane: like.lane ?? "model",
    kind: like.kind,
    count: like.count ?? 1,
    bytes,
    chars: like.chars ?? 0,
    flags: like.flags ?? 0,
    says: like.says ?? [],
    place: place(like.up ? 3 : 2, like.up ? "request" : "response", like.ms, like.ms + bytes),
    pair: like.pair ?? null,
    state: like.state ?? null,
  };
}

export function ask(family: string, id: string, result: string | null = null): Pair {
  return { family, id, role: "ask", afterMs: null, result };
}

export function answer(family: string, id: string, afterMs: number | null, result = "ok"): Pair {
  return { family, id, role: "answer", afterMs, result };
}

const set = "kv_server_message.set_blob_args";
const ack = "kv_client_message.set_blob_result";

export function sampleSteps(): Step[] {
  const kv = [0, 1, 2].flatMap((id) => [
    step({
      ms: 300 + id,
      lane: "kv",
      kind: set,
      bytes: 1200,
      flags: 1,
      pair: ask("kv", String(id)),
      state: "checkpointing",
    }),
    step({
      ms: 310 + id * 4,
      up: true,
      lane: "kv",
      kind: ack,
      bytes: 4,
      pair: answer("kv", String(id), 10 + id * 3),
      state: "checkpointing",
    }),
  ]);
  return [
    step({
      ms: 5,
      up: true,
      lane: "session",
      kind: "run_request",
      bytes: 5120,
      says: ["asks ", privately("Rename the helper")],
      state: "provider_running",
    }),
    step({
      ms: 200,
      kind: "interaction_update.thinking_delta",
      count: 3,
      chars: 88,
      until: 280,
      state: "provider_running",
    }),
    ...kv,
    step({
      ms: 400,
      lane: "exec",
      kind: "exec_server_message.shell_stream_args",
      pair: ask("exec", "1"),
      says: ["runs ", privately("ls -la /home/someone")],
      state: "waiting_external",
    }),
    step({
      ms: 900,
      up: true,
      lane: "exec",
      kind: "exec_client_message.shell_stream",
      pair: answer("exec", "1", 500, "exit 1 (failed)"),
      state: "provider_running",
    }),
    step({
      ms: 950,
      kind: "interaction_update.text_delta",
      count: 8,
      chars: 412,
      bytes: 640,
      until: 2400,
      state: "provider_running",
    }),
    step({
      ms: 2500,
      lane: "exec",
      kind: "exec_server_message.read_args",
      pair: ask("exec", "2", "unanswered"),
      state: "waiting_external",
    }),
    step({
      ms: 3000,
      lane: "state",
      kind: "conversation_checkpoint_update",
      bytes: 900,
      flags: 1,
      says: ["1 turn, 3 roots"],
      state: "finishing",
    }),
    step({ ms: 3010, lane: "session", kind: "end_stream", bytes: 2, flags: 2, says: ["success"], state: "completed" }),
  ];
}

export function turn(over: Partial<Turn> = {}): Turn {
  const made: Turn = {
    dialect: "cursor",
    conversationId: "4f3c0d2e-0000-4000-8000-000000000001",
    requestId: "6a1b0000-0000-4000-8000-000000000001",
    index: 0,
    action: "user_message_action",
    model: "large-model-1",
    prompt: "Rename the helper and say what changed",
    text: "I renamed it.\nTwo files changed.",
    thinking: "The helper is used twice.",
    start: at(0),
    end: at(3010),
    durationMs: 3010,
    outcome: "completed",
    error: null,
    transport: "RunSSE+BidiAppend",
    http: "1.1",
    client: "connect-es/1.6.1",
    messages: 21,
    upBytes: 5140,
    downBytes: 4800,
    steps: sampleSteps(),
    open: [{ family: "exec", id: "2", what: "read_args", place: place(2, "response", 2500, 2540) }],
    usage: { inputTokens: 12_000, outputTokens: 345, cacheReadTokens: 8000, cacheWriteTokens: null },
    loss: [],
    recovered: [],
    parentRequestId: null,
    retryOf: null,
    attempt: 0,
    facts: [["3 set, 3 match"], ["2 execs, 1 unanswered"]],
    place: place(2, "request"),
    json: () => ({
      dialect: "cursor",
      index: made.index,
      requestId: made.requestId,
      outcome: made.outcome,
      place: made.place,
    }),
    ...over,
  };
  return made;
}

export const sampleRule: Rule = {
  id: "cursor/K06",
  family: "KV and blobs",
  class: "check",
  severity: "error",
  statement: "A set blob's id is the SHA-256 of its bytes.",
  why: "The client verifies what it stores.",
  needs: "The whole downlink.",
  implies: [],
  source: "cursor.md 5, K06; observed",
  good: "id = SHA-256(data)",
  bad: "id = anything else",
  remedy: "Hash the bytes that are sent, after all changes to them.",
};

export function finding(over: Partial<Finding> = {}): Finding {
  return {
    rule: sampleRule.id,
    severity: "error",
    statement: ["kv 3: the id says 3f2a…, the 1,234 bytes hash to 9bc1…"],
    remedy: sampleRule.remedy,
    conversationId: null,
    requestId: null,
    turn: null,
    places: [place(2, "response", 300, 1500)],
    evidence: "exact",
    fingerprint: "cursor/K06 cursor turn 0: kv 3",
    detail: { id: 3 },
    ...over,
  };
}

const flow: Flow = { id: 0, input: 0, client: "192.0.2.1:50000", server: "192.0.2.2:443", rolesBy: "har" };

export function head(path: string, over: Partial<RequestHead> = {}): RequestHead {
  return { method: "POST", authority: "api2.example", scheme: "https", path, version: "1.1", headers: [], ...over };
}

export function exchange(id: number, path: string, over: Partial<ExchangeRow> = {}): ExchangeRow {
  return {
    id,
    flow: 0,
    kind: "http",
    request: head(path),
    status: 200,
    dialect: "cursor",
    looks: "Connect stream",
    up: { bytes: 43, sha256: null },
    down: { bytes: 4800, sha256: null },
    messages: 20,
    end: "complete",
    opened: at(0),
    place: place(id),
    ...over,
  };
}

const flowSummary: FlowSummary = {
  flow,
  start: at(0),
  end: at(3010),
  packets: 0,
  up: { bytes: 43, sha256: "aa", gaps: [] },
  down: { bytes: 4800, sha256: "bb", gaps: [{ offset: 100, length: 20 }] },
  tls: {
    version: "1.3",
    cipher: "TLS_AES_128_GCM_SHA256",
    sni: "api2.example",
    alpn: "h2",
    decrypted: false,
    why: "no secret for this client random",
  },
  protocol: "http1",
};

const blobId = "3f2a".repeat(16);

const blobRows: readonly BlobRow[] = [
  {
    id: blobId,
    bytes: 1234,
    hash: "match",
    type: "agent.v1.UserMessage",
    sources: [{ via: "set", requestId: null, place: place(2, "response", 300, 1500) }],
    referrers: ["turns[0].checkpoints[0].turns[0]"],
    timesSent: 1,
  },
  {
    id: "00".repeat(32),
    bytes: null,
    hash: null,
    type: "unknown",
    sources: [],
    referrers: ["turns[0].checkpoints[0].rootPromptMessages[0]"],
    timesSent: 0,
  },
];

const tree: BlobNode = {
  label: "checkpoint",
  id: null,
  type: "agent.v1.ConversationStateStructure",
  bytes: 900,
  state: "inline",
  says: ["1 turn"],
  children: [
    {
      label: "turns[0]",
      id: blobId,
      type: "agent.v1.UserMessage",
      bytes: 1234,
      state: "match",
      says: [privately("Rename the helper")],
      children: [],
    },
    {
      label: "rootPromptMessages[0]",
      id: "00".repeat(32),
      type: "unknown",
      bytes: null,
      state: "missing",
      says: [],
      children: [],
    },
  ],
};

export function ledger(owner: Turn): BlobLedger {
  return {
    rows: blobRows,
    totals: () => ({ sentBytes: 1234, sentAgainBytes: 0, carriedBytes: 512 }),
    content: (id) => (id === blobId ? new TextEncoder().encode("user message body") : undefined),
    decoded: (id) => (id === blobId ? { text: privately("Rename the helper"), key: secretly(secret) } : null),
    trees: () => [{ turn: owner, root: tree }],
  };
}

/** What an analysis answers about these exchanges. */
export function asked(exchanges: readonly ExchangeRow[]): Pick<Analysis, "claimed" | "eachExchange"> {
  const claimed = new Map<string | null, number>();
  for (const { dialect } of exchanges) claimed.set(dialect, (claimed.get(dialect) ?? 0) + 1);
  return { claimed, eachExchange: (which = () => true) => exchanges.filter(which) };
}

export function analysis(turns: readonly Turn[] = [turn()], over: Partial<Analysis> = {}): Analysis {
  const ids = [...new Set(turns.map((item) => item.conversationId))];
  const conversations = ids.map((id) => ({
    dialect: "cursor",
    id,
    turns: turns.filter((item) => item.conversationId === id),
  }));
  const first = turns[0];
  const blobs = first === undefined ? null : ledger(first);
  const result: DialectResult = {
    dialect: "cursor",
    conversations,
    turns,
    blobs,
    extra: {},
    notes: [],
    givenBack: new Set(),
    judge: () => {},
  };
  const exchanges = over.exchanges ?? [
    exchange(0, "/agent.v1.AgentService/RunSSE"),
    exchange(1, "/index.html?token=abcdef12345", { dialect: null, looks: null }),
  ];
  return {
    inputs: [
      { path: "captures/a.har", format: "har", bytes: 123_456, sha256: "ab".repeat(32), producer: "mitmproxy 8.1.1" },
    ],
    inputNames: ["a.har"],
    capture: { start: at(0), end: at(3010), packets: 0, flows: 1, exchanges: 3, messages: 21 },
    results: [result],
    conversations,
    turns,
    blobs,
    flows: [flowSummary],
    exchanges,
    ...asked(exchanges),
    findings:
      first === undefined
        ? []
        : [finding({ turn: first, requestId: first.requestId, conversationId: first.conversationId })],
    notCheckable: [{ rule: "cursor/T14", why: "the capture has no times per message", turns: [0] }],
    held: new Map([["cursor/K01", [0]]]),
    rules: [sampleRule],
    diagnostics: [],
    unreadable: [],
    ...over,
  };
}

export function view(over: Partial<View> = {}, level: RedactLevel = "secrets"): View {
  return {
    width: 120,
    height: 24,
    paint: noPaint,
    redactor: new Redactor(level),
    all: false,
    kind: () => true,
    maxBody: 1 << 20,
    version: "0.0.0",
    selection: null,
    gate: null,
    ...over,
  };
}

export function render(pieces: Iterable<string>): string {
  return [...pieces].join("");
}
