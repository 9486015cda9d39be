/** The pi side of one run: framed messages of every claimed exchange in, connections, turns and verdicts out. */
import { noBytes } from "../../core/bytes.js";
import type { Limits } from "../../core/limits.js";
import { type Mark, placeOf } from "../../core/mark.js";
import { isKnown } from "../../core/time.js";
import { report } from "../../model/check.js";
import type { DialectResult, Session, SessionTools } from "../../model/dialect.js";
import type { Direction, Exchange } from "../../model/exchange.js";
import type { SessionInput, StreamMessage } from "../../model/message.js";
import { causalOrder } from "./causal-merge.js";
import { runRules } from "./checks/index.js";
import { Connection } from "./connection.js";
import { FrameCutter, frameBound, headerBytes } from "./frame-cutter.js";
import { connectionJson } from "./json.js";
import { buildTurns } from "./turns.js";

export function piSession(tools: SessionTools): Session {
  return new PiSession(tools);
}

interface Entry {
  readonly connection: Connection;
  /** For streams inside WebSocket messages. */
  readonly cutters: Record<Direction, FrameCutter>;
  /** Frames of dumps without times, until both are whole. */
  readonly held: Record<Direction, StreamMessage[]> | null;
  /** What waits for those frames to be read. */
  readonly after: (() => void)[];
  /** A frame whose end did not come, until it is known why. */
  readonly unfinished: Record<Direction, StreamMessage | null>;
}

class PiSession implements Session {
  private readonly entries = new Map<number, Entry>();
  private readonly bound: number;

  constructor(private readonly tools: SessionTools) {
    this.bound = boundOf(tools.limits);
  }

  push(input: SessionInput): void {
    switch (input.kind) {
      case "open":
        this.open(input.exchange);
        return;
      case "message":
        this.message(this.open(input.message.exchange), input.message);
        return;
      case "gap": {
        const entry = this.open(input.exchange);
        this.tools.note({ code: "pi.stream-gap", place: placeOf(input.mark), detail: { why: input.why } });
        entry.connection.gap(input.direction, input.why);
        this.settle(entry, input.direction, null);
        return;
      }
      case "end": {
        const entry = this.open(input.exchange);
        this.leftover(entry, input.direction, input.mark);
        this.settle(entry, input.direction, input.reason);
        entry.connection.end(input.direction, input.reason, input.by, input.mark);
        return;
      }
      case "head":
      case "trailers":
        return;
    }
  }

  finish(): DialectResult {
    for (const entry of this.entries.values()) {
      if (entry.held === null) continue;
      for (const message of causalOrder(entry.held.up, entry.held.down)) entry.connection.frame(message);
      for (const action of entry.after) action();
    }
    const all = [...this.entries.values()].map((entry) => entry.connection);
    all.sort((a, b) => a.exchange.id - b.exchange.id);
    const mine = all.filter((connection) => isPi(connection));
    for (const connection of mine) this.sayLimits(connection);
    const { conversations, turns, turnOf } = buildTurns(mine);
    for (const turn of turns) {
      this.tools.emit({ kind: "turn-ended", title: turn.conversationId ?? turn.requestId ?? "pi", turn });
    }
    return {
      dialect: "pi",
      conversations,
      turns,
      blobs: null,
      extra: extraOf(mine),
      notes: [],
      givenBack: new Set(all.filter((connection) => !isPi(connection)).map((connection) => connection.exchange.id)),
      judge: (wanted, sink) => report(runRules(mine, turnOf, wanted), sink),
    };
  }

  /** What the capture does not show of a connection. */
  private sayLimits(connection: Connection): void {
    const { up, down, exchange, requests, subscriptions } = connection;
    const place = placeOf(exchange.mark);
    if (up.startUnsure || down.startUnsure) this.tools.note({ code: "pi.joined-late", place });
    const over = [up, down].some(({ end }) => end !== null && end.reason !== "capture-ended");
    if (over || !connection.ordered) return;
    const calls = requests.unanswered().length;
    const live = subscriptions.all.filter((subscription) => subscription.state === "live").length;
    this.tools.note({ code: "pi.capture-stops", place, detail: { calls, subscriptions: live } });
  }

  private open(exchange: Exchange): Entry {
    const known = this.entries.get(exchange.id);
    if (known !== undefined) return known;
    const ordered = exchange.flow.rolesBy !== "raw" || isKnown(exchange.opened);
    const connection = new Connection(exchange, this.entries.size + 1, this.tools, ordered);
    const cutters = { up: new FrameCutter(this.bound), down: new FrameCutter(this.bound) };
    const held = ordered ? null : { up: [], down: [] };
    const made: Entry = { connection, cutters, held, after: [], unfinished: { up: null, down: null } };
    this.entries.set(exchange.id, made);
    return made;
  }

  private message(entry: Entry, message: StreamMessage): void {
    this.settle(entry, message.direction, null);
    if (message.framing === "websocket") this.inWebSocket(entry, message);
    else if (message.fault === null || message.fault === "lossy") this.frame(entry, message);
    else if (message.fault === "truncated") entry.unfinished[message.direction] = message;
    else if (message.declared === 0) this.emptyFrame(entry, message);
    else this.later(entry, () => this.overBound(entry.connection, message, message.declared, sizeOf(message)));
  }

  private later(entry: Entry, action: () => void): void {
    if (entry.held === null) action();
    else entry.after.push(action);
  }

  private frame(entry: Entry, message: StreamMessage): void {
    if (entry.held === null) entry.connection.frame(message);
    else entry.held[message.direction].push(message);
  }

  private inWebSocket(entry: Entry, message: StreamMessage): void {
    if (message.flags === 1) this.tools.note({ code: "pi.text-frame", place: message.place });
    if (message.flags !== 2) return;
    const cutter = entry.cutters[message.direction];
    for (const frame of cutter.push(message)) this.frame(entry, frame);
    const declared = cutter.overBound();
    if (declared === null) return;
    const left = cutter.leftover()!;
    this.later(entry, () => this.overBound(entry.connection, message, declared, left.bytes));
  }

  /** A length of 0 stands for a whole frame that no reader accepts, and for all that follows it. */
  private emptyFrame(entry: Entry, message: StreamMessage): void {
    const { place } = message;
    const start = place.start ?? 0;
    const header = place.within(place.side, start, start + headerBytes);
    this.frame(entry, { ...message, body: noBytes, wireBytes: 0, fault: null, place: header });
    const rest = sizeOf(message) - headerBytes;
    if (rest === 0) return;
    const { direction, mark } = message;
    const how = { bytes: rest, why: "it follows a frame of length 0" };
    this.later(entry, () => entry.connection.broken(direction, how, { place, when: mark.when, direction }));
  }

  private overBound(connection: Connection, message: StreamMessage, declared: number, bytes: number): void {
    const { direction, place, mark } = message;
    const why = `a header declares ${declared} bytes, over the bound of ${this.bound}`;
    const at = connection.broken(direction, { bytes, why }, { place, when: mark.when, direction });
    connection.note({ what: "over-bound", declared, bound: this.bound }, at);
    this.tools.note({ code: "pi.frame-over-bound", place, detail: { declared, bound: this.bound } });
  }

  private leftover(entry: Entry, direction: Direction, mark: Mark): void {
    const left = entry.cutters[direction].leftover();
    if (left === null) return;
    const { place } = left.from;
    const end = place.end ?? 0;
    const at = place.within(place.side, Math.max(0, end - left.bytes), end);
    const body = noBytes;
    entry.unfinished[direction] = {
      ...left.from,
      mark,
      place: at,
      body,
      wireBytes: left.have,
      declared: left.declared ?? 0,
    };
  }

  /**
   * Decides about an unfinished frame by what comes after it. `end`: how the direction ended there. null: something followed, so the
   * frame has a hole in it and the framing found its way behind it.
   */
  private settle(entry: Entry, direction: Direction, end: EndReason | null): void {
    const message = entry.unfinished[direction];
    if (message === null) return;
    entry.unfinished[direction] = null;
    const { connection } = entry;
    const size = sizeOf(message);
    this.later(entry, () => {
      if (end === null) connection.holed(direction, size);
      else this.cut(connection, message, size, end);
    });
  }

  private cut(connection: Connection, message: StreamMessage, size: number, end: EndReason): void {
    const { direction } = message;
    const { place, mark, wireBytes: have } = message;
    const declared = size < headerBytes ? null : message.declared;
    const said = declared === null ? "its header" : `${have} of ${declared} bytes`;
    const how = { bytes: size, why: `the stream ends after ${said}` };
    const at = connection.broken(direction, how, { place, when: mark.when, direction });
    connection.note({ what: "cut", have, declared, end }, at);
    this.tools.note({ code: "pi.stream-cut", place, detail: { have, declared: declared ?? "unknown" } });
  }
}

/** Built when a report asks for it: it names every request. */
function extraOf(connections: readonly Connection[]): DialectResult["extra"] {
  if (connections.length === 0) return {};
  return {
    get pi() {
      return { connections: connections.map(connectionJson) };
    },
  };
}

type EndReason = "complete" | "reset" | "capture-ended";

/** Bytes of the stream that a message covers, header included. */
function sizeOf(message: StreamMessage): number {
  const { place } = message;
  return place.start === undefined || place.end === undefined
    ? headerBytes + message.wireBytes
    : place.end - place.start;
}

/** The peers' own bound, or the smaller one the user set. */
function boundOf(limits: Limits): number {
  return Math.min(frameBound, limits.messageBytes);
}

/** A stream that was taken for pi and never showed an envelope is somebody else's. */
function isPi(connection: Connection): boolean {
  return [connection.up, connection.down].some((side) => [...side.frames.keys()].some((type) => type !== "rejected"));
}
