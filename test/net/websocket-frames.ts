/** WebSocket frames for the tests. RFC 6455 5.2. */
import { constants, deflateRawSync } from "node:zlib";
import { type Bytes, concat, utf8Bytes } from "../../src/core/bytes.js";

export interface FrameOptions {
  readonly fin?: boolean;
  readonly rsv?: number;
  readonly mask?: readonly number[] | null;
  /** Width of the length: 7, 16 or 64 bits; the shortest unless told. */
  readonly width?: 7 | 16 | 64;
}

export function frame(opcode: number, payload: Bytes | string, options: FrameOptions = {}): Bytes {
  const body = typeof payload === "string" ? utf8Bytes(payload) : payload;
  const { fin = true, rsv = 0, mask = null, width = body.length < 126 ? 7 : body.length < 65_536 ? 16 : 64 } = options;
  const first = (fin ? 0x80 : 0) | (rsv << 4) | opcode;
  const length = width === 7 ? body.length : width === 16 ? 126 : 127;
  const more = Buffer.alloc(width === 7 ? 0 : width / 8);
  if (width === 16) more.writeUInt16BE(body.length);
  if (width === 64) more.writeBigUInt64BE(BigInt(body.length));
  const head = new Uint8Array([first, (mask === null ? 0 : 0x80) | length, ...more, ...(mask ?? [])]);
  return concat([head, mask === null ? body : body.map((byte, i) => byte ^ mask[i & 3]!)]);
}

export const clientMask = [0x37, 0xfa, 0x21, 0x3d] as const;

export function masked(opcode: number, payload: Bytes | string, options: FrameOptions = {}): Bytes {
  return frame(opcode, payload, { mask: clientMask, ...options });
}

/** One message as permessage-deflate sends it when it refers to nothing before it. RFC 7692 7.2.1. */
export function deflated(payload: Bytes | string): Bytes {
  const out = deflateRawSync(typeof payload === "string" ? utf8Bytes(payload) : payload, {
    finishFlush: constants.Z_SYNC_FLUSH,
  });
  return new Uint8Array(out.subarray(0, out.length - 4));
}

/** The 101 handshake of RFC 6455 1.3; `extensions` as the server answers. */
export function handshake(extensions = ""): { readonly request: string; readonly response: string } {
  const line = extensions === "" ? "" : `Sec-WebSocket-Extensions: ${extensions}\r\n`;
  return {
    request: `GET /ws HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${line}\r\n`,
    response: `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n${line}\r\n`,
  };
}
