/** What every reader of an input (HAR, packets, raw dumps, logs) is given. */
import type { Note } from "../core/diagnostic.js";
import type { Limits } from "../core/limits.js";
import type { Ids, NeckSink } from "./exchange.js";

export interface ReaderContext {
  /** Index of the input, for places. */
  readonly input: number;
  readonly limits: Limits;
  readonly note: Note;
  readonly sink: NeckSink;
  readonly ids: Ids;
  /** Flow summaries carry SHA-256 of both directions only when asked for. */
  readonly wantHashes: boolean;
}
