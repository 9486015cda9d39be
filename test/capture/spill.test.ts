import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SpillStore } from "../../src/capture/spill.js";
import { CursorWireError } from "../../src/core/errors.js";

const body = (size: number, fill: number): Uint8Array => new Uint8Array(size).fill(fill);

describe("SpillStore", () => {
  it.each([0, 10, 1000, 1_000_000])("gives back what was put with %i bytes of memory", (memory) => {
    const store = new SpillStore(memory);
    const bodies = [0, 1, 300, 40_000, 32_768, 32_769, 300_000, 5].map((size, n) => body(size, n + 1));
    const handles = bodies.map((bytes) => store.put(bytes));
    expect(new Set(handles).size).toBe(bodies.length);
    for (const [n, handle] of handles.entries())
      expect(Buffer.from(store.get(handle)).equals(Buffer.from(bodies[n]!))).toBe(true);
    store.close();
  });

  it("keeps a copy: what the caller does to its bytes afterwards does not matter", () => {
    const store = new SpillStore(1000);
    const bytes = body(20, 7);
    const handle = store.put(bytes);
    bytes.fill(0);
    expect([...store.get(handle)]).toEqual(Array(20).fill(7));
  });

  it("without a folder for temporary files says what to do", () => {
    const before = process.env.TMPDIR;
    process.env.TMPDIR = join(tmpdir(), "cursor-wire-no-such-folder");
    try {
      const store = new SpillStore(10);
      expect(() => store.put(body(20, 1))).toThrow(
        /cannot write a temporary file in .*no-such-folder \(ENOENT\): set TMPDIR/,
      );
      expect(() => store.put(body(20, 1))).toThrow(CursorWireError);
      expect(store.get(store.put(body(5, 1))).length).toBe(5);
      store.close();
    } finally {
      if (before === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = before;
    }
  });

  it("knows nothing of other handles", () => {
    const store = new SpillStore(10);
    expect([store.get(0), store.get(-1), store.get(5)].map((bytes) => bytes.length)).toEqual([0, 0, 0]);
  });

  it.each([0, 1_000_000])("gives back a part with %i bytes of memory", (memory) => {
    const store = new SpillStore(memory);
    const bodies = [10, 5000, 300_000].map((size) => Uint8Array.from({ length: size }, (_, n) => n % 251));
    const handles = bodies.map((bytes) => store.put(bytes));
    for (const [n, handle] of handles.entries())
      for (const [from, to] of [
        [0, 1],
        [3, 7],
        [9, 10],
        [4000, 99_999_999],
        [7, 3],
      ] as const)
        expect([...store.get(handle, from, to)]).toEqual([...bodies[n]!.subarray(from, Math.max(from, to))]);
    store.close();
  });

  it("holds for any bodies and any budget", () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 70_000 }), { maxLength: 12 }),
        fc.nat(100_000),
        (bodies, memory) => {
          const store = new SpillStore(memory);
          const handles = bodies.map((bytes) => store.put(bytes));
          for (const [n, handle] of handles.entries())
            expect(Buffer.from(store.get(handle)).equals(Buffer.from(bodies[n]!))).toBe(true);
          store.close();
        },
      ),
      { numRuns: 30 },
    );
  });
});
