/**
 * Header blocks of one direction of an HTTP/2 connection: HEADERS, PUSH_PROMISE and CONTINUATION in, decoded lists out.
 * RFC 9113 4.3, 6.2, 6.6, 6.10.
 */
import { type Bytes, readU32BE } from "../../core/bytes.js";
import type { Detail, DiagnosticCode } from "../../core/diagnostic.js";
import { type Mark, spanMarks } from "../../core/mark.js";
import type { Direction, Header } from "../../model/exchange.js";
import { GrowingBytes } from "../growing-bytes.js";
import { HpackDecoder } from "../hpack.js";
import { type FrameHead, frameFlag, frameType, unpadded } from "./frame.js";

export interface Block {
  readonly stream: number;
  /** Stream that a PUSH_PROMISE announces. */
  readonly promised: number | null;
  /** null: the block is missing, in part or wholly. */
  readonly list: readonly Header[] | null;
  readonly endStream: boolean;
  /** Mark of the first frame's first byte. */
  readonly first: Mark;
  readonly span: Mark;
}

export interface BlockHandler {
  block(block: Block): void;
  /** Frames were lost since the last block: whether header blocks cannot have been among them, since this one is on `stream`. */
  survived(stream: number): boolean;
  note(code: DiagnosticCode, mark: Mark, detail?: Detail): void;
}

interface Pending {
  readonly stream: number;
  readonly promised: number | null;
  readonly endStream: boolean;
  readonly first: Mark;
  damaged: boolean;
}

export class HeaderBlocks {
  readonly hpack: HpackDecoder;
  private pending: Pending | null = null;
  private readonly gathered = new GrowingBytes();
  private doubt = false;

  constructor(
    private readonly direction: Direction,
    private readonly handler: BlockHandler,
    private readonly limits: { readonly headBytes: number },
  ) {
    this.hpack = new HpackDecoder(limits);
  }

  /** The connection's beginning is missing. */
  late(): void {
    this.hpack.lose();
    this.hpack.allowed = null;
  }

  /** Frames were lost: whether header blocks were among them is asked when the next one comes. */
  lost(mark: Mark): void {
    if (this.pending !== null) this.abandon(mark);
    this.doubt = true;
  }

  /** Any frame but CONTINUATION while a block is open ends it (RFC 9113 6.2). */
  interrupted(mark: Mark): void {
    if (this.pending === null) return;
    const { stream } = this.pending;
    this.handler.note("http2.bad-frame", mark, {
      type: frameType.headers,
      length: 0,
      stream,
      what: "its header block is not ended",
    });
    this.abandon(mark);
  }

  private abandon(mark: Mark): void {
    const pending = this.pending!;
    pending.damaged = true;
    this.complete(pending, null, mark);
  }

  /** HEADERS, PUSH_PROMISE or CONTINUATION; `payload` null: lost or over the limit. */
  frame(head: FrameHead, payload: Bytes | null, first: Mark, mark: Mark): void {
    const last = (head.flags & frameFlag.endHeaders) !== 0;
    if (head.type === frameType.continuation) {
      this.continuation(head, payload, last, mark);
      return;
    }
    this.interrupted(first);
    const part = payload === null ? undefined : this.content(head, payload, mark);
    const pending: Pending = {
      stream: head.stream,
      promised: part?.promised ?? null,
      endStream: head.type === frameType.headers && (head.flags & frameFlag.endStream) !== 0,
      first,
      damaged: part === undefined,
    };
    if (payload === null && head.length > this.limits.headBytes) this.tooLong(mark);
    if (last) this.complete(pending, part?.bytes ?? null, mark);
    else {
      this.pending = pending;
      if (part !== undefined) this.gathered.append(part.bytes);
    }
  }

  /** Without padding, priority and promised stream number. */
  private content(head: FrameHead, payload: Bytes, mark: Mark): { bytes: Bytes; promised: number | null } | undefined {
    const inside = unpadded(payload, head.flags);
    const isPush = head.type === frameType.push;
    const skip = isPush ? 4 : (head.flags & frameFlag.priority) === 0 ? 0 : 5;
    if (inside === undefined || inside.from + skip > inside.to) {
      const { type, length, stream } = head;
      this.handler.note("http2.bad-frame", mark, {
        type,
        length,
        stream,
        what: "its padding or priority does not fit",
      });
      return undefined;
    }
    const promised = isPush ? readU32BE(payload, inside.from) & 0x7fff_ffff : null;
    return { bytes: payload.subarray(inside.from + skip, inside.to), promised };
  }

  private continuation(head: FrameHead, payload: Bytes | null, last: boolean, mark: Mark): void {
    const { pending } = this;
    if (pending === null || pending.stream !== head.stream) {
      const { type, length, stream } = head;
      this.handler.note("http2.bad-frame", mark, {
        type,
        length,
        stream,
        what: "no header block is open on its stream",
      });
      if (pending !== null) this.abandon(mark);
      // The block it ends was lost, and with it what it added to the table.
      this.loseTable(mark);
      return;
    }
    if (payload === null) pending.damaged = true;
    else if (!pending.damaged && this.gathered.length + payload.length > this.limits.headBytes) {
      this.tooLong(mark);
      pending.damaged = true;
    } else if (!pending.damaged) this.gathered.append(payload);
    if (last) this.complete(pending, pending.damaged ? null : this.gathered.take(), mark);
  }

  private tooLong(mark: Mark): void {
    this.handler.note("http2.headers-too-long", mark, { limit: this.limits.headBytes });
  }

  private complete(pending: Pending, block: Bytes | null, mark: Mark): void {
    this.pending = null;
    this.gathered.clear();
    const { stream, promised, endStream, first } = pending;
    if (this.doubt) {
      this.doubt = false;
      if (!this.handler.survived(stream)) this.loseTable(mark);
    }
    const span = spanMarks(first, mark);
    if (block === null) this.loseTable(mark);
    const list = block === null ? null : this.decode(block, span);
    this.handler.block({ stream, promised, list, endStream, first, span });
  }

  private loseTable(mark: Mark): void {
    if (this.hpack.complete) this.handler.note("http2.headers-lost", mark, { direction: this.direction });
    this.hpack.lose();
  }

  private decode(block: Bytes, span: Mark): readonly Header[] {
    const { headers, unknown, oversized, fault } = this.hpack.decode(block);
    for (const index of unknown) this.handler.note("hpack.unknown-entry", span, { index });
    for (const size of oversized)
      this.handler.note("hpack.table-size", span, { size, allowed: this.hpack.allowed ?? 0 });
    if (fault !== null) this.handler.note("hpack.bad-block", span, { offset: fault.offset, what: fault.what });
    return headers;
  }
}
