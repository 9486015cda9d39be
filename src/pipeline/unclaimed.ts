/** Messages of exchanges that no dialect claims, as `frames` prints them: by user schemas where the path names a method, else schema-less. */
import { strictUtf8 } from "../core/bytes.js";
import { type Printable, privately, Sensitive, type Words } from "../core/printable.js";
import { pathOnly } from "../model/exchange.js";
import type { FrameLine, Framing, StreamMessage } from "../model/message.js";
import type { Schemas } from "../model/schema.js";
import { endStreamValue, isEndStream, isWebTrailer, trailersValue, unclaimedSays } from "./unclaimed-says.js";

const noWords: Words = [];
const protobufFramings: ReadonlySet<Framing> = new Set(["connect-envelope", "grpc", "grpc-web", "grpc-web-text"]);

/** Calls that hand out or take credentials: both bodies are secret as a whole (protocols: Cursor 1.3). */
const secretBodies = /\/(auth\/exchange_user_api_key|oauth2?\/token)$/;

/** undefined for what is no message of an RPC, event stream or socket: pages, images, scripts. */
export function unclaimedLine(message: StreamMessage, schemas: Schemas, looks: string | null): FrameLine | undefined {
  if (looks === null || message.framing === "none" || message.body.length === 0) return undefined;
  const path = pathOnly(message.exchange.request?.path ?? "");
  const isProtobuf = isProto(message, looks);
  const type = isProtobuf ? methodType(message, schemas, path) : null;
  return {
    message,
    dialect: "other",
    conversationId: null,
    requestId: null,
    channel: looks,
    type: type ?? (isProtobuf ? "protobuf" : textOf(message) === undefined ? "bytes" : "text"),
    kind: path === "" ? looks : path,
    get says() {
      return secretBodies.test(path) ? noWords : unclaimedSays(message);
    },
    value: () => {
      if (secretBodies.test(path)) return new Sensitive("secret", textOf(message) ?? message.body);
      if (isProtobuf) return schemas.json(type ?? "", message.body, () => "private");
      return isEndStream(message)
        ? endStreamValue(message.body)
        : isWebTrailer(message)
          ? trailersValue(message.body)
          : privateText(message);
    },
    unknown: () => (isProtobuf ? schemas.unknown(type ?? "", message.body) : []),
  };
}

/** The trailer of gRPC-Web and the end of a Connect stream are text, whatever the stream's type. */
function isProto(message: StreamMessage, looks: string): boolean {
  if (looks === "Connect unary" || looks === "protobuf") return message.fault === null;
  if (!protobufFramings.has(message.framing) || message.fault !== null) return false;
  return !isEndStream(message) && !isWebTrailer(message) && message.body[0] !== 0x7b;
}

function methodType(message: StreamMessage, schemas: Schemas, path: string): string | null {
  const method = schemas.method?.(path);
  if (method === undefined) return null;
  return message.direction === "up" ? method.input : method.output;
}

function textOf(message: StreamMessage): string | undefined {
  return strictUtf8(message.body);
}

function privateText(message: StreamMessage): Printable {
  const text = textOf(message);
  if (text === undefined) return new Sensitive("private", message.body);
  return privately(text);
}
