/**
 * One pi connection, frame by frame: decoding, envelopes, handshake; requests, attachments and updates go to their own books.
 * After a fault of framing, CBOR or envelope a direction is dead, as for the real peers; the other one is still read.
 */
import type { Mark } from "../../core/mark.js";
import { type CborValue, decodeCbor } from "../../decode/cbor.js";
import type { SessionTools } from "../../model/dialect.js";
import type { Direction, Exchange, GapReason } from "../../model/exchange.js";
import type { StreamMessage } from "../../model/message.js";
import { Attachments } from "./attachments.js";
import { Calls } from "./calls.js";
import { type Envelope, isEnvelopeType, protocolVersion, readEnvelope } from "./envelope.js";
import type { Oddity, Point } from "./facts.js";
import { RequestBook } from "./requests.js";
import { isMap } from "./shape.js";
import { showFrame, type Told } from "./show.js";
import { Side } from "./side.js";
import { Subscriptions } from "./subscriptions.js";
import { TurnDraft } from "./turn-draft.js";

/** Oddities kept per connection; further ones are counted only. */
const oddityLimit = 10_000;

type OddityBody = Oddity extends infer O ? (O extends Oddity ? Omit<O, "at" | "home"> : never) : never;

export class Connection {
  readonly up = new Side();
  readonly down = new Side();
  readonly requests = new RequestBook();
  readonly attachments = new Attachments();
  readonly subscriptions: Subscriptions;
  readonly own: TurnDraft;
  readonly drafts: TurnDraft[];
  readonly oddities: Oddity[] = [];
  /** Of the first server hello. */
  serverId: string | null = null;
  refusal: Extract<Envelope, { type: "hello_error" }>["error"] | null = null;
  /** The first hello_error. */
  fatalAt: Point | null = null;
  /** Another protocol version that both hellos carry: read as far as it is alike. */
  version = protocolVersion;
  private odd = 0;
  private readonly calls: Calls;

  constructor(
    readonly exchange: Exchange,
    /** 1-based, by first packet. */
    readonly ordinal: number,
    readonly tools: SessionTools,
    /** false: the two directions have no common order (dumps without times). */
    readonly ordered: boolean,
  ) {
    this.own = new TurnDraft(null, `connection-${ordinal}`);
    this.drafts = [this.own];
    this.subscriptions = new Subscriptions(this);
    this.calls = new Calls(this);
  }

  side(direction: Direction): Side {
    return direction === "up" ? this.up : this.down;
  }

  get handshake(): "ok" | "refused" | "none" {
    if (this.serverId !== null) return "ok";
    return this.refusal !== null ? "refused" : "none";
  }

  /** A whole frame; `message.body` is its payload, `message.place` covers its header too. */
  frame(message: StreamMessage): void {
    const side = this.side(message.direction);
    const size = message.headerBytes + message.wireBytes;
    const offset = side.bytes;
    side.bytes += size;
    if (message.evidence === "lossy-utf8") side.lose("lossy-utf8");
    if (side.dead !== null) {
      side.stop(offset, size, side.dead);
      return;
    }
    const { place, direction } = message;
    const at: Point = { place, when: message.mark.when, direction, index: side.index };
    if (side.index === 0) this.firstFrame(side);
    const told = this.read(message, at);
    told.home.count(direction, told.kind, message.wireBytes, place, at.when);
    showFrame(this, message, told);
  }

  /** Bytes that no frame can be made of. */
  broken(direction: Direction, how: { readonly bytes: number; readonly why: string }, at: Omit<Point, "index">): Point {
    const side = this.side(direction);
    const offset = side.bytes;
    side.bytes += how.bytes;
    side.stop(offset, how.bytes, side.dead ?? how.why);
    return { ...at, index: side.index };
  }

  gap(direction: Direction, why: GapReason): void {
    this.side(direction).lose(why);
  }

  /** A frame with a hole in it: its bytes count, nothing else is known of it. */
  holed(direction: Direction, bytes: number): void {
    const side = this.side(direction);
    side.bytes += bytes;
    side.lose("tcp-gap");
    if (side.index === 0) this.firstFrame(side);
    side.index++;
  }

  end(
    direction: Direction,
    reason: "complete" | "reset" | "capture-ended",
    by: "client" | "server" | null,
    mark: Mark,
  ): void {
    this.side(direction).end ??= { reason, by, mark };
  }

  note(body: OddityBody, at: Point, home: TurnDraft = this.own): void {
    if (this.odd++ === oddityLimit) {
      this.tools.note({ code: "pi.many-oddities", place: at.place, detail: { limit: oddityLimit } });
    }
    if (this.odd > oddityLimit) return;
    this.oddities.push({ ...body, at, home } as Oddity);
  }

  /** Whether a rule about `at` rests on bytes that the capture may lack. To be asked after the last frame. */
  isDoubtful(at: Point): boolean {
    return this.up.isDoubtful(at) || this.down.isDoubtful(at);
  }

  private firstFrame(side: Side): void {
    // Without the connection's opening in the capture, a first frame that is no hello may simply be a later one.
    const { flow, kind } = this.exchange;
    side.startUnsure = kind === "bytes" && flow.rolesBy !== "syn" && flow.rolesBy !== "raw";
  }

  private read(message: StreamMessage, at: Point): Told {
    if (message.body.length === 0) {
      this.note({ what: "empty-frame" }, at);
      return this.reject(at, "a frame of length 0");
    }
    const decoded = decodeCbor(message.body);
    if (!decoded.ok) {
      this.note({ what: "bad-cbor", fault: decoded.fault }, at);
      return this.reject(at, `${decoded.fault.says} at byte ${decoded.fault.offset} of the payload`);
    }
    if (decoded.byteString !== null) {
      this.note({ what: "byte-string", offset: decoded.byteString }, at);
      return this.reject(at, `a byte string at byte ${decoded.byteString} of the payload`);
    }
    const version = at.direction === "down" ? this.serverVersion(decoded.value) : protocolVersion;
    const read = readEnvelope(at.direction, decoded.value, version);
    if (!read.ok) {
      if (this.version !== protocolVersion) return this.foreign(decoded.value, at);
      this.note({ what: "bad-envelope", fault: read.fault }, at);
      const where = read.fault.path === "" ? "" : `${read.fault.path} `;
      return this.reject(at, `${where}${read.fault.says}`);
    }
    const { type } = read.envelope;
    const side = this.side(at.direction);
    if (side.index === 0 && type.startsWith("hello")) side.startUnsure = false;
    if (decoded.remark !== null) this.note({ what: "not-shortest", remark: decoded.remark, type }, at);
    if (at.direction === "down" && this.fatalAt !== null) this.note({ what: "after-fatal", type }, at);
    const told = this.dispatch(read.envelope, at, message);
    side.count(type, at);
    return told;
  }

  private dispatch(envelope: Envelope, at: Point, message: StreamMessage): Told {
    switch (envelope.type) {
      case "hello":
        return this.onHello(envelope, at);
      case "hello_error":
        return this.onFatal(envelope, at);
      case "request":
        return this.calls.request(envelope, at);
      case "cancel":
        return this.calls.cancel(envelope, at);
      case "response":
        return this.calls.response(envelope, at);
      case "service_update":
        return this.subscriptions.update(envelope, at, message);
      case "attachment":
        return this.onAttachment(envelope, at);
    }
  }

  private onHello(envelope: Extract<Envelope, { type: "hello" }>, at: Point): Told {
    const side = this.side(at.direction);
    side.hellos.push({ at, version: envelope.version, serverId: envelope.serverId });
    if (at.direction === "down") this.serverId ??= envelope.serverId;
    const server = envelope.serverId === null ? "" : `, server ${envelope.serverId}`;
    return { home: this.own, kind: "hello", lane: "control", says: [`version ${envelope.version}${server}`] };
  }

  private onFatal(envelope: Extract<Envelope, { type: "hello_error" }>, at: Point): Told {
    const { error } = envelope;
    this.note({ what: "fatal", error, last: this.up.last }, at);
    this.refusal ??= error;
    this.fatalAt ??= at;
    const says = [`the server gives up: ${error.code}${error.message === "" ? "" : `, ${error.message}`}`];
    return { home: this.own, kind: "hello_error", lane: "control", says };
  }

  private onAttachment(envelope: Extract<Envelope, { type: "attachment" }>, at: Point): Told {
    const { attachment } = envelope;
    if (attachment === null) {
      if (this.attachments.current === null) this.note({ what: "detached-twice" }, at);
      const before = this.attachments.publish(null, at, null);
      const home = before?.home ?? this.own;
      if (before !== null) this.leave(before.home, "detached");
      return { home, kind: "attachment", lane: "control", says: ["detached"] };
    }
    const { serverId, sessionId, attachmentId } = attachment;
    if (this.serverId !== null && serverId !== this.serverId) {
      this.note({ what: "attachment-server", serverId, expected: this.serverId }, at);
    }
    if (this.attachments.seen(attachmentId!)) this.note({ what: "attachment-again", attachmentId: attachmentId! }, at);
    const home = new TurnDraft(sessionId, attachmentId!);
    this.drafts.push(home);
    const before = this.attachments.publish(attachment, at, home);
    if (before !== null) this.leave(before.home, "switched");
    return { home, kind: "attachment", lane: "control", says: [`attached to session ${sessionId}`] };
  }

  /** Losing an attachment ends the subscriptions of its session without any frame. */
  private leave(home: TurnDraft | null, how: "detached" | "switched"): void {
    if (home === null) return;
    home.closedBy = how;
    this.subscriptions.lose(home);
  }

  private reject(at: Point, why: string): Told {
    const side = this.side(at.direction);
    side.count("rejected", at);
    side.dead = `the frame at byte ${at.place.start ?? 0} was refused: ${why}`;
    const what = at.direction === "up" ? "pi.client-frame-refused" : "pi.server-frame-refused";
    this.tools.note({ code: what, place: at.place, detail: { why } });
    return { home: this.own, kind: "rejected", lane: "control", says: [`refused: ${why}`] };
  }

  private serverVersion(value: CborValue): number {
    const asked = this.up.hellos[0]?.version ?? protocolVersion;
    if (asked === protocolVersion || !isMap(value) || value.get("type") !== "hello") return this.version;
    if (value.get("version") === asked) {
      this.version = asked;
      this.tools.note({ code: "pi.unknown-version", detail: { version: asked } });
    }
    return this.version;
  }

  /** An envelope that version 8 does not know, between peers that agreed on another version. */
  private foreign(value: CborValue, at: Point): Told {
    const named = isMap(value) ? value.get("type") : undefined;
    const kind = typeof named === "string" && (named.length <= 40 || isEnvelopeType(named)) ? named : "unknown";
    this.side(at.direction).count(kind, at);
    return { home: this.own, kind, lane: "control", says: [`not an envelope of version ${protocolVersion}`] };
  }

  /** For state diagrams: how far the connection has come. */
  get phase(): string {
    if (this.fatalAt !== null) return "refused";
    if (this.serverId === null) return "connecting";
    const session = this.attachments.current?.target?.sessionId;
    return session == null ? "open" : `attached to ${session}`;
  }
}
