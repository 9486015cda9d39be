import { describe, expect, it } from "vitest";
import { join, text, u16, u32 } from "../../fixtures/net/make/packets.mjs";
import { rolesFrom } from "../../src/net/roles.js";
import { isGreeting, sniffDown, sniffMidway, sniffUp } from "../../src/net/sniff.js";

const hello = join([0x16, 3, 1], u16(200), [1, 0, 0, 196]);
const serverHello = join([0x16, 3, 3], u16(80), [2, 0, 0, 76]);
const preface = text("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const frame = (length: number, type: number, flags: number, stream: number) =>
  join(u32(length).slice(1), type, flags, u32(stream), new Uint8Array(length));
const settings = frame(12, 4, 0, 0);

describe("the client's first bytes", () => {
  it.each([
    ["RFC 8446 4.1.2 client hello", hello, "tls"],
    ["RFC 8446 6 alert", [0x15, 3, 1, 0, 2, 2, 40], "tls"],
    ["RFC 9113 3.4 preface", preface, "http2"],
    ["RFC 9112 3 request", text("GET / HTTP/1.1\r\nhost: x\r\n\r\n"), "http1"],
    ["a request whose line is not whole", text("POST /aiserver.v1.ChatService/RunSSE"), "http1"],
    ["CONNECT", text("CONNECT api.example:443"), "http1"],
    ["absolute form", text("GET http://api.example/x HT"), "http1"],
    ["OPTIONS of everything", text("OPTIONS * HTTP/1.1\r\n"), "http1"],
    ["a method of WebDAV", text("PROPFIND / HTTP/1.1\r\n"), "http1"],
    ["M-SEARCH", text("M-SEARCH * HTTP/1.1\r\n"), "http1"],
    ["RFC 1928 greeting and request", [5, 1, 0, 5, 1, 0, 3, 9], "socks5"],
    ["RFC 1929 greeting and password", [5, 2, 0, 2, 1, 4, 0x75, 0x73], "socks5"],
    ["PROXY protocol, version 1", text("PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n"), "proxy-header"],
    [
      "PROXY protocol, version 2",
      [13, 10, 13, 10, 0, 13, 10, 0x51, 0x55, 0x49, 0x54, 10, 0x21, 0x11, 0, 12],
      "proxy-header",
    ],
    ["a length-prefixed message of 5 bytes", [0, 0, 0, 5, 0xa1, 1, 2, 3, 4], "raw"],
    ["a length-prefixed message of 0x16030100 bytes", [0x16, 3, 1, 0, 0, 0xa1, 1], "raw"],
    ["HTTP/0.9", text("GET /\r\n"), "raw"],
    ["SIP", text("OPTIONS sip:alice@example.org SIP/2.0\r\n"), "raw"],
    ["RTSP", text("OPTIONS rtsp://example.org RTSP/1.0\r\n"), "raw"],
    ["SMTP", text("EHLO example.org\r\n"), "raw"],
    ["SSH", text("SSH-2.0-OpenSSH_9.2\r\n"), "raw"],
    ["DCE/RPC", [5, 0, 11, 3, 0x10, 0, 0, 0], "raw"],
    ["JSON lines", text('{"id":1}\n'), "raw"],
    ["capitals without end", text("A".repeat(30)), "raw"],
    ["a space first", text(" GET / HTTP/1.1\r\n"), "raw"],
  ] as const)("%s", (_, bytes, protocol) => {
    expect(sniffUp(Uint8Array.from(bytes))).toBe(protocol);
  });

  it("waits while the bytes fit, and decides with the whole the same as at once", () => {
    for (const whole of [
      hello,
      preface,
      text("DELETE /x HTTP/1.1\r\n"),
      text("PROPFIND /x HTTP/1.0\r\n"),
      text("PROXY TCP4 1"),
    ]) {
      const final = sniffUp(whole);
      let decided: string = "more";
      for (let cut = 0; cut <= whole.length && decided === "more"; cut++) decided = sniffUp(whole.subarray(0, cut));
      expect(decided).toBe(final);
    }
  });
});

describe("the server's first bytes", () => {
  it.each([
    ["RFC 8446 4.1.3 server hello", serverHello, "tls"],
    ["RFC 9112 4 response", text("HTTP/1.1 200 OK\r\n"), "http1"],
    ["HTTP/1.0", text("HTTP/1.0 404 Not Found\r\n"), "http1"],
    ["RFC 9113 3.4 server preface", settings, "http2"],
    ["settings that acknowledge and have a body", frame(6, 4, 1, 0), "raw"],
    ["HTTP/1.x of the future", text("HTTP/1.9 200 OK\r\n"), "raw"],
    ["a banner", text("220 mail.example.org ESMTP\r\n"), "raw"],
    ["a length-prefixed message", [0, 0, 18, 4, 0xa4, 1, 2, 3, 4, 5, 6], "raw"],
    ["a SOCKS5 answer that nobody asked for", [5, 0], "raw"],
  ] as const)("%s", (_, bytes, protocol) => {
    expect(sniffDown(Uint8Array.from(bytes), false)).toBe(protocol);
  });

  it("confirms a SOCKS5 greeting", () => {
    expect(isGreeting(Uint8Array.of(5, 1, 0))).toBe(true);
    expect(isGreeting(Uint8Array.of(5, 2, 0))).toBe(false);
    expect(isGreeting(Uint8Array.of(5, 1, 0, 5))).toBe(false);
    expect(sniffUp(Uint8Array.of(5, 1, 0))).toBe("more");
    expect(sniffDown(Uint8Array.of(5), true)).toBe("more");
    expect(sniffDown(Uint8Array.of(5, 0), true)).toBe("socks5");
    expect(sniffDown(text("not at all"), true)).toBe("raw");
  });
});

describe("any piece of a connection joined midway", () => {
  it.each([
    ["a record of application data", join([0x17, 3, 3], u16(30), new Uint8Array(30)), false, "tls"],
    ["a record that goes on", join([0x17, 3, 3], u16(16_000), new Uint8Array(100)), false, "tls"],
    ["two records", join([0x17, 3, 3], u16(3), [1, 2, 3], [0x15, 3, 3], u16(20)), true, "tls"],
    ["what only begins like a record", join([0x17, 3, 3], u16(3), [1, 2, 3], text("nothing")), true, undefined],
    ["a request", text("POST /x HTTP/1.1\r\n"), true, "http1"],
    ["a request from the server", text("POST /x HTTP/1.1\r\n"), false, undefined],
    ["a response", text("HTTP/1.1 204 No Content\r\n"), false, "http1"],
    ["two frames", join(frame(4, 8, 0, 0), frame(5, 0, 0, 3)), true, "http2"],
    ["one frame up to the end", frame(20, 0, 1, 5), false, "http2"],
    ["headers that go on", join(frame(4000, 1, 4, 7)).subarray(0, 1448), false, "http2"],
    ["a frame, then nothing like one", join(frame(4, 8, 0, 0), text("nothing like it")), true, undefined],
    ["length-prefixed CBOR", [0, 0, 0, 9, 0xa2, 0x62, 0x69, 0x64, 1, 0x64, 0x6b, 0x69, 0x6e], true, undefined],
    ["text", text("data: {}\n\n"), false, undefined],
    ["nothing", [], true, undefined],
  ] as const)("%s", (_, bytes, up, protocol) => {
    expect(sniffMidway(Uint8Array.from(bytes), up)).toBe(protocol);
  });
});

describe("roles without a handshake", () => {
  it.each([
    ["a client hello names its sender", hello, 443, 50_000, { client: 0, by: "tls" }],
    ["a server hello names the other", serverHello, 50_000, 443, { client: 1, by: "tls" }],
    ["a request, whatever the ports", text("GET / HTTP/1.1\r\n"), 80, 50_000, { client: 0, by: "port" }],
    ["a response, whatever the ports", text("HTTP/1.1 200 OK\r\n"), 50_000, 80, { client: 1, by: "port" }],
    ["the preface", preface, 33_000, 60_000, { client: 0, by: "port" }],
    ["the lower port is the server's", text("?"), 3000, 8080, { client: 1, by: "port" }],
    ["and the other way round", text("?"), 8080, 3000, { client: 0, by: "port" }],
    ["one of those handed out to clients is the client's", text("?"), 33_000, 32_000, { client: 0, by: "port" }],
    ["two of them: the lower", text("?"), 40_000, 50_000, { client: 1, by: "port" }],
    ["equal ports: who speaks first", text("?"), 5000, 5000, { client: 0, by: "port" }],
    ["nothing to look at", [], 50_000, 80, { client: 0, by: "port" }],
  ] as const)("%s", (_, first, sender, other, roles) => {
    expect(rolesFrom(Uint8Array.from(first), sender, other)).toEqual(roles);
  });
});
