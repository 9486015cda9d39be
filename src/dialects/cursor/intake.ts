/** What the parts of a session share while messages come in. */
import type { Note } from "../../core/diagnostic.js";
import type { Words } from "../../core/printable.js";
import type { SessionTools } from "../../model/dialect.js";
import type { FrameLine, StreamMessage } from "../../model/message.js";
import type { Logs } from "./logs.js";
import type { DownItem, UpItem } from "./model.js";
import type { DownCall, RequestLog } from "./request-log.js";
import type { Reading } from "./server-message.js";

/** A message of this dialect, before it is known whether anybody prints it. */
export interface SeenFrame {
  readonly message: StreamMessage;
  /** The decoded bytes, and their type: not always the message's own body (an append's inner message). */
  readonly body: Uint8Array;
  readonly type: string;
  readonly kind: string;
  readonly channel: string;
  readonly says: Words;
  readonly log: RequestLog | null;
}

export interface Intake {
  readonly tools: SessionTools;
  readonly note: Note;
  readonly reading: Reading;
  readonly logs: Logs;
  frame(seen: SeenFrame): void;
  line(line: FrameLine): void;
  up(log: RequestLog, item: UpItem): void;
  down(log: RequestLog, call: DownCall, item: DownItem): void;
  ended(log: RequestLog, call: DownCall): void;
}
