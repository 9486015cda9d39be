/** SETTINGS of HTTP/2. RFC 9113 6.5. */
import { type Bytes, readU16BE, readU32BE } from "../../core/bytes.js";

export interface Settings {
  /** null: not among them. */
  readonly headerTableSize: number | null;
  readonly maxFrameSize: number | null;
}

export function readSettings(payload: Bytes): Settings {
  let headerTableSize: number | null = null;
  let maxFrameSize: number | null = null;
  for (let at = 0; at + 6 <= payload.length; at += 6) {
    const id = readU16BE(payload, at);
    const value = readU32BE(payload, at + 2);
    if (id === 1) headerTableSize = value;
    else if (id === 5) maxFrameSize = value;
  }
  return { headerTableSize, maxFrameSize };
}

/** The value of the HTTP2-Settings header of an h2c upgrade (RFC 7540 3.2.1): base64url. */
export function settingsFromHeader(value: string): Settings {
  return readSettings(Buffer.from(value, "base64url"));
}
