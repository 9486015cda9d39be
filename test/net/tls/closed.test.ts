/** Why a connection stayed closed: each reason in its own words. */
import { describe, expect, it } from "vitest";
import { type Bytes, concat } from "../../../src/core/bytes.js";
import { codeRow } from "../../../src/core/diagnostic.js";
import { type Chunk, fixture, Run, records, stream } from "./helpers.js";
import { record, Talk13 } from "./talk13.js";

const session13 = fixture("13-aes128-gcm");
const session12 = fixture("12-ecdhe-aes128-gcm");

/** The server hello names another suite. */
function withSuite(chunks: readonly Chunk[], suite: number): Chunk[] {
  return chunks.map(([direction, bytes], index): Chunk => {
    if (index !== 1) return [direction, bytes];
    const changed = bytes.slice();
    const at = 5 + 4 + 2 + 32 + 1 + changed[5 + 4 + 2 + 32]!;
    changed.set([suite >> 8, suite & 255], at);
    return [direction, changed];
  });
}

function only(chunks: readonly Chunk[], direction: "up" | "down"): Chunk[] {
  return chunks.filter(([from]) => from === direction);
}

/** Another secret on every line. */
function wrong(keylog: string): string {
  return keylog.replace(/[0-9a-f]{8}$/gm, "01234567");
}

describe("reasons", () => {
  const hello = session13.chunks[0]!;
  const late = session13.chunks.slice(4);
  it.each<[string, string, readonly Chunk[], string]>([
    ["tls.no-secret", "no secret for this client random", session13.chunks, ""],
    ["tls.not-in-keylog", "no secret for this client random", session12.chunks, session13.keylog],
    ["tls.wrong-secret", "the secret for this client random does not fit", session13.chunks, wrong(session13.keylog)],
    ["tls.wrong-secret", "the secret for this client random does not fit", session12.chunks, wrong(session12.keylog)],
    ["tls.unknown-suite", "unsupported cipher suite", withSuite(session12.chunks, 0xc011), session12.keylog],
    ["tls.unknown-suite", "unsupported cipher suite", withSuite(session13.chunks, 0xc02f), session13.keylog],
    ["tls.unknown-suite", "unsupported cipher suite", withSuite(session12.chunks, 0xabcd), session12.keylog],
    ["tls.joined-late", "the capture starts after the handshake", late, session13.keylog],
    ["tls.no-client-hello", "the client hello is missing", session12.chunks.slice(1), session12.keylog],
    ["tls.no-server-hello", "the server hello is missing", [hello, ...late], session13.keylog],
    ["tls.no-server-hello", "the server hello is missing", only(session12.chunks, "up"), session12.keylog],
    ["tls.joined-late", "the capture starts after the handshake", only(late, "down"), session13.keylog],
    ["tls.no-client-hello", "the client hello is missing", only(session13.chunks, "down"), session13.keylog],
  ])("%s: %s", (code, why, chunks, keylog) => {
    const run = new Run(keylog).feed(chunks).end();
    expect(run.codes).toEqual([code]);
    expect(run.info).toMatchObject({ decrypted: false, why });
    expect(run.events).toEqual([]);
  });

  it("every reason that a user can do something about says what", () => {
    for (const code of [
      "tls.no-secret",
      "tls.not-in-keylog",
      "tls.partial-secrets",
      "tls.wrong-secret",
      "tls.joined-late",
    ] as const) {
      expect(codeRow(code).remedy).toMatch(/SSLKEYLOGFILE|key log|capture/);
    }
  });

  it("is said at the client hello", () => {
    const run = new Run("").feed(session12.chunks).end();
    expect(run.diagnostics[0]!.place).toMatchObject({ first: 0, last: 0 });
  });

  it("the suite is named though it is not supported", () => {
    const run = new Run(session12.keylog).feed(withSuite(session12.chunks, 0xc011)).end();
    expect(run.info).toMatchObject({
      version: "1.2",
      cipher: "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
      sni: "fixture.example",
    });
    expect(run.diagnostics[0]!.detail).toMatchObject({
      suite: "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
      server: "192.0.2.2:443",
    });
  });

  it("only the hello: the handshake was not finished", () => {
    const run = new Run("").feed([hello]).end("reset");
    expect(run.info).toEqual({
      version: null,
      cipher: null,
      sni: "fixture.example",
      alpn: null,
      decrypted: false,
      why: "the handshake was not finished",
    });
    expect(run.codes).toEqual([]);
  });

  it("the server hello is lost to a gap", () => {
    const [, flight] = session13.chunks;
    const run = new Run(session13.keylog)
      .feed([hello])
      .gap("down", flight![1].length)
      .feed(session13.chunks.slice(2))
      .end();
    expect(run.codes).toEqual(["tls.no-server-hello"]);
    expect(run.info.why).toBe("the server hello is missing");
  });

  it("SSL 3.0 and compression", () => {
    const old = session12.chunks.map(([direction, bytes], index): Chunk => {
      const changed = bytes.slice();
      if (index === 1) changed[10] = 0;
      return [direction, changed];
    });
    expect(new Run(session12.keylog).feed(old).end().codes).toEqual(["tls.unknown-version"]);
    const packed = withSuite(session12.chunks, 0xc02b).map(([direction, bytes], index): Chunk => {
      const changed = bytes.slice();
      if (index === 1) changed[5 + 4 + 2 + 32 + 1 + changed[43]! + 2] = 1;
      return [direction, changed];
    });
    expect(new Run(session12.keylog).feed(packed).end().codes).toEqual(["tls.compressed"]);
  });

  it("a hello that breaks off", () => {
    const body = session13.chunks[0]![1].subarray(9, 50);
    const broken = record(22, concat([Uint8Array.of(1, 0, 0, body.length), body]));
    const run = new Run("").bytes("up", broken).end();
    expect(run.codes).toEqual(["tls.bad-hello"]);
    expect(run.info.why).toBe("malformed hello");
  });
});

describe("some secrets are missing", () => {
  it("application secrets only: the handshake is passed over", () => {
    const recorded = fixture("13-client-certificate");
    const keylog = recorded.keylog.replace(/^\w+_HANDSHAKE_TRAFFIC_SECRET .*$/gm, "");
    const run = new Run(keylog).feed(recorded.chunks).end();
    expect([run.text("up"), run.text("down")]).toEqual([recorded.up, recorded.down]);
    expect(run.info).toMatchObject({ decrypted: true, why: null, alpn: null });
  });

  it("handshake secrets only", () => {
    const keylog = session13.keylog.replace(/^\w+_TRAFFIC_SECRET_0 .*$/gm, "");
    const run = new Run(keylog).feed(session13.chunks).end();
    expect(run.codes).toEqual(["tls.partial-secrets"]);
    expect(run.info).toMatchObject({
      alpn: "h2",
      decrypted: false,
      why: "not all secrets of this client random are known",
    });
  });

  it.each(["up", "down"] as const)("those of %s only: the other direction is a gap", (direction) => {
    const other = direction === "up" ? "SERVER" : "CLIENT";
    const keylog = session13.keylog.replace(new RegExp(`^${other}_.*$`, "gm"), "");
    const run = new Run(keylog).feed(session13.chunks).end();
    const [mine, theirs] = direction === "up" ? ["up", "down"] : ["down", "up"];
    expect(run.text(direction)).toBe(session13[direction]);
    expect(run.gapsAndEnds.filter((event) => event.includes(theirs!))).toEqual([
      `gap ${theirs} undefined undecrypted`,
      `end ${theirs} complete`,
    ]);
    expect(run.gapsAndEnds.filter((event) => event.includes(mine!))).toEqual([`end ${mine} complete`]);
    expect(run.codes).toEqual(["tls.partial-secrets"]);
    expect(run.info.decrypted).toBe(true);
    expect(run.info.why).toMatch(direction === "up" ? /^server to client: not all/ : /^client to server: not all/);
  });
});

describe("waiting", () => {
  it("ciphertext is held until the secret comes, and then goes on in order of arrival", () => {
    const run = new Run("").feed(session12.chunks);
    run.keys.add(Buffer.from(session12.keylog));
    expect(run.events).toEqual([]);
    run.end();
    expect(run.handed.map((item) => item.direction)).toEqual(["up", "down", "up", "down"]);
  });

  it("over the limit it is let go, and the connection says so", () => {
    const run = new Run("", { undecryptedBytesPerFlow: 500 }).feed(session12.chunks);
    expect(run.codes).toEqual(["tls.held-limit", "tls.no-secret"]);
    run.keys.add(Buffer.from(session12.keylog));
    run.end();
    expect([run.events, run.info.why]).toEqual([[], "no secret for this client random"]);
  });

  it("all connections together hold sixteen times as much: the longest waiting lets go", () => {
    const first = new Run("", { undecryptedBytesPerFlow: 4096 });
    const runs = [first, ...Array.from({ length: 60 }, () => new Run(first.keys, { undecryptedBytesPerFlow: 4096 }))];
    for (const run of runs) run.feed(session12.chunks);
    const closed = runs.map((run) => run.codes.includes("tls.held-limit"));
    expect(closed[0]).toBe(true);
    expect(closed.at(-1)).toBe(false);
    expect(closed.lastIndexOf(true)).toBe(closed.indexOf(false) - 1);
  });
});

describe("TLS 1.2 without a CLIENT_RANDOM line", () => {
  function but(keylog: string): string {
    return keylog.replace(/^CLIENT_RANDOM .*$/gm, "");
  }

  it.each([
    "12-rsa-aes128-gcm",
    "12-rsa-aes256-gcm-plain-master",
    "11-rsa-aes128-cbc",
    "10-rsa-aes128-cbc",
    "12-rsa-aes256-cbc",
  ])("RSA line (premaster secret): %s", (name) => {
    const recorded = fixture(name);
    const run = new Run(but(recorded.keylog)).feed(recorded.chunks).end();
    expect([run.text("up"), run.text("down")]).toEqual([recorded.up, recorded.down]);
  });

  it("PMS_CLIENT_RANDOM line", () => {
    const recorded = fixture("12-rsa-aes128-gcm");
    const premaster = /^RSA \w+ (\w+)$/m.exec(recorded.keylog)![1];
    const random = /^CLIENT_RANDOM (\w+)/m.exec(recorded.keylog)![1];
    const run = new Run(`PMS_CLIENT_RANDOM ${random} ${premaster}\n`).feed(recorded.chunks).end();
    expect([run.text("up"), run.info.why]).toEqual([recorded.up, null]);
  });

  it("RSA Session-ID line", () => {
    const recorded = fixture("12-resumed-id-first");
    const hello = records(stream(recorded.chunks, "down"))[0]!;
    const id = Buffer.from(hello.subarray(44, 44 + hello[43]!)).toString("hex");
    const master = /^CLIENT_RANDOM \w+ (\w+)$/m.exec(recorded.keylog)![1];
    const run = new Run(`RSA Session-ID:${id} Master-Key:${master}\n`).feed(recorded.chunks).end();
    expect([run.text("down"), run.info.why]).toEqual([recorded.down, null]);
  });

  it.each(["12-resumed-ticket", "12-resumed-id"])("%s: the master secret of the connection that is resumed", (name) => {
    const first = fixture(`${name}-first`);
    const again = fixture(name);
    const before = new Run(first.keylog).feed(first.chunks).end();
    const run = new Run(before.keys).feed(again.chunks).end();
    expect([run.text("up"), run.text("down"), run.info.why]).toEqual([again.up, again.down, null]);
    expect(new Run(first.keylog).feed(again.chunks).end().codes).toEqual(["tls.not-in-keylog"]);
  });
});

describe("one direction only", () => {
  it.each(["up", "down"] as const)("%s, at every record: no throw, nothing handed on", (direction) => {
    for (const name of ["13-aes128-gcm", "12-ecdhe-aes128-gcm", "13-early-data", "13-retry"]) {
      const recorded = fixture(name);
      const parts: Bytes[] = records(stream(recorded.chunks, direction));
      for (let count = 0; count <= parts.length; count++) {
        const run = new Run(recorded.keylog).bytes(direction, concat(parts.slice(0, count))).end("capture-ended");
        expect(run.events).toEqual([]);
        expect(run.info.decrypted).toBe(false);
      }
    }
  });

  it("the capture begins at any packet", () => {
    for (const name of ["13-aes128-gcm", "12-ecdhe-aes128-gcm", "13-early-data", "13-retry", "12-renegotiated"]) {
      const recorded = fixture(name);
      for (let from = 1; from < recorded.chunks.length; from++) {
        const run = new Run(recorded.keylog).feed(recorded.chunks.slice(from)).end("capture-ended");
        // The hello after a retry has the same random: enough to read on.
        const enough = name === "13-retry" && from <= 2;
        if (enough) expect(run.text("up")).toBe(recorded.up);
        else expect(run.events).toEqual([]);
        expect(run.info.decrypted).toBe(enough);
      }
    }
  });

  it("a talk that begins in the middle of a record is said to have begun late", () => {
    const talk = new Talk13("late");
    const run = new Run(talk.keylog()).bytes("down", talk.text("down", "x")).end();
    expect(run.codes).toEqual(["tls.joined-late"]);
  });
});
