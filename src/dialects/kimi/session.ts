/**
 * Inputs of every exchange that may be kimi's -> connections, REST calls, RPC calls and turns. HAR entries come connection by
 * connection, so their events wait until the end and are then taken by time; packets and logs are already in order.
 */

import { placeOf } from "../../core/mark.js";
import { by } from "../../core/order.js";
import { isKnown } from "../../core/time.js";
import type { DialectResult, Session, SessionTools } from "../../model/dialect.js";
import { type Direction, type Exchange, headerValue, pathOnly, type ResponseHead } from "../../model/exchange.js";
import type { SessionInput, StreamMessage } from "../../model/message.js";
import { frameLine, restLine, rpcLine } from "./frame-line.js";
import { isVolatileType, keepFrame, type ParsedFrame, parseFrame } from "./frames.js";
import { numberAt, textAt, textsAt } from "./json.js";
import type { KimiConnection, RestCall } from "./model.js";
import { isSocketRequest } from "./recognise.js";
import { newRestCall, provesServer, readRequestBody, readResponseBody, readResponseHead } from "./rest.js";
import { kimiResult } from "./result.js";
import { RpcTracker } from "./rpc.js";
import { errorCodes } from "./tables/error-codes.js";
import { eventTypes } from "./tables/events.js";
import { frameTypes } from "./tables/frames.js";
import type { TurnBuilder } from "./turn-builder.js";
import type { SessionEventIn } from "./turn-events.js";
import { TurnTracker } from "./turns.js";

/** Everything the session learnt: what the result and the rules are made from. */
export interface KimiState {
  readonly connections: readonly KimiConnection[];
  readonly rest: readonly RestCall[];
  readonly rpc: RpcTracker;
  readonly turns: readonly TurnBuilder[];
  readonly clients: ReadonlyMap<string, string>;
  readonly givenBack: ReadonlySet<number>;
}

type Kind = "socket" | "rest" | "rpc";

export class KimiSession implements Session {
  private readonly kinds = new Map<number, Kind>();
  private readonly connections = new Map<number, KimiConnection>();
  private readonly rest = new Map<number, RestCall>();
  private readonly waiting: SessionEventIn[] = [];
  private readonly clients = new Map<string, string>();
  private readonly proven = new Set<string>();
  private readonly emitted = new Set<TurnBuilder>();
  private readonly tracker: TurnTracker;
  private readonly rpc: RpcTracker;

  constructor(private readonly tools: SessionTools) {
    this.tracker = new TurnTracker(tools.note, (turn) => this.live(turn));
    this.rpc = new RpcTracker(tools.note, (turn) => this.live(turn));
  }

  push(input: SessionInput): void {
    switch (input.kind) {
      case "open":
        return this.open(input.exchange);
      case "head":
        return this.head(input.exchange, input.head, input.informational);
      case "message":
        return this.message(input.message);
      case "gap":
        return this.gap(input);
      case "end":
        return this.end(input);
      case "trailers":
        return;
    }
  }

  finish(): DialectResult {
    this.waiting.sort(
      by(
        (event) => (isKnown(event.when) ? event.when.latest : null),
        (event) => event.connection,
        (event) => event.place.first,
      ),
    );
    for (const event of this.waiting) this.tracker.push(event);
    const state: KimiState = {
      connections: [...this.connections.values()].filter(
        (connection) => !connection.refused && !this.repeats.has(connection),
      ),
      rest: this.distinctCalls(),
      rpc: this.rpc,
      turns: [...this.tracker.turns(), ...this.rpc.turns()],
      clients: this.clients,
      givenBack: this.givenBack(),
    };
    return kimiResult(state);
  }

  /** A call that two inputs hold (same request id and path) counts once. */
  private distinctCalls(): readonly RestCall[] {
    const inputs = new Map<string, number>();
    return [...this.rest.values()].filter((call) => {
      if (call.requestId === null) return true;
      const key = `${call.requestId} ${call.method} ${call.path}`;
      const input = inputs.get(key);
      if (input === undefined) inputs.set(key, call.exchange.mark.input);
      if (input === undefined || input === call.exchange.mark.input) return true;
      this.tools.note({ code: "kimi.counted-once", place: call.place, detail: { what: "REST call" } });
      return false;
    });
  }

  private open(exchange: Exchange): void {
    if (exchange.kind !== "http") {
      this.kinds.set(exchange.id, "rpc");
      return;
    }
    const request = exchange.request;
    if (request === null) return;
    if (isSocketRequest(exchange)) {
      this.kinds.set(exchange.id, "socket");
      this.connections.set(exchange.id, this.newConnection(exchange));
      if ((headerValue(request.headers, "sec-websocket-protocol") ?? "").includes("kimi-code.bearer."))
        this.proven.add(request.authority);
      return;
    }
    const isApi = pathOnly(request.path).startsWith("/api/");
    this.kinds.set(exchange.id, isApi ? "rest" : "rpc");
    if (isApi) this.rest.set(exchange.id, newRestCall(exchange));
    if (request.headers.some((header) => header.name.toLowerCase().startsWith("x-kimi-")))
      this.proven.add(request.authority);
  }

  private newConnection(exchange: Exchange): KimiConnection {
    return {
      exchange,
      index: this.connections.size,
      frames: [],
      gaps: [],
      opened: false,
      refused: false,
      close: null,
      ended: false,
      compression: "none",
      protocolVersion: null,
      heartbeatMs: null,
      maxBuffer: null,
      sessions: new Set(),
    };
  }

  private head(exchange: Exchange, head: ResponseHead, informational: boolean): void {
    if (informational) return;
    const call = this.rest.get(exchange.id);
    if (call !== undefined) readResponseHead(call, head);
    const connection = this.connections.get(exchange.id);
    if (connection === undefined) return;
    const extended = exchange.request?.method === "CONNECT" && head.status === 200;
    connection.opened = head.status === 101 || extended;
    connection.refused = !connection.opened && head.status !== 0;
    if ((headerValue(head.headers, "sec-websocket-extensions") ?? "").includes("permessage-deflate"))
      connection.compression = "permessage-deflate";
  }

  private message(message: StreamMessage): void {
    switch (this.kinds.get(message.exchange.id)) {
      case "socket":
        return this.socketMessage(message);
      case "rest":
        return this.restMessage(message);
      case "rpc":
        this.rpc.push(message);
        if (this.tools.wantFrames) for (const frame of rpcLine(message)) this.tools.emit({ kind: "frame", frame });
        return;
      default:
        return;
    }
  }

  private restMessage(message: StreamMessage): void {
    const call = this.rest.get(message.exchange.id);
    if (call === undefined) return;
    if (message.direction === "up") readRequestBody(call, message);
    else {
      readResponseBody(call, message);
      if (message.fault !== null)
        this.tools.note({ code: "kimi.body-damaged", place: message.place, detail: { fault: message.fault } });
      if (provesServer(call)) this.proven.add(message.exchange.request?.authority ?? "");
      if (call.code !== null && call.isEnvelope && !errorCodes.has(call.code)) {
        this.tools.note({ code: "kimi.unknown-code", place: message.place, detail: { code: call.code } });
      }
      if (call.promptId !== null) this.tracker.promptAccepted(call.promptId, call.promptText, call.model);
    }
    if (this.tools.wantFrames && message.body.length > 0)
      this.tools.emit({ kind: "frame", frame: restLine(message, call) });
  }

  private socketMessage(message: StreamMessage): void {
    const connection = this.connections.get(message.exchange.id)!;
    if (message.flags >= 8) return this.controlFrame(connection, message);
    const parsed = parseFrame(message.body);
    const frame = keepFrame(message, parsed, connection.frames.length);
    connection.frames.push(frame);
    this.learn(connection, message, parsed);
    if (this.tools.wantFrames) this.tools.emit({ kind: "frame", frame: frameLine(message, parsed) });
    if (frame.class !== "event" || frame.sessionId === null || this.repeats.has(connection)) return;
    const event: SessionEventIn = {
      type: frame.type,
      connection: connection.index,
      sessionId: frame.sessionId,
      seq: frame.seq,
      epoch: frame.epoch,
      isVolatile: frame.volatile ?? isVolatileType(frame.type) ?? false,
      offset: frame.offset,
      payload: parsed.payload,
      when: frame.when,
      place: frame.place,
      bytes: frame.bytes,
    };
    if (message.exchange.recorder === "har") this.waiting.push(event);
    else this.tracker.push(event);
  }

  private learn(connection: KimiConnection, message: StreamMessage, parsed: ParsedFrame): void {
    const { note } = this.tools;
    const { type, payload } = parsed;
    const known = frameTypes.has(type) || eventTypes.has(type);
    if (parsed.class === "invalid")
      note({ code: "kimi.frame-invalid", place: message.place, detail: { bytes: message.body.length } });
    else if (!known) note({ code: "kimi.unknown-type", place: message.place, detail: { type } });
    if (connection.frames.length === 1 && !connection.opened) note({ code: "kimi.joined-late", place: message.place });
    if (type === "server_hello") {
      this.rememberConnection(connection, textAt(payload, "ws_connection_id"), message);
      connection.protocolVersion = numberAt(payload, "protocol_version");
      connection.heartbeatMs = numberAt(payload, "heartbeat_ms");
      connection.maxBuffer = numberAt(payload, "max_event_buffer_size");
      this.proven.add(message.exchange.request?.authority ?? "");
      if (connection.protocolVersion !== 2) {
        note({
          code: "kimi.unknown-version",
          place: message.place,
          detail: { version: connection.protocolVersion ?? "none" },
        });
      }
    }
    for (const id of textsAt(payload, "accepted")) connection.sessions.add(id);
    for (const id of textsAt(payload, "accepted_subscriptions")) connection.sessions.add(id);
    if (parsed.class !== "event") return;
    const sessionId = textAt(parsed.value, "session_id");
    if (sessionId === null || sessionId === "__global__") return;
    const agent = headerValue(message.exchange.request?.headers ?? [], "user-agent");
    if (agent !== undefined && !this.clients.has(sessionId)) this.clients.set(sessionId, agent);
  }

  /** The server names each connection: a second input that holds the same one is counted once. */
  private rememberConnection(connection: KimiConnection, id: string | null, message: StreamMessage): void {
    const before = id === null ? undefined : this.named.get(id);
    if (id === null || before === connection) return;
    if (before === undefined) this.named.set(id, connection);
    else if (before.exchange.mark.input !== connection.exchange.mark.input) {
      this.repeats.add(connection);
      this.tools.note({ code: "kimi.counted-once", place: message.place, detail: { what: "WebSocket connection" } });
    }
  }

  /** Close, ping and pong of the WebSocket itself. */
  private controlFrame(connection: KimiConnection, message: StreamMessage): void {
    if (message.flags !== 8 || connection.close !== null) return;
    const { body } = message;
    const code = body.length >= 2 ? (body[0]! << 8) | body[1]! : 1005;
    const reason = new TextDecoder().decode(body.subarray(2));
    connection.close = { code, reason, by: message.direction, when: message.mark.when };
    this.tracker.connectionEnded(connection.index);
  }

  private gap(input: Extract<SessionInput, { kind: "gap" }>): void {
    const connection = this.connections.get(input.exchange.id);
    const call = this.rest.get(input.exchange.id);
    if (call !== undefined && input.direction === "down") call.damaged = true;
    if (connection === undefined) return;
    connection.gaps.push({ afterOrdinal: connection.frames.length, direction: input.direction, why: input.why });
    this.tools.note({ code: "kimi.frames-lost", place: placeOf(input.mark), detail: { why: input.why } });
    if (input.direction === "down") this.tracker.lost(connection.index, input.why);
  }

  private readonly endedOnce = new Set<string>();
  private readonly named = new Map<string, KimiConnection>();
  /** Connections and calls that another input holds too. */
  private readonly repeats = new Set<KimiConnection | RestCall>();

  private end(input: Extract<SessionInput, { kind: "end" }>): void {
    const connection = this.connections.get(input.exchange.id);
    if (connection === undefined) return;
    this.endedOnce.add(`${input.exchange.id} ${input.direction}`);
    const other: Direction = input.direction === "up" ? "down" : "up";
    if (input.reason !== "capture-ended") connection.ended = true;
    if (!this.endedOnce.has(`${input.exchange.id} ${other}`)) return;
    this.tracker.connectionEnded(connection.index);
  }

  private live(turn: TurnBuilder): void {
    if (!this.tools.wantSteps) return;
    const title = `kimi ${turn.sessionId ?? "?"} ${turn.requestId}`;
    const step = turn.steps.at(-1);
    if (step !== undefined && step.count === 1) this.tools.emit({ kind: "step", title, step });
    if (!turn.endSeen || this.emitted.has(turn)) return;
    this.emitted.add(turn);
  }

  /** Exchanges under /api/ of hosts that never showed a mark of this server are somebody else's. */
  private givenBack(): ReadonlySet<number> {
    const back = new Set<number>();
    for (const [id, call] of this.rest) if (!this.proven.has(call.exchange.request?.authority ?? "")) back.add(id);
    for (const [id, connection] of this.connections) {
      const mine =
        connection.frames.some((frame) => frame.class !== "invalid") || connection.refused || connection.opened;
      if (
        !mine ||
        (connection.protocolVersion === null && !this.proven.has(connection.exchange.request?.authority ?? ""))
      )
        back.add(id);
    }
    for (const id of back) {
      this.rest.delete(id);
      this.connections.delete(id);
    }
    return back;
  }
}
