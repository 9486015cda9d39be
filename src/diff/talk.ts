/** A capture as the comparison sees it: per turn the messages each way, by kind and by which fields are present. */
import type { Place } from "../core/place.js";
import { type Printable, Sensitive } from "../core/printable.js";
import type { Conversation, Turn } from "../model/conversation.js";
import type { Direction } from "../model/exchange.js";
import type { FrameLine } from "../model/message.js";

export interface TalkMessage {
  readonly direction: Direction;
  readonly kind: string;
  /** Key paths that are present, indices left out; shared between messages of one shape. */
  readonly fields: ReadonlySet<string>;
  readonly place: Place;
  readonly channel: string;
  readonly exchange: number;
  /** Position in the turn, both directions counted. */
  readonly ordinal: number;
}

export interface Talk {
  /** null: messages that belong to no turn. */
  readonly turn: Turn | null;
  readonly messages: readonly TalkMessage[];
}

/** Collects frames while a capture is read; nothing of their content is kept. */
export class TalkLog {
  private readonly byRequest = new Map<string | null, TalkMessage[]>();
  private readonly shapes = new Map<string, ReadonlySet<string>>();

  add(frame: FrameLine): void {
    const { direction, place } = frame.message;
    // What no agent protocol claims (pages, telemetry) is no part of the talk.
    if (isHeartbeat(frame.kind) || frame.dialect === "other") return;
    const key = frame.requestId;
    let messages = this.byRequest.get(key);
    if (messages === undefined) {
      messages = [];
      this.byRequest.set(key, messages);
    }
    const fields = this.shape(frame.value());
    messages.push({
      direction,
      kind: withoutIds(frame.kind),
      fields,
      place,
      channel: frame.channel,
      exchange: frame.message.exchange.id,
      ordinal: messages.length,
    });
  }

  /** Conversations of talks in the order of the analysis; what belongs to no turn comes last, alone. */
  talks(conversations: readonly Conversation[]): readonly (readonly Talk[])[] {
    const left = new Map(this.byRequest);
    const take = (turn: Turn): Talk => {
      const messages = turn.requestId === null ? [] : (left.get(turn.requestId) ?? []);
      // A second epoch of a request id has its messages under the first turn.
      if (turn.requestId !== null) left.delete(turn.requestId);
      return { turn, messages };
    };
    const out = conversations.map((conversation) => conversation.turns.map(take));
    const rest = [...left.values()].flat();
    return rest.length === 0 ? out : [...out, [{ turn: null, messages: rest }]];
  }

  private shape(value: Printable): ReadonlySet<string> {
    const paths = new Set<string>();
    collectPaths(value, "", paths, 0);
    const key = [...paths].sort().join("\n");
    const known = this.shapes.get(key);
    if (known !== undefined) return known;
    this.shapes.set(key, paths);
    return paths;
  }
}

/** Ids in a path of a REST call, or as keys of a map, differ between any two recordings. */
function withoutIds(text: string): string {
  return text.length < 12 ? text : text.replace(/[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{16,}|\d{6,}/gi, "*");
}

/** Their number depends on how long the model thought, never on the protocol. */
function isHeartbeat(kind: string): boolean {
  return /heartbeat|(^|\.)(ping|pong)$/.test(kind);
}

/** Below this depth, and beyond this number, shapes are content (tool schemas, transcripts). */
const deepest = 5;
const mostPaths = 200;

function collectPaths(value: Printable, path: string, paths: Set<string>, depth: number): void {
  if (paths.size >= mostPaths || depth > deepest) return;
  const inner = value instanceof Sensitive ? value.value : value;
  if (typeof inner !== "object" || inner === null || inner instanceof Uint8Array) return;
  if (Array.isArray(inner)) {
    for (const item of inner as readonly Printable[]) collectPaths(item, path, paths, depth);
    return;
  }
  for (const [key, item] of Object.entries(inner as { readonly [key: string]: Printable | undefined })) {
    if (item === undefined) continue;
    const at = path === "" ? withoutIds(key) : `${path}.${withoutIds(key)}`;
    paths.add(at);
    collectPaths(item, at, paths, depth + 1);
  }
}
