/** Classic pcap: a file header, then records of header and bytes. pcap-savefile(5), draft-ietf-opsawg-pcap. */
import type { Bytes } from "../core/bytes.js";
import { CursorWireError } from "../core/errors.js";
import { BlockReader } from "./block-reader.js";
import { type PcapMagic, pcapMagic } from "./magic.js";
import { type CaptureFormat, type Packet, type PacketReaderContext, placeBefore } from "./packet.js";
import type { Source } from "./source.js";
import { u32 } from "./words.js";

export const pcap: CaptureFormat = {
  name: "pcap",
  matches: (head) => pcapMagic(head) !== undefined,
  read: (source, context) => readPcap(source, context),
};

/** No known writer makes larger records unless its header says so (libpcap's largest snapshot length). */
const usualRecordBytes = 262_144;

interface Form {
  readonly littleEndian: boolean;
  readonly nanoseconds: boolean;
  readonly recordHeader: number;
  readonly linkType: number;
  /** Records above this are taken for damage. */
  readonly largest: number;
  /** Old writers put the two lengths the other way round: always, never, or where the captured one is the larger. */
  readonly swapped: "never" | "maybe" | "always";
}

function readPcap(source: Source, context: PacketReaderContext): Iterable<Packet> {
  const reader = new BlockReader(source.blocks());
  const magic = reader.need(4) ? pcapMagic(reader.bytes.subarray(reader.at)) : undefined;
  if (magic === undefined || !reader.need(magic.fileHeader)) {
    throw new CursorWireError("input.pcap-header", `${source.path} is no pcap file: its header is cut or damaged`);
  }
  const form = fileHeader(magic, view(reader), context);
  const recordHeader = probeRecordHeader(source.head().subarray(magic.fileHeader), form);
  reader.at += magic.fileHeader;
  return records(reader, { ...form, recordHeader }, context);
}

function fileHeader(magic: PcapMagic, header: DataView, context: PacketReaderContext): Form {
  const { littleEndian } = magic;
  const major = header.getUint16(4, littleEndian);
  const minor = header.getUint16(6, littleEndian);
  const snapLength = header.getUint32(16, littleEndian);
  const network = header.getUint32(20, littleEndian);
  // The upper bits say how long a frame check sequence is; nothing here needs it.
  const linkType = network & 0xffff;
  // AIX writes version 2.2, interface types instead of link types, and nanoseconds under the usual magic number.
  const aix = major === 2 && minor === 2 ? aixLinkTypes.get(network) : undefined;
  return {
    littleEndian,
    nanoseconds: magic.nanoseconds || aix !== undefined,
    recordHeader: magic.recordHeader,
    linkType: aix ?? linkType,
    largest: Math.min(Math.max(snapLength, usualRecordBytes), context.limits.recordBytes),
    swapped: aix !== undefined ? "never" : lengthOrder(major, minor),
  };
}

const aixLinkTypes: ReadonlyMap<number, number> = new Map([
  [6, 1],
  [9, 6],
  [15, 10],
  [24, 0],
]);

/** Versions before 2.3 have original length first; 2.3 has either. */
function lengthOrder(major: number, minor: number): Form["swapped"] {
  if (major === 543 || (major === 2 && minor < 3)) return "always";
  return major === 2 && minor === 3 ? "maybe" : "never";
}

/**
 * Some writers put more into a record's header without another magic number: Nokia 4 bytes, an old Linux patch 12. The longer form
 * is taken only where the usual one makes no sense of the first records and the longer one does.
 */
function probeRecordHeader(head: Bytes, form: Form): number {
  const usual = form.recordHeader;
  const longer = usual === 16 ? 20 : 28;
  return !sensible(head, form, usual) && sensible(head, form, longer) ? longer : usual;
}

function sensible(head: Bytes, form: Form, recordHeader: number): boolean {
  const data = new DataView(head.buffer, head.byteOffset, head.byteLength);
  let at = 0;
  for (let n = 0; n < 4 && at + recordHeader <= head.length; n++) {
    const fraction = data.getUint32(at + 4, form.littleEndian);
    const captured = data.getUint32(at + 8, form.littleEndian);
    const original = data.getUint32(at + 12, form.littleEndian);
    if (fraction >= (form.nanoseconds ? 1e9 : 1e6)) return false;
    if (captured > form.largest || (form.swapped === "never" && captured > original)) return false;
    at += recordHeader + captured;
  }
  return true;
}

function* records(reader: BlockReader, form: Form, context: PacketReaderContext): Iterable<Packet> {
  const { input } = context;
  const { littleEndian, recordHeader, linkType } = form;
  const unit = form.nanoseconds ? 1 : 1000;
  let second = -1;
  let secondNanos = 0n;
  for (let index = 0; ; index++) {
    const fileOffset = reader.offset;
    if (!reader.need(recordHeader)) {
      if (reader.ready > 0) noteCut(context, index, reader, fileOffset);
      return;
    }
    const { bytes, at } = reader;
    const seconds = u32(bytes, at, littleEndian);
    const fraction = u32(bytes, at + 4, littleEndian);
    let captured = u32(bytes, at + 8, littleEndian);
    let original = u32(bytes, at + 12, littleEndian);
    if (form.swapped === "always" || (form.swapped === "maybe" && captured > original)) {
      [captured, original] = [original, captured];
    }
    if (captured > form.largest) {
      const detail = { offset: fileOffset, length: captured, limit: form.largest };
      context.note({ code: "capture.record-too-long", place: placeBefore(input, index), detail });
      return;
    }
    reader.at += recordHeader;
    if (!reader.need(captured)) return noteCut(context, index, reader, fileOffset);
    if (seconds !== second) {
      second = seconds;
      secondNanos = BigInt(seconds) * 1_000_000_000n;
    }
    const start = reader.at;
    reader.at = start + captured;
    yield {
      input,
      index,
      at: secondNanos + BigInt(fraction * unit),
      linkType,
      bytes: reader.bytes.subarray(start, start + captured),
      originalLength: Math.max(original, captured),
      fileOffset,
    };
  }
}

function noteCut(context: PacketReaderContext, index: number, reader: BlockReader, fileOffset: number): void {
  const detail = { offset: fileOffset, bytes: reader.offset + reader.ready - fileOffset };
  context.note({ code: "capture.cut", place: placeBefore(context.input, index), detail });
}

function view(reader: BlockReader): DataView {
  const { bytes, at } = reader;
  return new DataView(bytes.buffer, bytes.byteOffset + at, bytes.length - at);
}
