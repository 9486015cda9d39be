/** The first four bytes of capture files. They are looked at before a file is read further, so this file needs nothing else. */
import { type Bytes, readU32BE } from "../core/bytes.js";

export interface PcapMagic {
  readonly littleEndian: boolean;
  /** Unit of the second word of a record's time. */
  readonly nanoseconds: boolean;
  /** Bytes of a record header; the modified formats carry an interface and a protocol behind the usual 16. */
  readonly recordHeader: number;
  /** Bytes of the file header. */
  readonly fileHeader: number;
}

/** Magic number, read in the writer's byte order -> what it says. pcap-savefile(5), and the Kuznetzov and Ixia variants. */
const variants = new Map<number, Omit<PcapMagic, "littleEndian">>([
  [0xa1b2c3d4, { nanoseconds: false, recordHeader: 16, fileHeader: 24 }],
  [0xa1b23c4d, { nanoseconds: true, recordHeader: 16, fileHeader: 24 }],
  [0xa1b2cd34, { nanoseconds: false, recordHeader: 24, fileHeader: 24 }],
  [0x1c0001ac, { nanoseconds: false, recordHeader: 16, fileHeader: 28 }],
  [0x1c0001ab, { nanoseconds: false, recordHeader: 16, fileHeader: 28 }],
]);

/** What the first four bytes of a classic pcap say; undefined for anything else. */
export function pcapMagic(head: Bytes): PcapMagic | undefined {
  if (head.length < 4) return undefined;
  const big = readU32BE(head, 0);
  const found = variants.get(big);
  if (found !== undefined) return { ...found, littleEndian: false };
  const little = ((big << 24) | ((big & 0xff00) << 8) | ((big >>> 8) & 0xff00) | (big >>> 24)) >>> 0;
  const swapped = variants.get(little);
  return swapped === undefined ? undefined : { ...swapped, littleEndian: true };
}

/** Section header block type, a palindrome in both byte orders. draft-ietf-opsawg-pcapng 4.1. */
export function isPcapng(head: Bytes): boolean {
  return head.length >= 4 && readU32BE(head, 0) === 0x0a0d0d0a;
}
