/**
 * Fragments of IP datagrams until they are whole. Where fragments overlap, the one that begins earlier gives the bytes, as tshark
 * joins them; differing copies are noted. RFC 815 without its holes: pieces are few.
 */
import { type Bytes, equalBytes, keep } from "../../core/bytes.js";
import type { DiagnosticCode } from "../../core/diagnostic.js";
import type { Addresses } from "../ip.js";
import type { Slice } from "../link/slice.js";

/** Notes something at the current packet, or at an earlier one. */
export type LayerNote = (code: DiagnosticCode, detail?: Record<string, string | number>, index?: number) => void;

export interface Fragment {
  readonly id: number;
  readonly protocol: number;
  readonly offset: number;
  readonly more: boolean;
  readonly firstIndex: number;
}

export interface Datagram {
  readonly bytes: Bytes;
  readonly protocol: number;
  readonly firstIndex: number;
}

/** The smallest fragments that a datagram can be cut into; more are repeats. */
const maxPieces = 8192;

interface Piece {
  readonly offset: number;
  readonly bytes: Bytes;
}

interface Incomplete {
  readonly pieces: Piece[];
  /** Known once the last fragment has come. */
  length: number | undefined;
  /** Of the fragment at offset 0, else of the first that came. */
  protocol: number;
  readonly firstIndex: number;
  held: number;
}

/** What one piece costs beyond its bytes. */
const overhead = 128;

/** Largest datagram without jumbo payload, and a little: hostile ones may end past 65,535. */
const maxOffset = 65_535 + 8;

export class Fragments {
  private readonly partials = new Map<string, Incomplete>();
  private held = 0;

  constructor(
    private readonly limitBytes: number,
    private readonly note: LayerNote,
  ) {}

  /** Takes the rest of the slice as a fragment; returns the datagram when this was its last missing piece. */
  add(slice: Slice, addresses: Addresses, fragment: Fragment): Datagram | undefined {
    if (slice.missing > 0) {
      this.note("ip.fragment-cut", { missing: slice.missing });
      return undefined;
    }
    const bytes = keep(slice.bytes.subarray(slice.at, slice.end));
    if (fragment.offset + bytes.length > maxOffset) return undefined;
    const key = keyOf(addresses, fragment);
    const partial = this.partials.get(key) ?? this.begin(key, fragment);
    if (partial.pieces.length >= maxPieces) return undefined;
    if (fragment.offset === 0) partial.protocol = fragment.protocol;
    if (!fragment.more) partial.length ??= fragment.offset + bytes.length;
    insert(partial.pieces, { offset: fragment.offset, bytes });
    partial.held += bytes.length + overhead;
    this.held += bytes.length + overhead;
    const whole = partial.length === undefined ? undefined : this.join(partial, partial.length);
    if (whole !== undefined) {
      this.drop(key, partial);
      return { bytes: whole, protocol: partial.protocol, firstIndex: partial.firstIndex };
    }
    this.keepLimit();
    return undefined;
  }

  end(): void {
    for (const partial of this.partials.values()) {
      this.note("ip.fragments-incomplete", { fragments: partial.pieces.length }, partial.firstIndex);
    }
    this.partials.clear();
    this.held = 0;
  }

  private begin(key: string, fragment: Fragment): Incomplete {
    const partial = {
      pieces: [],
      length: undefined,
      protocol: fragment.protocol,
      firstIndex: fragment.firstIndex,
      held: 0,
    };
    this.partials.set(key, partial);
    return partial;
  }

  private drop(key: string, partial: Incomplete): void {
    this.partials.delete(key);
    this.held -= partial.held;
  }

  /** The datagram that began first goes first. */
  private keepLimit(): void {
    while (this.held > this.limitBytes) {
      const oldest = this.partials.entries().next();
      if (oldest.done === true) return;
      this.drop(oldest.value[0], oldest.value[1]);
      this.note("ip.fragment-limit", { limit: this.limitBytes });
    }
  }

  private join(partial: Incomplete, length: number): Bytes | undefined {
    let reached = 0;
    for (const piece of partial.pieces) {
      if (piece.offset > reached) break;
      reached = Math.max(reached, piece.offset + piece.bytes.length);
    }
    if (reached < length) return undefined;
    const out = new Uint8Array(length);
    let at = 0;
    let differ = false;
    for (const { offset, bytes } of partial.pieces) {
      const end = Math.min(offset + bytes.length, length);
      const overlap = Math.min(at, end) - offset;
      if (overlap > 0 && !equalBytes(out.subarray(offset, offset + overlap), bytes.subarray(0, overlap))) differ = true;
      if (end > at) {
        out.set(bytes.subarray(at - offset, end - offset), at);
        at = end;
      }
    }
    if (differ) this.note("ip.fragments-differ");
    return out;
  }
}

/** Sorted by offset; equal offsets in order of arrival. */
function insert(pieces: Piece[], piece: Piece): void {
  let at = pieces.length;
  while (at > 0 && pieces[at - 1]!.offset > piece.offset) at--;
  pieces.splice(at, 0, piece);
}

function keyOf(a: Addresses, fragment: Fragment): string {
  if (a.family === 4) return `${a.s0} ${a.d0} ${fragment.id} ${fragment.protocol}`;
  return `${a.s0} ${a.s1} ${a.s2} ${a.s3} ${a.d0} ${a.d1} ${a.d2} ${a.d3} ${fragment.id}`;
}
