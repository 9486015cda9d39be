/** A connection for the tests of the HTTP layers: packets in, exchanges out in a form that does not depend on how bytes were cut. */
import { type Bytes, concat, utf8, utf8Bytes } from "../../src/core/bytes.js";
import type { DiagnosticCode } from "../../src/core/diagnostic.js";
import { defaultLimits, type Limits } from "../../src/core/limits.js";
import type { Mark } from "../../src/core/mark.js";
import { exactly } from "../../src/core/time.js";
import { type Direction, type Flow, type NeckEvent, newIds, type StreamEvent } from "../../src/model/exchange.js";
import type { Duplex, EndReason, LayerContext } from "../../src/net/duplex.js";

export function markOf(packet: number): Mark {
  return { input: 0, first: packet, last: packet, when: exactly(BigInt(packet + 1) * 1_000_000n) };
}

export type Step =
  | { readonly dir: Direction; readonly bytes: Bytes }
  | { readonly dir: Direction; readonly gap: number | undefined }
  | { readonly dir: Direction; readonly end: EndReason; readonly by?: "client" | "server" };

export const up = (data: string | Bytes): Step => ({ dir: "up", bytes: toBytes(data) });
export const down = (data: string | Bytes): Step => ({ dir: "down", bytes: toBytes(data) });
export const gap = (dir: Direction, length?: number): Step => ({ dir, gap: length });
export const end = (dir: Direction, reason: EndReason = "complete", by?: "client" | "server"): Step =>
  by === undefined ? { dir, end: reason } : { dir, end: reason, by };
export const fins: readonly Step[] = [end("up"), end("down")];

function toBytes(data: string | Bytes): Bytes {
  return typeof data === "string" ? utf8Bytes(data) : data;
}

export interface FrameView {
  readonly dir: Direction;
  readonly opcode: number;
  readonly text: string;
  readonly compressed: boolean;
  readonly wireBytes: number;
  readonly fault?: string;
}

export interface View {
  readonly request: string;
  readonly authority: string;
  readonly scheme: string;
  readonly version: string | null;
  readonly protocol?: string;
  readonly headers: readonly string[];
  readonly opened: number;
  readonly packets: readonly [number, number];
  /** Status, informational ones in parentheses. */
  readonly heads: string[];
  readonly responseHeaders: string[];
  readonly up: string;
  readonly down: string;
  readonly gaps: string[];
  readonly trailers: string[];
  readonly ends: string[];
  readonly frames: FrameView[];
}

export interface Connection {
  readonly context: LayerContext;
  readonly events: NeckEvent[];
  readonly codes: DiagnosticCode[];
  readonly protocols: string[];
  /** What went into layers of context.inner(). */
  readonly inner: {
    readonly alpn: string | null;
    readonly secure: boolean;
    readonly log: string[];
    up: Bytes;
    down: Bytes;
  }[];
}

export function connection(options: { limits?: Partial<Limits>; rolesBy?: Flow["rolesBy"] } = {}): Connection {
  const flow: Flow = {
    id: 0,
    input: 0,
    client: "192.0.2.1:50000",
    server: "192.0.2.2:80",
    rolesBy: options.rolesBy ?? "syn",
  };
  const events: NeckEvent[] = [];
  const codes: DiagnosticCode[] = [];
  const protocols: string[] = [];
  const inner: Connection["inner"] = [];
  const context: LayerContext = {
    flow,
    limits: { ...defaultLimits, ...options.limits },
    note: (diagnostic) => codes.push(diagnostic.code),
    sink: (event) => events.push(event),
    ids: newIds(),
    protocol: (name) => protocols.push(name),
    inner: (hint) => {
      const made = { ...hint, log: [] as string[], up: new Uint8Array(0), down: new Uint8Array(0) };
      inner.push(made);
      return {
        bytes: (dir, bytes) => {
          made[dir] = concat([made[dir], bytes]) as Uint8Array<ArrayBuffer>;
        },
        gap: (dir, length) => made.log.push(`gap ${dir} ${length}`),
        end: (dir, reason) => made.log.push(`end ${dir} ${reason}`),
      };
    },
  };
  return { context, events, codes, protocols, inner };
}

export function play(layer: Duplex, steps: readonly Step[]): void {
  steps.forEach((step, packet) => {
    const mark = markOf(packet);
    if ("bytes" in step) layer.bytes(step.dir, step.bytes, mark);
    else if ("end" in step) layer.end(step.dir, step.end, step.by ?? null, mark);
    else layer.gap(step.dir, step.gap, "tcp-gap", mark);
  });
}

/** Builds a layer over a fresh connection and plays the steps. */
export function run(
  make: (context: LayerContext) => Duplex,
  steps: readonly Step[],
  options: Parameters<typeof connection>[0] = {},
): Connection & { readonly views: View[] } {
  const made = connection(options);
  play(make(made.context), steps);
  return { ...made, views: views(made.events) };
}

export function views(events: readonly NeckEvent[]): View[] {
  const all = new Map<number, View & { parts: { up: Bytes[]; down: Bytes[] } }>();
  for (const event of events) {
    if (event.kind === "flow" || event.kind === "flow-end") continue;
    if (event.kind === "open") {
      if (all.has(event.exchange.id)) throw new Error("opened twice");
      all.set(event.exchange.id, opened(event));
    } else add(all.get(event.exchange.id)!, event);
  }
  return [...all.values()].map(({ parts, ...view }) => ({
    ...view,
    up: utf8(concat(parts.up)),
    down: utf8(concat(parts.down)),
  }));
}

function opened({ exchange }: Extract<StreamEvent, { kind: "open" }>) {
  const request = exchange.request!;
  return {
    request: `${request.method} ${request.path}`,
    authority: request.authority,
    scheme: request.scheme,
    version: request.version,
    ...(request.protocol === undefined ? {} : { protocol: request.protocol }),
    headers: request.headers.map(({ name, value }) => `${name}: ${value}`),
    opened: Number(exchange.opened.earliest / 1_000_000n) - 1,
    packets: [exchange.mark.first, exchange.mark.last] as const,
    heads: [] as string[],
    responseHeaders: [] as string[],
    up: "",
    down: "",
    gaps: [] as string[],
    trailers: [] as string[],
    ends: [] as string[],
    frames: [] as FrameView[],
    parts: { up: [] as Bytes[], down: [] as Bytes[] },
  };
}

function add(
  view: View & { parts: { up: Bytes[]; down: Bytes[] } },
  event: Exclude<StreamEvent, { kind: "open" }>,
): void {
  if (event.kind !== "head" && view.ends.some((text) => text.startsWith(event.direction)))
    throw new Error("event after the end");
  switch (event.kind) {
    case "head":
      view.heads.push(event.informational ? `(${event.head.status})` : `${event.head.status}`);
      if (!event.informational)
        view.responseHeaders.push(...event.head.headers.map(({ name, value }) => `${name}: ${value}`));
      return;
    case "bytes":
      view.parts[event.direction].push(event.bytes);
      return;
    case "gap":
      view.gaps.push(`${event.direction} ${event.length ?? "?"} at ${concat(view.parts[event.direction]).length}`);
      return;
    case "trailers":
      view.trailers.push(...event.headers.map(({ name, value }) => `${event.direction} ${name}: ${value}`));
      return;
    case "end":
      view.ends.push(`${event.direction} ${event.reason}${event.by === null ? "" : ` by ${event.by}`}`);
      return;
    case "frame":
      view.frames.push({
        dir: event.direction,
        opcode: event.opcode,
        text: utf8(event.bytes),
        compressed: event.compressed,
        wireBytes: event.wireBytes,
        ...(event.fault === undefined ? {} : { fault: event.fault }),
      });
  }
}

/** The same steps with one packet's bytes in two pieces, at every offset of every packet. */
export function* everyCut(steps: readonly Step[]): Generator<{ readonly name: string; readonly steps: Step[] }> {
  for (const [index, step] of steps.entries()) {
    if (!("bytes" in step)) continue;
    for (let cut = 1; cut < step.bytes.length; cut++) {
      const halves = [step.bytes.subarray(0, cut), step.bytes.subarray(cut)].map((bytes) => ({ dir: step.dir, bytes }));
      yield {
        name: `packet ${index} at ${cut}`,
        steps: [...steps.slice(0, index), ...halves, ...steps.slice(index + 1)],
      };
    }
  }
}

/** All bytes one by one. */
export function byteByByte(steps: readonly Step[]): Step[] {
  return steps.flatMap((step): readonly Step[] =>
    "bytes" in step ? Array.from(step.bytes, (byte) => ({ dir: step.dir, bytes: new Uint8Array([byte]) })) : [step],
  );
}

/** A view without what depends on how packets are cut. */
export function uncut(all: readonly View[]) {
  return all.map(({ opened: _opened, packets: _packets, ...rest }) => rest);
}
