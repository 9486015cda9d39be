/** What opens protected records: one opener per direction and set of keys. */
import type { Bytes } from "../../core/bytes.js";

/** Record content types (RFC 8446 section 5.1, RFC 6520). */
export const contentType = {
  changeCipherSpec: 20,
  alert: 21,
  handshake: 22,
  applicationData: 23,
  heartbeat: 24,
} as const;

export const recordHeaderBytes = 5;

export interface Opened {
  /** In TLS 1.3 the type from inside the record. */
  readonly type: number;
  readonly content: Bytes;
  /** The record was padded, so its length does not tell that of its content. */
  readonly padded: boolean;
}

export interface Opener {
  /** `record` has its header. Undefined where it does not verify as number `sequence` under these keys. */
  open(record: Bytes, sequence: number): Opened | undefined;
  /** Tells of every record in its turn, opened or not: a chained IV goes on from it. */
  passed(record: Bytes): void;
  /** Bytes are missing before the next record but for `before`, the last of them (at most 64). */
  lost(before: Bytes): void;
  /** The least a record of these keys can have, header included. */
  readonly smallest: number;
  /** Record bytes over those of an unpadded content, header included; undefined where all records are padded. */
  readonly overhead: number | undefined;
  /** How many records are missing before this one, where its nonce counts them (TLS 1.2 GCM, by habit); a guess to try first. */
  missingBefore(record: Bytes): number;
}
