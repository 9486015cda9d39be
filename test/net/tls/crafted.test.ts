/** What no library can be made to send: padding, odd cuts, many KeyUpdates, early data with some of the secrets, alerts. */
import { describe, expect, it } from "vitest";
import { type Bytes, concat } from "../../../src/core/bytes.js";
import { Run } from "./helpers.js";
import { message, record, Talk13 } from "./talk13.js";

/** A connection up to where application data may flow. */
function begun(talk: Talk13, keylog?: string): Run {
  const chunks: ["up" | "down", Bytes][] = [
    ["up", talk.clientHello()],
    ["down", concat([talk.serverHello(), talk.serverFlight()])],
    ["up", talk.clientFlight()],
  ];
  return new Run(keylog ?? talk.keylog()).feed(chunks);
}

describe("records", () => {
  it.each([0x1301, 0x1302, 0x1303, 0x1304])("padding is taken off (RFC 8446 5.4), suite 0x%s", (suite) => {
    const talk = new Talk13("padding", { suite });
    const run = begun(talk);
    for (const padding of [0, 1, 255, 4000, 16_000]) run.bytes("up", talk.text("up", `${padding};`, padding));
    expect(run.end().text("up")).toBe("0;1;255;4000;16000;");
    expect(run.codes).toEqual([]);
  });

  it("an empty record hands nothing on", () => {
    const talk = new Talk13("empty");
    const run = begun(talk)
      .bytes("up", talk.text("up", "", 30))
      .bytes("up", talk.text("up", "x"));
    expect(run.handed.map((item) => item.text)).toEqual(["x"]);
  });

  it("one packet carries many records, one record spans many packets; marks tell", () => {
    const talk = new Talk13("spans");
    const run = begun(talk);
    const many = concat([talk.text("up", "a"), talk.text("up", "b"), talk.text("up", "c".repeat(100))]);
    run.bytes("up", many.subarray(0, 60)).bytes("up", many.subarray(60, 90)).bytes("up", many.subarray(90));
    expect(run.handed.map(({ text, mark }) => [text.length, mark.first, mark.last])).toEqual([
      [1, 3, 3],
      [1, 3, 3],
      [100, 3, 5],
    ]);
    expect(run.handed[2]!.mark.when.latest).toBe(5_000_000n);
  });

  it("handshake messages span records, and share them", () => {
    const talk = new Talk13("messages", { alpn: "h2" });
    const flight = concat([talk.encryptedExtensions(), message(11, new Uint8Array(5000)), talk.finished()]);
    const run = new Run(talk.keylog()).bytes("up", talk.clientHello());
    const hello = talk.serverHello().subarray(5);
    run.bytes("down", record(22, hello.subarray(0, 3))).bytes("down", record(22, hello.subarray(3)));
    for (const [from, to] of [
      [0, 2],
      [2, 30],
      [30, 5000],
      [5000, flight.length],
    ] as const) {
      run.bytes("down", talk.seal("down", 22, flight.subarray(from, to)));
    }
    talk.applicationKeys("down");
    run.keys.add(Buffer.from(talk.keylog()));
    run.bytes("down", talk.text("down", "after")).end();
    expect([run.text("down"), run.alpns]).toEqual(["after", ["h2"]]);
  });

  it("change-cipher-spec records of middleboxes are passed over (RFC 8446 D.4)", () => {
    const talk = new Talk13("middlebox");
    const changes = record(20, Uint8Array.of(1));
    const run = new Run(talk.keylog()).bytes("up", concat([talk.clientHello(), changes]));
    run.bytes("down", concat([talk.serverHello(), changes, talk.serverFlight(), changes]));
    run.bytes("up", concat([changes, talk.clientFlight(), changes]));
    run.keys.add(Buffer.from(talk.keylog()));
    run.bytes("up", concat([talk.text("up", "one"), changes, talk.text("up", "two")])).end();
    expect([run.text("up"), run.codes]).toEqual(["onetwo", []]);
  });

  it.each([
    [[23, 3, 3, 72, 1], "a length over 2^14 + 2048"],
    [[25, 3, 3, 0, 40], "an unknown content type"],
    [[23, 9, 3, 0, 40], "another major version"],
  ])("%j, %s: said, and the next true record is found again", (header) => {
    const talk = new Talk13("broken");
    const run = begun(talk).bytes("up", talk.text("up", "before"));
    run.bytes("up", concat([Uint8Array.from(header), new Uint8Array(40)]));
    run.bytes("up", talk.text("up", "after")).end();
    expect(run.text("up")).toBe("beforeafter");
    expect(run.codes).toEqual(["tls.bad-record"]);
  });

  it("bytes that are no TLS at all close their direction", () => {
    const run = new Run("").bytes("up", Buffer.from("GET / HTTP/1.1\r\n\r\n")).end();
    expect(run.codes).toEqual(["tls.bad-record"]);
    expect(run.info).toMatchObject({ decrypted: false, why: "not TLS records" });
  });
});

describe("KeyUpdate (RFC 8446 4.6.3)", () => {
  it("each brings the next secret", () => {
    const talk = new Talk13("updates", { suite: 0x1302 });
    const run = begun(talk);
    for (let round = 0; round < 20; round++) {
      run.bytes("down", concat([talk.text("down", `${round} `), talk.keyUpdate("down")]));
      if (round % 3 === 0) run.bytes("up", concat([talk.keyUpdate("up"), talk.text("up", `${round} `)]));
    }
    run.end();
    expect(run.text("down")).toBe(Array.from({ length: 20 }, (_, round) => `${round} `).join(""));
    expect(run.text("up")).toBe("0 3 6 9 12 15 18 ");
    expect(run.codes).toEqual([]);
  });

  it("one that is lost is found by trying", () => {
    const talk = new Talk13("lost update");
    const run = begun(talk).bytes("down", talk.text("down", "before"));
    const update = talk.keyUpdate("down");
    run.gap("down", update.length).bytes("down", talk.text("down", "after")).end();
    expect(run.text("down")).toBe("beforeafter");
    expect(run.gapsAndEnds[0]).toBe("gap down undefined tcp-gap");
  });
});

describe("early data (RFC 8446 4.2.10)", () => {
  function early(taken: boolean): { talk: Talk13; chunks: ["up" | "down", Bytes][] } {
    const talk = new Talk13(`early ${taken}`, { early: true, alpn: "h2" });
    const hello = talk.clientHello();
    talk.earlyKeys();
    const data = talk.text("up", "early ");
    const over = talk.seal("up", 22, message(5, new Uint8Array(0)));
    talk.handshakeKeys("up");
    const flight = talk.serverFlight(taken);
    const finished = talk.clientFlight();
    const chunks: ["up" | "down", Bytes][] = [
      ["up", concat([hello, data])],
      ["down", concat([talk.serverHello(), flight])],
      ["up", concat(taken ? [over, finished] : [finished])],
      ["up", talk.text("up", "late")],
      ["down", talk.text("down", "answer")],
    ];
    return { talk, chunks };
  }

  it("taken", () => {
    const { talk, chunks } = early(true);
    const run = new Run(talk.keylog()).feed(chunks).end();
    expect([run.text("up"), run.alpns, run.codes]).toEqual(["early late", ["h2"], []]);
  });

  it("refused: left out", () => {
    const { talk, chunks } = early(false);
    const run = new Run(talk.keylog()).feed(chunks).end();
    expect([run.text("up"), run.gapsAndEnds[0], run.codes]).toEqual([
      "late",
      "end up complete",
      ["tls.early-data-rejected"],
    ]);
  });

  it("taken, but its secret is not known: a gap in front", () => {
    const { talk, chunks } = early(true);
    const run = new Run(talk.keylog(["CLIENT_EARLY_TRAFFIC_SECRET"])).feed(chunks).end();
    expect([run.text("up"), run.events[0], run.codes]).toEqual([
      "late",
      "gap up undefined undecrypted",
      ["tls.early-data-closed"],
    ]);
  });

  it("refused, and its secret is not known: nothing is missing", () => {
    const { talk, chunks } = early(false);
    const run = new Run(talk.keylog(["CLIENT_EARLY_TRAFFIC_SECRET"])).feed(chunks).end();
    expect([run.text("up"), run.events[0]]).toEqual(["late", "bytes up"]);
  });

  it("the server's handshake is not readable: the EndOfEarlyData tells", () => {
    for (const taken of [true, false]) {
      const { talk, chunks } = early(taken);
      const run = new Run(talk.keylog(["SERVER_HANDSHAKE_TRAFFIC_SECRET"])).feed(chunks).end();
      expect(run.text("up")).toBe(taken ? "early late" : "late");
      expect(run.text("down")).toBe("answer");
    }
  });
});

describe("alerts", () => {
  it("close_notify ends a direction; what follows does not count", () => {
    const talk = new Talk13("close");
    const run = begun(talk).bytes("up", concat([talk.text("up", "x"), talk.alert("up", 1, 0), talk.text("up", "y")]));
    run.bytes("down", talk.text("down", "still")).end("reset");
    expect(run.events).toEqual(["bytes up", "end up complete", "bytes down", "end down reset"]);
  });

  it("a fatal one is told of", () => {
    const talk = new Talk13("fatal");
    const run = begun(talk)
      .bytes("up", concat([talk.text("up", "x"), talk.alert("up", 2, 20)]))
      .end();
    expect(run.gapsAndEnds[0]).toBe("end up complete");
    expect(run.diagnostics[0]).toMatchObject({ code: "tls.alert", detail: { by: "client", alert: "bad_record_mac" } });
  });

  it("in the clear: the handshake failed", () => {
    const talk = new Talk13("refused");
    const run = new Run("")
      .bytes("up", talk.clientHello())
      .bytes("down", record(21, Uint8Array.of(2, 40)))
      .end();
    expect(run.info).toMatchObject({ decrypted: false, why: "the handshake failed: handshake_failure" });
    expect(run.codes).toEqual(["tls.alert"]);
  });

  it("user_canceled is followed by something", () => {
    const talk = new Talk13("canceled");
    const run = begun(talk)
      .bytes("up", concat([talk.alert("up", 1, 90), talk.text("up", "x")]))
      .end();
    expect(run.text("up")).toBe("x");
  });
});
