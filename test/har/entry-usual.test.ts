import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isUsual } from "../../src/har/entry-usual.js";
import type { Fields } from "../../src/har/fields.js";

const validator = createRequire(import.meta.url)("har-validator/lib/async") as {
  entry(data: unknown, next: (error: object | null) => void): void;
};

function isValid(entry: unknown): boolean {
  let valid = false;
  validator.entry(entry, (error) => {
    valid = error === null;
  });
  return valid;
}

function usualEntry() {
  return {
    startedDateTime: "2026-11-30T21:04:41.228Z",
    time: 12.5,
    request: {
      method: "POST",
      url: "https://agent.example.test/path?a=1",
      httpVersion: "HTTP/1.1",
      cookies: [{ name: "a", value: "b", expires: null, httpOnly: true, path: "/" }],
      headers: [{ name: "accept", value: "*/*" }],
      queryString: [{ name: "a", value: "1" }],
      headersSize: -1,
      bodySize: 3,
      postData: { mimeType: "text/plain", text: "abc", params: [] },
    },
    response: {
      status: 200,
      statusText: "OK",
      httpVersion: "HTTP/1.1",
      cookies: [],
      headers: [],
      content: { size: 0, mimeType: "text/plain", text: "", encoding: "base64" },
      redirectURL: "",
      headersSize: -1,
      bodySize: 0,
    },
    cache: {},
    timings: { send: 0, wait: 1, receive: 2, dns: -1 },
    serverIPAddress: "192.0.2.1",
    connection: "443",
  };
}

/** Every path into the entry, as lists of keys. */
function paths(value: unknown, at: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [at];
  return [at, ...Object.entries(value).flatMap(([key, inner]) => paths(inner, [...at, key]))];
}

function replaced(path: readonly string[], value: unknown): Fields {
  const entry = usualEntry() as Record<string, unknown>;
  let at = entry;
  for (const key of path.slice(0, -1)) at = at[key] as Record<string, unknown>;
  if (value === undefined) delete at[path.at(-1)!];
  else at[path.at(-1)!] = value;
  return entry;
}

const everyPath = paths(usualEntry()).filter((path) => path.length > 0);

describe("entries that are plainly valid", () => {
  it("the usual form is", () => {
    expect(isUsual(usualEntry())).toBe(true);
    expect(isValid(usualEntry())).toBe(true);
  });

  it.each([
    ["a date without zone", ["startedDateTime"], "2026-11-30T21:04:41"],
    ["a date of month 19", ["startedDateTime"], "2026-21-30T21:04:41Z"],
    ["a URL with a space", ["request", "url"], "https://agent.example.test/a b"],
    ["a relative URL", ["request", "url"], "/path"],
    ["no headers", ["request", "headers"], undefined],
    ["a header without value", ["request", "headers", "0", "value"], undefined],
    ["a status as text", ["response", "status"], "200"],
    ["a size of 1.5", ["response", "content", "size"], 1.5],
    ["a host as server address", ["serverIPAddress"], "agent.example.test"],
    ["an address of 256", ["serverIPAddress"], "192.0.2.256"],
    ["no cache", ["cache"], undefined],
    ["a cookie that expires in words", ["request", "cookies", "0", "expires"], "Mon, 30 Nov 2026 20:57:45 GMT"],
    ["a list of requests", ["request"], []],
  ])("%s is left to the validator", (_, path, value) => {
    expect(isUsual(replaced(path, value))).toBe(false);
  });

  it("whatever stands in one place: what passes is valid", () => {
    const values = fc.oneof(
      fc.constant(undefined),
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom("2026-11-30T21:04:41Z", "https://a/", "1.2.3.4", "::1", -1, 0.5, "", [], {}),
    );
    fc.assert(
      fc.property(fc.constantFrom(...everyPath), values, (path, value) => {
        const entry = replaced(path, value);
        if (isUsual(entry)) expect(isValid(entry)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it("so it is in every fixture", () => {
    const folder = new URL("../../fixtures/har/", import.meta.url);
    let usual = 0;
    for (const name of readdirSync(folder).filter((file) => file.endsWith(".har"))) {
      for (const entry of entriesOf(readFileSync(new URL(name, folder), "utf8"))) {
        if (!isUsual(entry)) continue;
        usual++;
        expect(isValid(entry), name).toBe(true);
      }
    }
    expect(usual).toBeGreaterThan(10);
  });
});

/** Of the fixtures that are JSON. */
function entriesOf(text: string): readonly Fields[] {
  try {
    const har = JSON.parse(text) as { log?: { entries?: unknown } };
    const entries = har.log?.entries;
    return Array.isArray(entries) ? entries.filter((entry) => typeof entry === "object" && entry !== null) : [];
  } catch {
    return [];
  }
}
