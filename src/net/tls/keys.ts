/** Key schedules: HKDF-Expand-Label (RFC 8446 section 7.1) and the pseudo-random function (RFC 5246 section 5, RFC 2246 section 5). */
import { createHash, createHmac } from "node:crypto";
import { type Bytes, concat, utf8Bytes } from "../../core/bytes.js";
import { hashBytes, type PrfHash, type RecordCipher } from "./suites.js";

/** At most one block of the hash: all that TLS 1.3 asks for with the suites there are. */
export function expandLabel(hash: PrfHash, secret: Bytes, label: string, length: number): Bytes {
  const name = utf8Bytes(`tls13 ${label}`);
  const info = concat([Uint8Array.of(length >> 8, length & 255, name.length), name, Uint8Array.of(0, 1)]);
  return createHmac(hash, secret).update(info).digest().subarray(0, length);
}

export interface TrafficKeys {
  readonly key: Bytes;
  readonly iv: Bytes;
}

/** RFC 8446 section 7.3. */
export function trafficKeys(hash: PrfHash, secret: Bytes, keyBytes: number): TrafficKeys {
  return { key: expandLabel(hash, secret, "key", keyBytes), iv: expandLabel(hash, secret, "iv", 12) };
}

/** The secret after a KeyUpdate. RFC 8446 section 7.2. */
export function nextTrafficSecret(hash: PrfHash, secret: Bytes): Bytes {
  return expandLabel(hash, secret, "traffic upd", hashBytes[hash]);
}

/** `version` as on the wire: 0x0303 uses `hash`, anything older MD5 and SHA-1 together. */
export function prf(version: number, hash: PrfHash, secret: Bytes, label: string, seed: Bytes, length: number): Bytes {
  const labelled = concat([utf8Bytes(label), seed]);
  if (version >= 0x0303) return expand(hash, secret, labelled, length);
  const half = Math.ceil(secret.length / 2);
  const left = expand("md5", secret.subarray(0, half), labelled, length);
  const right = expand("sha1", secret.subarray(secret.length - half), labelled, length);
  return left.map((byte, i) => byte ^ right[i]!);
}

/** P_hash. */
function expand(hash: string, secret: Bytes, seed: Bytes, length: number): Bytes {
  const out = new Uint8Array(length);
  let a = seed;
  for (let at = 0; at < length; ) {
    a = createHmac(hash, secret).update(a).digest();
    const block = createHmac(hash, secret).update(a).update(seed).digest();
    const part = block.subarray(0, Math.min(block.length, length - at));
    out.set(part, at);
    at += part.length;
  }
  return out;
}

export interface SessionParameters {
  readonly version: number;
  readonly hash: PrfHash;
  readonly clientRandom: Bytes;
  readonly serverRandom: Bytes;
}

/** `transcript`: the handshake messages up to ClientKeyExchange for an extended master secret (RFC 7627), else null. */
export function masterSecret(session: SessionParameters, premaster: Bytes, transcript: readonly Bytes[] | null): Bytes {
  const { version, hash, clientRandom, serverRandom } = session;
  if (transcript === null) {
    return prf(version, hash, premaster, "master secret", concat([clientRandom, serverRandom]), 48);
  }
  const digest = (name: string) => transcript.reduce((sum, part) => sum.update(part), createHash(name)).digest();
  const sessionHash = version >= 0x0303 ? digest(hash) : concat([digest("md5"), digest("sha1")]);
  return prf(version, hash, premaster, "extended master secret", sessionHash, 48);
}

export interface WriteKeys {
  readonly mac: Bytes;
  readonly key: Bytes;
  /** The fixed part of the nonce (AEAD), or the first IV (CBC of TLS 1.0). */
  readonly iv: Bytes;
}

/** RFC 5246 section 6.3. */
export function sessionKeys(
  session: SessionParameters,
  master: Bytes,
  cipher: RecordCipher,
  macLength: number,
): { readonly client: WriteKeys; readonly server: WriteKeys } {
  const keyLength = cipher.kind === "null" ? 0 : cipher.keyBytes;
  const ivLength = cipher.kind === "aead" ? cipher.saltBytes : cipher.kind === "cbc" ? cipher.blockBytes : 0;
  const seed = concat([session.serverRandom, session.clientRandom]);
  const total = 2 * (macLength + keyLength + ivLength);
  const block = prf(session.version, session.hash, master, "key expansion", seed, total);
  const cut = (side: 0 | 1): WriteKeys => {
    const keysAt = 2 * macLength + side * keyLength;
    const ivAt = 2 * (macLength + keyLength) + side * ivLength;
    return {
      mac: block.subarray(side * macLength, (side + 1) * macLength),
      key: block.subarray(keysAt, keysAt + keyLength),
      iv: block.subarray(ivAt, ivAt + ivLength),
    };
  };
  return { client: cut(0), server: cut(1) };
}
