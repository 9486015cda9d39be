/** What is wrong with the frames of one downlink, for the transport rules: examples with places, and counts. */
import type { Bytes } from "../../core/bytes.js";
import type { Place } from "../../core/place.js";
import type { MessageFault, StreamMessage } from "../../model/message.js";
import type { Decoded, WireFault } from "../../model/schema.js";

/** Examples kept of each fault. */
const kept = 16;

export interface StreamFault {
  readonly what: MessageFault;
  readonly place: Place;
  readonly ordinal: number;
  /** Payload bytes that the header promised, and that were there. */
  readonly declared: number;
  readonly got: number;
}

export interface FrameNote {
  readonly place: Place;
  readonly ordinal: number;
  readonly flags: number;
  readonly bytes: number;
  readonly kind: string;
}

export interface DecodeNote {
  readonly place: Place;
  readonly ordinal: number;
  readonly kind: string;
  readonly faults: readonly WireFault[];
}

/** A bounded list with a true count. */
export class Examples<T> {
  readonly list: T[] = [];
  count = 0;

  add(item: T): void {
    this.count++;
    if (this.list.length < kept) this.list.push(item);
  }
}

const empty: Examples<never> = Object.freeze(new Examples<never>());

/** Nearly every stream is sound: a list is made when it has something to hold. */
export class StreamFaults {
  /** Framing and compression (T03, T09). */
  stream: Examples<StreamFault> = empty;
  /** Reserved flag bits (T04). */
  reserved: Examples<FrameNote> = empty;
  /** Compressed although short (T10). */
  shortCompressed: Examples<FrameNote> = empty;
  /** JSON text in a frame that should carry a message (T17). */
  jsonText: Examples<FrameNote> = empty;
  /** Faults of the wire format (T14). */
  decoding: Examples<DecodeNote> = empty;
  /** No branch, several branches, or one that the schema does not have (T15). */
  branches: Examples<FrameNote & { readonly count: number }> = empty;
  /** A branch inside the branch that the schema does not have. */
  newer: Examples<FrameNote> = empty;
  /** Frames with fields that the schema does not have. */
  unknown: Examples<FrameNote> = empty;
  compressed = 0;

  add(fault: StreamFault): void {
    this.stream = more(this.stream, fault);
  }

  frame(message: StreamMessage, ordinal: number): void {
    if ((message.flags & 0xfc) !== 0) this.reserved = more(this.reserved, note(message, ordinal, ""));
    if ((message.flags & 1) === 0) return;
    this.compressed++;
    if (message.fault === null && message.body.length < 1024)
      this.shortCompressed = more(this.shortCompressed, note(message, ordinal, ""));
  }

  message(
    message: StreamMessage,
    body: Bytes,
    decoded: Decoded,
    branches: number,
    kind: string,
    ordinal: number,
  ): void {
    if (body.length >= 2 && body[0] === 0x7b && body[1] === 0x22)
      this.jsonText = more(this.jsonText, note(message, ordinal, kind));
    if (decoded.faults.length > 0)
      this.decoding = more(this.decoding, { place: message.place, ordinal, kind, faults: decoded.faults });
    if (branches !== 1 && kind !== "ttft_breakdown")
      this.branches = more(this.branches, { ...note(message, ordinal, kind), count: branches });
    if (kind.includes(".unknown:")) this.newer = more(this.newer, note(message, ordinal, kind));
    if (decoded.unknownCount > 0) this.unknown = more(this.unknown, note(message, ordinal, kind));
  }
}

function more<T>(list: Examples<T>, item: T): Examples<T> {
  const grown = list === empty ? new Examples<T>() : list;
  grown.add(item);
  return grown;
}

function note(message: StreamMessage, ordinal: number, kind: string): FrameNote {
  return { place: message.place, ordinal, flags: message.flags, bytes: message.body.length, kind };
}
