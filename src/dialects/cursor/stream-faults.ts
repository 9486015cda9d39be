/** What is wrong with the frames of one downlink, for the transport rules: examples with places, and counts. */
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

export class StreamFaults {
  /** Framing and compression (T03, T09). */
  readonly stream = new Examples<StreamFault>();
  /** Reserved flag bits (T04). */
  readonly reserved = new Examples<FrameNote>();
  /** Compressed although short (T10). */
  readonly shortCompressed = new Examples<FrameNote>();
  /** JSON text in a frame that should carry a message (T17). */
  readonly jsonText = new Examples<FrameNote>();
  /** Faults of the wire format (T14). */
  readonly decoding = new Examples<DecodeNote>();
  /** No branch, several branches, or one that the schema does not have (T15). */
  readonly branches = new Examples<FrameNote & { readonly count: number }>();
  /** A branch inside the branch that the schema does not have. */
  readonly newer = new Examples<FrameNote>();
  /** Frames with fields that the schema does not have. */
  readonly unknown = new Examples<FrameNote>();
  compressed = 0;

  add(fault: StreamFault): void {
    this.stream.add(fault);
  }

  frame(message: StreamMessage, ordinal: number): void {
    if ((message.flags & 0xfc) !== 0) this.reserved.add(note(message, ordinal, ""));
    if ((message.flags & 1) === 0) return;
    this.compressed++;
    if (message.fault === null && message.body.length < 1024) this.shortCompressed.add(note(message, ordinal, ""));
  }

  message(message: StreamMessage, decoded: Decoded, branches: number, kind: string, ordinal: number): void {
    const { body } = message;
    if (body.length >= 2 && body[0] === 0x7b && body[1] === 0x22) this.jsonText.add(note(message, ordinal, kind));
    if (decoded.faults.length > 0) this.decoding.add({ place: message.place, ordinal, kind, faults: decoded.faults });
    if (branches !== 1 && kind !== "ttft_breakdown")
      this.branches.add({ ...note(message, ordinal, kind), count: branches });
    if (kind.includes(".unknown:")) this.newer.add(note(message, ordinal, kind));
    if (decoded.unknownCount > 0) this.unknown.add(note(message, ordinal, kind));
  }
}

function note(message: StreamMessage, ordinal: number, kind: string): FrameNote {
  return { place: message.place, ordinal, flags: message.flags, bytes: message.body.length, kind };
}
