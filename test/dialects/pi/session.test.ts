import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encode, framed } from "../../../fixtures/pi/make/cbor.mjs";
import { type Talk, talk } from "../../../fixtures/pi/make/talk.mjs";
import { type Outcome, type Piece, piecesOf, plainOf, run, runTalk, textOf } from "./support.js";

/** Everything of a connection that does not depend on how the bytes were cut into packets. */
function essence(outcome: Outcome) {
  return {
    connection: plainOf(JSON.parse(JSON.stringify({ ...outcome.connection, requests: requestsOf(outcome) }))),
    violations: outcome.violations.map((v) => [v.rule, textOf(v.statement)]),
    kinds: outcome.frames.map((frame) => [frame.message.direction, frame.kind, frame.message.place.start]),
  };
}

function requestsOf(outcome: Outcome): unknown[] {
  return outcome.connection.requests.map((request: { [key: string]: unknown }) => ({
    ...request,
    place: null,
    durationMs: null,
  }));
}

const hello = (version: number, more = {}) => ({ type: "hello", version, ...more });

describe("a pi connection", () => {
  it("has the contract's keys and counts", () => {
    const { connection } = runTalk(talk());
    expect(Object.keys(connection).slice(0, 8)).toEqual([
      "client",
      "server",
      "handshake",
      "serverId",
      "requests",
      "subscriptions",
      "attachments",
      "tail",
    ]);
    expect(connection.client.frames).toEqual({ hello: 1, request: 15, cancel: 1 });
    expect(connection.server.frames).toEqual({ hello: 1, response: 15, service_update: 11, attachment: 3 });
    expect(connection.handshake).toBe("ok");
    expect(connection.attachments).toBe(3);
    expect(connection.tail).toEqual({ client: null, server: null });
    expect(connection.subscriptions.map((row: { id: string; updates: number }) => [row.id, row.updates])).toEqual([
      ["service-1", 6],
      ["service-2", 1],
      ["service-3", 4],
    ]);
    expect(connection.sessions).toEqual(["alpha", "beta"]);
    const slow = connection.requests.find((row: { member: string }) => row.member === "slow");
    expect(slow).toMatchObject({
      target: "server",
      service: "demo.manage",
      cancelled: true,
      answer: "error",
      durationMs: 40,
    });
  });

  it("rebuilds states from snapshots and every delta verb", () => {
    const { connection } = runTalk(talk());
    const values = connection.subscriptions.flatMap(
      (row: { values: { state: string; sequence: number; value: unknown }[] }) =>
        row.values.map(({ state, sequence, value }) => [state, sequence, plainOf(value)]),
    );
    expect(values).toEqual([
      ["demo.clock.now", 1, { tick: 11, log: "new" }],
      ["demo.view.view", 1, { items: [3, 8, 7, 1], title: "t" }],
      ["demo.jobs[build].progress", 0, { percent: 5 }],
    ]);
  });

  it("counts UTF-16 units in t, and appends to what is left", () => {
    const made = talk();
    const update = made.frames.filter(({ value }) => value?.update?.type === "state")[1]!;
    update.value.update.ops = [
      ["s", ["log"], "😀x"],
      ["t", 2],
      ["a", "é"],
    ];
    const step = runTalk(made).result.turns[0]!.steps.find((row) => textOf(row.says).includes("#6"))!;
    expect(textOf(step.says)).toContain('log: "xé"');
  });

  it("is one turn, and one more for each attachment", () => {
    const { result } = runTalk(talk());
    expect(result.turns.map((turn) => [turn.conversationId, turn.action, turn.outcome, turn.messages])).toEqual([
      ["connection-1", "connection", "completed", 27],
      ["alpha", "attachment", "completed", 16],
      ["beta", "attachment", "completed", 4],
    ]);
    expect(result.conversations.map((row) => [row.id, row.turns.length])).toEqual([
      ["connection-1", 1],
      ["alpha", 1],
      ["beta", 1],
    ]);
    expect(result.turns.reduce((sum, turn) => sum + turn.steps.reduce((n, step) => n + step.count, 0), 0)).toBe(47);
  });

  it("pairs the refusal of a duplicate id with the second request", () => {
    const made: Talk = {
      ends: { client: 90, server: 95 },
      frames: [
        { side: "client", ms: 1, value: hello(8) },
        { side: "server", ms: 2, value: hello(8, { serverId }) },
        { side: "client", ms: 3, value: request("a", "slow") },
        { side: "client", ms: 4, value: request("a", "quick") },
        {
          side: "server",
          ms: 5,
          value: { type: "response", id: "a", ok: false, error: { code: "invalid_request", message: "" } },
        },
        { side: "server", ms: 6, value: { type: "response", id: "a", ok: true } },
      ],
    };
    const { connection } = runTalk(made);
    expect(connection.requests.map((row: { member: string; answer: string }) => [row.member, row.answer])).toEqual([
      ["slow", "ok"],
      ["quick", "error"],
    ]);
  });

  it("reads another version that both sides speak, as far as it is alike", () => {
    const made = talk();
    made.frames[0]!.value.version = 9;
    made.frames[1]!.value.version = 9;
    made.frames.splice(4, 0, { side: "server", ms: made.frames[3]!.ms + 1, value: { type: "pong", n: 1 } });
    const { connection, diagnostics, violations } = runTalk(made);
    expect(connection.handshake).toBe("ok");
    expect(connection.server.frames).toMatchObject({ hello: 1, pong: 1, response: 15 });
    expect(diagnostics.map((row) => row.code)).toEqual(["pi.unknown-version"]);
    expect([...new Set(violations.map((v) => v.rule))]).toEqual(["pi/PW-32"]);
  });

  it.each([
    ["CBOR", Buffer.from("00000003a16178", "hex")],
    ["envelope", framed(encode({ type: "nothing" }))],
    ["framing", Buffer.from("01000001", "hex")],
  ])("lets a direction die at a %s fault: what precedes stays, the rest is its tail", (kind, bytes) => {
    const pieces = piecesOf(talk());
    const at = pieces.findIndex((piece, i) => piece.direction === "up" && i > 4);
    const before = pieces.slice(0, at).filter((piece) => piece.direction === "up");
    const offset = before.reduce((sum, piece) => sum + piece.bytes!.length, 0);
    const broken: Piece[] = [
      ...pieces.slice(0, at),
      { direction: "up", ms: pieces[at]!.ms, bytes },
      ...pieces.slice(at),
    ];
    const total = broken.reduce((sum, piece) => sum + (piece.direction === "up" ? (piece.bytes?.length ?? 0) : 0), 0);
    const { connection } = run([broken]);
    const start = kind === "framing" ? offset : offset + bytes.length;
    expect(connection.client.bytes).toBe(total);
    expect(connection.client.frames.rejected ?? 0).toBe(kind === "framing" ? 0 : 1);
    expect(connection.tail.client).toMatchObject({ offset: start, bytes: total - start });
    expect(connection.server.frames.response).toBe(15);
  });

  it("takes a frame of length 0 for a refused one", () => {
    const bytes = Buffer.concat([framed(encode(hello(8))), Buffer.alloc(4), Buffer.from("more")]);
    const { connection } = run([
      [
        { direction: "up", ms: 1, bytes },
        { direction: "up", ms: 2, end: "complete" },
      ],
    ]);
    expect(connection.client).toEqual({ bytes: 33, frames: { hello: 1, rejected: 1 } });
    expect(connection.tail.client).toMatchObject({ offset: 29, bytes: 4 });
  });

  it("gives back a stream that never shows an envelope", () => {
    const bytes = framed(encode({ kind: "other" }));
    const { result } = run([[{ direction: "up", ms: 1, bytes }]]);
    expect(result.givenBack).toEqual(new Set([0]));
    expect(result.turns).toEqual([]);
    expect(result.extra).toEqual({});
  });

  it("says when the capture stops before the connection does", () => {
    const made = talk();
    const { diagnostics, result } = runTalk({ ...made, ends: { client: null, server: null } });
    expect(diagnostics.map((row) => row.code)).toEqual(["pi.capture-stops"]);
    expect(result.turns[0]!.outcome).toBe("unknown");
  });

  it("keeps connections apart: equal ids on two of them", () => {
    const one = piecesOf(talk());
    const { result } = run([one, one]);
    const { connections } = result.extra.pi as unknown as { connections: { requests: unknown[] }[] };
    expect(connections.map((row) => row.requests.length)).toEqual([15, 15]);
    expect(result.conversations.map((row) => [row.id, row.turns.length])).toEqual([
      ["connection-1", 1],
      ["connection-2", 1],
      ["alpha", 2],
      ["beta", 2],
    ]);
  });
});

describe("fragmentation carries no meaning", () => {
  const pieces = piecesOf(talk());
  const whole = essence(run([pieces]));

  it("byte by byte", () => {
    const bytewise = pieces.flatMap((piece): Piece[] =>
      piece.bytes === undefined ? [piece] : [...piece.bytes].map((byte) => ({ ...piece, bytes: Uint8Array.of(byte) })),
    );
    expect(essence(run([bytewise]))).toEqual(whole);
  });

  it("cut in two at every byte of a frame", () => {
    const at = pieces.findIndex((piece) => textIn(piece.bytes).includes("demo.clock"));
    const piece = pieces[at]!;
    for (let cut = 1; cut < piece.bytes!.length; cut++) {
      const parts = [piece.bytes!.subarray(0, cut), piece.bytes!.subarray(cut)].map((bytes) => ({ ...piece, bytes }));
      expect(essence(run([[...pieces.slice(0, at), ...parts, ...pieces.slice(at + 1)]]))).toEqual(whole);
    }
  });

  it("inside WebSocket binary messages, cut and joined anyhow", () => {
    const inMessages = (size: number) => {
      const out: Piece[] = [];
      for (const piece of pieces) {
        if (piece.bytes === undefined) out.push(piece);
        else {
          for (let at = 0; at < piece.bytes.length; at += size) {
            out.push({ ...piece, opcode: 2, bytes: piece.bytes.subarray(at, at + size) });
          }
        }
      }
      return essence(run([out], { framing: "websocket" }));
    };
    for (const size of [1, 7, 64, 100_000]) expect(inMessages(size)).toEqual(whole);
  });
});

describe("noise", () => {
  it("after a valid prefix: ends, throws nothing, loses nothing of the prefix", () => {
    const pieces = piecesOf(talk());
    const prefix = pieces.slice(0, 12);
    const before = run([prefix]).frames.length;
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        fc.constantFrom("up" as const, "down" as const),
        (bytes, direction) => {
          const { frames, connection } = run([
            [...prefix, { direction, ms: 500, bytes }, { direction, ms: 501, end: "complete" }],
          ]);
          expect(frames.length).toBeGreaterThanOrEqual(before);
          const total = prefix.reduce(
            (sum, piece) => sum + (piece.direction === direction ? piece.bytes!.length : 0),
            bytes.length,
          );
          expect(connection[direction === "up" ? "client" : "server"].bytes).toBe(total);
        },
      ),
      { numRuns: 60 },
    );
  });

  it("bits flipped anywhere: the same result twice, places inside the stream", () => {
    const pieces = piecesOf(talk());
    fc.assert(
      fc.property(fc.nat(pieces.length - 3), fc.nat(400), fc.nat(7), (index, offset, bit) => {
        const flipped = pieces.map((piece, i) => {
          if (i !== index || piece.bytes === undefined) return piece;
          const bytes = Uint8Array.from(piece.bytes);
          bytes[offset % bytes.length]! ^= 1 << bit;
          return { ...piece, bytes };
        });
        const outcome = run([flipped]);
        expect(essence(run([flipped]))).toEqual(essence(outcome));
        for (const { message } of outcome.frames) {
          expect(message.place.end!).toBeLessThanOrEqual(
            outcome.connection[message.direction === "up" ? "client" : "server"].bytes,
          );
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe("redaction", () => {
  const marked = (value: unknown) => {
    const made = talk();
    made.frames.find(({ value: item }) => item?.call?.member === "echo")!.value.call.args = [value];
    const frame = runTalk(made).frames.find((row) => textOf(row.says).includes("echo("))!;
    // biome-ignore lint/suspicious/noExplicitAny: a printable tree, looked into
    return (frame.value() as any).call.args[0];
  };

  it("marks what the application put in as private, ids and names not", () => {
    const frame = runTalk(talk()).frames.find((row) => textOf(row.says).includes("echo("))!;
    expect(frame.value()).toMatchObject({ type: "request", call: { serviceId: "demo.manage", member: "echo" } });
    expect(marked("words")).toMatchObject({ sensitivity: "private", value: "words" });
  });

  it.each(["token", "accessToken", "api_key", "apiKey", "password", "clientSecret", "authorization"])(
    "marks a value named %s as secret",
    (name) => {
      expect(marked({ [name]: "s3cr3t" })[name]).toMatchObject({ sensitivity: "secret", value: "s3cr3t" });
      expect(marked({ [name]: { inner: "s3cr3t" } })[name].inner).toMatchObject({ sensitivity: "secret" });
    },
  );

  it("hides the operations of an update that touches a credential", () => {
    const made = talk();
    const update = made.frames.find(
      ({ value }) => value?.subscriptionId === "service-2" && value.update.type === "state",
    )!;
    update.value.update.ops = [["s", ["token"], "s3cr3t"]];
    const frame = runTalk(made).frames.find(
      (row) => row.kind === "service_update.state" && textOf(row.says).includes("token"),
    )!;
    const text = JSON.stringify(frame.value(), (_, item) => (item?.sensitivity === "secret" ? "hidden" : item));
    expect(text).not.toContain("s3cr3t");
    expect(JSON.stringify(frame.says, (_, item) => (item?.sensitivity === "secret" ? "hidden" : item))).not.toContain(
      "s3cr3t",
    );
  });
});

const serverId = "0f1e2d3c-4b5a-4697-8877-665544332211";
function request(id: string, member: string) {
  return { type: "request", id, target: { serverId }, call: { serviceId: "demo.manage", member, args: [] } };
}

function textIn(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? "" : Buffer.from(bytes).toString("latin1");
}
