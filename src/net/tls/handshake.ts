/** The parts of handshake messages that decryption and reports need. RFC 8446 section 4, RFC 5246 section 7.4. */
import { type Bytes, equalBytes, fromHex, keep, latin1, noBytes, readU16BE } from "../../core/bytes.js";

export const messageType = {
  clientHello: 1,
  serverHello: 2,
  newSessionTicket: 4,
  endOfEarlyData: 5,
  encryptedExtensions: 8,
  certificate: 11,
  serverKeyExchange: 12,
  serverHelloDone: 14,
  clientKeyExchange: 16,
  finished: 20,
  keyUpdate: 24,
} as const;

const extensionType = {
  serverName: 0,
  alpn: 16,
  encryptThenMac: 22,
  extendedMasterSecret: 23,
  sessionTicket: 35,
  earlyData: 42,
  supportedVersions: 43,
} as const;

export interface ClientHello {
  readonly random: Bytes;
  readonly sessionId: Bytes;
  /** null: none sent, or not readable. */
  readonly sni: string | null;
  readonly earlyData: boolean;
  /** Of RFC 5077; empty: none. */
  readonly ticket: Bytes;
}

export interface ServerHello {
  /** As negotiated: 0x0304 for TLS 1.3. */
  readonly version: number;
  readonly random: Bytes;
  readonly retry: boolean;
  readonly sessionId: Bytes;
  readonly suite: number;
  readonly compression: number;
  readonly alpn: string | null;
  readonly encryptThenMac: boolean;
  readonly extendedMasterSecret: boolean;
}

/** The random of a HelloRetryRequest: SHA-256 of that word (RFC 8446 section 4.1.3). */
const retryRandom = fromHex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c");

/** Reads forward; past the end every value is absent and `bad` is set. */
class Reader {
  private at = 0;
  bad = false;

  constructor(private readonly from: Bytes) {}

  get left(): number {
    return this.from.length - this.at;
  }

  bytes(count: number): Bytes {
    if (count > this.left) {
      this.bad = true;
      this.at = this.from.length;
      return noBytes;
    }
    this.at += count;
    return this.from.subarray(this.at - count, this.at);
  }

  number(size: 1 | 2): number {
    const bytes = this.bytes(size);
    if (bytes.length < size) return 0;
    return size === 1 ? bytes[0]! : readU16BE(bytes, 0);
  }

  /** A vector with its length in front. */
  vector(sizeOfLength: 1 | 2): Bytes {
    return this.bytes(this.number(sizeOfLength));
  }
}

/** `body` is the message without its four-byte header. Undefined where it breaks off before the cipher suites' end. */
export function parseClientHello(body: Bytes): ClientHello | undefined {
  const reader = new Reader(body);
  reader.bytes(2);
  const random = reader.bytes(32);
  const sessionId = reader.vector(1);
  reader.vector(2);
  reader.vector(1);
  if (reader.bad) return undefined;
  const extensions = readExtensions(reader);
  const name = extensions.get(extensionType.serverName);
  return {
    random: keep(random),
    sessionId: keep(sessionId),
    sni: name === undefined ? null : serverName(name),
    earlyData: extensions.has(extensionType.earlyData),
    ticket: keep(extensions.get(extensionType.sessionTicket) ?? noBytes),
  };
}

export function parseServerHello(body: Bytes): ServerHello | undefined {
  const reader = new Reader(body);
  const legacyVersion = reader.number(2);
  const random = reader.bytes(32);
  const sessionId = reader.vector(1);
  const suite = reader.number(2);
  const compression = reader.number(1);
  if (reader.bad) return undefined;
  const extensions = readExtensions(reader);
  const selected = extensions.get(extensionType.supportedVersions);
  return {
    version: selected?.length === 2 ? finalVersion(readU16BE(selected, 0)) : legacyVersion,
    random: keep(random),
    retry: equalBytes(random, retryRandom),
    sessionId: keep(sessionId),
    suite,
    compression,
    alpn: chosenProtocol(extensions),
    encryptThenMac: extensions.has(extensionType.encryptThenMac),
    extendedMasterSecret: extensions.has(extensionType.extendedMasterSecret),
  };
}

export interface EncryptedExtensions {
  readonly alpn: string | null;
  /** The server takes the early data. */
  readonly earlyData: boolean;
}

export function parseEncryptedExtensions(body: Bytes): EncryptedExtensions {
  const extensions = readExtensions(new Reader(body));
  return { alpn: chosenProtocol(extensions), earlyData: extensions.has(extensionType.earlyData) };
}

/** Ticket of a NewSessionTicket message before TLS 1.3. RFC 5077 section 3.3. */
export function parseTicket(body: Bytes): Bytes {
  const reader = new Reader(body);
  reader.bytes(4);
  return keep(reader.vector(2));
}

/** The encrypted premaster secret of an RSA ClientKeyExchange. */
export function parseEncryptedPremaster(body: Bytes): Bytes {
  return new Reader(body).vector(2);
}

/** First of each type wins. A list that breaks off gives what came before. */
function readExtensions(reader: Reader): ReadonlyMap<number, Bytes> {
  const found = new Map<number, Bytes>();
  if (reader.left < 2) return found;
  const list = new Reader(reader.vector(2));
  while (list.left >= 4) {
    const type = list.number(2);
    const data = list.vector(2);
    if (list.bad) break;
    if (!found.has(type)) found.set(type, data);
  }
  return found;
}

function serverName(data: Bytes): string | null {
  const list = new Reader(new Reader(data).vector(2));
  while (list.left >= 3) {
    const type = list.number(1);
    const name = list.vector(2);
    if (type === 0 && name.length > 0) return latin1(name);
  }
  return null;
}

function chosenProtocol(extensions: ReadonlyMap<number, Bytes>): string | null {
  const data = extensions.get(extensionType.alpn);
  if (data === undefined) return null;
  const name = new Reader(new Reader(data).vector(2)).vector(1);
  return name.length === 0 ? null : latin1(name);
}

/** Drafts 25 to 28 of TLS 1.3 protect records as the RFC does. */
function finalVersion(version: number): number {
  return version >= 0x7f19 && version <= 0x7f1c ? 0x0304 : version;
}

const versionNames: ReadonlyMap<number, string> = new Map([
  [0x0300, "SSL 3.0"],
  [0x0301, "1.0"],
  [0x0302, "1.1"],
  [0x0303, "1.2"],
  [0x0304, "1.3"],
]);

export function versionName(version: number): string {
  return versionNames.get(version) ?? `0x${version.toString(16).padStart(4, "0")}`;
}
