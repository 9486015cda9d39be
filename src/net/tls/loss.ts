/** What is missing in one direction since the last record that opened. */
import type { Mark } from "../../core/mark.js";
import type { GapReason } from "../../model/exchange.js";

export interface Loss {
  /** Whole records that did not open. */
  readonly records: number;
  /** Bytes beside them, in which any number of records may have been; undefined: unknown. */
  readonly bytes: number | undefined;
  /** All bytes lost; undefined: unknown. */
  readonly total: number | undefined;
  /** Of the first loss. */
  readonly why: GapReason;
  readonly mark: Mark;
}

export function lostBytes(before: Loss | undefined, bytes: number | undefined, why: GapReason, mark: Mark): Loss {
  if (before === undefined) return { records: 0, bytes, total: bytes, why, mark };
  return { ...before, bytes: add(before.bytes, bytes), total: add(before.total, bytes) };
}

export function lostRecord(before: Loss | undefined, length: number, mark: Mark): Loss {
  const loss = before ?? { records: 0, bytes: 0, total: 0, why: "undecrypted", mark };
  return { ...loss, records: loss.records + 1, total: add(loss.total, length) };
}

/**
 * Content bytes in a loss of `missing` unpadded records; undefined where that cannot be told. A record that did not open may be one of
 * them or none (sent twice), so it counts only where no bytes are missing beside it.
 */
export function contentLost(loss: Loss, missing: number, overhead: number): number | undefined {
  if (loss.total === undefined) return undefined;
  if (loss.records > 0 && (loss.bytes !== 0 || missing !== loss.records)) return undefined;
  const length = loss.total - missing * overhead;
  return length < 0 ? undefined : length;
}

function add(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a + b;
}
