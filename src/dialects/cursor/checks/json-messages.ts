/** Model messages kept as JSON blobs: read back and parsed once for all the rules of a turn. */
import type { Bytes } from "../../../core/bytes.js";
import { Recent } from "../../../core/recent.js";
import type { BlobGraph } from "../blob-graph.js";
import type { CursorTurn } from "../turn.js";

export interface OpenedMessage {
  /** It is UTF-8 and JSON. */
  readonly isJson: boolean;
  /** It is JSON, be it with characters that are no UTF-8. */
  readonly parses: boolean;
  readonly role: string;
  /** Tool call ids of its parts. */
  readonly calls: readonly string[];
}

/** Messages above this are not parsed: a transcript's tool messages are small, its attachments are not. */
const parsedBytes = 262_144;

const byTurn = new Recent<CursorTurn, Map<string, OpenedMessage | undefined>>(2);
const strict = new TextDecoder("utf-8", { fatal: true });
const lossy = new TextDecoder();

/** undefined: no content of this id is in the capture, or it is longer than what is parsed. */
export function openMessage(turn: CursorTurn, id: string): OpenedMessage | undefined {
  const known = byTurn.get(turn) ?? byTurn.set(turn, new Map());
  if (known.has(id)) return known.get(id);
  const { graph } = turn.services.blobs;
  const bytes = (graph.size(id) ?? 0) > parsedBytes ? undefined : graph.content(id);
  const message = bytes === undefined ? undefined : opened(bytes);
  known.set(id, message);
  return message;
}

/** It starts with { and ends with }. Looks at the ends only: the attachments of a conversation are most of its bytes. */
export function hasBraces(graph: BlobGraph, id: string): boolean {
  const size = graph.size(id) ?? 0;
  return size > 0 && graph.content(id, 0, 1)?.[0] === 0x7b && graph.content(id, size - 1, size)?.[0] === 0x7d;
}

function opened(bytes: Bytes): OpenedMessage {
  const value = parsed(strict, bytes);
  const found = value ?? parsed(lossy, bytes);
  const { role, content } =
    typeof found === "object" && found !== null ? (found as { role?: unknown; content?: unknown }) : {};
  const parts = Array.isArray(content) ? (content as ({ toolCallId?: unknown } | null)[]) : [];
  return {
    isJson: value !== undefined,
    parses: found !== undefined && found !== null,
    role: typeof role === "string" ? role : "",
    calls: parts.flatMap((part) => (typeof part?.toolCallId === "string" ? [part.toolCallId] : [])),
  };
}

function parsed(decoder: { decode(bytes: Bytes): string }, bytes: Bytes): unknown {
  try {
    return JSON.parse(decoder.decode(bytes)) as unknown;
  } catch {
    return undefined;
  }
}
