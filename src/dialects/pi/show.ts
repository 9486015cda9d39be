/** Frames on their way to people: steps of a turn, and lines of `frames`. */
import type { Words } from "../../core/printable.js";
import type { Pair, Step } from "../../model/conversation.js";
import type { FrameLine, StreamMessage } from "../../model/message.js";
import type { Connection } from "./connection.js";
import { frameValue } from "./frame-value.js";
import type { TurnDraft } from "./turn-draft.js";

/** What a frame turned out to be, for counting, steps and `frames`. */
export interface Told {
  readonly home: TurnDraft;
  readonly kind: string;
  readonly lane: Step["lane"];
  readonly says: Words;
  readonly pair?: Pair;
  readonly chars?: number;
  readonly run?: string | null;
  /** An update that touches a credential. */
  readonly secret?: boolean;
}

export function showFrame(connection: Connection, message: StreamMessage, told: Told): void {
  const { tools } = connection;
  if (tools.wantSteps) {
    const step = stepOf(connection, message, told);
    told.home.addStep(step, told.run ?? null);
    tools.emit({ kind: "step", title: told.home.conversationId, step });
  }
  if (!tools.wantFrames) return;
  const frame: FrameLine = {
    message,
    dialect: "pi",
    conversationId: told.home.conversationId,
    requestId: told.home.requestId,
    channel: "pi",
    type: "cbor",
    kind: told.kind,
    says: told.says,
    value: () => frameValue(message, told.secret ?? false),
    unknown: () => [],
  };
  tools.emit({ kind: "frame", frame });
}

function stepOf(connection: Connection, message: StreamMessage, told: Told): Step {
  const { when } = message.mark;
  return {
    when,
    until: when,
    direction: message.direction,
    channel: "pi",
    lane: told.lane,
    kind: told.kind,
    count: 1,
    bytes: message.wireBytes,
    chars: told.chars ?? 0,
    flags: -1,
    says: told.says,
    place: message.place,
    pair: told.pair ?? null,
    state: connection.phase,
  };
}
