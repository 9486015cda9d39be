/** JSON-RPC 2.0, one object (or batch) per message. Both sides number their requests independently: key = direction + id. kimi.md 5. */
import type { Note } from "../../core/diagnostic.js";
import type { Direction } from "../../model/exchange.js";
import type { StreamMessage } from "../../model/message.js";
import { at, contentText, isObject, type JsonObject, numberAt, parseJson, textAt } from "./json.js";
import type { RpcCall } from "./model.js";
import { quoted, TurnBuilder, type TurnEvent } from "./turn-builder.js";

export interface RpcObject {
  readonly value: JsonObject;
  /** "request", "notification", "result", "error", "invalid". */
  readonly shape: "request" | "notification" | "result" | "error" | "invalid";
  readonly method: string | null;
  readonly id: string | number | null;
}

/** The JSON-RPC objects of one message; a batch gives several. */
export function rpcObjects(message: StreamMessage): readonly RpcObject[] {
  const value = parseJson(message.body);
  const list = Array.isArray(value) ? value : [value];
  return list.map((item) => shapeOf(item));
}

function shapeOf(item: unknown): RpcObject {
  if (!isObject(item)) return { value: {}, shape: "invalid", method: null, id: null };
  const rawId = at(item, "id");
  const id = typeof rawId === "string" || typeof rawId === "number" ? rawId : null;
  const method = textAt(item, "method");
  const hasResult = Object.hasOwn(item, "result");
  const hasError = Object.hasOwn(item, "error");
  const shape =
    method !== null
      ? id === null
        ? "notification"
        : "request"
      : hasError
        ? "error"
        : hasResult
          ? "result"
          : "invalid";
  return { value: item, shape, method, id };
}

interface AcpSession {
  /** Prompts in flight, by the request's id. */
  readonly running: TurnBuilder[];
}

/** Requests and answers of all JSON-RPC streams, and the turns that session/prompt makes. */
export class RpcTracker {
  readonly calls: RpcCall[] = [];
  /** Answers whose request was never seen. */
  readonly orphans: { readonly id: string | number; readonly message: StreamMessage }[] = [];
  private readonly open = new Map<string, RpcCall>();
  private readonly sessions = new Map<string, AcpSession>();
  private readonly prompts = new Map<string, TurnBuilder>();
  private readonly all: TurnBuilder[] = [];

  constructor(
    private readonly note: Note,
    private readonly onStep: (turn: TurnBuilder) => void,
  ) {}

  turns(): readonly TurnBuilder[] {
    return this.all;
  }

  push(message: StreamMessage): void {
    for (const object of rpcObjects(message)) {
      switch (object.shape) {
        case "request":
          this.request(object, message);
          break;
        case "notification":
          this.notification(object, message);
          break;
        case "result":
        case "error":
          this.answer(object, message);
          break;
        case "invalid":
          this.note({ code: "kimi.rpc-invalid", place: message.place, detail: { bytes: message.body.length } });
          break;
      }
    }
  }

  private request(object: RpcObject, message: StreamMessage): void {
    const call: RpcCall = {
      exchange: message.exchange,
      id: object.id!,
      from: message.direction === "up" ? "client" : "agent",
      method: object.method!,
      when: message.mark.when,
      place: message.place,
      answers: [],
    };
    this.calls.push(call);
    this.open.set(callKey(message, object.id!, message.direction), call);
    if (object.method === "session/prompt") this.startTurn(object, message);
    else this.step(object, message, "ask");
  }

  private answer(object: RpcObject, message: StreamMessage): void {
    if (object.id === null) return;
    const asker: Direction = message.direction === "up" ? "down" : "up";
    const call = this.open.get(callKey(message, object.id, asker));
    if (call === undefined) {
      this.orphans.push({ id: object.id, message });
      return;
    }
    const both = Object.hasOwn(object.value, "result") && Object.hasOwn(object.value, "error");
    const kind = both ? "both" : object.shape === "error" ? "error" : "result";
    call.answers.push({ kind, when: message.mark.when, place: message.place });
    const turn = this.prompts.get(callKey(message, object.id, asker));
    if (call.method === "session/prompt" && turn !== undefined && asker === "up") this.endTurn(turn, object, message);
    else this.step(object, message, "answer", call);
  }

  private notification(object: RpcObject, message: StreamMessage): void {
    this.step(object, message, null);
  }

  private startTurn(object: RpcObject, message: StreamMessage): void {
    const sessionId = textAt(object.value, "params", "sessionId");
    const turn = new TurnBuilder(sessionId, "acp", String(object.id), {
      when: message.mark.when,
      place: message.place,
    });
    turn.startSeen = true;
    turn.action = "session/prompt";
    turn.prompt = contentText(at(object.value, "params", "prompt"));
    this.all.push(turn);
    this.prompts.set(callKey(message, object.id!, "up"), turn);
    this.session(sessionId).running.push(turn);
    turn.add(stepOf(object, message, "ask", null));
    this.onStep(turn);
  }

  private endTurn(turn: TurnBuilder, object: RpcObject, message: StreamMessage): void {
    turn.endSeen = true;
    turn.end = message.mark.when;
    const reason = textAt(object.value, "result", "stopReason");
    turn.reason = object.shape === "error" ? "failed" : reason === "cancelled" ? "cancelled" : "completed";
    if (object.shape === "error") {
      const code = numberAt(object.value, "error", "code");
      turn.error = { code: String(code ?? "unknown"), message: textAt(object.value, "error", "message") ?? "" };
    }
    turn.add(stepOf(object, message, "answer", null));
    const running = this.session(turn.sessionId).running;
    const at = running.indexOf(turn);
    if (at >= 0) running.splice(at, 1);
    this.onStep(turn);
  }

  private step(object: RpcObject, message: StreamMessage, role: "ask" | "answer" | null, call?: RpcCall): void {
    const sessionId = textAt(object.value, "params", "sessionId");
    const turn = this.runningTurn(sessionId, message);
    if (turn === null) return;
    applyUpdate(turn, at(object.value, "params", "update"), message);
    turn.add(stepOf(object, message, role, call ?? null));
    this.onStep(turn);
  }

  private runningTurn(sessionId: string | null, message: StreamMessage): TurnBuilder | null {
    if (sessionId !== null) return this.session(sessionId).running.at(-1) ?? null;
    // An answer names no session: it belongs to the one turn that runs on this stream, if there is just one.
    const running = this.all.filter((turn) => !turn.endSeen).slice(-2);
    return running.length === 1 && message.exchange.kind !== "http" ? running[0]! : null;
  }

  private session(id: string | null): AcpSession {
    const key = id ?? "";
    let session = this.sessions.get(key);
    if (session === undefined) {
      session = { running: [] };
      this.sessions.set(key, session);
    }
    return session;
  }
}

function callKey(message: StreamMessage, id: string | number, asker: Direction): string {
  return `${message.exchange.id} ${asker} ${typeof id} ${id}`;
}

/** session/update: text and thought chunks, tool calls and their updates. */
function applyUpdate(turn: TurnBuilder, update: unknown, message: StreamMessage): void {
  const kind = textAt(update, "sessionUpdate");
  const text = textAt(update, "content", "text") ?? "";
  if (kind === "agent_message_chunk") turn.delta("text", text, null);
  if (kind === "agent_thought_chunk") turn.delta("thinking", text, null);
  const id = textAt(update, "toolCallId");
  if (id === null || (kind !== "tool_call" && kind !== "tool_call_update")) return;
  const call = turn.tool(id, message.place);
  call.name ??= textAt(update, "title") ?? textAt(update, "kind");
  call.started ??= message.mark.when;
  const status = textAt(update, "status");
  if (status !== "completed" && status !== "failed") return;
  call.ended = message.mark.when;
  call.results++;
  call.isError = status === "failed";
}

const folded = new Set(["agent_message_chunk", "agent_thought_chunk", "user_message_chunk", "tool_call_update"]);

export function rpcKind(object: RpcObject, call: RpcCall | null): string {
  const update = textAt(object.value, "params", "update", "sessionUpdate");
  if (object.method !== null) return update === null ? object.method : `${object.method}.${update}`;
  return call === null ? object.shape : `${call.method}.${object.shape}`;
}

function stepOf(
  object: RpcObject,
  message: StreamMessage,
  role: "ask" | "answer" | null,
  call: RpcCall | null,
): TurnEvent {
  const update = at(object.value, "params", "update");
  const kind = textAt(update, "sessionUpdate");
  const text = textAt(update, "content", "text") ?? contentText(at(object.value, "params", "prompt")) ?? "";
  const code = numberAt(object.value, "error", "code");
  const stop = textAt(object.value, "result", "stopReason");
  const title = textAt(update, "title");
  return {
    type: rpcKind(object, call),
    when: message.mark.when,
    place: message.place,
    bytes: message.body.length,
    direction: message.direction,
    channel: "rpc",
    lane: kind?.startsWith("tool")
      ? "exec"
      : kind?.includes("chunk")
        ? "model"
        : object.method === "session/request_permission"
          ? "interaction"
          : "session",
    says:
      code !== null
        ? [`error ${code}`]
        : stop !== null
          ? [`stop: ${stop}`]
          : title !== null
            ? quoted(title)
            : text === ""
              ? []
              : quoted(text),
    chars: text.length,
    fold: kind !== null && folded.has(kind),
    pair:
      role === null || object.id === null
        ? null
        : {
            family: "rpc",
            id: String(object.id),
            role,
            afterMs: null,
            result: role === "answer" ? (code === null ? "ok" : "error") : null,
          },
  };
}
