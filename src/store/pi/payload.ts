/** Payloads of entries: their shape by type, and a few words for people. The pi page, section 13. */
import { privately, type Words } from "../../core/printable.js";

export interface PayloadReading {
  /** null: as it has to be. */
  readonly fault: string | null;
  /** Fields that the type does not have. */
  readonly extra: readonly string[];
  readonly says: Words;
  /** branch_summary: the entry it summarises; undefined for other types or where it is no text. */
  readonly fromId: string | null | undefined;
  /** message: its role. */
  readonly role: string | null;
}

type Json = { readonly [key: string]: unknown };
type Shape = Readonly<Record<string, (value: unknown) => boolean>>;

const isText = (value: unknown) => typeof value === "string";
const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isMessage = (value: unknown) => isObject(value) && typeof value.role === "string" && value.role !== "";
const anything = () => true;

const shapes: Readonly<Record<string, { readonly required: Shape; readonly optional: Shape }>> = {
  message: { required: { message: isMessage }, optional: { terminate: (value) => value === true } },
  compaction: {
    required: {
      summary: isText,
      retainedTail: (value) => Array.isArray(value) && value.every(isMessage),
      tokensBefore: (value) => typeof value === "number",
      fromHook: (value) => typeof value === "boolean",
    },
    optional: { details: anything, usage: isObject },
  },
  branch_summary: {
    required: {
      fromId: (value) => value === null || isText(value),
      summary: isText,
      fromHook: (value) => typeof value === "boolean",
    },
    optional: { details: anything, usage: isObject },
  },
  custom: { required: {}, optional: { data: anything } },
};

export function readPayload(type: string, text: string): PayloadReading {
  const value = parseJson(text);
  const shape = Object.hasOwn(shapes, type) ? shapes[type] : undefined;
  if (value === undefined) return broken("is no JSON");
  if (!isObject(value)) return broken("is no JSON object");
  const says = wordsOf(type, value);
  const role = isObject(value.message) && typeof value.message.role === "string" ? value.message.role : null;
  const { fromId: from } = value;
  const fromId = type === "branch_summary" && (from === null || typeof from === "string") ? from : undefined;
  if (shape === undefined) return { fault: null, extra: [], says, fromId, role };
  return { fault: shapeFault(value, shape), extra: extras(value, shape), says, fromId, role };
}

/** undefined: no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function broken(fault: string): PayloadReading {
  return { fault, extra: [], says: [`payload ${fault}`], fromId: undefined, role: null };
}

function shapeFault(
  value: Json,
  { required, optional }: { readonly required: Shape; readonly optional: Shape },
): string | null {
  for (const [name, test] of Object.entries(required)) {
    if (!Object.hasOwn(value, name)) return `has no "${name}"`;
    if (!test(value[name])) return `has a "${name}" of another kind`;
  }
  for (const [name, test] of Object.entries(optional)) {
    if (Object.hasOwn(value, name) && !test(value[name])) return `has a "${name}" of another kind`;
  }
  return null;
}

function extras(value: Json, { required, optional }: { readonly required: Shape; readonly optional: Shape }): string[] {
  return Object.keys(value).filter((name) => !Object.hasOwn(required, name) && !Object.hasOwn(optional, name));
}

function wordsOf(type: string, value: Json): Words {
  if (type === "message" && isObject(value.message)) return messageWords(value.message);
  if (type === "compaction") return ["compaction: ", quoted(value.summary)];
  if (type === "branch_summary") return ["branch summary: ", quoted(value.summary)];
  return [];
}

function messageWords(message: Json): Words {
  const { role, content, stopReason, toolName } = message;
  const stop = typeof stopReason === "string" && stopReason !== "stop" ? ` (${stopReason})` : "";
  const tool = typeof toolName === "string" ? ` ${toolName}` : "";
  return [`${String(role)}${tool}${stop}: `, quoted(textOf(content))];
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (isObject(part) ? partText(part) : "")).join(" ");
}

function partText(part: Json): string {
  if (typeof part.text === "string") return part.text;
  if (typeof part.thinking === "string") return `(thinking) ${part.thinking}`;
  if (typeof part.name === "string") return `(calls ${part.name})`;
  return typeof part.type === "string" ? `(${part.type})` : "";
}

function quoted(value: unknown) {
  const text = typeof value === "string" ? value : "";
  return privately(JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text));
}
