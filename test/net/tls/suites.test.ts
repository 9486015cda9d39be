/** Cipher suites by number: IANA names, and what is read off them. */
import { getCiphers } from "node:crypto";
import { describe, expect, it } from "vitest";
import { suiteNames } from "../../../src/net/tls/suite-names.js";
import { suiteOf } from "../../../src/net/tls/suites.js";

const aead = (name: string, keyBytes: number, tagBytes: number, saltBytes: number) => ({
  kind: "aead",
  name,
  keyBytes,
  tagBytes,
  saltBytes,
});

describe("suiteOf", () => {
  it.each([
    [0x1301, "TLS_AES_128_GCM_SHA256", true, "sha256", aead("aes-128-gcm", 16, 16, 4)],
    [0x1302, "TLS_AES_256_GCM_SHA384", true, "sha384", aead("aes-256-gcm", 32, 16, 4)],
    [0x1303, "TLS_CHACHA20_POLY1305_SHA256", true, "sha256", aead("chacha20-poly1305", 32, 16, 12)],
    [0x1305, "TLS_AES_128_CCM_8_SHA256", true, "sha256", aead("aes-128-ccm", 16, 8, 4)],
    [0xc02f, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", false, "sha256", aead("aes-128-gcm", 16, 16, 4)],
    [0xcca8, "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", false, "sha256", aead("chacha20-poly1305", 32, 16, 12)],
    [0xc0af, "TLS_ECDHE_ECDSA_WITH_AES_256_CCM_8", false, "sha256", aead("aes-256-ccm", 32, 8, 4)],
    [
      0x002f,
      "TLS_RSA_WITH_AES_128_CBC_SHA",
      false,
      "sha256",
      { kind: "cbc", name: "aes-128-cbc", keyBytes: 16, blockBytes: 16, mac: "sha1" },
    ],
    [
      0xc028,
      "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384",
      false,
      "sha384",
      { kind: "cbc", name: "aes-256-cbc", keyBytes: 32, blockBytes: 16, mac: "sha384" },
    ],
    [
      0x000a,
      "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
      false,
      "sha256",
      { kind: "cbc", name: "des-ede3-cbc", keyBytes: 24, blockBytes: 8, mac: "sha1" },
    ],
    [0x0001, "TLS_RSA_WITH_NULL_MD5", false, "sha256", { kind: "null", mac: "md5" }],
    [0x0005, "TLS_RSA_WITH_RC4_128_SHA", false, "sha256", null],
    [0xcc13, "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", false, "sha256", null],
    [0x00c6, "TLS_SM4_GCM_SM3", true, "sha256", null],
    [0xfafa, "0xfafa", false, "sha256", null],
  ])("0x%s", (id, name, tls13, hash, cipher) => {
    expect(suiteOf(id)).toMatchObject({ id, name, tls13, hash, cipher });
  });

  it("names all suites that IANA does, each once", () => {
    expect(suiteNames.size).toBeGreaterThan(350);
    for (const [id, name] of suiteNames) {
      expect(name).toMatch(/^TLS_[A-Z0-9a-z_]+$/);
      expect(id).toBeLessThan(0x1_0000);
    }
    expect(new Set(suiteNames.values()).size).toBe(suiteNames.size - 3);
  });

  it("Node has every cipher that is said to be decrypted", () => {
    const known = new Set(getCiphers());
    for (const id of suiteNames.keys()) {
      const { cipher } = suiteOf(id);
      if (cipher !== null && cipher.kind !== "null") expect(known).toContain(cipher.name);
    }
  });
});
