/** HTTP/2 frames and a small two-sided talker for the tests. RFC 9113 4.1. */
import { type Bytes, concat, utf8Bytes } from "../../src/core/bytes.js";
import { type Field, HpackEncoder } from "./hpack-encoder.js";
import { down, type Step, up } from "./http-support.js";

export const preface = utf8Bytes("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

export function frame(type: number, flags: number, stream: number, payload: Bytes = new Uint8Array(0)): Bytes {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return concat([head, payload]);
}

export function u32(value: number): Bytes {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return new Uint8Array(bytes);
}

export function settings(values: Readonly<Record<number, number>> = {}, flags = 0): Bytes {
  const rows = Object.entries(values).map(([id, value]) => concat([new Uint8Array([0, Number(id)]), u32(value)]));
  return frame(4, flags, 0, concat([new Uint8Array(0), ...rows]));
}

export const settingsAck = settings({}, 1);

export function data(stream: number, payload: Bytes | string, options: { end?: boolean; pad?: number } = {}): Bytes {
  const { end = false, pad } = options;
  const body = typeof payload === "string" ? utf8Bytes(payload) : payload;
  const padded = pad === undefined ? body : concat([new Uint8Array([pad]), body, new Uint8Array(pad)]);
  return frame(0, (end ? 1 : 0) | (pad === undefined ? 0 : 8), stream, padded);
}

export const reset = (stream: number, error = 8): Bytes => frame(3, 0, stream, u32(error));
export const windowUpdate = (stream: number): Bytes => frame(8, 0, stream, u32(1000));
export const ping = frame(6, 0, 0, new Uint8Array(8));
export const goaway = (last: number, error: number): Bytes => frame(7, 0, 0, concat([u32(last), u32(error)]));

export interface HeadersOptions {
  readonly end?: boolean;
  readonly pad?: number;
  readonly priority?: boolean;
  /** Cuts the block at these offsets into CONTINUATION frames. */
  readonly cuts?: readonly number[];
}

/** HEADERS with what follows of its block. */
export function headers(stream: number, block: Bytes, options: HeadersOptions = {}): Bytes {
  const { end = false, pad, priority = false, cuts = [] } = options;
  const at = [0, ...cuts.map((cut) => Math.min(cut, block.length)), block.length];
  const parts = at.slice(1).map((to, i) => block.slice(at[i], to));
  const first = concat([
    new Uint8Array(pad === undefined ? [] : [pad]),
    new Uint8Array(priority ? [0, 0, 0, 0, 16] : []),
    parts[0]!,
    new Uint8Array(pad ?? 0),
  ]);
  const flags = (end ? 1 : 0) | (parts.length === 1 ? 4 : 0) | (pad === undefined ? 0 : 8) | (priority ? 32 : 0);
  return concat([
    frame(1, flags, stream, first),
    ...parts.slice(1).map((part, i) => frame(9, i === parts.length - 2 ? 4 : 0, stream, part)),
  ]);
}

export function pushPromise(stream: number, promised: number, block: Bytes): Bytes {
  return frame(5, 4, stream, concat([u32(promised), block]));
}

export const requestFields = (path: string, method = "POST", more: readonly Field[] = []): Field[] => [
  [":method", method],
  [":scheme", "http"],
  [":authority", "h.test"],
  [":path", path],
  ...more,
];

/** Both sides' encoders, so that a talk is written as a sequence of steps. */
export class Talk {
  readonly client = new HpackEncoder();
  readonly server = new HpackEncoder();

  static start(): Step[] {
    return [
      up(concat([preface, settings({ 1: 65_536, 2: 0 })])),
      down(concat([settings({ 3: 100 }), settingsAck])),
      up(settingsAck),
    ];
  }

  ask(
    stream: number,
    path: string,
    options: HeadersOptions & { method?: string; more?: readonly Field[] } = {},
  ): Bytes {
    return headers(stream, this.client.block(requestFields(path, options.method, options.more)), options);
  }

  answer(stream: number, status = 200, options: HeadersOptions & { more?: readonly Field[] } = {}): Bytes {
    return headers(stream, this.server.block([[":status", String(status)], ...(options.more ?? [])]), options);
  }

  trailers(stream: number, fields: readonly Field[]): Bytes {
    return headers(stream, this.server.block(fields), { end: true });
  }
}
