/** AEAD record protection: RFC 8446 section 5.2 (TLS 1.3), RFC 5288, 6655 and 7905 (TLS 1.2). */
import { type CipherGCMTypes, createDecipheriv, createSecretKey, type DecipherGCM, type KeyObject } from "node:crypto";
import type { Bytes } from "../../core/bytes.js";
import { noBytes } from "../../core/bytes.js";
import type { WriteKeys } from "./keys.js";
import { type Opened, type Opener, recordHeaderBytes } from "./opener.js";
import type { RecordCipher } from "./suites.js";

type AeadCipher = Extract<RecordCipher, { kind: "aead" }>;

export function aead13Opener(cipher: AeadCipher, keys: { readonly key: Bytes; readonly iv: Bytes }): Opener {
  return new Aead13(cipher, keys.key, keys.iv);
}

export function aead12Opener(cipher: AeadCipher, keys: WriteKeys): Opener {
  return cipher.saltBytes === 12 ? new Aead12Sequence(cipher, keys) : new Aead12Explicit(cipher, keys);
}

abstract class Aead {
  private readonly key: KeyObject;
  private readonly options: { readonly authTagLength: number };
  private readonly ccm: boolean;
  /** Handed to OpenSSL, which copies it: one for all records. */
  protected readonly nonce = new Uint8Array(12);

  constructor(
    protected readonly cipher: AeadCipher,
    key: Bytes,
  ) {
    this.key = createSecretKey(key);
    this.options = { authTagLength: cipher.tagBytes };
    this.ccm = cipher.name.endsWith("-ccm");
  }

  passed(): void {}

  lost(): void {}

  missingBefore(_record: Bytes): number {
    return 0;
  }

  /** Ciphertext and tag begin at `from`. */
  protected decrypt(record: Bytes, from: number, additional: Bytes): Bytes | undefined {
    const tagAt = record.length - this.cipher.tagBytes;
    try {
      // ChaCha20-Poly1305, CCM and ARIA take the same calls as AES-GCM, whose type has them all.
      const name = this.cipher.name as CipherGCMTypes;
      const decipher: DecipherGCM = createDecipheriv(name, this.key, this.nonce, this.options);
      decipher.setAuthTag(record.subarray(tagAt));
      decipher.setAAD(additional, this.ccm ? { plaintextLength: tagAt - from } : undefined);
      const plain = decipher.update(record.subarray(from, tagAt));
      decipher.final();
      return plain;
    } catch {
      // The tag does not fit.
      return undefined;
    }
  }

  /** The nonce of RFC 8446 section 5.3: the IV with the sequence number laid over its last eight bytes. */
  protected sequenceNonce(iv: Bytes, sequence: number): void {
    this.nonce.set(iv);
    for (let at = 11, rest = sequence; rest > 0; at--) {
      this.nonce[at]! ^= rest & 255;
      rest = Math.floor(rest / 256);
    }
  }
}

class Aead13 extends Aead implements Opener {
  readonly smallest: number;
  readonly overhead: number;
  private readonly header = new Uint8Array(recordHeaderBytes);

  constructor(
    cipher: AeadCipher,
    key: Bytes,
    private readonly iv: Bytes,
  ) {
    super(cipher, key);
    this.overhead = recordHeaderBytes + 1 + cipher.tagBytes;
    this.smallest = this.overhead;
  }

  open(record: Bytes, sequence: number): Opened | undefined {
    if (record.length < this.smallest) return undefined;
    this.sequenceNonce(this.iv, sequence);
    for (let i = 0; i < recordHeaderBytes; i++) this.header[i] = record[i]!;
    const inner = this.decrypt(record, recordHeaderBytes, this.header);
    if (inner === undefined) return undefined;
    let end = inner.length - 1;
    while (end > 0 && inner[end] === 0) end--;
    return { type: inner[end]!, content: inner.subarray(0, end), padded: end < inner.length - 1 };
  }
}

abstract class Aead12 extends Aead implements Opener {
  abstract readonly overhead: number;
  /** Sequence number, type, version and length of the content. */
  protected readonly additional = new Uint8Array(13);
  private readonly view = new DataView(this.additional.buffer);

  get smallest(): number {
    return this.overhead;
  }

  open(record: Bytes, sequence: number): Opened | undefined {
    if (record.length < this.overhead) return undefined;
    this.view.setUint32(0, Math.floor(sequence / 0x1_0000_0000));
    this.view.setUint32(4, sequence >>> 0);
    for (let i = 0; i < 3; i++) this.additional[8 + i] = record[i]!;
    this.view.setUint16(11, record.length - this.overhead);
    const content = this.decrypt(record, this.useNonce(record, sequence), this.additional);
    if (content === undefined) return undefined;
    this.opened(record);
    return { type: record[0]!, content: content.length === 0 ? noBytes : content, padded: false };
  }

  /** Sets the nonce, and tells where the ciphertext begins. */
  protected abstract useNonce(record: Bytes, sequence: number): number;

  protected opened(_record: Bytes): void {}
}

/** ChaCha20-Poly1305: the nonce comes from the sequence number. */
class Aead12Sequence extends Aead12 {
  readonly overhead: number;

  constructor(
    cipher: AeadCipher,
    private readonly keys: WriteKeys,
  ) {
    super(cipher, keys.key);
    this.overhead = recordHeaderBytes + cipher.tagBytes;
  }

  protected useNonce(_record: Bytes, sequence: number): number {
    this.sequenceNonce(this.keys.iv, sequence);
    return recordHeaderBytes;
  }
}

const explicitBytes = 8;

/** GCM and CCM: four bytes from the key block, eight in front of each ciphertext. */
class Aead12Explicit extends Aead12 {
  readonly overhead: number;
  private last: number | undefined;

  constructor(cipher: AeadCipher, keys: WriteKeys) {
    super(cipher, keys.key);
    this.nonce.set(keys.iv);
    this.overhead = recordHeaderBytes + explicitBytes + cipher.tagBytes;
  }

  protected useNonce(record: Bytes): number {
    for (let i = 0; i < explicitBytes; i++) this.nonce[4 + i] = record[recordHeaderBytes + i]!;
    return recordHeaderBytes + explicitBytes;
  }

  protected override opened(record: Bytes): void {
    this.last = lowHalf(record);
  }

  // RFC 5288 lets the sender choose the nonce; all libraries known count it up by one per record.
  override missingBefore(record: Bytes): number {
    if (this.last === undefined || record.length < this.overhead) return 0;
    const missing = (lowHalf(record) - this.last - 1) >>> 0;
    return missing < 0x100_0000 ? missing : 0;
  }
}

/** The low four bytes of the explicit nonce. */
function lowHalf(record: Bytes): number {
  const at = recordHeaderBytes + 4;
  return ((record[at]! << 24) | (record[at + 1]! << 16) | (record[at + 2]! << 8) | record[at + 3]!) >>> 0;
}
