/** Frame headers of HTTP/2. RFC 9113 4.1, 6. */
import type { Bytes } from "../../core/bytes.js";

export const frameHeaderBytes = 9;

export const frameType = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  push: 5,
  ping: 6,
  goaway: 7,
  window: 8,
  continuation: 9,
} as const;

export const frameFlag = { endStream: 1, ack: 1, endHeaders: 4, padded: 8, priority: 32 } as const;

export interface FrameHead {
  readonly length: number;
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
}

/** `bytes` holds nine bytes at `at`. */
export function readFrameHead(bytes: Bytes, at: number): FrameHead {
  return {
    length: (bytes[at]! << 16) | (bytes[at + 1]! << 8) | bytes[at + 2]!,
    type: bytes[at + 3]!,
    flags: bytes[at + 4]!,
    stream: ((bytes[at + 5]! & 0x7f) << 24) | (bytes[at + 6]! << 16) | (bytes[at + 7]! << 8) | bytes[at + 8]!,
  };
}

/** What a frame of this type must be like: on a stream, on stream 0 or either; a length; the flags it may have. */
interface FrameRule {
  readonly on: "stream" | "connection" | "either";
  readonly length: (length: number, flags: number) => boolean;
  readonly flags: number;
}

const anyLength = () => true;
const rules: readonly FrameRule[] = [
  { on: "stream", length: anyLength, flags: 0x09 },
  { on: "stream", length: anyLength, flags: 0x2d },
  { on: "stream", length: (length) => length === 5, flags: 0 },
  { on: "stream", length: (length) => length === 4, flags: 0 },
  { on: "connection", length: (length, flags) => length % 6 === 0 && ((flags & 1) === 0 || length === 0), flags: 1 },
  { on: "stream", length: (length) => length >= 4, flags: 0x0c },
  { on: "connection", length: (length) => length === 8, flags: 1 },
  { on: "connection", length: (length) => length >= 8, flags: 0 },
  { on: "either", length: (length) => length === 4, flags: 0 },
  { on: "stream", length: anyLength, flags: 4 },
];

/** The rule of RFC 9113 6 that a frame header breaks; null where it breaks none. Unknown types may be anything. */
export function frameFault(head: FrameHead): string | null {
  const rule = rules[head.type];
  if (rule === undefined) return null;
  if (!rule.length(head.length, head.flags)) return "its length";
  if (rule.on === "stream" && head.stream === 0) return "it belongs to a stream";
  if (rule.on === "connection" && head.stream !== 0) return "it belongs to the connection";
  return null;
}

/** Types beyond RFC 9113 that are in use: ALTSVC, ORIGIN, PRIORITY_UPDATE. */
const extensionTypes: readonly number[] = [0x0a, 0x0c, 0x10];

/** Whether nine bytes from anywhere are a frame header rather than chance: known type, its rules, its flags, the reserved bit clear. */
export function looksLikeFrame(bytes: Bytes, at: number, maxLength: number): boolean {
  const rule = rules[bytes[at + 3]!];
  if (rule === undefined && !extensionTypes.includes(bytes[at + 3]!)) return false;
  if (bytes[at + 5]! >= 0x80) return false;
  const head = readFrameHead(bytes, at);
  if (head.length > maxLength || frameFault(head) !== null) return false;
  return (head.flags & ~(rule?.flags ?? 0)) === 0;
}

export interface Padded {
  readonly from: number;
  readonly to: number;
}

/** Where the content of a HEADERS or PUSH_PROMISE payload lies; undefined: more padding than payload. */
export function unpadded(payload: Bytes, flags: number): Padded | undefined {
  if ((flags & frameFlag.padded) === 0) return { from: 0, to: payload.length };
  const pad = payload[0];
  return pad === undefined || 1 + pad > payload.length ? undefined : { from: 1, to: payload.length - pad };
}
