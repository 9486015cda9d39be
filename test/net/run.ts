/** Runs captures through the packet layers and gathers what comes out at the neck. */
import { captureFormats } from "../../src/capture/index.js";
import type { KeyLog } from "../../src/capture/keylog.js";
import type { Packet } from "../../src/capture/packet.js";
import type { Source } from "../../src/capture/source.js";
import type { Bytes } from "../../src/core/bytes.js";
import type { Diagnostic } from "../../src/core/diagnostic.js";
import { defaultLimits, type Limits } from "../../src/core/limits.js";
import { type FlowSummary, type NeckEvent, newIds } from "../../src/model/exchange.js";
import type { Layers } from "../../src/net/flow/layers.js";
import { RawExchange } from "../../src/net/flow/raw.js";
import { netWith } from "../../src/net/index.js";

export const noKeys: KeyLog = { find: () => undefined, knows: () => false, add: () => {}, size: 0, premasters: 0 };

/** A source over bytes in memory, handed out in blocks of the given size. */
export function memorySource(data: Bytes, blockBytes = data.length || 1): Source {
  // A Buffer's slice() is a view; what sources hand out is plain.
  const file = new Uint8Array(data);
  return {
    path: "memory",
    *blocks() {
      for (let at = 0; at < file.length; at += blockBytes) yield file.slice(at, at + blockBytes);
    },
    head: () => file.subarray(0, 65_536),
    rawBytes: file.length,
    sha256: () => null,
    compression: null,
    close: () => {},
  };
}

export interface ReadResult {
  readonly packets: Packet[];
  readonly notes: Diagnostic[];
  readonly secrets: Bytes[];
}

export function readPackets(
  file: Bytes,
  options: { limits?: Limits; blockBytes?: number; input?: number } = {},
): ReadResult {
  const source = memorySource(file, options.blockBytes);
  const format = captureFormats.find((each) => each.matches(source.head()));
  if (format === undefined) throw new Error("no capture format matches");
  const notes: Diagnostic[] = [];
  const secrets: Bytes[] = [];
  const keys = { ...noKeys, add: (text: Bytes) => void secrets.push(text) };
  const limits = options.limits ?? defaultLimits;
  const context = { input: options.input ?? 0, limits, note: (d: Diagnostic) => void notes.push(d), keys };
  return { packets: [...format.read(source, context)], notes, secrets };
}

export interface NetResult {
  readonly flows: FlowSummary[];
  readonly events: NeckEvent[];
  readonly notes: Diagnostic[];
}

/** Every connection as raw bytes, whatever it speaks. */
export const rawLayers: Layers = {
  tls: (context) => Object.assign(new RawExchange(context), { info: () => noTls }),
  http1: (context) => new RawExchange(context),
  http2: (context) => new RawExchange(context),
  raw: (context) => new RawExchange(context),
};

const noTls = { version: null, cipher: null, sni: null, alpn: null, decrypted: false, why: null };

export function runNet(packets: Iterable<Packet>, options: { limits?: Limits; layers?: Layers } = {}): NetResult {
  const result: NetResult = { flows: [], events: [], notes: [] };
  const context = {
    limits: options.limits ?? defaultLimits,
    note: (diagnostic: Diagnostic) => void result.notes.push(diagnostic),
    sink: (event: NeckEvent) => {
      result.events.push(event);
      if (event.kind === "flow-end") result.flows.push(event.summary);
    },
    ids: newIds(),
    keys: noKeys,
    wantHashes: true,
  };
  const net = netWith(context, options.layers ?? rawLayers);
  for (const packet of packets) net.push(packet);
  net.end();
  return result;
}

/** Different codes, sorted. */
export function codesOf(notes: readonly Diagnostic[]): string[] {
  return [...new Set(notes.map((note) => note.code))].sort();
}
