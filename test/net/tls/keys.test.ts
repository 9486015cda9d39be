/** Key schedules against published values. */
import { describe, expect, it } from "vitest";
import { fromHex, hex } from "../../../src/core/bytes.js";
import { expandLabel, nextTrafficSecret, prf, trafficKeys } from "../../../src/net/tls/keys.js";

describe("RFC 8448 section 3", () => {
  it.each([
    [
      "client handshake",
      "b3eddb126e067f35a780b3abf45e2d8f3b1a950738f52e9600746a0e27a55a21",
      "dbfaa693d1762c5b666af5d950258d01",
      "5bd3c71b836e0b76bb73265f",
    ],
    [
      "server handshake",
      "b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38",
      "3fce516009c21727d0f2e4e86ee403bc",
      "5d313eb2671276ee13000b30",
    ],
    [
      "client application",
      "9e40646ce79a7f9dc05af8889bce6552875afa0b06df0087f792ebb7c17504a5",
      "17422dda596ed5d9acd890e3c63f5051",
      "5b78923dee08579033e523d9",
    ],
    [
      "server application",
      "a11af9f05531f856ad47116b45a950328204b4f44bfb6b3a4b4f1f3fcb631643",
      "9f02283b6c9c07efc26bb9f2ac92e356",
      "cf782b88dd83549aadf1e984",
    ],
  ])("%s traffic keys", (_name, secret, key, iv) => {
    const keys = trafficKeys("sha256", fromHex(secret), 16);
    expect([hex(keys.key), hex(keys.iv)]).toEqual([key, iv]);
  });

  it("the ticket's key: a label with a context is not needed, one without has this form", () => {
    const finished = expandLabel(
      "sha256",
      fromHex("b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38"),
      "finished",
      32,
    );
    expect(hex(finished)).toBe("008d3b66f816ea559f96b537e885c31fc068bf492c652f01f288a1d8cdc19fc8");
  });

  it("the next secret has the length of the hash, and is another one", () => {
    const secret = new Uint8Array(48).fill(7);
    const next = nextTrafficSecret("sha384", secret);
    expect([next.length, hex(next) === hex(secret)]).toEqual([48, false]);
  });
});

describe("pseudo-random function", () => {
  // Posted to the TLS working group's list by the implementers of TLS 1.2.
  it("TLS 1.2, SHA-256", () => {
    const out = prf(
      0x0303,
      "sha256",
      fromHex("9bbe436ba940f017b17652849a71db35"),
      "test label",
      fromHex("a0ba9f936cda311827a6f796ffd5198c"),
      100,
    );
    expect(hex(out)).toBe(
      "e3f229ba727be17b8d122620557cd453c2aab21d07c3d495329b52d4e61edb5a6b301791e90d35c9c9a46b4e14baf9af0fa022f7" +
        "077def17abfd3797c0564bab4fbc91666e9def9b97fce34f796789baa48082d122ee42c5a72e5a5110fff70187347b66",
    );
  });

  it("before TLS 1.2 an odd secret's middle byte goes into both halves (RFC 2246 section 5)", () => {
    const seed = new Uint8Array(8);
    const odd = prf(0x0301, "sha256", Uint8Array.of(1, 2, 3), "x", seed, 40);
    const even = prf(0x0301, "sha256", Uint8Array.of(1, 2, 2, 3), "x", seed, 40);
    expect(hex(odd)).toBe(hex(even));
  });
});
