/** NSS key log text, and files of it that grow. */
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { keyLog } from "../../src/capture/keylog.js";
import { keyLogFile } from "../../src/capture/keylog-file.js";
import { hex, utf8Bytes } from "../../src/core/bytes.js";
import type { DiagnosticCode } from "../../src/core/diagnostic.js";

const random = "ab".repeat(32);
const other = "cd".repeat(32);
const master = "12".repeat(48);
const secret = "34".repeat(32);
const longSecret = "56".repeat(48);

function logOf(...texts: string[]) {
  const codes: DiagnosticCode[] = [];
  const keys = keyLog(({ code }) => codes.push(code));
  for (const text of texts) keys.add(utf8Bytes(text));
  const find = (name: string, label: string) => {
    const found = keys.find(name, label);
    return found && hex(found);
  };
  return { keys, codes, find };
}

describe("lines", () => {
  it.each([
    ["CLIENT_RANDOM", random, master],
    ["CLIENT_EARLY_TRAFFIC_SECRET", random, secret],
    ["CLIENT_HANDSHAKE_TRAFFIC_SECRET", random, longSecret],
    ["SERVER_HANDSHAKE_TRAFFIC_SECRET", random, secret],
    ["CLIENT_TRAFFIC_SECRET_0", random, secret],
    ["SERVER_TRAFFIC_SECRET_17", random, longSecret],
    ["PMS_CLIENT_RANDOM", random, "0303".repeat(24)],
    ["RSA", "0123456789abcdef", master],
  ])("%s", (label, name, value) => {
    const { keys, codes, find } = logOf(`${label} ${name} ${value}\n`);
    expect([find(name, label), keys.size, keys.knows(name), codes]).toEqual([value, 1, true, []]);
  });

  it("CRLF, comments, blank lines, capitals, tabs, a byte order mark, no end of the last line", () => {
    const text = `\ufeff# made by hand\r\n\r\nCLIENT_RANDOM\t${random.toUpperCase()}  ${master.toUpperCase()} \r\n  # more\nSERVER_TRAFFIC_SECRET_0 ${random} ${secret}`;
    const { keys, codes, find } = logOf(text);
    expect([keys.size, codes]).toEqual([2, []]);
    expect([find(random, "CLIENT_RANDOM"), find(random, "SERVER_TRAFFIC_SECRET_0")]).toEqual([master, secret]);
  });

  it("the same line again changes nothing; another secret replaces the first", () => {
    const line = `CLIENT_TRAFFIC_SECRET_0 ${random} `;
    const { keys, find } = logOf(`${line}${secret}\n${line}${secret}\n`);
    expect(keys.size).toBe(1);
    keys.add(utf8Bytes(`${line}${longSecret}\n`));
    expect([keys.size, find(random, "CLIENT_TRAFFIC_SECRET_0")]).toEqual([2, longSecret]);
  });

  it.each(["EXPORTER_SECRET", "EARLY_EXPORTER_SECRET", "QUIC_CLIENT_TRAFFIC_SECRET_0", "ECH_SECRET"])(
    "%s is passed over",
    (label) => {
      const { keys, codes } = logOf(`${label} ${random} ${secret}\n`);
      expect([keys.size, keys.knows(random), codes]).toEqual([0, false, []]);
    },
  );

  it("a session of openssl s_client", () => {
    const { find } = logOf(`RSA Session-ID:ABCD Master-Key:${master.toUpperCase()}\n`);
    expect(find("abcd", "SESSION_ID")).toBe(master);
  });

  it.each([
    ["no hex", `CLIENT_RANDOM ${random} xyz`],
    ["a short client random", `CLIENT_RANDOM ${random.slice(2)} ${master}`],
    ["a short master secret", `CLIENT_RANDOM ${random} ${master.slice(2)}`],
    ["an odd secret", `CLIENT_TRAFFIC_SECRET_0 ${random} ${secret}a`],
    ["half a line", `CLIENT_TRAFFIC_SECRET_0 ${random}`],
    ["something else", "GET / HTTP/1.1"],
    ["bytes", "\u0000\u0001\u0002"],
    ["a very long line", "x".repeat(100_000)],
  ])("%s is said to be no line of a key log, once", (_name, text) => {
    const { keys, codes } = logOf(`${text}\nCLIENT_RANDOM ${other} ${master}\n`);
    expect([codes, keys.size]).toEqual([["keylog.bad-line"], 1]);
  });

  it("counts premaster secrets apart", () => {
    const { keys } = logOf(`RSA 0123456789abcdef ${master}\nCLIENT_RANDOM ${random} ${master}\n`);
    expect([keys.premasters, keys.size]).toEqual([1, 2]);
  });
});

describe("files", () => {
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "keylog-test-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it("grows: refresh reads what is new, half lines wait for their end", () => {
    const path = join(folder, "keys.txt");
    const line = `CLIENT_TRAFFIC_SECRET_0 ${random} ${longSecret}\n`;
    writeFileSync(path, `CLIENT_RANDOM ${other} ${master}\n`);
    const { keys, codes, find } = logOf();
    const file = keyLogFile(path, keys, ({ code }) => codes.push(code));
    expect(keys.size).toBe(1);
    for (const char of line) {
      appendFileSync(path, char);
      file.refresh();
    }
    expect([find(random, "CLIENT_TRAFFIC_SECRET_0"), codes]).toEqual([longSecret, []]);
    file.refresh();
    appendFileSync(path, `SERVER_TRAFFIC_SECRET_0 ${random} ${secret}`);
    file.refresh();
    expect(find(random, "SERVER_TRAFFIC_SECRET_0")).toBe(secret);
  });

  it("is read from the start again when it became shorter", () => {
    const path = join(folder, "keys.txt");
    writeFileSync(path, `CLIENT_RANDOM ${other} ${master}\n`.repeat(5));
    const { keys, codes, find } = logOf();
    const file = keyLogFile(path, keys, ({ code }) => codes.push(code));
    writeFileSync(path, `CLIENT_RANDOM ${random} ${master}\n`);
    file.refresh();
    expect([find(random, "CLIENT_RANDOM"), codes]).toEqual([master, []]);
  });

  it("is larger than one read", () => {
    const path = join(folder, "keys.txt");
    const lines = Array.from(
      { length: 10_000 },
      (_, i) => `CLIENT_RANDOM ${i.toString(16).padStart(64, "0")} ${master}\r\n`,
    );
    writeFileSync(path, lines.join(""));
    const { keys, codes } = logOf();
    keyLogFile(path, keys, ({ code }) => codes.push(code));
    expect([keys.size, codes]).toEqual([10_000, []]);
  });

  it("holds no secret: said with the remedy; empty: not yet", () => {
    const path = join(folder, "keys.txt");
    writeFileSync(path, "# nothing\n");
    const { keys, codes } = logOf();
    keyLogFile(path, keys, ({ code }) => codes.push(code));
    writeFileSync(path, "");
    keyLogFile(path, keys, ({ code }) => codes.push(code));
    expect(codes).toEqual(["keylog.no-secrets"]);
  });

  it("cannot be read: an error at first, a diagnostic later", () => {
    const path = join(folder, "keys.txt");
    const { keys, codes } = logOf();
    expect(() => keyLogFile(path, keys, () => {})).toThrowError(/cannot read the key log .*ENOENT/);
    writeFileSync(path, `CLIENT_RANDOM ${other} ${master}\n`);
    const file = keyLogFile(path, keys, ({ code }) => codes.push(code));
    rmSync(path);
    file.refresh();
    expect(codes).toEqual(["keylog.unreadable"]);
  });
});
