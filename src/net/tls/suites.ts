/** What a cipher suite means for decryption, read off its IANA name. RFC 5246 (TLS 1.2), RFC 8446 (TLS 1.3). */
import { suiteNames } from "./suite-names.js";

export type PrfHash = "sha256" | "sha384";
export type MacHash = "md5" | "sha1" | "sha256" | "sha384";

export type RecordCipher =
  | {
      readonly kind: "aead";
      /** Name for createDecipheriv. */
      readonly name: string;
      readonly keyBytes: number;
      readonly tagBytes: number;
      /** TLS 1.2: nonce bytes that the key block gives; the rest of the 12 stands in each record. */
      readonly saltBytes: 4 | 12;
    }
  | {
      readonly kind: "cbc";
      readonly name: string;
      readonly keyBytes: number;
      readonly blockBytes: number;
      readonly mac: MacHash;
    }
  /** No encryption: content and MAC in the clear. */
  | { readonly kind: "null"; readonly mac: MacHash };

export interface Suite {
  readonly id: number;
  /** IANA name; "0x1234" where there is none. */
  readonly name: string;
  readonly tls13: boolean;
  /** Of the key schedule in TLS 1.2 and 1.3. */
  readonly hash: PrfHash;
  /** null: named, but not decrypted here. */
  readonly cipher: RecordCipher | null;
  readonly keyExchange: "rsa" | "other";
}

export const macBytes: Readonly<Record<MacHash, number>> = { md5: 16, sha1: 20, sha256: 32, sha384: 48 };
export const hashBytes: Readonly<Record<PrfHash, number>> = { sha256: 32, sha384: 48 };

const macs: Readonly<Record<string, MacHash>> = { MD5: "md5", SHA: "sha1", SHA256: "sha256", SHA384: "sha384" };

export function suiteOf(id: number): Suite {
  const name = suiteNames.get(id);
  if (name === undefined) {
    const number = `0x${id.toString(16).padStart(4, "0")}`;
    return { id, name: number, tls13: false, hash: "sha256", cipher: null, keyExchange: "other" };
  }
  const at = name.indexOf("_WITH_");
  return {
    id,
    name,
    tls13: at < 0,
    hash: name.endsWith("_SHA384") ? "sha384" : "sha256",
    cipher: beforeRfc7905(id) ? null : cipherOf(name.slice(at < 0 ? "TLS_".length : at + "_WITH_".length)),
    keyExchange: name.startsWith("TLS_RSA_WITH_") ? "rsa" : "other",
  };
}

function beforeRfc7905(id: number): boolean {
  return id >= 0xcc13 && id <= 0xcc15;
}

/** `text`: "AES_128_GCM_SHA256", "AES_256_CCM_8", "3DES_EDE_CBC_SHA", … */
function cipherOf(text: string): RecordCipher | null {
  if (text.startsWith("CHACHA20_POLY1305")) {
    return { kind: "aead", name: "chacha20-poly1305", keyBytes: 32, tagBytes: 16, saltBytes: 12 };
  }
  const aead = /^(AES|ARIA)_(128|256)_(GCM|CCM(?:_8)?)(?:_SHA\d+)?$/.exec(text);
  if (aead !== null) {
    const mode = aead[3] === "GCM" ? "gcm" : "ccm";
    const name = `${aead[1]!.toLowerCase()}-${aead[2]}-${mode}`;
    const tagBytes = aead[3] === "CCM_8" ? 8 : 16;
    return { kind: "aead", name, keyBytes: Number(aead[2]) / 8, tagBytes, saltBytes: 4 };
  }
  const cbc = /^(AES|CAMELLIA|ARIA)_(128|256)_CBC_(\w+)$/.exec(text);
  if (cbc !== null) {
    const name = `${cbc[1]!.toLowerCase()}-${cbc[2]}-cbc`;
    return { kind: "cbc", name, keyBytes: Number(cbc[2]) / 8, blockBytes: 16, mac: macs[cbc[3]!]! };
  }
  if (text === "3DES_EDE_CBC_SHA") {
    return { kind: "cbc", name: "des-ede3-cbc", keyBytes: 24, blockBytes: 8, mac: "sha1" };
  }
  const none = /^NULL_(MD5|SHA|SHA256|SHA384)$/.exec(text);
  return none === null ? null : { kind: "null", mac: macs[none[1]!]! };
}
