/** One TCP connection: its two streams, who is the client, the layers on top, and what its summary says. */
import { createHash, type Hash } from "node:crypto";
import type { KeyLog } from "../../capture/keylog.js";
import type { Packet } from "../../capture/packet.js";
import type { Bytes } from "../../core/bytes.js";
import type { Note } from "../../core/diagnostic.js";
import type { Limits } from "../../core/limits.js";
import { type Mark, placeOf } from "../../core/mark.js";
import { exactly, type Nanos, unknownWhen } from "../../core/time.js";
import type {
  Direction,
  DirectionSummary,
  Flow,
  FlowProtocol,
  GapReason,
  Ids,
  NeckSink,
  TlsInfo,
} from "../../model/exchange.js";
import type { Duplex, EndReason } from "../duplex.js";
import { addressText } from "../ip.js";
import { rolesFrom } from "../roles.js";
import { type Segment, tcpFlag } from "../tcp/segment.js";
import { type OddCode, type StreamOwner, type StreamTools, TcpStream } from "../tcp.js";
import type { Layers } from "./layers.js";
import { innerSwitch, type Stack } from "./stack.js";

/** What all connections of a run share. */
export interface ConnectionTools extends StreamTools {
  readonly limits: Limits;
  readonly note: Note;
  readonly sink: NeckSink;
  readonly ids: Ids;
  readonly keys: KeyLog;
  readonly wantHashes: boolean;
  readonly layers: Layers;
}

/** Both ends; a is the sender of the first packet. Words as in Ip. */
export interface Ends {
  readonly family: 4 | 6;
  readonly a0: number;
  readonly a1: number;
  readonly a2: number;
  readonly a3: number;
  readonly b0: number;
  readonly b1: number;
  readonly b2: number;
  readonly b3: number;
  readonly aPort: number;
  readonly bPort: number;
}

export class Connection implements StreamOwner, Stack {
  /** Links of the flow table: same hash, and order of last use. */
  chain: Connection | undefined;
  /** Where it is kept by its full key. */
  key: string | undefined;
  older: Connection | undefined;
  newer: Connection | undefined;
  packets = 0;
  readonly streams: readonly [TcpStream, TcpStream];
  readonly tools: ConnectionTools;
  tls: (Duplex & { info(): TlsInfo }) | undefined;
  protocol: FlowProtocol = "unknown";
  private tlsInfo: TlsInfo | null = null;
  /** Of its flow: in order of first packets. */
  readonly id: number;
  private readonly sides: readonly [SideCount, SideCount] = [new SideCount(), new SideCount()];
  private client: 0 | 1 | undefined;
  private rolesBy: Flow["rolesBy"] = "port";
  private flow: Flow | undefined;
  private layer: Duplex | undefined;
  private readonly firstMark: Mark;
  private lastIndex: number;
  private lastInput: number;
  private lastAt: Nanos;
  private resetSide: 0 | 1 | undefined;
  private closedFirst: 0 | 1 | undefined;
  private synSeen = false;

  constructor(
    readonly ends: Ends,
    readonly hash: number,
    packet: Packet,
    firstIndex: number,
    tools: ConnectionTools,
  ) {
    this.tools = tools;
    this.id = tools.ids.flow();
    this.streams = [new TcpStream(0, this, tools), new TcpStream(1, this, tools)];
    this.firstMark = markOf(packet, firstIndex);
    this.lastIndex = packet.index;
    this.lastInput = packet.input;
    this.lastAt = packet.at;
  }

  /** Both directions are over: nothing more is expected. */
  get isOver(): boolean {
    return this.streams[0].isOver && this.streams[1].isOver;
  }

  packet(side: 0 | 1, segment: Segment, packet: Packet, firstIndex: number): void {
    this.packets++;
    this.lastIndex = packet.index;
    this.lastInput = packet.input;
    this.lastAt = packet.at;
    // It belongs here by its ports, and tshark lists it so; that is all.
    if (segment.bogus) return;
    const mine = this.streams[side];
    const other = this.streams[side === 0 ? 1 : 0];
    const { flags } = segment;
    if (segment.length > 0 || (flags & (tcpFlag.syn | tcpFlag.fin | tcpFlag.rst)) !== 0) {
      const mark = markOf(packet, firstIndex);
      if ((flags & tcpFlag.syn) !== 0) this.syn(side, flags);
      if ((flags & tcpFlag.rst) !== 0) this.reset(side, segment, mark);
      else if ((flags & tcpFlag.fin) !== 0) this.closedFirst ??= side;
      if (segment.length > 0 || (flags & (tcpFlag.syn | tcpFlag.fin)) !== 0) mine.segment(segment, mark);
    } else mine.empty(segment.seq);
    if ((flags & (tcpFlag.ack | tcpFlag.rst)) === tcpFlag.ack) other.acknowledge(segment.ack);
  }

  /**
   * Another connection between the same ends begins: by its SYN (RFC 9293 3.6.1, and tshark's rule), or by its SYN-ACK where the
   * capture lost the SYN and the connection before was over in both directions.
   */
  isAnother(side: 0 | 1, segment: Segment): boolean {
    if (segment.bogus || (segment.flags & tcpFlag.syn) === 0) return false;
    const { isn } = this.streams[side];
    if (isn === undefined || isn === segment.seq) return false;
    return (segment.flags & tcpFlag.ack) === 0 || (this.streams[0].isOver && this.streams[1].isOver);
  }

  /** The capture is over, or the connection's place is needed. */
  finish(): void {
    const flow = this.named();
    const mark = this.lastMark();
    const up = this.client === 1 ? 1 : 0;
    const down = up === 0 ? 1 : 0;
    const before = [this.streams[0].isOver, this.streams[1].isOver] as const;
    this.streams[up].close(mark, before[down]);
    this.streams[down].close(mark, before[up]);
    this.tools.sink({
      kind: "flow-end",
      summary: {
        flow,
        start: this.firstMark.when,
        end: mark.when,
        packets: this.packets,
        up: this.sides[up].summary(this.tools.wantHashes),
        down: this.sides[down].summary(this.tools.wantHashes),
        tls: this.tlsInfo,
        protocol: this.protocol,
      },
    });
  }

  data(stream: TcpStream, bytes: Bytes, mark: Mark): void {
    this.sides[stream.side].add(bytes, this.tools.wantHashes);
    if (stream.isOver) return;
    (this.layer ?? this.begin(stream.side, bytes)).bytes(this.direction(stream), bytes, mark);
  }

  gap(stream: TcpStream, offset: number, length: number, why: GapReason, mark: Mark): void {
    this.sides[stream.side].gap(offset, length);
    const layer = stream.isOver ? undefined : (this.layer ?? this.begin(stream.side, undefined));
    const direction = this.direction(stream);
    const place = placeOf(mark);
    if (why === "truncated-by-producer") this.tools.note({ code: "tcp.cut-packet", place, detail: { length } });
    else this.tools.note({ code: "tcp.gap", place, detail: { length, offset, direction, flow: this.text() } });
    layer?.gap(direction, length, why, mark);
  }

  over(stream: TcpStream, reason: EndReason, mark: Mark): void {
    this.layer?.end(this.direction(stream), reason, this.endedBy(reason), mark);
    if (!this.isOver) return;
    // The summary waits for packets that may still come; the layers need not.
    this.tlsInfo = this.tls?.info() ?? null;
    this.tls = undefined;
    this.layer = undefined;
  }

  odd(_stream: TcpStream, code: OddCode, length: number, mark: Mark): void {
    this.tools.note({ code, place: placeOf(mark), detail: { length, flow: this.text() } });
  }

  /** "192.0.2.1:50000 -> 192.0.2.2:443". */
  text(): string {
    const flow = this.named();
    return `${flow.client} -> ${flow.server}`;
  }

  /** For the note that a limit made: the connection's last packet. */
  lastMark(): Mark {
    return { input: this.lastInput, first: this.lastIndex, last: this.lastIndex, when: whenOf(this.lastAt) };
  }

  private syn(side: 0 | 1, flags: number): void {
    this.synSeen = true;
    if (this.client !== undefined) return;
    this.client = (flags & tcpFlag.ack) === 0 ? side : side === 0 ? 1 : 0;
    this.rolesBy = "syn";
    this.named();
  }

  private reset(side: 0 | 1, segment: Segment, mark: Mark): void {
    if (!this.streams[side].resetFits(segment.seq)) {
      this.tools.note({ code: "tcp.reset-ignored", place: placeOf(mark) });
      return;
    }
    this.resetSide ??= side;
    this.closedFirst ??= side;
    this.streams[side].reset(mark);
    this.streams[side === 0 ? 1 : 0].reset(mark);
  }

  private endedBy(reason: EndReason): "client" | "server" | null {
    const side = reason === "reset" ? this.resetSide : reason === "complete" ? this.closedFirst : undefined;
    return side === undefined ? null : side === this.client ? "client" : "server";
  }

  private direction(stream: TcpStream): Direction {
    return stream.side === this.client ? "up" : "down";
  }

  /** The first data or gap of either direction: roles are decided now, at the latest, and the layers begin. */
  private begin(side: 0 | 1, bytes: Bytes | undefined): Duplex {
    if (this.client === undefined) this.decideRoles(side, bytes);
    const flow = this.named();
    if (!this.synSeen) {
      this.tools.note({ code: "net.joined-midway", place: placeOf(this.firstMark), detail: { flow: this.text() } });
    }
    const layer = innerSwitch(this, flow, { alpn: null, secure: false, midway: !this.synSeen, depth: 0 });
    this.layer = layer;
    const other = this.streams[side === 0 ? 1 : 0];
    if (other.isOver) {
      const reason = this.resetSide === undefined ? "complete" : "reset";
      layer.end(this.direction(other), reason, this.endedBy(reason), this.lastMark());
    }
    return layer;
  }

  private decideRoles(side: 0 | 1, bytes: Bytes | undefined): void {
    const { aPort, bPort } = this.ends;
    const first = bytes ?? new Uint8Array(0);
    const roles = side === 0 ? rolesFrom(first, aPort, bPort) : rolesFrom(first, bPort, aPort);
    this.client = roles.client === 0 ? side : side === 0 ? 1 : 0;
    this.rolesBy = roles.by;
  }

  /** The flow as the neck knows it: announced when it is first needed. */
  private named(): Flow {
    if (this.flow !== undefined) return this.flow;
    if (this.client === undefined) this.decideRoles(0, undefined);
    const { family, a0, a1, a2, a3, b0, b1, b2, b3, aPort, bPort } = this.ends;
    const a = endText(family, addressText(family, a0, a1, a2, a3), aPort);
    const b = endText(family, addressText(family, b0, b1, b2, b3), bPort);
    const [client, server] = this.client === 0 ? [a, b] : [b, a];
    this.flow = { id: this.id, input: this.firstMark.input, client, server, rolesBy: this.rolesBy };
    this.tools.sink({ kind: "flow", flow: this.flow, mark: this.firstMark });
    return this.flow;
  }
}

/** Bytes, hash and gaps of one direction. */
class SideCount {
  private bytes = 0;
  private hash: Hash | undefined;
  private readonly gaps: { offset: number; length: number }[] = [];

  add(bytes: Bytes, wantHashes: boolean): void {
    this.bytes += bytes.length;
    if (!wantHashes) return;
    this.hash ??= createHash("sha256");
    this.hash.update(bytes);
  }

  gap(offset: number, length: number): void {
    const last = this.gaps[this.gaps.length - 1];
    if (last !== undefined && last.offset + last.length === offset) last.length += length;
    else this.gaps.push({ offset, length });
  }

  summary(wantHashes: boolean): DirectionSummary {
    const hash = this.hash ?? createHash("sha256");
    return { bytes: this.bytes, sha256: wantHashes ? hash.digest("hex") : null, gaps: this.gaps };
  }
}

function endText(family: 4 | 6, address: string, port: number): string {
  return family === 4 ? `${address}:${port}` : `[${address}]:${port}`;
}

function markOf(packet: Packet, firstIndex: number): Mark {
  return { input: packet.input, first: firstIndex, last: packet.index, when: whenOf(packet.at) };
}

function whenOf(at: Nanos) {
  return at === 0n ? unknownWhen : exactly(at);
}
