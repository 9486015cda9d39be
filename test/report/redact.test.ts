import { describe, expect, it } from "vitest";
import { privately, Sensitive, secretly } from "../../src/core/printable.js";
import { jsonText } from "../../src/report/json-text.js";
import { Redactor } from "../../src/report/redact.js";
import { urlText } from "../../src/report/url.js";
import { plain } from "../../src/report/words.js";

const header = (name: string, value: string) => [{ name, value }];

describe("marks", () => {
  it("equal values get equal numbers, by first printing, and sizes in bytes", () => {
    const redactor = new Redactor("secrets");
    expect(plain(["key ", secretly("abcé")], redactor)).toBe("key «redacted #1, 5 B»");
    expect(plain([secretly("other")], redactor)).toBe("«redacted #2, 5 B»");
    expect(plain([secretly("abcé")], redactor)).toBe("«redacted #1, 5 B»");
    expect(redactor.mark(new Uint8Array(1234))).toBe("«redacted #3, 1,234 B»");
    expect(redactor.mark(new Uint8Array(1234))).toBe("«redacted #3, 1,234 B»");
  });

  it.each([
    ["secrets", "prompt", "«redacted #1, 6 B»"],
    ["private", "«redacted #1, 6 B»", "«redacted #2, 6 B»"],
    ["none", "prompt", "secret"],
  ] as const)("%s", (level, content, secret) => {
    const redactor = new Redactor(level);
    expect([plain([privately("prompt")], redactor), plain([secretly("secret")], redactor)]).toEqual([content, secret]);
  });

  it("hides whole objects in JSON", () => {
    const context = { redactor: new Redactor("secrets"), names: [], maxBody: 1e9 };
    const value = { a: new Sensitive("secret", { user: "u", key: "k" }), b: privately("text") };
    expect(JSON.parse(jsonText(value, context))).toEqual({ a: "«redacted #1, 22 B»", b: "text" });
  });
});

describe("known secrets", () => {
  const cases: [string, string, string][] = [
    ["Authorization", "Bearer tokenvalue123", "tokenvalue123"],
    ["authorization", "Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"],
    ["Proxy-Authorization", "Basic cHJveHk6cGFzcw", "cHJveHk6cGFzcw"],
    ["Cookie", "theme=dark; session=0123456789abcdef", "0123456789abcdef"],
    ["Set-Cookie", "sid=fedcba9876543210; Path=/; HttpOnly", "fedcba9876543210"],
    ["x-api-key", "apikey-1", "apikey-1"],
    ["x-blob-encryption-key", "ab".repeat(32), "ab".repeat(32)],
    ["x-inference-authentication-jwt", "eyJhbGciOi.x.y", "eyJhbGciOi.x.y"],
    ["x-cursor-auth", "cursorauth", "cursorauth"],
    ["x-cursor-checksum", "checksum/machine", "checksum/machine"],
    ["x-client-key", "clientkey", "clientkey"],
    ["x-session-id", "sessionid", "sessionid"],
    ["Sec-WebSocket-Protocol", "json, kimi-code.bearer.tok-en_1", "tok-en_1"],
    ["X-Custom-Token", "customtoken", "customtoken"],
  ];
  it.each(cases)("%s: %s", (name, value, secret) => {
    const redactor = new Redactor("secrets");
    redactor.learnHead(header(name, value));
    expect(redactor.scrub(`before ${secret} after`)).not.toContain(secret);
    expect(redactor.scrub(`before ${value} after`)).not.toContain(secret);
    const open = new Redactor("none");
    open.learnHead(header(name, value));
    expect(open.scrub(secret)).toBe(secret);
  });

  it("leaves other headers and words alone", () => {
    const redactor = new Redactor("secrets");
    redactor.learnHead([
      ...header("content-type", "application/proto"),
      ...header("x-request-id", "6a1b-0000"),
      ...header("Cookie", "a=1; b=true"),
    ]);
    expect(redactor.scrub("application/proto 6a1b-0000 true")).toBe("application/proto 6a1b-0000 true");
  });

  it("finds secrets that share a beginning, the longest first", () => {
    const redactor = new Redactor("secrets");
    for (const secret of ["tokenA", "tokenAB", "tokenXYZ"]) redactor.learn(secret);
    expect(redactor.scrub("tokenAB tokenA tokenX tokenXYZ tokentokenA")).toBe(
      "«redacted #1, 7 B» «redacted #2, 6 B» tokenX «redacted #3, 8 B» token«redacted #2, 6 B»",
    );
  });

  it("stays linear with thousands of them", () => {
    const redactor = new Redactor("secrets");
    for (let i = 0; i < 5000; i++) redactor.learn(`secret-${i}-value`);
    const text = "nothing of it here. ".repeat(20_000);
    expect(redactor.scrub(text)).toBe(text);
    expect(redactor.scrub(`${text}secret-4321-value`)).toMatch(/«redacted #1, 17 B»$/);
  });
});

describe("paths with a query", () => {
  it("hides values of secret names, and learns them", () => {
    const redactor = new Redactor("secrets");
    expect(urlText("/a?x=1&token=abc%2Fdef&code=q1w2e#access_token=zzz", redactor)).toBe(
      "/a?x=1&token=«redacted #1, 9 B»&code=«redacted #2, 5 B»#access_token=«redacted #3, 3 B»",
    );
    redactor.learnHead([], "/a?token=abc%2Fdef");
    expect(redactor.scrub("abc/def and abc%2Fdef")).not.toMatch(/abc/);
    expect(urlText("/a?token=abc", new Redactor("none"))).toBe("/a?token=abc");
  });
});
