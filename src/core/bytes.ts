/** Byte helpers that every layer shares. All offsets and lengths are in bytes. */

export type Bytes = Uint8Array;

export const noBytes: Bytes = new Uint8Array(0);

const utf8Decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const strictUtf8Decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const utf8Encoder = new TextEncoder();

/** Joins `pieces` into one array; a single piece is returned as it is, without a copy. */
export function concat(pieces: readonly Bytes[]): Bytes {
  if (pieces.length === 1) return pieces[0]!;
  let total = 0;
  for (const piece of pieces) total += piece.length;
  const out = new Uint8Array(total);
  let at = 0;
  for (const piece of pieces) {
    out.set(piece, at);
    at += piece.length;
  }
  return out;
}

/** A copy that does not pin the chunk `bytes` is a view of. */
export function keep(bytes: Bytes): Bytes {
  return new Uint8Array(bytes);
}

export function equalBytes(a: Bytes, b: Bytes): boolean {
  return a.length === b.length && asBuffer(a).compare(b) === 0;
}

/** The same memory as a Buffer: no copy. */
export function asBuffer(bytes: Bytes): Buffer {
  return Buffer.from(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
}

export function hex(bytes: Bytes): string {
  return asBuffer(bytes).toString("hex");
}

export function fromHex(text: string): Bytes {
  return new Uint8Array(Buffer.from(text, "hex"));
}

/** One character per byte (ISO 8859-1). */
export function latin1(bytes: Bytes): string {
  return asBuffer(bytes).toString("latin1");
}

/** UTF-8 text; bad sequences become U+FFFD. */
export function utf8(bytes: Bytes): string {
  return utf8Decoder.decode(bytes);
}

/** UTF-8 text, or undefined where the bytes are not valid UTF-8. */
export function strictUtf8(bytes: Bytes): string | undefined {
  try {
    return strictUtf8Decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

export function utf8Bytes(text: string): Bytes {
  return utf8Encoder.encode(text);
}

export function readU32BE(bytes: Bytes, at: number): number {
  return ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0;
}

export function readU16BE(bytes: Bytes, at: number): number {
  return (bytes[at]! << 8) | bytes[at + 1]!;
}
