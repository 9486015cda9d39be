/** Every bound of the reader in one frozen object; units in the names, zero means zero. */
import { CursorWireError } from "./errors.js";

const KiB = 1024;
const MiB = 1024 * KiB;

export interface Limits {
  /** Out-of-order TCP bytes held, one direction of one flow. */
  readonly reorderBytesPerFlow: number;
  /** Out-of-order TCP bytes held, all flows. */
  readonly reorderBytesTotal: number;
  readonly openFlows: number;
  /** IP fragments held while their datagram is incomplete, all datagrams. */
  readonly fragmentBytes: number;
  /** One HTTP head, or one HPACK header block. */
  readonly headBytes: number;
  /** TLS ciphertext held while its secret may still come, per flow. */
  readonly undecryptedBytesPerFlow: number;
  /** One enveloped, WebSocket or length-prefixed message. */
  readonly messageBytes: number;
  /** Fragments of one WebSocket message. */
  readonly fragments: number;
  /** One decompressed message or body. */
  readonly inflatedBytes: number;
  /** Decompressed size over compressed size, for outputs above 1 MiB. */
  readonly inflateRatio: number;
  /** One HAR entry without its body texts. */
  readonly harEntryBytes: number;
  /** One HAR body text as it stands in the file. */
  readonly harBodyBytes: number;
  /** Nesting of protobuf, CBOR and JSON. */
  readonly nesting: number;
  /** Blob bodies held in memory before they spill to a private temporary file; as much again holds the messages of past requests. */
  readonly conversationBytes: number;
  /** One declared length in a pcap or pcapng record. */
  readonly recordBytes: number;
  /** Places kept per diagnostic code. */
  readonly diagnosticPlaces: number;
}

export const defaultLimits: Limits = Object.freeze({
  reorderBytesPerFlow: 8 * MiB,
  reorderBytesTotal: 64 * MiB,
  openFlows: 65_536,
  fragmentBytes: 16 * MiB,
  headBytes: 256 * KiB,
  undecryptedBytesPerFlow: 4 * MiB,
  messageBytes: 64 * MiB,
  fragments: 65_536,
  inflatedBytes: 256 * MiB,
  inflateRatio: 250,
  harEntryBytes: 64 * MiB,
  harBodyBytes: 4096 * MiB,
  nesting: 100,
  conversationBytes: 8 * MiB,
  recordBytes: 16 * MiB,
  diagnosticPlaces: 8,
});

const units: Readonly<Record<string, number>> = { "": 1, K: KiB, M: MiB, G: 1024 * MiB };

/** `128M` -> 134217728. Throws CursorWireError `usage.size` for anything else. */
export function parseSize(text: string): number {
  const match = /^(\d+)([KMG]?)i?B?$/i.exec(text.trim());
  const value = match === null ? Number.NaN : Number(match[1]) * (units[match[2]!.toUpperCase()] ?? Number.NaN);
  if (!Number.isSafeInteger(value)) {
    throw new CursorWireError("usage.size", `"${text}" is no size: give a number of bytes, or one with K, M or G`);
  }
  return value;
}

/** Applies `NAME=SIZE` settings. Throws CursorWireError `usage.limit` for an unknown name. */
export function withLimits(base: Limits, settings: readonly string[]): Limits {
  const out: Record<string, number> = { ...base };
  for (const setting of settings) {
    const at = setting.indexOf("=");
    const name = at < 0 ? setting : setting.slice(0, at);
    if (at < 0 || !Object.hasOwn(base, name)) {
      throw new CursorWireError("usage.limit", `no limit "${name}"; the limits are ${Object.keys(base).join(", ")}`);
    }
    out[name] = parseSize(setting.slice(at + 1));
  }
  return Object.freeze(out) as unknown as Limits;
}
