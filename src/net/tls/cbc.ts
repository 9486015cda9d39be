/**
 * Records with a CBC cipher or none, and an HMAC: RFC 5246 section 6.2.3.2 (explicit IV), RFC 2246 (IV chained from the record
 * before), RFC 7366 (MAC over the ciphertext).
 */
import { createDecipheriv, createHmac, createSecretKey, type KeyObject } from "node:crypto";
import { type Bytes, equalBytes, keep } from "../../core/bytes.js";
import type { WriteKeys } from "./keys.js";
import { type Opened, type Opener, recordHeaderBytes } from "./opener.js";
import { macBytes, type RecordCipher } from "./suites.js";

type MacCipher = Extract<RecordCipher, { kind: "cbc" | "null" }>;

export function cbcOpener(cipher: MacCipher, keys: WriteKeys, version: number, encryptThenMac: boolean): Opener {
  return new Cbc(cipher, keys, version, encryptThenMac && cipher.kind === "cbc");
}

class Cbc implements Opener {
  readonly smallest: number;
  readonly overhead: number | undefined;
  private readonly macKey: KeyObject;
  private readonly macLength: number;
  private readonly explicitIv: boolean;
  /** Undefined: not known after a loss. */
  private chain: Bytes | undefined;
  private readonly prefix = new Uint8Array(13);
  private readonly view = new DataView(this.prefix.buffer);
  // A search for the sequence number asks for the same record again and again: it is deciphered once.
  private lastRecord: Bytes | undefined;
  private lastPlain: Bytes | undefined;

  constructor(
    private readonly cipher: MacCipher,
    private readonly keys: WriteKeys,
    version: number,
    private readonly encryptThenMac: boolean,
  ) {
    this.macKey = createSecretKey(keys.mac);
    this.macLength = macBytes[cipher.mac];
    this.explicitIv = cipher.kind === "cbc" && version >= 0x0302;
    this.chain = keys.iv;
    const least =
      cipher.kind === "null" ? this.macLength : leastCiphertext(cipher.blockBytes, this.macLength, encryptThenMac);
    this.smallest = recordHeaderBytes + this.ivLength + least;
    this.overhead = cipher.kind === "null" ? this.smallest : undefined;
  }

  private get ivLength(): number {
    return this.explicitIv && this.cipher.kind === "cbc" ? this.cipher.blockBytes : 0;
  }

  passed(record: Bytes): void {
    this.chainFrom(record.subarray(recordHeaderBytes));
  }

  lost(before: Bytes): void {
    this.chainFrom(before);
  }

  /** The last block of the ciphertext before is the IV of the next one. */
  private chainFrom(before: Bytes): void {
    this.lastRecord = undefined;
    this.lastPlain = undefined;
    if (this.cipher.kind === "null" || this.explicitIv) return;
    const end = this.encryptThenMac ? before.length - this.macLength : before.length;
    const start = end - this.cipher.blockBytes;
    this.chain = start >= 0 ? before.slice(start, end) : undefined;
  }

  missingBefore(): number {
    return 0;
  }

  open(record: Bytes, sequence: number): Opened | undefined {
    if (record.length < this.smallest) return undefined;
    return this.encryptThenMac ? this.openMacFirst(record, sequence) : this.openMacInside(record, sequence);
  }

  private openMacFirst(record: Bytes, sequence: number): Opened | undefined {
    const end = record.length - this.macLength;
    const covered = record.subarray(recordHeaderBytes, end);
    if (!equalBytes(this.mac(record, sequence, covered), record.subarray(end))) return undefined;
    const plain = this.decipher(covered);
    const length = plain === undefined ? -1 : unpaddedLength(plain);
    return length < 0 ? undefined : { type: record[0]!, content: plain!.subarray(0, length), padded: true };
  }

  private openMacInside(record: Bytes, sequence: number): Opened | undefined {
    if (this.lastRecord !== record) {
      this.lastRecord = record;
      this.lastPlain = this.decipher(record.subarray(recordHeaderBytes));
    }
    const plain = this.lastPlain;
    if (plain === undefined) return undefined;
    const end = (this.cipher.kind === "null" ? plain.length : unpaddedLength(plain)) - this.macLength;
    if (end < 0) return undefined;
    const content = plain.subarray(0, end);
    const fits = equalBytes(this.mac(record, sequence, content), plain.subarray(end, end + this.macLength));
    return fits ? { type: record[0]!, content, padded: this.cipher.kind === "cbc" } : undefined;
  }

  private decipher(fragment: Bytes): Bytes | undefined {
    const { cipher } = this;
    if (cipher.kind === "null") return keep(fragment);
    const iv = this.explicitIv ? fragment.subarray(0, cipher.blockBytes) : this.chain;
    const text = fragment.subarray(this.ivLength);
    if (iv === undefined || text.length === 0 || text.length % cipher.blockBytes !== 0) return undefined;
    // Padding stays on: it is checked with the MAC, and OpenSSL's idea of it is not that of TLS.
    return createDecipheriv(cipher.name, this.keys.key, iv).setAutoPadding(false).update(text);
  }

  private mac(record: Bytes, sequence: number, covered: Bytes): Bytes {
    this.view.setUint32(0, Math.floor(sequence / 0x1_0000_0000));
    this.view.setUint32(4, sequence >>> 0);
    this.prefix.set(record.subarray(0, 3), 8);
    this.view.setUint16(11, covered.length);
    return createHmac(this.cipher.mac, this.macKey).update(this.prefix).update(covered).digest();
  }
}

function leastCiphertext(blockBytes: number, macLength: number, encryptThenMac: boolean): number {
  if (encryptThenMac) return blockBytes + macLength;
  return Math.ceil((macLength + 1) / blockBytes) * blockBytes;
}

/** Length without the padding; -1 where it is none. Every byte of it counts how many follow the first. */
function unpaddedLength(plain: Bytes): number {
  const padding = plain[plain.length - 1]!;
  const length = plain.length - padding - 1;
  if (length < 0) return -1;
  for (let at = length; at < plain.length; at++) if (plain[at] !== padding) return -1;
  return length;
}
