/**
 * pcapng: a sequence of blocks, each with its length at both ends. draft-ietf-opsawg-pcapng. Sections may differ in byte order;
 * interfaces belong to their section.
 */
import type { Bytes } from "../core/bytes.js";
import { CursorWireError } from "../core/errors.js";
import { BlockReader } from "./block-reader.js";
import { isPcapng } from "./magic.js";
import { type CaptureFormat, type Packet, type PacketReaderContext, placeBefore } from "./packet.js";
import { type Interface, interfaceBlock } from "./pcapng-interface.js";
import type { Source } from "./source.js";
import { u16, u32 } from "./words.js";

export const pcapng: CaptureFormat = { name: "pcapng", matches: isPcapng, read: readPcapng };

const block = {
  section: 0x0a0d0d0a,
  interface: 1,
  /** Obsolete, but old files have it. */
  packet: 2,
  simplePacket: 3,
  enhancedPacket: 6,
  secrets: 10,
} as const;

/** A journal entry, three forms of system call event, and custom blocks in both forms. */
const counted: ReadonlySet<number> = new Set([9, 0x204, 0x216, 0x221, 0x0bad, 0x40000bad]);

/** "TLSK": the data is a key log in NSS format. */
const tlsKeyLog = 0x544c534b;

/** Interfaces of one section; a hostile file has nothing but interface blocks. */
const maxInterfaces = 65_536;

function readPcapng(source: Source, context: PacketReaderContext): Iterable<Packet> {
  const reader = new BlockReader(source.blocks());
  if (!reader.need(28) || byteOrder(reader.bytes, reader.at) === undefined) {
    const message = `${source.path} is no pcapng file: its section header is cut or damaged`;
    throw new CursorWireError("input.pcapng-header", message);
  }
  return new PcapngReader(reader, context).packets();
}

/** Whether the section that begins at `at` is little-endian; undefined where its byte-order magic is none. */
function byteOrder(bytes: Bytes, at: number): boolean | undefined {
  if (u32(bytes, at + 8, true) === 0x1a2b3c4d) return true;
  return u32(bytes, at + 8, false) === 0x1a2b3c4d ? false : undefined;
}

/** One whole block; `at` is where its body begins in `bytes`, `length` that of the body. */
interface Body {
  readonly type: number;
  readonly bytes: Bytes;
  readonly at: number;
  readonly length: number;
  readonly fileOffset: number;
}

class PcapngReader {
  private littleEndian = true;
  private interfaces: Interface[] = [];
  private index = 0;
  private stopped = false;

  constructor(
    private readonly reader: BlockReader,
    private readonly context: PacketReaderContext,
  ) {}

  *packets(): Iterable<Packet> {
    while (!this.stopped) {
      const packet = this.step();
      if (packet !== undefined) yield packet;
    }
  }

  /** Reads or passes over one block. */
  private step(): Packet | undefined {
    const { reader } = this;
    const fileOffset = reader.offset;
    if (!reader.need(12)) {
      return reader.ready > 0 ? this.cut(fileOffset) : this.stop();
    }
    // A section's type reads the same in both byte orders; its length does not.
    if (isPcapng(reader.bytes.subarray(reader.at, reader.at + 4)) && !this.beginSection()) {
      return this.stop("capture.no-block", { offset: fileOffset });
    }
    const type = u32(reader.bytes, reader.at, this.littleEndian);
    const declared = u32(reader.bytes, reader.at + 4, this.littleEndian);
    if (declared < 12) return this.stop("capture.no-block", { offset: fileOffset });
    // Lengths are multiples of four; some writers count without the padding.
    const total = declared + (-declared & 3);
    if (!matters(type) || total > this.context.limits.recordBytes) return this.pass(type, total, fileOffset);
    if (!reader.need(total)) return this.cut(fileOffset);
    const body = { type, bytes: reader.bytes, at: reader.at + 8, length: total - 12, fileOffset };
    if (u32(reader.bytes, reader.at + total - 4, this.littleEndian) !== declared) {
      this.note("capture.block-lengths-differ", { offset: fileOffset });
      // With two lengths to choose from, the first is followed only to something that looks like a block.
      if (!this.blockFollows(total)) return this.stop();
    }
    reader.at += total;
    return this.take(body);
  }

  /** Passes over a block that says nothing here, or that is too long to be kept. */
  private pass(type: number, total: number, fileOffset: number): undefined {
    if (this.reader.skip(total) < total) return this.cut(fileOffset);
    if (matters(type)) {
      const limit = this.context.limits.recordBytes;
      this.note("capture.block-too-long", { offset: fileOffset, length: total, limit });
    }
    if (isPacket(type) || countsAsPacket(type)) this.index++;
    return undefined;
  }

  /** Reads the byte order of the section that begins here; false when it is none. */
  private beginSection(): boolean {
    const order = byteOrder(this.reader.bytes, this.reader.at);
    if (order === undefined) return false;
    this.littleEndian = order;
    this.interfaces = [];
    return true;
  }

  private blockFollows(total: number): boolean {
    const { reader } = this;
    if (!reader.need(total + 8)) return false;
    const length = u32(reader.bytes, reader.at + total + 4, this.littleEndian);
    return matters(u32(reader.bytes, reader.at + total, this.littleEndian)) && length >= 12 && length % 4 === 0;
  }

  private take(body: Body): Packet | undefined {
    switch (body.type) {
      case block.interface:
        this.describeInterface(body);
        return undefined;
      case block.enhancedPacket:
        return this.timed(body, u32(body.bytes, body.at, this.littleEndian));
      case block.packet:
        return this.timed(body, u16(body.bytes, body.at, this.littleEndian));
      case block.simplePacket:
        return this.simple(body);
      case block.secrets:
        this.secrets(body);
        return undefined;
      default:
        return undefined;
    }
  }

  private describeInterface(body: Body): void {
    if (this.interfaces.length >= maxInterfaces) {
      this.note("capture.too-many-interfaces", { limit: maxInterfaces });
      return;
    }
    const { bytes, at, length } = body;
    this.interfaces.push(interfaceBlock(new DataView(bytes.buffer, bytes.byteOffset + at, length), this.littleEndian));
  }

  /** 4.3, and the obsolete form: interface, time in two halves, captured and original length, bytes, options. */
  private timed(body: Body, interfaceId: number): Packet | undefined {
    const { bytes, at, length } = body;
    const from = this.interfaces[interfaceId];
    if (from === undefined || length < 20) return this.bad(body);
    const captured = u32(bytes, at + 12, this.littleEndian);
    if (captured > length - 20) return this.bad(body);
    const time = from.nanos(u32(bytes, at + 4, this.littleEndian), u32(bytes, at + 8, this.littleEndian));
    return this.packet(body, from, time, 20, captured, u32(bytes, at + 16, this.littleEndian));
  }

  /** 4.4: no time, always the first interface; cut to its snapshot length. */
  private simple(body: Body): Packet | undefined {
    const from = this.interfaces[0];
    if (from === undefined || body.length < 4) return this.bad(body);
    const original = u32(body.bytes, body.at, this.littleEndian);
    const snapped = from.snapLength === 0 ? original : Math.min(original, from.snapLength);
    return this.packet(body, from, 0n, 4, Math.min(snapped, body.length - 4), original);
  }

  private packet(body: Body, from: Interface, at: bigint, skip: number, captured: number, original: number): Packet {
    const start = body.at + skip;
    return {
      input: this.context.input,
      index: this.index++,
      at,
      linkType: from.linkType,
      bytes: body.bytes.subarray(start, start + captured),
      originalLength: Math.max(original, captured),
      fileOffset: body.fileOffset,
    };
  }

  /** 4.7. Only TLS secrets are of use here. */
  private secrets(body: Body): void {
    const { bytes, at, length } = body;
    if (length < 8 || u32(bytes, at, this.littleEndian) !== tlsKeyLog) return;
    const size = Math.min(u32(bytes, at + 4, this.littleEndian), length - 8);
    this.context.keys.add(bytes.slice(at + 8, at + 8 + size));
  }

  private bad(body: Body): undefined {
    this.note("capture.bad-block", { offset: body.fileOffset, type: body.type });
    this.index++;
    return undefined;
  }

  private cut(fileOffset: number): undefined {
    const { reader } = this;
    return this.stop("capture.cut", { offset: fileOffset, bytes: reader.offset + reader.ready - fileOffset });
  }

  private stop(code?: PcapngCode, detail: Record<string, number> = {}): undefined {
    this.stopped = true;
    if (code !== undefined) this.note(code, detail);
    return undefined;
  }

  private note(code: PcapngCode, detail: Record<string, number>): void {
    this.context.note({ code, place: placeBefore(this.context.input, this.index), detail });
  }
}

type PcapngCode =
  | "capture.cut"
  | "capture.no-block"
  | "capture.bad-block"
  | "capture.block-too-long"
  | "capture.block-lengths-differ"
  | "capture.too-many-interfaces";

function matters(type: number): boolean {
  return isPacket(type) || type === block.section || type === block.interface || type === block.secrets;
}

function isPacket(type: number): boolean {
  return type === block.enhancedPacket || type === block.simplePacket || type === block.packet;
}

/** Records that are no packets but that tshark numbers among them: the numbers in places must agree with it. */
function countsAsPacket(type: number): boolean {
  return counted.has(type);
}
