/** Messages of this dialect as `frames` prints them. */
import type { Printable, Words } from "../../core/printable.js";
import type { FrameLine, StreamMessage } from "../../model/message.js";
import type { ParsedFrame } from "./frames.js";
import { numberAt, parseJson, textAt } from "./json.js";
import type { RestCall } from "./model.js";
import { rpcKind, rpcObjects } from "./rpc.js";
import { saysOf, saysOfAck } from "./says.js";
import { printableJson } from "./sensitivity.js";
import { errorCodes } from "./tables/error-codes.js";

interface Line {
  readonly channel: string;
  readonly kind: string;
  readonly says: Words;
  readonly conversationId: string | null;
  readonly requestId: string | null;
  readonly type: string;
  value(): Printable;
}

function line(message: StreamMessage, made: Line): FrameLine {
  return { message, dialect: "kimi", unknown: () => [], ...made };
}

export function frameLine(message: StreamMessage, parsed: ParsedFrame): FrameLine {
  const invalid = parsed.class === "invalid";
  const turn = numberAt(parsed.payload, "turnId");
  const agent = textAt(parsed.payload, "agentId") ?? textAt(parsed.payload, "agent_id");
  return line(message, {
    channel: "ws",
    kind: parsed.type,
    says:
      parsed.class === "ack"
        ? saysOfAck(numberAt(parsed.value, "code"), parsed.payload)
        : saysOf(parsed.type, parsed.payload),
    conversationId: textAt(parsed.value, "session_id") ?? textAt(parsed.payload, "session_id"),
    requestId: turn === null || agent === null ? null : `${agent}/${turn}`,
    type: invalid ? "text" : "json",
    value: () => (invalid ? printableJson(new TextDecoder().decode(message.body)) : printableJson(parsed.value)),
  });
}

export function restLine(message: StreamMessage, call: RestCall): FrameLine {
  const path = call.path.split("?")[0]!;
  const session = /\/sessions\/([^/:]+)/.exec(path)?.[1] ?? null;
  const reason = call.code === null ? null : (errorCodes.get(call.code)?.name ?? String(call.code));
  const answer = message.direction === "down";
  return line(message, {
    channel: "rest",
    kind: `${call.method} ${path}`,
    says: answer ? [`${call.status}${reason === null ? "" : ` ${reason}`}`] : [],
    conversationId: session,
    requestId: null,
    type: call.isJson || !answer ? "json" : "bytes",
    value: () => {
      const value = parseJson(message.body);
      return value === undefined ? message.body : printableJson(value);
    },
  });
}

export function rpcLine(message: StreamMessage): readonly FrameLine[] {
  return rpcObjects(message).map((object) => {
    const sessionId = textAt(object.value, "params", "sessionId");
    return line(message, {
      channel: "rpc",
      kind: rpcKind(object, null),
      says: [],
      conversationId: sessionId,
      requestId: object.id === null ? null : String(object.id),
      type: object.shape === "invalid" ? "text" : "json",
      value: () => printableJson(object.value),
    });
  });
}
