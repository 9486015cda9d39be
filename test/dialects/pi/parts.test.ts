import { describe, expect, it } from "vitest";
import { encode, framed } from "../../../fixtures/pi/make/cbor.mjs";
import { noBytes } from "../../../src/core/bytes.js";
import { type CborValue, decodeCbor } from "../../../src/decode/cbor.js";
import { controlCall, isFault, readCall, readSnapshot, readUpdate } from "../../../src/dialects/pi/chord.js";
import { DeltaDecoder, Replica } from "../../../src/dialects/pi/delta.js";
import { readEnvelope } from "../../../src/dialects/pi/envelope.js";
import { recognise } from "../../../src/dialects/pi/recognise.js";
import type { Exchange } from "../../../src/model/exchange.js";
import { exchangeOf } from "./support.js";

const serverId = "0f1e2d3c-4b5a-4697-8877-665544332211";
const target = { serverId };
const session = { serverId, sessionId: "s", attachmentId: "a" };
const error = { code: "c", message: "" };

function cbor(value: unknown): CborValue {
  const result = decodeCbor(encode(value));
  if (!result.ok) throw new Error(result.fault.says);
  return result.value;
}

function plain(value: CborValue | undefined): unknown {
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, item]) => [key, plain(item)]));
  return Array.isArray(value) ? value.map(plain) : value;
}

describe("envelopes (pi page, section 4)", () => {
  it.each([
    ["up", { type: "hello", version: 0 }],
    ["up", { type: "request", id: "1", target, call: null }],
    ["up", { type: "request", id: "1", target: session, call: 5 }],
    ["up", { type: "cancel", id: "1", target }],
    ["down", { type: "hello", version: 8, serverId }],
    ["down", { type: "hello_error", error }],
    ["down", { type: "response", id: "1", ok: true }],
    ["down", { type: "response", id: "1", ok: true, result: null }],
    ["down", { type: "response", id: "1", ok: false, error }],
    ["down", { type: "service_update", subscriptionId: "s", update: null }],
    ["down", { type: "attachment", attachment: null }],
    ["down", { type: "attachment", attachment: session }],
  ] as const)("%s %j", (direction, value) => {
    const read = readEnvelope(direction, cbor(value));
    expect(read.ok && read.envelope.type).toBe(value.type);
  });

  it("tells a result of null from none", () => {
    const result = (value: unknown) => {
      const read = readEnvelope("down", cbor(value));
      return read.ok && read.envelope.type === "response" && read.envelope.ok && read.envelope.result;
    };
    expect(result({ type: "response", id: "1", ok: true })).toBeUndefined();
    expect(result({ type: "response", id: "1", ok: true, result: null })).toBeNull();
  });

  it.each([
    ["up", 5, ""],
    ["up", {}, "type"],
    ["up", { type: "response", id: "1", ok: true }, "type"],
    ["up", { type: "hello" }, "version"],
    ["up", { type: "hello", version: -1 }, "version"],
    ["up", { type: "hello", version: 8, serverId }, "serverId"],
    ["up", { type: "request", id: "", target, call: 1 }, "id"],
    ["up", { type: "request", id: "1", target }, "call"],
    ["up", { type: "request", id: "1", target: { serverId: serverId.toUpperCase() }, call: 1 }, "target.serverId"],
    ["up", { type: "request", id: "1", target: { serverId, sessionId: "s" }, call: 1 }, "target.attachmentId"],
    ["up", { type: "cancel", id: "1", target: { ...session, more: 1 } }, "target.more"],
    ["down", { type: "hello", version: 7, serverId }, "version"],
    ["down", { type: "hello", version: 8, serverId: "0f1e2d3c-4b5a-1697-8877-665544332211" }, "serverId"],
    ["down", { type: "hello", version: 8, serverId: "0f1e2d3c-4b5a-4697-c877-665544332211" }, "serverId"],
    ["down", { type: "response", id: "1", ok: 1 }, "ok"],
    ["down", { type: "response", id: "1", ok: true, error }, "error"],
    ["down", { type: "response", id: "1", ok: false, error, result: 1 }, "result"],
    ["down", { type: "response", id: "1", ok: false }, "error"],
    ["down", { type: "hello_error", error: { code: "", message: "" } }, "error.code"],
    ["down", { type: "hello_error", error: { code: "c" } }, "error.message"],
    ["down", { type: "attachment", attachment: target }, "attachment.sessionId"],
    ["down", { type: "service_update", subscriptionId: 1, update: 1 }, "subscriptionId"],
  ] as const)("%s %j is refused at %s", (direction, value, path) => {
    expect(readEnvelope(direction, cbor(value))).toMatchObject({ ok: false, fault: { path } });
  });
});

describe("chord payloads (pi page, section 8)", () => {
  const call = (value: unknown) => readCall(cbor(value));
  it.each([
    [{ serviceId: "s", member: "m", args: [] }, null],
    [{ serviceId: "s", member: "m", args: [1], instance: { key: "k", generation: 1 } }, null],
    [null, "call"],
    [{ serviceId: "s", member: "m" }, "call.args"],
    [{ serviceId: "", member: "m", args: [] }, "call.serviceId"],
    [{ serviceId: "s", member: "m", args: [], instance: { key: "k", generation: 0 } }, "call.instance.generation"],
    [{ serviceId: "s", member: "m", args: [], more: 1 }, "call.more"],
  ])("call %j", (value, path) => {
    const read = call(value);
    expect(isFault(read) ? read.path : null).toBe(path);
  });

  it.each([
    ["catalogue", [], "catalogue"],
    ["catalogue", [1], undefined],
    ["subscribe", ["a", "b", "keyed"], "subscribe"],
    ["subscribe", ["a", "b", "both"], undefined],
    ["subscribe", ["a", "b"], undefined],
    ["unsubscribe", ["a"], "unsubscribe"],
    ["unsubscribe", [""], undefined],
    ["other", [], undefined],
  ])("control call %s %j", (member, args, kind) => {
    const read = call({ serviceId: "$chord.service", member, args });
    expect(isFault(read) ? "fault" : controlCall(read)?.kind).toBe(kind);
    const addressed = call({ serviceId: "$chord.service", member, args, instance: { key: "k", generation: 1 } });
    expect(isFault(addressed) ? "fault" : controlCall(addressed)).toBeNull();
  });

  it.each([
    [{ type: "state", member: "m", sequence: 1, ops: [] }, null],
    [{ type: "state", member: "m", sequence: 0, ops: [] }, "update.sequence"],
    [{ type: "unavailable" }, null],
    [{ type: "unavailable", member: "m" }, "update.member"],
    [{ type: "closed" }, "update.instance"],
    [
      { type: "spawned", instance: { members: [{ name: "x", kind: "method", more: 1 }] } },
      "update.instance.members[0].more",
    ],
    [{ type: "replaced", snapshot: { members: [{ name: "x", kind: "other" }] } }, "update.snapshot.members[0].kind"],
    [{ type: "renamed" }, "update.type"],
  ])("update %j", (value, path) => {
    const read = readUpdate(cbor(value));
    expect("path" in read ? read.path : null).toBe(path);
  });

  it("reads a snapshot, and refuses one without instances", () => {
    expect(isFault(readSnapshot(cbor({ serviceId: "s", mode: "keyed", instances: [] })))).toBe(false);
    expect(readSnapshot(cbor({ serviceId: "s", mode: "keyed" }))).toMatchObject({ path: "result.instances" });
    expect(readSnapshot(undefined)).toMatchObject({ path: "result" });
  });
});

describe("delta operations (pi page, section 8)", () => {
  const apply = (start: unknown, ...batches: unknown[]) => {
    const decoder = new DeltaDecoder();
    const replica = new Replica();
    for (const batch of [[["r", start]], ...batches]) {
      const decoded = decoder.decode(cbor(batch));
      if ("fault" in decoded) return decoded.fault;
      const fault = replica.apply(decoded.ops);
      if (fault !== null) return fault;
    }
    return plain(replica.whole());
  };

  it.each<[string, unknown, unknown[], unknown]>([
    ["r replaces everything", { a: 1 }, [["r", [1]]], [1]],
    ["s sets a property", { a: 1 }, [["s", ["b"], 2]], { a: 1, b: 2 }],
    ["s sets an element", [1, 2], [["s", [0], 9]], [9, 2]],
    ["s appends at the length", [1], [["s", [1], 2]], [1, 2]],
    ["s reaches in", { a: [{ b: 1 }] }, [["s", ["a", 0, "b"], 2]], { a: [{ b: 2 }] }],
    ["an index names a property too", { a: { "0": 1 } }, [["s", ["a", 0], 2]], { a: { "0": 2 } }],
    ["d deletes a property", { a: 1, b: 2 }, [["d", ["a"]]], { b: 2 }],
    ["d of a property that is not there", { a: 1 }, [["d", ["b"]]], { a: 1 }],
    ["d removes an element", [1, 2, 3], [["d", [1]]], [1, 3]],
    ["a appends text", { t: "ab" }, [["a", ["t"], "cd"]], { t: "abcd" }],
    ["t drops UTF-16 units", { t: "😀abc" }, [["t", ["t"], 2]], { t: "abc" }],
    ["t beyond the end", { t: "ab" }, [["t", ["t"], 9]], { t: "" }],
    ["p splices the root", [1, 2, 3], [["p", [], 1, 1, [7, 8]]], [1, 7, 8, 3]],
    ["p beyond the end", [1], [["p", [], 5, 5, [2]]], [1, 2]],
    ["m reorders", ["a", "b", "c"], [["m", [], [2, 0, 1]]], ["c", "a", "b"]],
    [
      "a left-out path",
      { t: "abc" },
      [
        ["t", ["t"], 1],
        ["a", "d"],
      ],
      { t: "bcd" },
    ],
    [
      "a path id",
      { t: "" },
      [
        ["#", 0, ["t"]],
        ["a", 0, "x"],
        ["a", "y"],
      ],
      { t: "xy" },
    ],
    ["an id of the whole batch before", { t: "" }, [["#", 3, ["t"]]], { t: "" }],
  ])("%s", (_, start, batch, value) => {
    expect(apply(start, batch)).toEqual(value);
  });

  it("keeps ids from batch to batch, not the path before", () => {
    expect(
      apply(
        { t: "" },
        [
          ["#", 0, ["t"]],
          ["a", 0, "x"],
        ],
        [["a", 0, "y"]],
      ),
    ).toEqual({ t: "xy" });
    expect(apply({ t: "" }, [["a", ["t"], "x"]], [["a", "y"]])).toContain("the path left out");
  });

  it("forgets ids and the path before with r", () => {
    expect(
      apply(
        { t: "" },
        [["#", 0, ["t"]]],
        [
          ["r", { t: "" }],
          ["a", 0, "x"],
        ],
      ),
    ).toContain("path id 0");
    expect(
      apply({ t: "" }, [
        ["a", ["t"], "x"],
        ["r", { t: "" }],
        ["a", "y"],
      ]),
    ).toContain("the path left out");
  });

  it.each<[string, unknown, string]>([
    ["no array", { a: 1 }, "ops is a map"],
    ["an operation that is none", ["s"], "no operation"],
    ["an unknown verb", [["x", ["a"], 1]], 'unknown verb "x"'],
    ["wrong arity", [["s", ["a"], 1, 2]], '"s" with 4 elements'],
    ["r with a path", [["r", [], 1]], '"r" with 3 elements'],
    ["the root for s", [["s", [], 1]], "on the root"],
    ["an unsafe segment", [["s", ["__proto__", "x"], 1]], '"__proto__" is refused'],
    ["an unsafe segment in a definition", [["#", 0, ["constructor"]]], '"constructor" is refused'],
    ["a negative index", [["s", [-1], 1]], "a path segment is the number -1"],
    ["no text for a", [["a", ["t"], 1]], "for its text"],
    ["a negative count for t", [["t", ["t"], -1]], "for its count"],
    ["no array for p", [["p", ["l"], 0, 0, 1]], "without an index"],
    ["no permutation for m", [["m", ["l"], [0, 0]]], "without a permutation"],
    ["a definition without an id", [["#", "x", ["a"]]], "no definition"],
  ])("refuses %s", (_, batch, says) => {
    expect(apply({ t: "", l: [1, 2] }, batch)).toContain(says);
  });

  it.each<[string, unknown]>([
    ["a path through nothing", [["s", ["no", "x"], 1]]],
    ["an element beyond the length", [["s", ["l", 3], 1]]],
    ["a key on an array", [["s", ["l", "x"], 1]]],
    ["d beyond the end", [["d", ["l", 2]]]],
    ["a on a number", [["a", ["n"], "x"]]],
    ["a on nothing", [["a", ["no"], "x"]]],
    ["p on a text", [["p", ["t"], 0, 0, []]]],
    ["m of another length", [["m", ["l"], [0]]]],
    ["a segment of a text", [["s", ["t", 0], "x"]]],
  ])("does not apply %s", (_, batch) => {
    expect(apply({ t: "", n: 1, l: [1, 2] }, batch)).toContain("does not fit the value at");
  });

  it("lets a long text grow and shrink by many operations", () => {
    let text = "x".repeat(900);
    const batches: unknown[][] = [[["s", ["t"], text]]];
    for (let i = 0; i < 3000; i++) {
      const more = `<${i}😀>`;
      const cut = i % 3 === 0 ? 11 : 0;
      batches.push([
        ["a", ["t"], more],
        ["t", cut],
      ]);
      text = (text + more).slice(cut);
    }
    expect(apply({}, ...batches)).toEqual({ t: text });
    expect(apply({}, ...batches, [["t", ["t"], 1e9]], [["a", ["t"], "end"]])).toEqual({ t: "end" });
  });

  it("splices a long list without spreading it over arguments", () => {
    const items = Array.from({ length: 300_000 }, (_, i) => i);
    const value = apply([-1, -2], [["p", [], 1, 0, items]]) as number[];
    expect(value).toHaveLength(300_002);
    expect([value[0], value[1], value.at(-1)]).toEqual([-1, 0, -2]);
  });
});

describe("recognition", () => {
  const hello = framed(encode({ type: "hello", version: 8 }));
  const sight = (up: Uint8Array, down: Uint8Array, exchange: Exchange = exchangeOf(0)) =>
    recognise({ exchange, response: null, up, down });

  it("knows the client's hello by its 25 bytes", () => {
    expect(hello.toString("hex")).toBe("00000015a2647479706565" + "68656c6c6f6776657273696f6e08");
    expect(sight(hello, noBytes)).toBe(100);
  });

  it.each([
    ["a hello of another version", framed(encode({ type: "hello", version: 12 })), noBytes, 99],
    ["a hello with its keys the other way round", framed(encode({ version: 8, type: "hello" })), noBytes, 99],
    ["a server that speaks first", noBytes, framed(encode({ type: "hello_error", error })), 99],
    ["a stream joined late", framed(encode({ type: "request", id: "1", target, call: 1 })), noBytes, 90],
    [
      "the first bytes of a long frame",
      framed(encode({ type: "response", id: "1", ok: true, result: "x".repeat(9000) })).subarray(0, 64),
      noBytes,
      90,
    ],
    ["nothing yet", noBytes, noBytes, 0],
    ["HTTP", Buffer.from("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), noBytes, 0],
    ["TLS", Buffer.from("160301020001000001fc0303", "hex"), noBytes, 0],
    ["other CBOR behind a length", framed(encode({ kind: "hello", n: 1 })), noBytes, 0],
    ["another envelope's type", framed(encode({ type: "welcome", version: 8 })), noBytes, 0],
  ])("%s", (_, up, down, score) => {
    expect(sight(up, down)).toBe(score);
  });

  it("asks of HTTP only WebSockets", () => {
    const webSocket = exchangeOf(0, { framing: "websocket" });
    expect(sight(noBytes, noBytes, webSocket)).toBe(1);
    expect(sight(hello, noBytes, webSocket)).toBe(100);
    for (let cut = 1; cut < 16; cut++) expect(sight(hello.subarray(0, cut), noBytes, webSocket)).toBe(1);
    expect(sight(Buffer.from('{"type":"hello"}'), noBytes, webSocket)).toBe(0);
    const plainHttp = { ...webSocket, request: { ...webSocket.request!, headers: [] } };
    expect(sight(hello, noBytes, plainHttp)).toBe(0);
  });
});
