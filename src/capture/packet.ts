/** One captured packet, whatever file format it came from. */
import type { Bytes } from "../core/bytes.js";
import type { Note } from "../core/diagnostic.js";
import type { Limits } from "../core/limits.js";
import { Place } from "../core/place.js";
import type { Nanos } from "../core/time.js";
import type { KeyLog } from "./keylog.js";
import type { Source } from "./source.js";

export interface Packet {
  /** Index of the input file. */
  readonly input: number;
  /** 0-based number of the packet in its file. */
  readonly index: number;
  /** 0n where the format gives none (simple packet blocks). */
  readonly at: Nanos;
  /** Link type as registered at tcpdump.org/linktypes.html; -1 where the file does not say. */
  readonly linkType: number;
  /** What was captured. A view that may be kept, but pins its block. */
  readonly bytes: Bytes;
  /** Length on the wire; at least that of `bytes`. */
  readonly originalLength: number;
  /** Of the record's header, in the unpacked file. */
  readonly fileOffset: number;
}

export interface PacketReaderContext {
  /** Index of the input. */
  readonly input: number;
  readonly limits: Limits;
  readonly note: Note;
  /** Takes the secrets that a capture file carries itself. */
  readonly keys: KeyLog;
}

export interface CaptureFormat {
  readonly name: "pcapng" | "pcap";
  /** Whether a file that begins so is one; needs four bytes. */
  matches(head: Bytes): boolean;
  /** Throws CursorWireError `input.*` when the file's own header cannot be read; everything after it is a diagnostic. */
  read(source: Source, context: PacketReaderContext): Iterable<Packet>;
}

/** The last whole packet in front of record `index`: where a reader stopped. Undefined when there is none. */
export function placeBefore(input: number, index: number): Place | undefined {
  return index === 0 ? undefined : new Place(input, index - 1, index - 1);
}
