import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encode, lengthField, varintField } from "../../../fixtures/cursor/make/proto.mjs";
import { type OuterAppend, readAppend, readJsonAppend } from "../../../src/dialects/cursor/append-body.js";
import { CLIENT } from "../../../src/dialects/cursor/types.js";
import { schemas } from "./support.js";

const uuid = "0f3c2b1a-9d8e-4c7b-8a6f-001122334455";
const heartbeat = Buffer.from("3a00", "hex");

function decodes(inner: Uint8Array): boolean {
  const decoded = schemas.decode(CLIENT, inner);
  return decoded.faults.length === 0 && schemas.branch(CLIENT, decoded.value, "message") !== undefined;
}

interface Parts {
  data?: string | Buffer;
  binary?: Buffer;
  seqno?: number;
  id?: string;
}

function body({ data, binary, seqno = 0, id = uuid }: Parts): Buffer {
  const parts: Buffer[] = [];
  if (data !== undefined) parts.push(lengthField(1, Buffer.from(data)));
  parts.push(lengthField(2, encode("aiserver.v1.BidiRequestId", { request_id: id })));
  if (seqno !== 0) parts.push(varintField(3, seqno));
  if (binary !== undefined) parts.push(lengthField(4, binary));
  return Buffer.concat(parts);
}

const read = (bytes: Uint8Array) => readAppend(bytes, "exact", decodes);
const brief = (outer: OuterAppend) => [
  outer.requestId,
  outer.seqno,
  outer.carrier,
  outer.hexFault,
  Buffer.from(outer.inner).toString("hex"),
  outer.fault,
];

// protocols/cursor.md 2.1, 6.3, S06, S07.
const table: [string, Buffer, unknown[]][] = [
  ["6.3: heartbeat in hex, seq 1", body({ data: "3a00", seqno: 1 }), [uuid, 1, "hex", null, "3a00", null]],
  ["6.3: heartbeat in binary, seq 1", body({ binary: heartbeat, seqno: 1 }), [uuid, 1, "binary", null, "3a00", null]],
  ["2.1: seqno 0 is absent", body({ data: "3a00" }), [uuid, 0, "hex", null, "3a00", null]],
  ["seqno above one byte", body({ data: "3a00", seqno: 300 }), [uuid, 300, "hex", null, "3a00", null]],
  ["S06: both", body({ data: "3a00", binary: heartbeat }), [uuid, 0, "both", null, "3a00", null]],
  ["S06: neither", body({}), [uuid, 0, "none", null, "", null]],
  ["S07: odd", body({ data: "3a0" }), [uuid, 0, "hex", "odd", "3a", null]],
  ["S07: upper case", body({ data: "3A00" }), [uuid, 0, "hex", "upper", "3a00", null]],
  ["S07: no hex", body({ data: "3a0g" }), [uuid, 0, "hex", "not-hex", "3a", null]],
  ["no request id", Buffer.concat([lengthField(1, Buffer.from("3a00"))]), ["", 0, "hex", null, "3a00", null]],
  ["a length past the end", Buffer.from("0a7f3a", "hex"), ["", 0, "none", null, "", "truncated at byte 1"]],
  ["another wire type", Buffer.from("0801", "hex"), ["", 0, "none", null, "", "wire-type at byte 0"]],
];

describe("readAppend", () => {
  it.each(table)("%s", (_name, bytes, expected) => {
    expect(brief(read(bytes))).toEqual(expected);
  });

  it("counts fields that it does not know", () => {
    const more = Buffer.concat([body({ data: "3a00" }), varintField(9, 1), lengthField(12, Buffer.from("x"))]);
    expect(read(more).unknown).toBe(2);
  });

  it("every cut gives a fault or a shorter message, never a throw", () => {
    const whole = body({ data: "1a0408071a00", seqno: 300 });
    for (let cut = 0; cut < whole.length; cut++) {
      const outer = read(whole.subarray(0, cut));
      expect(outer.fault !== null || outer.inner.length <= 6).toBe(true);
    }
  });

  it("noise never throws", () => {
    const good = body({ data: "1a0408071a00", seqno: 7 });
    fc.assert(
      fc.property(fc.nat(good.length), fc.uint8Array({ maxLength: 40 }), fc.boolean(), (at, junk, lossy) => {
        const bytes = Buffer.concat([good.subarray(0, at), junk]);
        readAppend(bytes, lossy ? "lossy-utf8" : "exact", decodes);
        readJsonAppend(bytes, "exact");
      }),
      { numRuns: 200 },
    );
  });
});

/** What a HAR writer makes of bytes that it takes for UTF-8. */
const mangled = (bytes: Buffer): Buffer => Buffer.from(bytes.toString("utf8"));
const salvaged = (bytes: Buffer) => readAppend(mangled(bytes), "lossy-utf8", decodes);
const long = encode(CLIENT, {
  conversation_action: { cancel_action: { reason: "a reason of some length ".repeat(20) } },
});

describe("a body that went through a lossy text decoding", () => {
  it("is read as it is where nothing was replaced", () => {
    const outer = readAppend(body({ data: "3a00", seqno: 5 }), "lossy-utf8", decodes);
    expect([outer.evidence, ...brief(outer)]).toEqual(["exact", uuid, 5, "hex", null, "3a00", null]);
  });

  it("gives back its hex text, request id and small number", () => {
    const outer = salvaged(body({ data: long.toString("hex"), seqno: 9 }));
    expect([outer.evidence, outer.requestId, outer.seqno, outer.carrier]).toEqual(["salvaged", uuid, 9, "hex"]);
    expect(Buffer.from(outer.inner).equals(long)).toBe(true);
  });

  it.each([130, 255, 4000])("keeps the range of seqno %i", (seqno) => {
    const outer = salvaged(body({ data: "3a00", seqno }));
    expect([outer.evidence, outer.seqno, outer.seqnoFrom]).toEqual(["salvaged", -1, seqno - (seqno % 128)]);
    expect(Buffer.from(outer.inner).toString("hex")).toBe("3a00");
  });

  it("does not take the request id's digits for a message", () => {
    const outer = salvaged(body({ data: "zz", seqno: 200 }));
    expect([outer.evidence, outer.inner.length]).toEqual(["lossy-utf8", 0]);
  });

  it("a length that ends in a hex digit is told from the data", () => {
    // 0x30..0x39 as the last byte of the length: the run in the text has one digit too many.
    for (let size = 6144 / 2; size < 6144 / 2 + 640; size += 64) {
      const inner = encode(CLIENT, { conversation_action: { cancel_action: { reason: "r".repeat(size - 12) } } });
      const outer = salvaged(body({ data: inner.toString("hex"), seqno: 3 }));
      expect(Buffer.from(outer.inner).equals(inner)).toBe(true);
    }
  });

  it("binary data is lost, and said to be", () => {
    const inner = encode(CLIENT, {
      kv_client_message: { id: 3, get_blob_result: { blob_data: Buffer.from([0xff, 0xfe, 0x80, 0x81, 1]) } },
    });
    const outer = salvaged(
      Buffer.concat([lengthField(4, inner), lengthField(2, encode("aiserver.v1.BidiRequestId", { request_id: uuid }))]),
    );
    expect([outer.evidence, outer.carrier, outer.inner.length]).toEqual(["lossy-utf8", "binary", 0]);
  });

  it("any message in hex is won back", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 64, maxLength: 400 }), fc.nat(127), (data, seqno) => {
        const inner = encode(CLIENT, {
          kv_client_message: { id: 1, get_blob_result: { blob_data: Buffer.from(data) } },
        });
        const outer = salvaged(body({ data: inner.toString("hex"), seqno }));
        expect(Buffer.from(outer.inner).equals(inner)).toBe(true);
        expect([outer.requestId, outer.seqno]).toEqual([uuid, seqno]);
      }),
      { numRuns: 60 },
    );
  });
});

describe("the JSON twin", () => {
  it("has the same four fields", () => {
    const json = { data: "3a00", requestId: { requestId: uuid }, appendSeqno: "12" };
    expect(brief(readJsonAppend(Buffer.from(JSON.stringify(json)), "exact")!)).toEqual([
      uuid,
      12,
      "hex",
      null,
      "3a00",
      null,
    ]);
    const binary = { dataBinary: heartbeat.toString("base64"), requestId: { requestId: uuid } };
    expect(brief(readJsonAppend(Buffer.from(JSON.stringify(binary)), "exact")!)).toEqual([
      uuid,
      0,
      "binary",
      null,
      "3a00",
      null,
    ]);
  });

  it.each(["", "[", "null", "3", '"x"'])("%j is none", (text) => {
    expect(readJsonAppend(Buffer.from(text), "exact")).toBeUndefined();
  });
});
