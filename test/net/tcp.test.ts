import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { framed, pcap, type RecordFields } from "../../fixtures/net/make/packets.mjs";
import { onEthernet, packet, syn, synAck, v4, wholeTalk } from "../../fixtures/net/make/talk.mjs";
import { defaultLimits, type Limits } from "../../src/core/limits.js";
import { codesOf, type NetResult, readPackets, runNet } from "./run.js";

const begin = [syn(), synAck()];
const c = (offset: number, payload: string | Uint8Array, fields = {}) => packet("c", offset, payload, fields);
const s = (offset: number, payload: string | Uint8Array, fields = {}) => packet("s", offset, payload, fields);

/** Runs IP packets, each at its second of the capture. */
function run(packets: readonly (readonly [number, Uint8Array])[], limits: Partial<Limits> = {}): NetResult {
  const records = packets.map(
    ([second, bytes]): RecordFields => ({ bytes: framed(bytes), at: [1_700_000_000 + second, 0] }),
  );
  return runNet(readPackets(pcap(records)).packets, { limits: { ...defaultLimits, ...limits } });
}

const at = (second: number, ...packets: Uint8Array[]) => packets.map((bytes) => [second, bytes] as const);

/** Bytes, gaps and ends as the layers got them: "up AAAA", "up gap 5", "up end complete client", each with its packet's number. */
function story(result: NetResult): string[] {
  return result.events.flatMap((event) => {
    switch (event.kind) {
      case "bytes":
        return [
          `${event.direction} ${Buffer.from(event.bytes).toString("latin1")} #${event.mark.first + 1}-${event.mark.last + 1}`,
        ];
      case "gap":
        return [`${event.direction} gap ${event.length} ${event.why}`];
      case "end":
        return [`${event.direction} end ${event.reason} ${event.by}`];
      default:
        return [];
    }
  });
}

describe("when a hole is given up", () => {
  const hole = at(0, ...begin, c(0, "AA"), c(4, "CC"));

  it("waits for the bytes, however late, while nobody had them", () => {
    const result = run([...hole, ...at(200, s(0, "x")), ...at(250, c(2, "BB"))]);
    expect(story(result).slice(0, 4)).toEqual(["up AA #3-3", "down x #5-5", "up BB #6-6", "up CC #4-4"]);
  });

  it("gives up after minutes without any sign", () => {
    const result = run([...hole, ...at(301, s(0, "x"))]);
    expect(story(result).slice(0, 4)).toEqual(["up AA #3-3", "up gap 2 tcp-gap", "up CC #4-4", "down x #5-5"]);
  });

  it("gives up two seconds after the receiver had them, by any packet's time", () => {
    const other = packet("c", 0, "zz", {}, { ...v4, clientPort: 50_001 });
    const acked = at(1, s(0, "", { acked: 6 }));
    expect(story(run([...hole, ...acked, ...at(3, other)])).slice(0, 3)).toEqual([
      "up AA #3-3",
      "up gap 2 tcp-gap",
      "up CC #4-4",
    ]);
    const late = run([...hole, ...acked, ...at(2, other), ...at(2, c(2, "BB"))]);
    expect(story(late)).toContain("up BB #7-7");
    expect(codesOf(late.notes)).not.toContain("tcp.gap");
  });

  it("does not take times that go back for time that passes", () => {
    const result = run([...at(100, ...begin, c(0, "AA"), c(4, "CC"), s(0, "", { acked: 6 })), ...at(0, c(2, "BB"))]);
    expect(story(result).slice(0, 3)).toEqual(["up AA #3-3", "up BB #6-6", "up CC #4-4"]);
  });

  it("does not believe an acknowledgement of a connection that it has not heard of yet", () => {
    const stray = at(0, syn(), s(0, "", { acked: 100 }), c(0, "AA"), c(4, "CC"));
    expect(story(run([...stray, ...at(10, c(2, "BB"))]))).toContain("up BB #5-5");
  });

  it("gives up all holes that are old enough at once", () => {
    const many = at(0, ...begin, ...Array.from({ length: 20 }, (_, n) => c(2 * n + 1, "x")), s(0, "", { acked: 40 }));
    const result = run([...many, ...at(3, s(0, "y"))]);
    expect(story(result).filter((line) => line.includes("gap")).length).toBe(20);
    expect(story(result)[40]).toBe("down y #24-24");
  });

  it("drops and names what comes after that", () => {
    const result = run([
      ...hole,
      ...at(1, s(0, "", { acked: 6 })),
      ...at(9, s(0, "x")),
      ...at(9, c(2, "BB")),
      ...at(9, c(6, "DD")),
    ]);
    expect(result.flows[0]!.up).toMatchObject({ bytes: 6, gaps: [{ offset: 2, length: 2 }] });
    expect(codesOf(result.notes)).toEqual(["tcp.gap", "tcp.late-data"]);
  });

  it("gives up when more waits than one direction may hold", () => {
    const segments = Array.from({ length: 30 }, (_, n) => c(10 + 100 * n, "y".repeat(100)));
    const result = run(at(0, ...begin, ...segments, c(0, "0123456789")), { reorderBytesPerFlow: 10 * (100 + 512) });
    expect(codesOf(result.notes)).toEqual(["tcp.gap", "tcp.late-data", "tcp.reorder-limit"]);
    expect(result.flows[0]!.up).toMatchObject({ bytes: 3000, gaps: [{ offset: 0, length: 10 }] });
  });

  it("gives up the oldest hole when all connections together hold too much", () => {
    const ends = [0, 1, 2].map((n) => ({ ...v4, clientPort: 50_000 + n }));
    const first = ends.map((end) => packet("c", -1, "", { flags: "S", acked: -5001 }, end));
    const held = ends.map((end) => packet("c", 5, "x".repeat(1000), {}, end));
    const result = run(at(0, ...first, ...held, packet("c", 0, "12345", {}, ends[2])), { reorderBytesTotal: 2 * 1512 });
    expect(result.flows.map((flow) => flow.up.gaps.length)).toEqual([1, 1, 0]);
    expect(result.notes.filter((note) => note.code === "tcp.reorder-limit").length).toBe(1);
  });

  it("holds nothing where the limit is 0", () => {
    const result = run(at(0, ...begin, c(5, "BB"), c(0, "AAAAA")), { reorderBytesPerFlow: 0 });
    expect(result.flows[0]!.up).toMatchObject({ bytes: 2, gaps: [{ offset: 0, length: 5 }] });
  });
});

describe("ends", () => {
  it("says who closed first", () => {
    const ends = story(run(at(0, ...wholeTalk()))).filter((line) => line.includes("end"));
    expect(ends).toEqual(["up end complete client", "down end complete client"]);
  });

  it("says who reset, both ways", () => {
    const result = run(at(0, ...begin, c(0, "AA"), s(0, "BB"), s(2, "", { flags: "RA", acked: 2 })));
    expect(story(result).slice(2)).toEqual(["down end reset server", "up end reset server"]);
  });

  it("lets a reset wait for the bytes before it", () => {
    const result = run(at(0, ...begin, c(2, "BB"), c(4, "", { flags: "R" }), c(0, "AA")));
    expect(story(result)).toEqual(
      ["up AA #5-5", "up BB #3-3", "up end reset client"]
        .concat("down end reset client")
        .sort(byFirstSeen(story(result))),
    );
    expect(result.notes).toEqual([]);
  });

  it("gives a hole up two seconds after a reset", () => {
    const result = run([
      ...at(0, ...begin, c(2, "BB"), s(0, "", { flags: "R" })),
      ...at(3, packet("c", 0, "z", {}, { ...v4, clientPort: 1 })),
    ]);
    expect(story(result).slice(0, 4)).toEqual(
      ["up gap 2 tcp-gap", "up BB #3-3", "up end reset server", "down end reset server"].sort(
        byFirstSeen(story(result)),
      ),
    );
  });

  it("ends with the capture", () => {
    expect(story(run(at(0, ...begin, c(0, "AA"))))).toEqual([
      "up AA #3-3",
      "up end capture-ended null",
      "down end capture-ended null",
    ]);
  });

  it("opens no exchange for a connection without a byte", () => {
    const result = run(at(0, ...begin, c(0, "", { flags: "FA" }), s(0, "", { flags: "FA", acked: 1 })));
    expect(result.events.map((event) => event.kind)).toEqual(["flow", "flow-end"]);
    expect(result.flows[0]).toMatchObject({ packets: 4, protocol: "unknown", tls: null });
  });

  it("tells a layer that begins late what had ended before", () => {
    const result = run(at(0, ...begin, c(0, "", { flags: "FA" }), s(0, "BB", { acked: 1 })));
    expect(story(result)).toEqual(
      ["up end complete client", "down BB #4-4", "down end capture-ended null"].sort(byFirstSeen(story(result))),
    );
  });
});

/** Sorts expectations as the result has them: for sets whose order says nothing. */
function byFirstSeen(seen: readonly string[]) {
  return (a: string, b: string) => seen.indexOf(a) - seen.indexOf(b);
}

describe("the flow table", () => {
  const single = (port: number, side: "c" | "s" = "c") => packet(side, 0, "x", {}, { ...v4, clientPort: port });

  it("ends the connection idle for longest when there are too many", () => {
    const result = run(at(0, single(51001), single(51002), single(51001), single(51003), single(51004)), {
      openFlows: 2,
    });
    expect(result.flows.map((flow) => flow.flow.client)).toEqual([
      "192.0.2.1:51002",
      "192.0.2.1:51001",
      "192.0.2.1:51003",
      "192.0.2.1:51004",
    ]);
    expect(result.notes.filter((note) => note.code === "tcp.flow-limit").length).toBe(2);
  });

  it("says nothing when that connection was over", () => {
    const closed = wholeTalk({ ...v4, clientPort: 51001 });
    const result = run(at(0, ...closed, single(51002), single(51003)), { openFlows: 2 });
    expect(codesOf(result.notes)).toEqual(["net.joined-midway"]);
  });

  it("numbers flows by first packet, and ends them in that order", () => {
    const result = run(at(0, single(51001), single(51002), single(51003), single(51001, "s")));
    expect(result.flows.map((flow) => flow.flow.id)).toEqual([0, 1, 2]);
  });

  it("keeps two thousand connections of one host apart", () => {
    const ports = Array.from({ length: 2000 }, (_, n) => 20_000 + n);
    const result = run(at(0, ...ports.map((port) => single(port)), ...ports.map((port) => single(port, "s"))));
    expect(result.flows.length).toBe(2000);
    expect(result.flows.every((flow) => flow.up.bytes === 1 && flow.down.bytes === 1)).toBe(true);
  });

  it("continues a connection in the next file", () => {
    const talk = onEthernet(wholeTalk());
    const first = readPackets(pcap(talk.slice(0, 5))).packets;
    const second = readPackets(pcap(talk.slice(5)), { input: 1 }).packets;
    const whole = runNet([...first, ...second]);
    expect(whole.flows.length).toBe(1);
    expect(whole.flows[0]!.up).toEqual(runNet(readPackets(pcap(talk)).packets).flows[0]!.up);
  });
});

describe("any segments", () => {
  /** The bytes that any of the segments has, by their place: what a reader that waits for ever must find. */
  function union(length: number, ranges: readonly (readonly [number, number])[]) {
    const seen = new Uint8Array(length);
    for (const [start, end] of ranges) seen.fill(1, start, end);
    return seen;
  }

  const segments = fc.array(fc.tuple(fc.nat(199), fc.integer({ min: 1, max: 60 })), { minLength: 1, maxLength: 40 });

  it("give each byte once, in order, and every gap with its place", () => {
    fc.assert(
      fc.property(segments, fc.nat(0xffff_ffff), fc.nat(3), (list, isn, missing) => {
        const data = Uint8Array.from({ length: 260 }, (_, n) => (n * 7 + 13) & 0xff);
        const fields = { isn };
        const ranges = list.map(([start, length]) => [start, start + length] as const);
        // Some segments were captured without their end.
        const records = ranges.map(([start, end], n) => {
          const whole = framed(c(start, data.subarray(start, end), fields));
          const cut = missing > 0 && n % 5 === missing ? 1 : 0;
          return { bytes: whole.subarray(0, whole.length - cut), original: whole.length };
        });
        const result = runNet(readPackets(pcap([{ bytes: framed(syn(v4, fields)) }, ...records])).packets);
        const { up } = result.flows[0]!;
        const bytes = Buffer.concat(result.events.flatMap((event) => (event.kind === "bytes" ? [event.bytes] : [])));
        // Rebuilds the stream from bytes and gaps: each byte must stand where it was sent.
        const rebuilt: number[] = [];
        let next = 0;
        for (const { offset, length } of [...up.gaps, { offset: Number.POSITIVE_INFINITY, length: 0 }]) {
          while (rebuilt.length < offset && next < bytes.length) rebuilt.push(bytes[next++]!);
          for (let n = 0; n < length; n++) rebuilt.push(-1);
        }
        expect(up.bytes).toBe(bytes.length);
        expect(rebuilt.every((byte, n) => byte === -1 || byte === data[n])).toBe(true);
        if (missing > 0) return;
        const seen = union(Math.max(...ranges.map(([, end]) => end)), ranges);
        expect(rebuilt.map((byte) => (byte === -1 ? 0 : 1))).toEqual([...seen]);
        expect(codesOf(result.notes).filter((code) => code !== "tcp.gap")).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it("of differing bytes give the first copy of each, and say so", () => {
    fc.assert(
      fc.property(segments, (list) => {
        const first = new Map<number, number>();
        let differ = false;
        const packets = list.map(([start, length], n) => {
          const data = new Uint8Array(length).fill(n + 100);
          for (let at = start; at < start + length; at++) {
            if (first.has(at)) differ = true;
            else first.set(at, n);
          }
          return c(start, data);
        });
        const result = runNet(readPackets(pcap(onEthernet([syn(), ...packets]))).packets);
        const bytes = Buffer.concat(result.events.flatMap((event) => (event.kind === "bytes" ? [event.bytes] : [])));
        expect([...bytes]).toEqual([...first].sort((a, b) => a[0] - b[0]).map(([, n]) => n + 100));
        expect(codesOf(result.notes).includes("tcp.overlap-differs")).toBe(differ && hasLongRepeat(list));
      }),
      { numRuns: 300 },
    );
  });

  /** One byte again at the very edge of what was delivered is taken for a keep-alive. */
  function hasLongRepeat(list: readonly (readonly [number, number])[]): boolean {
    const edges = new Map<number, number>();
    let reached = 0;
    let found = false;
    for (const [start, length] of list) {
      for (let at = start; at < start + length; at++) {
        const keepAlive = length === 1 && at === reached - 1;
        if (edges.has(at) && !keepAlive) found = true;
        edges.set(at, 1);
      }
      while (edges.has(reached)) reached++;
    }
    return found;
  }
});
