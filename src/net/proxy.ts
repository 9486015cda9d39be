/**
 * What may stand in front of a connection's real bytes: a SOCKS5 exchange (RFC 1928, 1929), or a PROXY protocol header (haproxy's
 * proxy-protocol.txt). Both are read over and the rest goes to a fresh protocol switch.
 */

import { ByteQueue } from "../core/byte-queue.js";
import type { Bytes } from "../core/bytes.js";
import { type Mark, placeOf } from "../core/mark.js";
import type { Direction, GapReason } from "../model/exchange.js";
import type { Duplex, EndReason, LayerContext } from "./duplex.js";

/** Takes one message from the front: its length, "more", or "bad". */
type Step = (queue: ByteQueue) => number | "more" | "bad";

/** The longest message here: a version 2 PROXY header. */
const longest = 16 + 65_535;

/** `raw`: takes everything where the exchange is not well formed. */
export function socks5Layer(context: LayerContext, secure: boolean, raw: () => Duplex): Duplex {
  return new Front(context, secure, raw, "SOCKS5", {
    up: [greeting, authenticationOrNothing, request],
    down: [method, statusOrNothing, request],
  });
}

export function proxyHeaderLayer(context: LayerContext, secure: boolean, raw: () => Duplex): Duplex {
  return new Front(context, secure, raw, "PROXY", { up: [proxyHeader], down: [] });
}

class Front implements Duplex {
  private inner: Duplex | undefined;
  private readonly queues: Record<Direction, ByteQueue> = { up: new ByteQueue(), down: new ByteQueue() };
  private readonly at: Record<Direction, number> = { up: 0, down: 0 };

  constructor(
    private readonly context: LayerContext,
    private readonly secure: boolean,
    private readonly raw: () => Duplex,
    private readonly kind: string,
    private readonly steps: Readonly<Record<Direction, readonly Step[]>>,
  ) {}

  bytes(direction: Direction, bytes: Bytes, mark: Mark): void {
    if (this.through(direction)) {
      // What waited when the other direction failed.
      if (this.queues[direction].length > 0) this.release(direction);
      this.layer().bytes(direction, bytes, mark);
      return;
    }
    const queue = this.queues[direction];
    queue.push(bytes, mark);
    while (!this.through(direction)) {
      const taken = this.steps[direction][this.at[direction]]!(queue);
      if (taken === "more" && queue.length <= longest) return;
      if (typeof taken !== "number") this.fail(direction, mark);
      else {
        queue.skip(taken);
        this.at[direction]++;
      }
    }
    this.release(direction);
  }

  gap(direction: Direction, length: number | undefined, why: GapReason, mark: Mark): void {
    if (!this.through(direction)) this.fail(direction, mark);
    this.release(direction);
    this.layer().gap(direction, length, why, mark);
  }

  end(direction: Direction, reason: EndReason, by: "client" | "server" | null, mark: Mark): void {
    this.release(direction);
    this.layer().end(direction, reason, by, mark);
  }

  private through(direction: Direction): boolean {
    return this.at[direction] >= this.steps[direction].length;
  }

  private layer(): Duplex {
    this.inner ??= this.context.inner({ alpn: null, secure: this.secure });
    return this.inner;
  }

  private release(direction: Direction): void {
    this.queues[direction].takeAll((bytes, mark) => this.layer().bytes(direction, bytes, mark));
  }

  private fail(_direction: Direction, mark: Mark): void {
    const { client, server } = this.context.flow;
    const detail = { kind: this.kind, flow: `${client} -> ${server}` };
    this.context.note({ code: "proxy.malformed", place: placeOf(mark), detail });
    this.inner ??= this.raw();
    this.at.up = this.steps.up.length;
    this.at.down = this.steps.down.length;
  }
}

function need(queue: ByteQueue, length: number): number | "more" {
  return queue.length < length ? "more" : length;
}

/** Version, number of methods, methods. */
function greeting(queue: ByteQueue): number | "more" | "bad" {
  if (queue.at(0) !== 5) return queue.length === 0 ? "more" : "bad";
  const count = queue.at(1);
  return count === undefined ? "more" : need(queue, 2 + count);
}

function method(queue: ByteQueue): number | "more" | "bad" {
  return queue.at(0) === 5 ? need(queue, 2) : queue.length === 0 ? "more" : "bad";
}

/** RFC 1929: version 1, user, password; only where the server asked for it, and then it begins with another version. */
function authenticationOrNothing(queue: ByteQueue): number | "more" {
  if (queue.at(0) !== 1) return queue.length === 0 ? "more" : 0;
  const user = queue.at(1);
  const password = user === undefined ? undefined : queue.at(2 + user);
  return user === undefined || password === undefined ? "more" : need(queue, 3 + user + password);
}

function statusOrNothing(queue: ByteQueue): number | "more" {
  return queue.at(0) === 1 ? need(queue, 2) : queue.length === 0 ? "more" : 0;
}

/** Request and reply alike: version, command or answer, 0, address type, address, port. */
function request(queue: ByteQueue): number | "more" | "bad" {
  if (queue.length > 0 && queue.at(0) !== 5) return "bad";
  const type = queue.at(3);
  if (type === undefined) return "more";
  if (type === 1) return need(queue, 10);
  if (type === 4) return need(queue, 22);
  const length = queue.at(4);
  return type !== 3 ? "bad" : length === undefined ? "more" : need(queue, 7 + length);
}

function proxyHeader(queue: ByteQueue): number | "more" | "bad" {
  if (queue.at(0) === 0x0d) {
    const length = queue.at(14);
    const low = queue.at(15);
    return length === undefined || low === undefined ? "more" : need(queue, 16 + ((length << 8) | low));
  }
  // At most 107 bytes with the line end.
  const end = queue.indexOf(0x0a);
  return end >= 0 && end < 107 ? end + 1 : queue.length < 107 ? "more" : "bad";
}
